select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1'), ('leaf2'), ('spine1'), ('lone');
insert into switch_endpoint (switch_id, fabric_id, role, address) select s.id, 1, case when s.name ~ 'spine' then 'spine' else 'leaf' end, host('10.0.0.0'::inet + s.id)::inet
from switch s where s.name <> 'lone';
select node_put(format('{"name":"n%s","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true},{"name":"eth1","mac":"52:54:00:00:01:0%1$s"}]}', i)::jsonb,
		false, 'ann') ->> 'result' from generate_series(1, 3) i;
update node set state = 'active', dirty = true, tenant_id = 1 where name = 'n1';
update node set state = 'active', dirty = true, tenant_id = 2 where name = 'n2';
update node set state = 'free' where name = 'n3';
insert into wiring (switch_id, port, node_id, nic) values (1, 'e1', 1, 'eth0'), (2, 'e1', 1, 'eth1'), (1, 'e2', 2, 'eth0');
insert into wiring (switch_id, port, peer_switch_id, peer_port) values (1, 'up1', 3, 'd1');
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, since, seen_at) values (2, 'up1', 3, 'd2', 'confirmed', 100, now(), now());
\echo networks: a tenant makes its own, the system has those of the operator
select network_create('red', 'tenant', 'acme', '10.9.0.0/24', null, 'ann'), network_create('blue', 'tenant', 'globex', null, null, 'ann'),
       network_create('pxe', 'provisioning', null, null, null, 'ann');
select network_create('red', 'tenant', 'acme', null, null, 'ann');
select network_create('red', 'tenant', 'globex', null, null, 'ann');
select network_create('x', 'bmc', 'acme', null, null, 'ann');
select network_create('x', 'tenant', null, null, null, 'ann');
set role portald;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select network_create('lab', 'tenant', 'acme', null, null, 'tom');
select network_create('lab', 'tenant', 'globex', null, null, 'tom');
select network_create('x', 'provisioning', null, null, null, 'tom');
select network_delete(2, 'tom');
select name from network order by name;
select attachment_put('leaf1', 'e1', 1, 'access', 'tom');
select set_config('haas.scope', 'operator', false) \g /dev/null
\echo a port: one door, every version counted, nothing bumped for nothing
select attachment_put('leaf1', 'e1', 1, 'access', 'ann'), attachment_put('leaf1', 'e1', 1, 'access', 'ann');
select port, wanted_version, applied_version from port_intent;
select attachment_put('leaf1', 'e1', 6, 'tagged', 'ann');
select attachment_put('leaf1', 'e1', 1, 'native', 'ann'), attachment_put('leaf1', 'e1', 6, 'tagged', 'ann');
select attachment_put('leaf1', 'e1', 6, 'native', 'ann');
select n.name, a.mode from attachment a join network n on n.id = a.network_id order by 1;
select port, wanted_version from port_intent;
\echo refused: a port that leads to a switch, a switch that is not managed, a node of somebody else, a network that is not there
select attachment_put('leaf1', 'up1', 1, 'access', 'ann');
select attachment_put('leaf2', 'up1', 1, 'access', 'ann');
select attachment_put('lone', 'e1', 1, 'access', 'ann');
select attachment_put('leaf1', 'e2', 1, 'access', 'ann');
select attachment_put('leaf1', 'e3', 77, 'access', 'ann');
select attachment_put('leaf9', 'e3', 1, 'access', 'ann');
select attachment_remove('leaf1', 'e1', 2, 'ann');
\echo the last one leaves the port parked and ours; released it is neither
select attachment_remove('leaf1', 'e1', 6, 'ann'), attachment_remove('leaf1', 'e1', 1, 'ann');
select count(*) from attachment;
select port, wanted_version from port_intent;
select port_park('leaf2', 'e9', 'ann'), port_park('leaf2', 'e9', 'ann');
select attachment_put('leaf2', 'e9', 1, 'access', 'ann');
select port_release('leaf2', 'e9', 'ann');
select attachment_remove('leaf2', 'e9', 1, 'ann');
select port_release('leaf2', 'e9', 'ann');
select port_release('leaf2', 'e9', 'ann');
reset role;
\echo a node: NICs and ports by the plan; places of its life
select nic, boot, switch_id, port, conflict from node_ports(1) order by 1;
select node_networks_set(1, '[{"nic":"eth0","network":1,"mode":"native"},{"nic":"eth0","network":6,"mode":"tagged"},{"nic":"eth1","network":1}]', 'ann');
select node_networks_set(1, '[{"nic":"eth0","network":2}]', 'ann');
select node_networks_set(1, '[{"nic":"eth7","network":1}]', 'ann');
select node_networks_set(1, '[{"nic":"eth0","network":1},{"nic":"eth0","network":6}]', 'ann');
set role bampid;
select node_network_set(1, 'provisioning', 'bampid');
select * from node_network_state(1);
reset role;
select s.name, a.port, n.name, a.mode from attachment a join switch s on s.id = a.switch_id join network n on n.id = a.network_id order by 1, 2, 3;
set role bampid;
select node_network_set(1, 'tenant', 'bampid'), node_network_set(1, 'tenant', 'bampid') ->> 'changed';
select node_network_set(1, 'heaven', 'bampid');
reset role;
select s.name, a.port, n.name, a.mode from attachment a join switch s on s.id = a.switch_id join network n on n.id = a.network_id order by 1, 2, 3;
update port_intent set applied_version = wanted_version where port = 'e1' and switch_id = 1;
update port_intent set problem = '{"message":"no answer"}' where port = 'e1' and switch_id = 2;
select * from node_network_state(1);
\echo its networks change while it is there: its ports follow; then it leaves
select node_networks_set(1, '[{"nic":"eth0","network":1}]', 'ann');
select s.name, a.port, n.name, a.mode from attachment a join switch s on s.id = a.switch_id join network n on n.id = a.network_id order by 1, 2, 3;
select network_delete(1, 'ann');
select node_network_set(1, 'parking', 'bampid');
select count(*) from attachment;
select network_delete(1, 'ann');
select node_networks_set(1, '[]', 'ann');
select network_delete(1, 'ann');
select network_delete(1, 'ann');
select wanted, version from network where id = 1;
\echo found elsewhere than planned: nothing is concluded
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:01', 2, 'e5', 90, '{fdb}', now(), now());
select node_network_set(1, 'provisioning', 'bampid');
select node_network_set(1, 'parking', 'bampid');
\echo found and not planned: that is where it is; unknown NICs are named
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:03', 2, 'e7', 90, '{fdb}', now(), now());
select node_network_set(3, 'provisioning', 'bampid');
select node_network_set(99, 'parking', 'bampid');
\echo without switches there is nothing to do
update switch_endpoint set managed = false;
select node_network_set(2, 'provisioning', 'bampid');
select kind, subject, tenant_id, message from event where kind ~ '^(network|port)\.' order by id;
