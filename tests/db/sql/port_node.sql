select set_config('haas.scope', 'operator', false) \g /dev/null
insert into switch (name) values ('leaf1');
insert into tenant (name) values ('acme'), ('globex');
set role portald;
select fabric_put('f1', '{"vlan_low": 100, "vlan_high": 199, "parking_vlan": 4000}', 'ann');
select switch_manage('leaf1', '{"address": "10.0.0.1"}', 'ann');
reset role;
select node_put(format('{"name":"n%s","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%s","boot":true}]}', i, i)::jsonb, false, 'ann') ->> 'result' from generate_series(1, 3) i;
select network_create('prov', 'provisioning', null, null, null, 'ann'), network_create('red', 'tenant', 'acme', null, null, 'ann'),
       network_create('blue', 'tenant', 'globex', null, null, 'ann'), network_create('q', 'quarantine', null, null, null, 'ann');
create function at(p_node bigint, p_port text) returns void language sql as
$$ insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) select c.mac, 1, p_port, 80, '{fdb}', now(), now() from nic c where c.node_id = p_node
   on conflict (mac) do update set port = excluded.port $$;
create view ports as select a.port, n.name, a.mode, (select d.name from node d where d.id = port_holder(a.switch_id, a.port)) as holder from attachment a join network n on n.id = a.network_id order by 1, 2;

\set VERBOSITY sqlstate
\echo n2 is used by globex, at p2
update node set state = 'active', tenant_id = 2, dirty = true where name = 'n2';
select at(2, 'p2');
select node_networks_set(2, '[{"nic": "eth0", "network": 3, "mode": "tagged"}]', 'ann') ->> 'ports', node_network_set(2, 'tenant', 'bampid') ->> 'ports';
select * from ports;

\echo n1, which is free and silent, is heard there, too: anybody can send so. It is let into nothing
select at(1, 'p2');
update node set state = 'reserved', tenant_id = 1, dirty = true where name = 'n1';
select node_network_set(1, 'provisioning', 'bampid');
select * from ports;
select port_networks_apply(1, 'p2', '{1}', '{access}', 'ann');
select port_networks_apply(1, 'p2', '{2}', '{access}', 'ann');
update nic_location set port = 'p1' where mac = '52:54:00:00:00:01';

\echo n3 is planned there by a wrong line
insert into wiring (switch_id, port, node_id, nic) values (1, 'p2', 3, 'eth0');
update node set state = 'reserved', tenant_id = 1, dirty = true where name = 'n3';
select node_network_set(3, 'provisioning', 'bampid');
select * from ports;

\echo no network of the system at the port of a rented node
select attachment_put('leaf1', 'p2', 4, 'tagged', 'ann');
select attachment_put('leaf1', 'p2', 1, 'tagged', 'ann');
select * from ports;

\echo its port was parked and read; it still runs, and the port is still its own
delete from wiring;
select node_network_set(2, 'parking', 'bampid') ->> 'changed';
update port_intent set applied_version = wanted_version;
select port_holder(switch_id, port) from port_intent where port = 'p2';
insert into wiring (switch_id, port, node_id, nic) values (1, 'p2', 3, 'eth0');
select node_network_set(3, 'provisioning', 'bampid');
\echo its tenant is gone, what it left may run on
update node set state = 'held', tenant_id = null where name = 'n2';
select node_network_set(3, 'provisioning', 'bampid');
select port_holder(1, 'p2'), port_holder(1, 'p1'), port_holder(1, 'p9');
\echo until the node is known to be off, or was erased
insert into bmc (node_id, driver, address, observed_power) values (2, 'sim', '10.1.0.2', 'on');
select node_network_set(3, 'provisioning', 'bampid');
update bmc set observed_power = 'off';
select node_network_set(3, 'provisioning', 'bampid') ->> 'changed';
select port, name, mode from ports;
