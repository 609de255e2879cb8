-- Security notes, S16: the MAC that an agent read from its BMC is the node's own word; a tenant names its port's MAC there.
select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1');
insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', '10.0.0.1');
select node_put(format('{"name":"n%s","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true}], "bmc": {"address": "10.9.9.%1$s"}}', i)::jsonb, false, 'ann') ->> 'result' from generate_series(1, 3) i;
select network_create('red', 'tenant', 'acme', null, null, 'ann');
insert into wiring (switch_id, port, node_id, nic) select 1, 'p' || i, i, 'eth0' from generate_series(1, 2) i;
update node set state = 'active', dirty = true, tenant_id = 1 where name in ('n1', 'n2');
select node_networks_set(i, '[{"nic": "eth0", "network": 1}]', 'ann') ->> 'ports', node_network_set(i, 'tenant', 'bampid') ->> 'ports' from generate_series(1, 2) i;
create view ports as select a.port, n.name from attachment a join network n on n.id = a.network_id order by 1, 2;
select * from ports;
\echo a tenant names a MAC of its own as that of its BMC: its port is none, and is taken back
insert into node_inventory (node_id, data) values (1, '{"bmc": {"address": "10.9.9.1", "mac": "52:54:00:EE:00:01"}}');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:ee:00:01', 1, 'p1', 90, '{fdb}', now(), now());
select port_bmc(1, 'p1');
select node_network_apply(1, 'parking', 'bampid');
select * from ports;
\echo a tenant sends with the MAC that its BMC has its lease for: what was given is taken back all the same
insert into subnet (name, prefix, boot_server) values ('ipmi', '10.9.9.0/24', '10.9.9.254');
insert into lease (address, mac, subnet_id, expires_at) values ('10.9.9.2', '52:54:00:ee:00:02', 1, now() + interval '1 hour');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:ee:00:02', 1, 'p2', 90, '{fdb}', now(), now());
select port_bmc(1, 'p2');
select node_network_apply(2, 'parking', 'bampid');
select * from ports;
\echo a BMC by its lease, or by the reservation of its address; not by a lease that has ended
update nic_location set port = 'b2' where mac = '52:54:00:ee:00:02';
insert into reservation (mac, subnet_id, address) values ('52:54:00:ee:00:03', 1, '10.9.9.3');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:ee:00:03', 1, 'b3', 90, '{fdb}', now(), now());
select port, port_bmc(1, port) from unnest(array['b2', 'b3']) port;
select port_networks_apply(1, 'b2', '{1}', '{access}', 'ann');
update lease set state = 'released';
select port, port_bmc(1, port) from unnest(array['b2', 'b3']) port;
