-- The default hash falls through its cases, which clang objects to.

-- :statement health_put
insert into haas.switch_health as h (switch_id, asked_at, heard_at, response_ms, problem, counters_at, stp, lags, sensors)
 select e.switch_id, now(), case when $3::int is not null then now() end, $3::int, $2::jsonb, case when $4::boolean then now() end,
  nullif($5::jsonb, 'null'), $6::jsonb, $7::jsonb from haas.switch_endpoint e where e.switch_id = $1::bigint
 on conflict (switch_id) do update set asked_at = excluded.asked_at, heard_at = coalesce(excluded.heard_at, h.heard_at),
  response_ms = coalesce(excluded.response_ms, h.response_ms), problem = excluded.problem, counters_at = coalesce(excluded.counters_at, h.counters_at),
  stp = coalesce(excluded.stp, h.stp), lags = coalesce(excluded.lags, h.lags), sensors = coalesce(excluded.sensors, h.sensors)

-- :statement health_numbers
select haas.port_number_put($1::bigint, $2::jsonb)

-- :statement health_turn
select haas.traffic_partitions_turn(now())
