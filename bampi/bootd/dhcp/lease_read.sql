-- Rows into memory: all of them in pages, and every second those that another server made.
-- :use bampi/bootd/dhcp/lease_row.sql

-- :statement lease_page
-- :columns = lease
select ${lease_row}
 from haas.lease l where l.address > $1::inet order by l.address limit 4096

-- :statement lease_news
-- :columns address, mac, subnet_id, state, client, expires_at, read_at
-- bound_at is the beginning of a transaction that may commit later, so the last second is read again. Only when somebody else writes leases:
-- our own are here already.
select ${lease_row}
, floor(extract(epoch from now()))::bigint - 2 as read_at from (select count(*) > 2 as company
from pg_catalog.pg_stat_activity where datname = current_database() and application_name = 'bampi-bootd leases') c
left join haas.lease l on c.company and l.bound_at >= to_timestamp($1::bigint)
