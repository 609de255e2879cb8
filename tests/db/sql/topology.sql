select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex'), ('initech');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99), ('f2', 100, 199, 99);
insert into switch (name) values ('leaf1'), ('leaf2'), ('spine1'), ('spine2'), ('far1'), ('core1');
insert into switch_endpoint (switch_id, fabric_id, role, address)
select s.id, case when s.name = 'far1' then 2 else 1 end, case when s.name ~ 'spine|core' then 'spine' else 'leaf' end, ('10.0.0.0'::inet + s.id)::inet from switch s;
insert into switch_observed (switch_id, family, object_id, text, system, chassis, uptime_ms, reachable, asked_at) select id, '', '', '', name, '', 1, name <> 'spine2', now() from switch where name <> 'core1';
select node_put(format('{"name":"n%s","rack":"r%1$s","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true}]}', i)::jsonb, false, 'ann') ->> 'result' from generate_series(1, 4) i \g /dev/null
update node set state = 'active', dirty = true, tenant_id = case when name = 'n2' then 2 else 1 end where name <> 'n4';
insert into wiring (switch_id, port, node_id, nic) values (1, 'p1', 1, 'eth0'), (1, 'p2', 2, 'eth0'), (2, 'p3', 3, 'eth0'), (5, 'p1', 4, 'eth0');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:01', 1, 'p7', 90, '{fdb}', now(), now());
select network_create('red', 'tenant', 'acme', null, null, 'ann'), network_create('blue', 'tenant', 'globex', null, null, 'ann'), network_create('gray', 'tenant', 'initech', null, null, 'ann') \g /dev/null
insert into network_vlan (fabric_id, vlan, network_id, state) values (1, 101, 1, 'used'), (1, 103, 2, 'used'), (2, 101, 3, 'used');
-- leaf1 to both spines, leaf2 to spine1 by an aggregate of two, both spines to core1. red (101) is on the links of spine1, at spine2 at one end alone; blue (103) is
-- untagged between leaf1 and spine2; up3 has no link.
insert into port_observed (switch_id, name, if_index, admin_up, up, speed_bps, lag, is_lag, trunk, native_vlan, tagged_vlans, seen_at)
select s, p, 1, true, p <> 'up3', case when p = 'ae' then 20000000000 else 10000000000 end, case when p in ('m1', 'm2') then 'ae' else '' end, p = 'ae', true,
       case when (s, p) in ((1, 'up2'), (4, 'dn1')) then 103 end, case when s = 4 then '' when p = 'up3' then '101' else '100-102' end, now()
from (values (1, 'up1'), (1, 'up2'), (1, 'up3'), (2, 'ae'), (2, 'm1'), (2, 'm2'), (3, 'dn1'), (3, 'dn3'), (3, 'ae'), (3, 'm1'), (3, 'm2'), (3, 'up1'), (4, 'dn1'), (4, 'up1'), (6, 'dn1'), (6, 'dn2'),
      (1, 'p1'), (1, 'p2'), (1, 'p7'), (2, 'p3'), (5, 'p1')) v (s, p);
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, evidence, since, seen_at)
select a, ap, b, bp, case when bp = 'dn3' then 'claimed' else 'confirmed' end, 100, case when ap = 'ae' then '{"lag": true, "members": 2}' else '{}' end::jsonb, now(), now()
from (values (1, 'up1', 3, 'dn1'), (1, 'up2', 4, 'dn1'), (1, 'up3', 3, 'dn3'), (3, 'ae', 2, 'ae'), (3, 'm1', 2, 'm1'), (3, 'm2', 2, 'm2'), (3, 'up1', 6, 'dn1'), (4, 'up1', 6, 'dn2')) v (a, ap, b, bp);
select traffic_partitions_turn(now()) \g /dev/null
-- counters of leaf1's uplinks, with an older interval that does not count any more; samples of the aggregate's members, and of a tenant's part of them
insert into traffic_60_counter (at, switch_id, port, seconds, in_bytes, out_bytes, up)
values (now() - interval '20 s', 1, 'up1', 60, 7500000000, 15000000000, true), (now() - interval '80 s', 1, 'up1', 60, 1, 1, true), (now() - interval '10 minutes', 1, 'up2', 60, 1, 1, true),
       (now() - interval '20 s', 1, 'p7', 60, 750000000, null, true);
insert into traffic_bucket (step, at, writer, from_at, to_at) values (60, date_trunc('minute', now()) - interval '1 minute', 'c:1', date_trunc('minute', now()) - interval '1 minute', date_trunc('minute', now()));
insert into traffic_share (step, at, switch_id, port, direction, tenant_id, tenant, network_id, network, vlan, bytes, packets, samples, square)
select 60, date_trunc('minute', now()) - interval '1 minute', s, p, d, t, n, t, '', 101, b, 1, 1, q
from (values (3, 'm1', 'out', 1, 'acme', 750000000, 1e14), (3, 'm2', 'out', 1, 'acme', 750000000, 0), (3, 'm2', 'out', 2, 'globex', 1500000000, 0), (1, 'up1', 'out', 1, 'acme', 1500000000, 0),
      (1, 'p7', 'in', 1, 'acme', 75000000, 0)) v (s, p, d, t, n, b, q);
create function drawn(p json) returns setof text language sql as $$
	select concat_ws(' ', 'switch', w ->> 'name', w ->> 'fabric', w ->> 'role', w ->> 'tier', w ->> 'rack', w ->> 'nodes', w ->> 'state') from json_array_elements(p -> 'switches') w
	union all select concat_ws(' ', 'link', l ->> 'a_switch', l ->> 'a_port', '->', l ->> 'b_switch', l ->> 'b_port', l ->> 'state', l ->> 'up', l ->> 'members', l ->> 'speed_bps',
		'forward', nullif(l ->> 'forward', '')::jsonb - 'at', 'back', nullif(l ->> 'back', '')::jsonb - 'at') from json_array_elements(p -> 'links') l
	union all select concat_ws(' ', 'node', n ->> 'node', n ->> 'nic', n ->> 'switch', n ->> 'port', n ->> 'found', n ->> 'tenant', n ->> 'up', n ->> 'speed_bps', n ->> 'forward_bps', n ->> 'back_bps')
		from json_array_elements(p -> 'nodes') n
	union all select concat_ws(' ', 'tree', t ->> 'tenant', t ->> 'networks', t ->> 'links') from json_array_elements(p -> 'trees') t
$$;
grant execute on function drawn(json) to portald;
set role portald;
\echo all of it; one fabric; one tenant
select drawn(topology(null, null));
select drawn(topology('f2', null));
select drawn(topology(null, 'acme'));
\echo what there is not
select topology('f9', null);
select topology(null, 'umbrella');
\echo a tenant: its own tree, nodes and traffic; nothing of others, whatever it asks for
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select drawn(topology(null, null));
select drawn(topology('f2', 'acme'));
select drawn(topology('f9', 'acme'));
select topology(null, 'globex');
select port_series('leaf1', 'up1', now(), '1 hour', 60);
\echo nobody
select set_config('haas.tenant', '', false) \g /dev/null
select topology(null, null);
select set_config('haas.scope', 'operator', false) \g /dev/null
\echo counters over time: two minutes of ten, a port that said nothing, ports that are not there
select s ->> 'step_s', s ->> 'source', s ->> 'speed_bps', jsonb_array_length(s #> '{out,mean}'), (select count(*) from jsonb_array_elements(s #> '{out,mean}') v where v <> 'null'),
	(select max(v::bigint) from jsonb_array_elements_text(s #> '{out,high}') v), (select min(v::bigint) from jsonb_array_elements_text(s #> '{out,low}') v)
from port_series('leaf1', 'up1', now(), '10 minutes', 60) s;
select s ->> 'step_s', jsonb_array_length(s #> '{in,mean}') from port_series('leaf1', 'up1', now(), '10 minutes', 3) s;
select s ->> 'step_s', s ->> 'source', jsonb_array_length(s -> 'errors') from port_series('leaf2', 'ae', now(), '30 days', 100) s;
select port_series('leaf1', 'up9', now(), '1 hour', 60);
select port_series('leaf9', 'up1', now(), '1 hour', 60);
