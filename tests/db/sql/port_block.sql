select set_config('haas.scope', 'operator', false) \g /dev/null
insert into switch (name) values ('leaf1'), ('leaf2');
insert into tenant (name) values ('acme'), ('globex');
set role portald;
select fabric_put('f1', '{"vlan_low": 100, "vlan_high": 199, "parking_vlan": 4000}', 'ann');
select switch_manage('leaf1', '{"address": "10.0.0.1"}', 'ann'), switch_manage('leaf2', '{"address": "10.0.0.2"}', 'ann');
reset role;
select node_put('{"name":"n1","nics":[{"name":"eth0","mac":"52:54:00:00:00:01","boot":true}]}', false, 'ann') ->> 'result';
update node set state = 'active', tenant_id = 1 where name = 'n1';
select network_create('red', 'tenant', 'acme', null, null, 'ann');
insert into wiring (switch_id, port, node_id, nic) values (1, 'p1', 1, 'eth0');
select node_networks_set(1, '[{"nic": "eth0", "network": 1}]', 'ann'), node_network_set(1, 'tenant', 'bampid') ->> 'ports';
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:01', 2, 'p5', 80, '{fdb}', now(), now());
select switch_id, port, network_id, mode from attachment order by 1, 2;

\echo its cable was moved: the old port is blocked, what is meant for it stays; told twice it is one event
set role peregrined;
select port_block_put('[{"switch_id": 1, "port": "p1", "kind": "moved", "mac": "52:54:00:00:00:01", "version": 1, "message": "moved"}, {"switch_id": 99, "port": "p1", "kind": "moved", "mac": "52:54:00:00:00:01", "version": 1, "message": "no such switch"}]');
select port_block_put('[{"switch_id": 1, "port": "p1", "kind": "moved", "mac": "52:54:00:00:00:01", "version": 1, "message": "moved"}]');
select switch_id, port, kind, mac, wanted_version from port_block;
select switch_id, port, network_id, mode from attachment order by 1, 2;
select node_id, observed_power from bmc;
reset role;
\echo the plan says that it belongs where it is: it is let in there, and its old port is free
select wiring_import('[{"switch": "leaf2", "port": "p5", "node": "n1", "nic": "eth0"}]', false, false, 'ann') ->> 'rows';
select switch_id, port from attachment order by 1, 2; -- two plans for one NIC are none
select wiring_delete('leaf1', 'p1', 'ann');
select switch_id, port, network_id, mode from attachment order by 1, 2;
select switch_id, port, wanted_version from port_intent order by 1, 2;
select kind, subject, message from event where kind like 'port.%' or kind like 'node.not%' order by id;
\echo a MAC that is heard where nothing is planned for it changes nothing; neither does a plan alone
update nic_location set switch_id = 1, port = 'p9';
set role peregrined;
select port_block_put('[{"switch_id": 2, "port": "p5", "kind": "moved", "mac": "52:54:00:00:00:01", "version": 1, "message": "moved"}]');
reset role;
update wiring set port = 'p7' where node_id = 1;
select switch_id, port, network_id, mode from attachment order by 1, 2;
\echo it is back
set role peregrined;
select port_block_put('[]');
select count(*) from port_block;
set role portald;
delete from port_block;
reset role;

\echo what reconcile tells is not cleared by what the fabric tells
insert into alert (key, kind, severity, subject_kind, subject, message) values ('fabric.isolation:f1', 'fabric.isolation', 'critical', 'fabric', 'f1', 'm'),
	('switch.drift:leaf1', 'switch.drift', 'warning', 'switch', 'leaf1', 'm'), ('switch.unreachable:leaf1', 'switch.unreachable', 'warning', 'switch', 'leaf1', 'm');
set role peregrined;
select fabric_alert_put('[]', 60);
select kind, cleared_at is null as open from alert order by id;
