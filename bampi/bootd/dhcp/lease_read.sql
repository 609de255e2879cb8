-- Rows into memory: all of them in pages, and every second those that another server made.
-- :use bampi/bootd/dhcp/lease_row.sql

-- :statement lease_page
-- :columns = lease
select ${lease_row}
 from haas.lease l where l.address > $1::inet order by l.address limit 4096

-- :statement lease_news
-- :columns address, mac, subnet_id, state, client, expires_at, read_at, company
-- $1 seconds since 1970 $2 read them although nobody else is there now: somebody was, a moment ago
-- Only when somebody else writes leases: our own are here already. bound_at is the beginning of a transaction that may commit later, as long as a
-- standby takes: what began with the oldest one under way is read again.
select ${lease_row}
, floor(extract(epoch from c.oldest))::bigint - 2 as read_at, c.company from (select count(*) > 2 as company, coalesce(min(xact_start), now()) as oldest
from pg_catalog.pg_stat_activity where datname = current_database() and application_name = 'bampi-bootd leases') c
left join haas.lease l on (c.company or $2::boolean) and l.bound_at >= to_timestamp($1::bigint)
