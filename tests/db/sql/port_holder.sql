select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1'), ('leaf2'), ('spine1');
insert into switch_endpoint (switch_id, fabric_id, role, address) select s.id, 1, case when s.name ~ 'spine' then 'spine' else 'leaf' end, host('10.0.0.0'::inet + s.id)::inet from switch s;
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, since, seen_at) values (1, 'up1', 3, 'd1', 'confirmed', 100, now(), now()), (2, 'up1', 3, 'd2', 'confirmed', 100, now(), now());
select node_put(format('{"name":"n%s","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true}], "bmc": {"address": "10.9.9.%1$s"}}', i)::jsonb, false, 'ann') ->> 'result' from generate_series(1, 5) i;
update node set state = 'active', dirty = true, tenant_id = case when name = 'n1' then 1 else 2 end where name in ('n1', 'n2');
insert into wiring (switch_id, port, node_id, nic) values (1, 'e1', 1, 'eth0'), (1, 'e2', 2, 'eth0');
select network_create('red', 'tenant', 'acme', null, null, 'ann'), network_create('blue', 'tenant', 'globex', null, null, 'ann'),
       network_create('pxe', 'provisioning', null, null, null, 'ann'), network_create('q', 'quarantine', null, null, null, 'ann'),
       network_create('more', 'tenant', 'acme', null, null, 'ann');
select node_networks_set(1, '[{"nic": "eth0", "network": 1}]', 'ann') ->> 'ports', node_networks_set(2, '[{"nic": "eth0", "network": 2}]', 'ann') ->> 'ports';
select node_network_set(1, 'tenant', 'bampid') ->> 'ports', node_network_set(2, 'tenant', 'bampid') ->> 'ports';
update port_intent set applied_version = wanted_version;
select switch_id, port, node_id from port_intent order by 1, 2;
select node_network_fault(1);
\echo a person parks no port that a node in use needs; what comes beside it is fine, another mode is not
set role portald;
select port_park('leaf1', 'e1', 'ann');
select attachment_remove('leaf1', 'e1', 1, 'ann');
select attachment_put('leaf1', 'e1', 1, 'tagged', 'ann');
select attachment_put('leaf1', 'e1', 1, 'native', 'ann'), attachment_put('leaf1', 'e1', 5, 'tagged', 'ann'), attachment_remove('leaf1', 'e1', 5, 'ann'), attachment_put('leaf1', 'e1', 1, 'access', 'ann');
select port_park('leaf1', 'e7', 'ann');
\echo no network of the system among tenants
select attachment_put('leaf1', 'e1', 1, 'native', 'ann');
select attachment_put('leaf1', 'e1', 4, 'tagged', 'ann');
select attachment_put('leaf1', 'e1', 1, 'access', 'ann');
select attachment_put('leaf1', 'e7', 4, 'tagged', 'ann'), attachment_remove('leaf1', 'e7', 4, 'ann');
\echo a switch whose ports are in use is neither released nor forgotten, and the last one does not end what its nodes wait for
select switch_release('leaf1', 'ann');
select switch_delete('leaf1', 'ann');
select attachment_put('leaf2', 'e9', 5, 'access', 'ann');
select switch_delete('leaf2', 'ann');
select attachment_remove('leaf2', 'e9', 5, 'ann');
delete from switch where name = 'leaf1';
reset role;
\echo a plan that changes takes nothing from a node in use, and hands its port to nobody
insert into wiring (switch_id, port, node_id, nic) values (1, 'e3', 3, 'eth0');
update wiring set node_id = 3 where port = 'e1';
delete from wiring where port = 'e3';
update node set state = 'reserved', dirty = true, tenant_id = 2 where name = 'n3';
select node_place_ask(3, 'provisioning');
select problem from node_place where node_id = 3;
select node_place_ask(3, 'parking');
select a.port, n.name from attachment a join network n on n.id = a.network_id order by 1;
select node_network_set(1, 'tenant', 'bampid');
select node_network_fault(1);
\echo neither where the node is only heard
insert into wiring (switch_id, port, node_id, nic) values (2, 'e4', 4, 'eth0');
update node set state = 'reserved', dirty = true, tenant_id = 1 where name = 'n4';
update node set state = 'active', tenant_id = 2 where name = 'n5';
insert into node_place values (5, 'tenant');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:05', 2, 'e4', 80, '{fdb}', now(), now());
select node_place_ask(4, 'provisioning');
select problem ->> 'message' from node_place where node_id = 4;
delete from nic_location;
\echo what it was given is taken back where it was given, and is its until that was read
select node_network_set(1, 'parking', 'bampid');
select place, ports, open from node_network_state(1);
select port_release('leaf1', 'e1', 'ann');
select node_place_ask(3, 'provisioning');
select problem ->> 'message' from node_place where node_id = 3;
update port_intent set applied_version = wanted_version where port = 'e1';
select place, ports, open from node_network_state(1);
select node_place_ask(3, 'provisioning');
select problem, (select d.name from port_intent i join node d on d.id = i.node_id where i.port = 'e1') from node_place where node_id = 3;
select node_place_ask(3, 'parking');
update port_intent set applied_version = wanted_version;
\echo a node is not where a switch was, nor where others are heard
select switch_release('leaf2', 'ann');
select s.name, f.port, f.peer from port_former f join switch s on s.id = f.switch_id;
delete from wiring where node_id = 4;
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:04', 3, 'd2', 80, '{fdb}', now(), now());
select port, conflict from node_ports(4);
select node_network_set(4, 'parking', 'bampid');
update nic_location set port = 'x1';
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:05', 3, 'x1', 80, '{fdb}', now(), now());
select port, conflict from node_ports(4);
select node_network_set(4, 'provisioning', 'bampid');
\echo gone for good: said, and the node that was there says so
select switch_release('leaf1', 'ann', true);
select node_network_fault(2) ->> 'message';
select place, ports, open from node_network_state(2);
select message from event where kind in ('switch.abandoned', 'switch.released') order by id;
select switch_delete('leaf1', 'ann'), switch_delete('leaf9', 'ann');
select switch_delete('leaf1', 'ann');
\echo a release that failed waits for a person, and a refusal is told once
insert into pdci (tenant_id, name, request, wanted, state, actor, generation) values (2, 'p', '{"groups": []}', 'absent', 'releasing', 'ann', 1);
insert into pdci_node (pdci_id, node, node_id, group_index, class) values (1, 'n2', 2, 0, ''), (1, 'n5', 5, 0, '');
update node set dirty = true where name = 'n5';
delete from bmc where node_id = 5;
select waits_for from pdci_release_step(1, 1, 'bampid');
update deployment set state = 'failed', due_at = null, ended_at = now(), problem = '{"message": "no answer"}';
select waits_for from pdci_release_step(1, 1, 'bampid');
select waits_for from pdci_release_step(1, 1, 'bampid');
select subject, message from event where kind = 'deployment.refused';
select count(*) from deployment;
