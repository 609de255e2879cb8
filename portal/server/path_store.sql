-- SQL of the way between two nodes of a tenant (db/schema/counter.sql).
-- :use portal/server/store_text.sql

-- :statement path_get
-- :columns path, scope
-- $1 tenant $2 $3 nodes $4 network, null = all that they share -> the answer as JSON, whose traffic alone may be seen (null = everybody's).
select p::text as path, case when not haas.is_operator() then coalesce(haas.current_tenant(), -1) end as scope from haas.network_path($1, $2, $3, $4) p

-- :part load_of from
-- What left a port towards the other end, and of it the share of its speed. Of aggregates the members are summed up, where the collector hears
-- of these.
(select jsonb_build_object('bits_per_second', x.bps, 'percent', round(x.bps * 100.0 / nullif((h ->> 'speed_bps')::numeric, 0), 1), 'by', x.by)
from (select round(sum(r.bytes) * 8 / nullif((select seconds from w), 0))::bigint as bps, 'samples' as by, 1 as rank from r
where r.switch = h #>> '{${from},switch}' and (r.port = h #>> '{${from},port}'
or r.port in (select m ->> '${from}' from jsonb_array_elements(h -> 'members') m)) having count(*) > 0
union all select round(c.out_bytes * 8 / c.seconds)::bigint, 'counters', 2 from c
where c.switch = h #>> '{${from},switch}' and c.port = h #>> '{${from},port}') x where x.bps is not null order by x.rank limit 1)

-- :part entered_at to
-- Of an end that is a node nothing is heard: what it sends comes in at its port.
(select jsonb_build_object('bits_per_second', x.bps, 'percent', round(x.bps * 100.0 / nullif((h ->> 'speed_bps')::numeric, 0), 1), 'by', 'counters')
from (select round(c.in_bytes * 8 / c.seconds)::bigint as bps from c where c.switch = h #>> '{${to},switch}' and c.port = h #>> '{${to},port}') x
where x.bps is not null)

-- :statement path_load
-- :columns = document
-- $1 that JSON $2 a collector's answer for the links (peregrine/flowd/flowd_drill.c), null = none $3 why not -> the JSON with what the links
-- carry.
-- seconds in memory, and what left each port in them
with w as (select coalesce(sum(m.seconds), 0) as seconds from jsonb_to_recordset($2::jsonb -> 'minutes') as m(seconds bigint)),
r as (select k.k1 as switch, k.k2 as port, sum(k.bytes) as bytes from jsonb_to_recordset($2::jsonb -> 'minutes') as m(rows jsonb)
cross join lateral jsonb_to_recordset(m.rows) as k(k1 text, k2 text, bytes bigint) group by 1, 2),
ends as (select distinct e ->> 'switch' as switch, e ->> 'port' as port from jsonb_array_elements($1::jsonb -> 'paths') p, jsonb_array_elements(p -> 'hops') h,
lateral (values (h -> 'a'), (h -> 'b')) v (e) where e ? 'switch'),
-- the last interval of its counters; only operators see any (row policy, and the view's own)
c as (select e.switch, e.port, x.in_bytes, x.out_bytes, x.seconds from ends e join haas.switch s on s.name = e.switch cross join lateral
(select y.in_bytes, y.out_bytes, y.seconds from ((select at, in_bytes, out_bytes, seconds from haas.port_counter where switch_id = s.id and port = any (haas.counter_names(s.id, e.port))
and at > now() - interval '3 minutes' order by at desc limit 1) union all (select at, in_bytes, out_bytes, seconds from haas.traffic_port where step = 60
and switch_id = s.id and port = e.port and at > now() - interval '4 minutes' order by at desc limit 1)) y where y.seconds > 0 order by y.at desc limit 1) x)
select ($1::jsonb || jsonb_build_object('load', jsonb_build_object('seconds', (select seconds from w), 'problem', $3::text), 'paths',
(select jsonb_agg(p || jsonb_build_object('hops', (select jsonb_agg(h || jsonb_build_object(
'forward', case when h -> 'a' ? 'switch' then ${load_of a} else ${entered_at b} end,
'back', case when h -> 'b' ? 'switch' then ${load_of b} else ${entered_at a} end) order by hn)
from jsonb_array_elements(p -> 'hops') with ordinality x (h, hn))) order by pn) from jsonb_array_elements($1::jsonb -> 'paths') with ordinality y (p, pn))))::text as body
