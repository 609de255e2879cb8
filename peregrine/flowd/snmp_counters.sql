-- Statements of peregrine/flowd/snmp_counters.c.

-- :statement snmp_counters
-- :columns
--   switch_id
--   port
--   at_us
--   seconds
--   in_bytes
--   out_bytes
--   in_packets
--   out_packets
--   in_errors
--   out_errors
--   in_discards
--   out_discards
--   speed_bps
--   up
-- The counters in the order of enum port_counter. Names are the SNMP agent's: of a switch that is read by its command line ours may be others.
select c.switch_id, coalesce(p.port, c.port) as port, floor(extract(epoch from c.at) * 1000000)::bigint as at_us, c.seconds, c.in_bytes, c.out_bytes, c.in_packets, c.out_packets,
 c.in_errors, c.out_errors, c.in_discards, c.out_discards, c.speed_bps, c.up from haas.traffic_60_counter c
 left join haas.counter_port p on p.switch_id = c.switch_id and p.counted = lower(c.port)
 where c.at > to_timestamp($1::bigint / 1000000.0) and c.seconds > 0 order by c.at limit 200000
