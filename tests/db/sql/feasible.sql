do $$ begin if not exists (select from pg_roles where rolname = 'golden_stored') then create role golden_stored login in role bampi_stored; end if; end $$;
\echo a site: two storages, a fabric of four numbers, nodes at a leaf
insert into tenant (name) values ('acme'), ('globex');
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, public)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1, true);
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('main', 1300, 1303, 4000);
insert into switch (name) select 'leaf' || i from generate_series(1, 3) i;
insert into switch_endpoint (switch_id, fabric_id, address, managed) select id, 1, ('10.0.0.' || id)::inet, name <> 'leaf3' from switch;
insert into switch_observed (switch_id, family, object_id, text, system, chassis, uptime_ms, reachable, asked_at, vlans)
select id, '', '', '', '', '', 0, true, now(), case name when 'leaf1' then '{1,100,1303}'::integer[] else '{1}' end from switch;
insert into node (name, class, state) select 'n' || i, 'gpu', 'free' from generate_series(1, 8) i;
insert into nic (mac, node_id, name, boot) select ('02:00:00:00:00:0' || id)::macaddr, id, 'eth0', true from node;
insert into bmc (node_id, driver, address) select id, 'sim', ('10.9.0.' || id)::inet from node;
insert into wiring (node_id, nic, switch_id, port) select id, 'eth0', case when name = 'n4' then 3 else 1 end, 'p' || id from node where name not in ('n6', 'n8');
insert into wiring (node_id, nic, switch_id, port) values (7, 'bmc', 1, 'p6');
select set_config('haas.scope', 'operator', false);
select storage_put('s1', '{"portal": "10.0.0.1:3260", "capacity_bytes": 10485760}', 'ann'), storage_put('s2', '{"portal": "10.0.0.2:3260", "capacity_bytes": 4194304, "login": "golden_stored"}', 'ann');
select network_create('provisioning', 'provisioning', null, null, null, 'ann');
insert into network_vlan (fabric_id, vlan, network_id, state) values (1, 1300, 1, 'used');
create function wish(p_more text default '{}') returns jsonb language sql as $$ select '{"groups": [{"class": "gpu", "count": 1, "image": "demo"}]}'::jsonb || p_more::jsonb $$;
grant execute on function wish(text) to portald;
create function tried(p_request jsonb) returns text language plpgsql as $$
declare
	v_dry text;
	v_real text;
begin
	begin
		v_dry := (select coalesce(string_agg(x ->> 'why', '; ') , 'possible') from jsonb_array_elements(pdci_try('acme', 'one', p_request, 'ann') -> 'volumes') x);
	exception when others then
		v_dry := sqlstate || ' ' || sqlerrm;
	end;
	begin
		perform pdci_create('acme', 'one', p_request, 'ann');
		raise exception 'possible' using errcode = 'HA001';
	exception when sqlstate 'HA001' then
		v_real := 'possible';
	when others then
		v_real := sqlstate || ' ' || sqlerrm;
	end;
	return case when v_real in (v_dry, 'HA409 ' || v_dry) then 'both: ' || v_real else format('tried: %s; asked for: %s', v_dry, v_real) end;
end
$$;
\echo a try says what the request itself would be told, and leaves nothing behind
select tried(wish(r || '}')) from (values
	(1, '{'), (2, '{"networks": [{"name": "front", "prefix": "10.1.0.0/24"}]'), (3, '{"groups": [{"class": "gpu", "count": 1, "image": "none"}]'),
	(4, '{"params": {"packages": ["cuda:1"]}'), (5, '{"networks": [{"name": "provisioning"}]'),
	(6, '{"volumes": [{"volume": "nope"}]'), (7, '{"volumes": [{"name": "data", "archive": "nope"}]'),
	(8, '{"volumes": [{"name": "data", "size_bytes": 10485760}]'), (9, '{"volumes": [{"name": "data", "size_bytes": 10489856}]'),
	(10, '{"volumes": [{"name": "a", "size_bytes": 8388608}, {"name": "b", "size_bytes": 4194304}]'),
	(11, '{"volumes": [{"name": "a", "size_bytes": 8388608}, {"name": "b", "size_bytes": 4198400}]'),
	(12, '{"volumes": [{"name": "a", "size_bytes": 8388608}, {"name": "a", "size_bytes": 1048576}]'),
	(13, '{"volumes": [{"name": "data", "size_bytes": 4198400, "storage": "s2"}]')) x (i, r) order by i;
select pdci_try('acme', 'one', wish('{"volumes": [{"name": "a", "size_bytes": 8388608}, {"name": "b", "size_bytes": 8388608}, {"name": "c", "size_bytes": 4194304}]}'), 'ann');
select pdci_try('nobody', 'one', wish(), 'ann');
select pdci_create('acme', 'one', wish('{"volumes": [{"name": "data", "size_bytes": 10489856}]}'), 'ann');
select (select count(*) from pdci), (select count(*) from volume), (select count(*) from network), (select count(*) from event where subject_kind in ('pdci', 'volume'));
\echo a tenant tries for itself, with what it has, and not for another
set role portald;
select set_config('haas.scope', '', false), set_config('haas.tenant', '1', false);
select volume_create(null, '{"name": "mine", "size_bytes": 1048576}', 'acme') is not null;
select pdci_try('acme', 'one', wish('{"volumes": [{"volume": "mine"}]}'), 'acme');
select pdci_try('globex', 'one', wish(), 'acme');
select set_config('haas.tenant', '2', false);
select pdci_try(null, 'one', wish('{"volumes": [{"volume": "mine"}]}'), 'globex');
reset role;
select set_config('haas.scope', 'operator', false), set_config('haas.tenant', '', false);
\echo numbers: one is used, one is on a switch and nobody uses it there; what a network waits for is spoken for
select name, free, resting from fabric_numbers(null);
select why from vlan_short(null, wish('{"networks": [{"name": "a"}, {"name": "b"}]}'), 0);
select why from vlan_short(null, wish('{"networks": [{"name": "a"}, {"name": "b"}]}'), 1);
select why from vlan_short(null, wish(), 0);
select why from vlan_short(null, '{"groups": [{"count": 1, "nics": [{"nic": "eth0", "network": "a"}]}], "networks": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}', 0);
select pdci_create('globex', 'two', wish('{"networks": [{"name": "a"}, {"name": "b"}]}'), 'ann') as two \gset
select count(*) from vlan_short(:two, (select request from pdci where id = :two), 0);
select pdci_allocate(:two, 0, '[{"group": 0, "node": 1}]', 'bampid');
select free from fabric_numbers(null);
select free from fabric_numbers(:two);
select pdci_create('acme', 'three', wish('{"networks": [{"name": "c"}]}'), 'ann') as three \gset
select why from vlan_short(:three, (select request from pdci where id = :three), 0);
select pdci_allocate(:three, 0, '[{"group": 0, "node": 2}]', 'bampid');
select name, state from node where name = 'n2';
insert into network_vlan (fabric_id, vlan, network_id, state) select 1, 1301, id, 'used' from network where name = 'a';
insert into network_vlan (fabric_id, vlan, state, until) values (1, 1302, 'quarantine', now() + interval '1 hour');
select why from vlan_short(:three, (select request from pdci where id = :three), 0);
select why from vlan_short(:two, (select request from pdci where id = :two), 0);
\echo ports: what a free node is not chosen for is what isolate would be refused
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, since, seen_at) values (1, 'p5', 2, 'up', 'confirmed', 100, now(), now());
insert into port_intent (switch_id, port, node_id) values (1, 'p2', 1);
insert into nic (mac, node_id, name) values ('02:00:00:00:00:99', 1, 'eth1');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at)
values ('02:00:00:00:00:99', 1, 'p7', 80, '{fdb}', now(), now()), ('02:00:00:00:00:03', 2, 'p9', 80, '{fdb}', now(), now()), ('02:00:00:00:00:06', 1, 'p6', 80, '{fdb}', now(), now());
select n.name, node_port_fault(n.id) from node n order by n.name;
select node_place_ask(n.id, 'provisioning') from node n where n.name <> 'n1' order by n.name;
select n.name, w.problem ->> 'message' from node n join node_place w on w.node_id = n.id where n.name <> 'n1' order by n.name;
