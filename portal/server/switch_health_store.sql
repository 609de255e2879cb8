-- SQL of the health of switches (db/schema/counter.sql).
-- :use portal/server/store_text.sql

-- :part health_of
-- s is switch, e its endpoint, f its fabric, h switch_health.
join haas.switch_endpoint e on e.switch_id = s.id join haas.fabric f on f.id = e.fabric_id
left join haas.switch_health h on h.switch_id = s.id cross join lateral (select sum(coalesce(x.in_errors, 0) + coalesce(x.out_errors, 0))::bigint as errors,
sum(coalesce(x.in_discards, 0) + coalesce(x.out_discards, 0))::bigint as discards from haas.port_errors x where x.switch_id = s.id) c

-- :part count_in list, condition
(select count(*) from jsonb_array_elements(${list}) x where ${condition})

-- :part health_item
-- `state`: nobody asked it yet, it answered the last time, or it did not.
jsonb_build_object('switch', s.name, 'fabric', f.name, 'address', host(e.address), 'state', case when h.switch_id is null then 'unknown'
when h.problem is null then 'answers' else 'silent' end, 'asked_at', h.asked_at, 'heard_at', h.heard_at, 'response_ms', h.response_ms,
'problem', h.problem, 'counters_at', h.counters_at, 'errors', c.errors, 'discards', c.discards,
'root', h.stp ->> 'root', 'topology_changes', (h.stp ->> 'changes')::bigint, 'blocked', ${count_in h.stp -> 'ports' ;; x ->> 'role' = 'alternate' or x ->> 'state' = 'broken'},
'lags_count', coalesce(jsonb_array_length(h.lags), 0), 'members_out', (select count(*) from jsonb_array_elements(h.lags) l, jsonb_array_elements(l -> 'members') m
where not (m ->> 'bundled')::boolean), 'sensors_count', coalesce(jsonb_array_length(h.sensors), 0),
'sensors_bad', ${count_in h.sensors ;; x ->> 'status' <> 'ok'})

-- :statement switch_health_list
-- :columns = document
-- $1 limit $2 cursor $3 fabric
-- The page first: what is summed up is an hour of counters of each switch.
${store_page s.name ;; ${health_item} ;; (select x.* from haas.switch x join haas.switch_endpoint y on y.switch_id = x.id join haas.fabric z on z.id = y.fabric_id
where ($2::text is null or x.name collate haas.natural_order > $2) and ($3::text is null or z.name = $3) order by x.name collate haas.natural_order limit $1::int + 1) s ${health_of} ;; s.name collate haas.natural_order}

-- :statement switch_health_get
-- :columns = document
-- With all ports that counted, the worst first.
-- $1 switch
select (${health_item} || jsonb_build_object('stp', h.stp, 'lags', coalesce(h.lags, '[]'), 'sensors', coalesce(h.sensors, '[]'),
'ports', coalesce((select jsonb_agg(jsonb_build_object('port', x.port, 'in_errors', x.in_errors, 'out_errors', x.out_errors, 'in_discards', x.in_discards,
'out_discards', x.out_discards, 'in_packets', x.in_packets, 'out_packets', x.out_packets, 'seconds', round(x.seconds::numeric, 1), 'source', x.source)
order by coalesce(x.in_errors, 0) + coalesce(x.out_errors, 0) + coalesce(x.in_discards, 0) + coalesce(x.out_discards, 0) desc, x.port)
from haas.port_errors x where x.switch_id = s.id), '[]')))::text as body from haas.switch s ${health_of} where s.name = $1
