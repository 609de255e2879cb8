-- What is told of alerts, into PostgreSQL through its one door (alert_put, alert.sql): in order, kept while it is away and sent again; and
-- what an earlier life left open.

-- :statement alert_open
-- :columns key, kind, subject_kind, subject, tenant, raised_us
-- $1 collector -> key, kind, subject_kind, subject, tenant, raised_us
select key, kind, subject_kind, subject, coalesce(tenant_id, 0) as tenant, (extract(epoch from raised_at) * 1000000)::bigint as raised_us
from haas.alert where cleared_at is null and starts_with(kind, 'traffic.') and detail ->> 'collector' = $1

-- :statement alert_candidates
-- :columns suspects
-- $1 switch $2 port $3 nodes -> JSON
select haas.alert_candidates($1::bigint, $2, $3::text[], to_timestamp($4::bigint / 1000000.0)) as suspects

-- :statement alert_put
select haas.alert_put($1::jsonb)
