-- SQL of the fabric as one picture, and of counters over time (db/schema/topology.sql).
-- :use portal/server/store_text.sql

-- :statement topology_get
-- :columns = document
-- $1 fabric $2 tenant, null = all that the asking one may see -> (body)
select haas.topology($1, $2)::text as body

-- :statement port_series
-- :columns = document
-- $1 switch $2 port $3 end, null = now $4 seconds $5 points at most -> (body)
select haas.port_series($1, $2, coalesce($3::timestamptz, now()), make_interval(secs => $4::int), $5::int)::text as body
