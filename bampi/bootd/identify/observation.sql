-- Statements of bampi/bootd/identify/observation.c.

-- :statement observation_put
-- A node deleted meanwhile is left out; an older value never replaces a newer one.
insert into haas.boot_observation (node_id, kind, at, token, detail, bytes)
select w.node_id, w.kind, to_timestamp(w.at_us / 1e6), w.token, w.detail, w.bytes
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[])
as w (node_id, kind, at_us, token, detail, bytes) join haas.node n on n.id = w.node_id
order by w.node_id, w.kind on conflict (node_id, kind) do update set at = excluded.at, token = excluded.token, detail = excluded.detail,
bytes = excluded.bytes where boot_observation.at <= excluded.at

-- :statement observation_touch
select haas.deployment_touch($1::bigint[])

-- :statement observation_notify
select pg_notify('deployment', '')
