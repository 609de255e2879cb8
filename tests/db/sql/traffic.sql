select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1');
insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', '10.0.0.1');
insert into network (name, kind, tenant_id) values ('red', 'tenant', 1), ('blue', 'tenant', 2);
insert into network_vlan (fabric_id, vlan, network_id, state) values (1, 100, 1, 'used'), (1, 101, 2, 'used');
\echo the numbers of a list
select vlan_numbers('100-102,200'), vlan_numbers('7') as seven limit 4;
select count(*) from vlan_numbers('');
\echo a port that is bound, changed, made a trunk, parked, and gone
create view bound as select port, tag, network_id, tenant_id, valid_to is null as holds from port_binding order by id;
insert into port_intent (switch_id, port) values (1, 'p1');
select * from bound;
update port_intent set applied_trunk = false, applied_native = 100 where port = 'p1';
select * from bound;
update port_intent set applied_at = now() where port = 'p1';
update port_intent set applied_trunk = true, applied_native = 101, applied_tagged = '100' where port = 'p1';
select * from bound;
update port_intent set applied_trunk = false, applied_native = 99, applied_tagged = '' where port = 'p1';
select * from bound where holds;
update port_intent set applied_native = 100 where port = 'p1';
delete from port_intent;
select count(*) filter (where holds) as holding, count(*) from bound;
\echo each change drew a number
select count(distinct changed) = count(*) as told from port_binding;
\echo a NIC moves, becomes one of a node, and is unplugged
create view plugged as select mac, port, node, valid_to is null as holds from nic_binding order by id;
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:01', 1, 'p1', 90, '{fdb}', now(), now());
update nic_location set seen_at = now(), certainty = 95;
update nic_location set port = 'p2';
select node_put('{"name":"n1","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:01"}]}', false, 'ann') ->> 'result' as made;
delete from nic_location;
select * from plugged;
\echo partitions are made ahead, and go when they are too old
-- In one transaction it is one time: a boundary may have passed since the schema was made.
begin;
select traffic_partitions_turn(now()) \g /dev/null
select traffic_partitions_turn(now()) as again;
commit;
select count(*) > 30 as ahead from pg_inherits i join pg_class p on p.oid = i.inhparent where p.relname like 'traffic\_%\_%' and p.relkind = 'p';
set role peregrine_flowd;
insert into traffic_60_share (step, at, switch_id, port, direction, tenant_id, tenant, network_id, network, vlan, bytes, packets, samples, square)
values (60, now(), 1, 'p1', 'out', 1, 'acme', 1, 'red', 100, 1000, 10, 1, 1e6), (60, now(), 1, 'p1', 'out', 2, 'globex', 2, 'blue', 101, 500, 5, 1, 1e6),
       (60, now(), 1, 'p1', 'out', null, '', null, '', 999, 7, 1, 1, 49);
update traffic_share set reason = 'foreign_vlan';
reset role;
\echo a link is the sum of its shares, by COPY into a step as well; only operators see it
set role peregrine_flowd;
copy traffic_60_share (step, at, switch_id, port, direction, tenant_id, bytes, packets, samples, square) from stdin;
60	now	1	p2	out	1	30	3	1	900
60	now	1	p2	out	2	12	2	1	144
60	now	1	p2	in	1	5	1	1	25
\.
insert into traffic_link values (60, now(), 1, 'p2', 1, 1, 1, 1);
set role portald;
select port, bytes, packets, samples, square from traffic_link order by port;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select count(*) from traffic_link;
select set_config('haas.scope', 'operator', false) \g /dev/null
reset role;
delete from traffic_share where port = 'p2';
\echo a tenant sees its own
set role portald;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select tenant, sum(bytes) from traffic_share group by tenant;
select count(*) from traffic_port;
select set_config('haas.scope', 'operator', false) \g /dev/null
select tenant, sum(bytes) from traffic_share group by tenant order by tenant;
reset role;
select count(*) from traffic_share where at > now() - interval '1 hour';
select traffic_partitions_turn(now() + interval '3 days') > 0 as turned;
select count(*) as left from traffic_share;
\echo a tenant is found by every name that it had, by others not at all
update tenant set name = 'acme-corp' where name = 'acme';
set role portald;
select name, tenant_id from tenant_name order by name;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select name, tenant_id from tenant_name order by name;
insert into tenant_name values ('mine', 1);
select set_config('haas.scope', 'operator', false) \g /dev/null
reset role;
\echo what counters say of samples: of all of the window, of a part, of too little, of more, without samples; a tenant learns the scale alone
insert into traffic_bucket (step, at, writer, from_at, to_at) select 300, at, 'w', at, at + interval '5 min' from generate_series(timestamptz '2026-11-01 10:00Z', '2026-11-01 10:05Z', '5 min') at;
select traffic_partitions_turn('2026-11-01 10:00Z') > 0 as made;
insert into traffic_port (step, at, switch_id, port, seconds, out_bytes, out_sampled)
select 300, timestamptz '2026-11-01 10:00Z' + x.minute * interval '1 min', 1, x.port, x.seconds, x.counted, x.sampled
from (values ('all', 0, 300, 1000, 900), ('all', 5, 300, 1000, 1100), ('part', 0, 400, 1000, 2000), ('little', 5, 300, 1000, 2000), ('more', 5, 1200, 1000, 2000), ('none', 0, 600, 1000, 0),
	('old', 0, 600, 1000, null)) x (port, minute, seconds, counted, sampled);
set role portald;
select port, exact, seconds, scale, round(covered::numeric, 3) from port_scale(300, '2026-11-01 10:00Z', '2026-11-01 10:10Z', null, null) order by port;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select port, exact, seconds, scale, round(covered::numeric, 3) from port_scale(300, '2026-11-01 10:00Z', '2026-11-01 10:10Z', 1, 'part');
\echo and with what a collector has in memory: minutes that the window cuts and those that it has not stored; of the link as much as is told
reset role;
insert into traffic_bucket (step, at, writer, from_at, to_at) values (60, '2026-11-01 10:11Z', 'w:1', '2026-11-01 10:11Z', '2026-11-01 10:12Z');
create view live as select jsonb_build_object('writer', 'w', 'minutes', jsonb_agg(jsonb_build_object('at', extract(epoch from timestamptz '2026-11-01 10:00Z')::bigint + 60 * m.minute, 'cut', m.cut,
	'seconds', 60, 'link', jsonb_build_object('bytes', 100, 'square', 4), 'ports', (select jsonb_agg(jsonb_build_object('switch_id', 1, 'port', p, 'seconds', 60, 'counted', 500, 'sampled', 250))
	from unnest('{all,fresh,more}'::text[]) p)))) as answer from (values (10, false), (11, false), (12, true)) m (minute, cut);
grant select on live to portald;
set role portald;
select port, exact, seconds, scale, round(covered::numeric, 3) from live, port_scale(300, '2026-11-01 10:00Z', '2026-11-01 10:10Z', null, null, answer) order by port;
select port, exact, seconds, scale, round(covered::numeric, 3) from live, port_scale(60, '2026-11-01 10:12Z', '2026-11-01 10:12Z', 1, 'fresh', answer);
select port, exact, seconds, scale, round(covered::numeric, 3) from live, port_scale(60, '2026-11-01 10:12Z', '2026-11-01 10:12Z', 2, 'fresh', answer);
select s.* from live, link_spread(60, '2026-11-01 10:12Z', '2026-11-01 10:12Z', 1, 'fresh', answer) s;
select set_config('haas.scope', 'operator', false) \g /dev/null
select port, exact, seconds, scale from live, port_scale(60, '2026-11-01 10:12Z', '2026-11-01 10:12Z', 1, 'fresh', answer);
reset role;
\echo readings that are near each other say more of a window, those that begin before it or end before it less; before a minute that follows another they are within
insert into traffic_port (step, at, switch_id, port, seconds, out_bytes, out_sampled, interval_s) select 300, '2026-11-01 10:05Z', 1, 'each' || i, 300, 1000, 1000, i from unnest('{1,20,0,60}'::int[]) i;
select port, scale, round(covered::numeric, 3) from port_scale(300, '2026-11-01 10:05Z', '2026-11-01 10:10Z', null, null) where port like 'each%' order by port;
select head, seconds, round(covered::numeric, 3) from (values (0, 20), (4, 20), (20, 20), (4, 16), (4, 9)) w (head, own), port_scale(60, '2026-11-01 10:12Z', '2026-11-01 10:12Z', null, null, jsonb_build_object('writer', 'w', 'minutes',
	jsonb_build_array(jsonb_build_object('at', 1793527920, 'cut', true, 'seconds', 20, 'link', '{}'::jsonb, 'ports',
	jsonb_build_array(jsonb_build_object('switch_id', 1, 'port', 'cut', 'seconds', own, 'counted', 500, 'sampled', 500, 'head', head)))))) order by head, own;
select minutes, seconds, round(covered::numeric, 3) from generate_series(1, 3) minutes, port_scale(60, '2026-11-01 10:12Z', '2026-11-01 10:12Z', null, null, jsonb_build_object('writer', 'w', 'minutes',
	(select jsonb_agg(jsonb_build_object('at', 1793527920 + 60 * i, 'cut', true, 'seconds', 60, 'link', '{}'::jsonb, 'ports',
	jsonb_build_array(jsonb_build_object('switch_id', 1, 'port', 'cut', 'seconds', 50, 'counted', 500, 'sampled', 500, 'head', 10)))) from generate_series(1, minutes) i))) order by minutes;
\echo what differs between the ends of a window, of its first part and its last; to a tenant nothing of that
select minutes, shift from generate_series(1, 2) minutes, port_scale(60, '2026-11-01 10:12Z', '2026-11-01 10:12Z', null, null, jsonb_build_object('writer', 'w', 'minutes',
	(select jsonb_agg(jsonb_build_object('at', 1793527920 + 60 * i, 'cut', true, 'seconds', 60, 'link', '{}'::jsonb, 'ports',
	jsonb_build_array(jsonb_build_object('switch_id', 1, 'port', 'cut', 'seconds', 60, 'counted', 500, 'sampled', 500, 'begin_low', 10 * i, 'begin_high', 12 * i, 'end_low', 10, 'end_high', 15 * i))))
	from generate_series(1, minutes) i))) order by minutes;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select shift from port_scale(300, '2026-11-01 10:00Z', '2026-11-01 10:10Z', 1, 'part');
select set_config('haas.scope', 'operator', false) \g /dev/null
\echo a bucket without its pairs: any may have had all of a share
select traffic_partitions_turn(now()) \g /dev/null
select date_trunc('minute', now()) as minute \gset
insert into traffic_60_share (step, at, switch_id, port, direction, tenant_id, tenant, vlan, bytes, packets, samples, square, floor)
values (60, :'minute', 1, 'p9', 'out', 1, 'acme', 100, 1000, 10, 1, 1e6, 30), (60, :'minute'::timestamptz - interval '1 min', 1, 'p9', 'out', 1, 'acme', 100, 500, 10, 1, 1e6, 20);
set role peregrine_flowd;
select traffic_cut(60, :'minute');
set role portald;
select bytes, floor from traffic_share where port = 'p9' order by bytes;
select traffic_cut(60, now());
reset role;
\echo counters of SNMP: peregrined writes them by COPY, flowd reads them, of people only operators; their partitions go with the rest
select traffic_partitions_turn(now()) \g /dev/null
set role peregrined;
copy traffic_60_counter (at, switch_id, port, seconds, in_bytes, in_errors, up) from stdin;
now	1	p1	60	1000	3	t
\.
delete from traffic_60_counter;
reset role;
set role peregrine_flowd;
select port, seconds, in_bytes, in_errors, out_bytes is null as no_out from traffic_60_counter;
set role portald;
select count(*) from traffic_60_counter;
select count(*) from port_counter;
select set_config('haas.scope', 'tenant', false) \g /dev/null
select count(*) from port_counter;
reset role;
select traffic_partitions_turn(now() + interval '6 days') > 0 as turned;
select count(*) as left from traffic_60_counter;
