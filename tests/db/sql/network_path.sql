select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99), ('f2', 100, 199, 99);
insert into switch (name) values ('leaf1'), ('leaf2'), ('spine1'), ('spine2'), ('far1');
insert into switch_endpoint (switch_id, fabric_id, role, address)
select s.id, case when s.name = 'far1' then 2 else 1 end, case when s.name ~ 'spine' then 'spine' else 'leaf' end, ('10.0.0.0'::inet + s.id)::inet from switch s;
insert into switch_observed (switch_id, family, object_id, text, system, chassis, uptime_ms, reachable, asked_at) select id, '', '', '', name, '', 1, true, now() from switch;
select node_put(format('{"name":"n%s","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true},{"name":"eth1","mac":"52:54:00:00:01:0%1$s"}]}', i)::jsonb,
		false, 'ann') ->> 'result' from generate_series(1, 5) i \g /dev/null
update node set state = 'active', dirty = true, tenant_id = case when name = 'n2' then 2 else 1 end;
insert into wiring (switch_id, port, node_id, nic) values (1, 'p1', 1, 'eth0'), (1, 'p2', 2, 'eth0'), (2, 'p3', 3, 'eth0'), (2, 'p4', 3, 'eth1'), (1, 'p5', 4, 'eth0'), (5, 'p1', 5, 'eth0');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:01', 1, 'p1', 90, '{fdb}', now(), now());
select network_create('red', 'tenant', 'acme', null, null, 'ann'), network_create('lab', 'tenant', 'acme', null, null, 'ann'), network_create('blue', 'tenant', 'globex', null, null, 'ann') \g /dev/null
insert into network_vlan (fabric_id, vlan, network_id, state) values (1, 101, 1, 'used'), (1, 102, 2, 'used'), (1, 103, 3, 'used'), (2, 101, 1, 'used');
insert into vni_binding (vni, network_id) values (5001, 1);
-- leaf1 to spine1 and spine2 by one cable, leaf2 to spine1 by an aggregate of two, to spine2 by one. The tree of red and lab is over spine1.
insert into port_observed (switch_id, name, if_index, mac, admin_up, up, speed_bps, lag, is_lag, trunk, tagged_vlans, seen_at)
select s, p, 1, null, true, true, 10000000000, case when p in ('m1', 'm2') then 'ae' else '' end, p = 'ae', true, case when s in (1, 2) and p like 'up2' or s = 4 then '' else '101-102' end, now()
from (values (1, 'up1'), (1, 'up2'), (2, 'ae'), (2, 'm1'), (2, 'm2'), (2, 'up2'), (3, 'dn1'), (3, 'ae'), (3, 'm1'), (3, 'm2'), (4, 'dn1'), (4, 'dn2'),
      (1, 'p1'), (1, 'p2'), (2, 'p3'), (2, 'p4'), (1, 'p5'), (5, 'p1')) v (s, p);
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, evidence, since, seen_at)
select a, ap, b, bp, 'confirmed', 100, case when ap = 'ae' then '{"lag": true, "members": 2}' else '{}' end::jsonb, now(), now()
from (values (1, 'up1', 3, 'dn1'), (1, 'up2', 4, 'dn1'), (3, 'ae', 2, 'ae'), (3, 'm1', 2, 'm1'), (3, 'm2', 2, 'm2'), (4, 'dn2', 2, 'up2')) v (a, ap, b, bp);
select attachment_put('leaf1', 'p1', 1, 'native', 'ann'), attachment_put('leaf1', 'p1', 2, 'tagged', 'ann'), attachment_put('leaf2', 'p3', 1, 'access', 'ann'),
       attachment_put('leaf2', 'p4', 2, 'access', 'ann'), attachment_put('leaf1', 'p2', 3, 'access', 'ann'), attachment_put('far1', 'p1', 1, 'access', 'ann') \g /dev/null
update port_intent set applied_version = wanted_version;
create function drawn(p jsonb) returns setof text language sql as $$
	select x from jsonb_array_elements(p -> 'paths') w, lateral (
		select 0 as n, concat_ws(' ', w ->> 'network', w ->> 'fabric', w ->> 'vlan', w ->> 'vni', w ->> 'state', w ->> 'problem', nullif(w ->> 'notes', '[]')) as x
		union all select n, concat_ws(' ', '  ' || (h ->> 'kind'), coalesce(h #>> '{a,node}', h #>> '{a,switch}'), coalesce(h #>> '{a,nics}', h #>> '{a,port}'), '->',
			coalesce(h #>> '{b,node}', h #>> '{b,switch}'), coalesce(h #>> '{b,nics}', h #>> '{b,port}'), h ->> 'state', h ->> 'certainty', h ->> 'up', h ->> 'speed_bps',
			nullif(h ->> 'members', '[]'), nullif(h ->> 'faults', '[]'))
		from jsonb_array_elements(w -> 'hops') with ordinality e (h, n)) y order by w ->> 'network', n
$$;
grant execute on function drawn(jsonb) to portald;
set role portald;
\echo whole: both networks over spine1, with the members of its aggregate; and the other way round
select drawn(network_path('acme', 'n1', 'n3', null));
select drawn(network_path('acme', 'n3', 'n1', 'red'));
\echo no common network, a node of somebody else, no such node, network, tenant; one node twice
\set VERBOSITY default
select network_path('acme', 'n1', 'n4', null);
\set VERBOSITY terse
select network_path('acme', 'n1', 'n2', null);
select network_path('acme', 'n1', 'n9', null);
select network_path('acme', 'n1', 'n3', 'blue');
select network_path('umbrella', 'n1', 'n3', null);
select network_path('acme', 'n1', 'n1', null);
\echo another fabric
select drawn(network_path('acme', 'n1', 'n5', null));
\echo cut: one end of the tree was changed by somebody, a cable is out, a port is not set up; a silent switch is said
reset role;
update port_observed set tagged_vlans = '102' where switch_id = 3 and name = 'ae';
update switch_observed set reachable = false where switch_id = 3;
set role portald;
select drawn(network_path('acme', 'n1', 'n3', null));
\echo what was read back later counts
reset role;
insert into uplink_applied (switch_id, port, tagged, applied_at) values (3, 'ae', '101-102', now() + interval '1 second');
set role portald;
select drawn(network_path('acme', 'n1', 'n3', 'red'));
reset role;
delete from uplink_applied;
update port_observed set up = false where switch_id = 1 and name = 'up1';
update port_intent set wanted_version = wanted_version + 1, problem = '{"message": "leaf2 refused it"}' where switch_id = 2 and port = 'p3';
set role portald;
select drawn(network_path('acme', 'n1', 'n3', 'red'));
\echo its tenant sees no link that is not of its tree, and nothing of another tenant
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select drawn(network_path('acme', 'n1', 'n3', 'red'));
select network_path('globex', 'n2', 'n1', null);
select network_path('acme', 'n1', 'n2', null);
reset role;
delete from link;
update port_observed set up = true;
set role portald;
select set_config('haas.scope', 'operator', false) \g /dev/null
\echo no cable at all
select drawn(network_path('acme', 'n1', 'n3', 'red'));
\echo too many networks for one answer: one has to be named
reset role;
insert into network (name, kind, tenant_id) select 'many' || i, 'tenant', 1 from generate_series(1, 33) i;
insert into network_vlan (fabric_id, vlan, network_id, state) select 1, 110 + substr(name, 5)::integer, id, 'used' from network where name ~ '^many';
insert into attachment (switch_id, port, network_id, mode) select v.s, v.p, n.id, 'tagged' from network n, (values (1, 'p1'), (2, 'p4')) v (s, p) where n.name ~ '^many';
set role portald;
select network_path('acme', 'n1', 'n3', null);
select network_path('acme', 'n1', 'n3', 'many7') #>> '{paths,0,problem}';
reset role;
\echo a large fabric: of its 1,000 links those near the two ends are looked at; a detour is found all the same, and a cut that few links show needs no other
delete from link;
delete from port_observed where switch_id = 3;
update network_vlan set vlan = 101 where network_id = 1 and fabric_id = 1;
insert into switch (name) select 'l' || i from generate_series(100, 1099) i;
insert into switch_endpoint (switch_id, fabric_id, role, address) select id, 1, 'leaf', ('10.1.0.0'::inet + id)::inet from switch where name ~ '^l[0-9]';
insert into port_observed (switch_id, name, if_index, admin_up, up, speed_bps, trunk, tagged_vlans, seen_at)
select case e when 'dn' then 3 else s.id end, case e when 'dn' then e || s.id else e end, 1, true, true, 1000, true, '101', now() from switch s, unnest('{dn,up1}'::text[]) e where s.name ~ '^l(eaf)?[0-9]' on conflict do nothing;
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, since, seen_at) select id, 'up1', 3, 'dn' || id, 'confirmed', 100, now(), now() from switch where name ~ '^l(eaf)?[0-9]';
update port_observed set up = true, tagged_vlans = '101' where switch_id in (1, 2, 3);
update port_intent set applied_version = wanted_version, problem = null;
update switch_observed set reachable = true;
select cardinality(near_links('{1,2}', 1)) as near, near_links('{1,2}', 2) is null as too_many;
set role portald;
select drawn(network_path('acme', 'n1', 'n3', 'red'));
reset role;
update port_observed set tagged_vlans = '' where switch_id = 3 and name = 'dn1';
insert into port_observed (switch_id, name, if_index, admin_up, up, speed_bps, trunk, tagged_vlans, seen_at) select s, p, 1, true, true, 1000, true, '101', now() from (values (1, 'x'), (10, 'x'), (11, 'x'), (10, 'y'), (11, 'y'), (12, 'y')) v (s, p);
select vlan_cut_off(1, 101, 1, 2), vlan_cut_off(1, 101, 2, 1), vlan_cut_off(1, 101, 1, 3);
set role portald;
select drawn(network_path('acme', 'n1', 'n3', 'red'));
reset role;
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, since, seen_at) values (1, 'x', 10, 'x', 'confirmed', 100, now(), now()), (10, 'y', 11, 'x', 'confirmed', 100, now(), now());
select vlan_cut_off(1, 101, 1, 2);
set role portald;
select drawn(network_path('acme', 'n1', 'n3', 'red'));
reset role;
