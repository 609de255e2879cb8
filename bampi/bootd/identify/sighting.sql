-- Statements of bampi/bootd/identify/sighting.c.

-- :statement sighting_read
-- :columns mac, node_id, switch, port, uuid, since_s, seen_s
select mac, node_id, switch, port, uuid, extract(epoch from since)::bigint as since_s,
extract(epoch from seen_at)::bigint as seen_s from haas.sighting

-- :statement sighting_put
select haas.sighting_put($1::macaddr[], $2::bigint[], $3::text[], $4::text[], $5::uuid[],
$6::bigint[], $7::bigint[])
