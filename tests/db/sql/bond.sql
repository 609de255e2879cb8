select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1'), ('leaf2');
insert into switch_endpoint (switch_id, fabric_id, role, address) select s.id, 1, 'leaf', host('10.0.0.0'::inet + s.id)::inet from switch s;
-- n1, n2: bonded ports on leaf1. n3: NICs of their own. n4: on two switches. n5: no aggregate. n6: one NIC. n7, n8: spares like n1
select node_put(format('{"name":"n%s","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true}%2$s]}', i,
		       case when i <> 6 then format(',{"name":"eth1","mac":"52:54:00:00:01:0%s"}', i) else '' end)::jsonb, false, 'ann') ->> 'result' from generate_series(1, 8) i;
update node set state = 'free', rack = 'r1';
insert into bmc (node_id, driver, address) select id, 'sim', ('10.9.0.' || id)::inet from node;
insert into wiring (switch_id, port, node_id, nic) select 1, 'p' || i, i, 'eth0' from generate_series(1, 8) i;
insert into wiring (switch_id, port, node_id, nic) select case when i = 4 then 2 else 1 end, 'q' || i, i, 'eth1' from generate_series(1, 8) i where i <> 6;
insert into port_observed (switch_id, name, if_index, admin_up, up, lag, seen_at)
select w.switch_id, w.port, w.node_id * 10 + (w.nic = 'eth1')::integer, true, true, case when w.node_id in (1, 2, 7, 8) then 'lag' || w.node_id else '' end, now() from wiring w;
insert into port_observed (switch_id, name, if_index, admin_up, up, is_lag, seen_at) select 1, 'lag' || i, 100 + i, true, true, true, now() from unnest(array[1, 2, 7, 8]) i;
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at)
values ('52:54:00:00:00:01', 1, 'lag1', 90, '{fdb}', now(), now()), ('52:54:00:00:01:01', 1, 'p1', 90, '{lldp}', now(), now()), ('52:54:00:00:00:03', 1, 'lag1', 90, '{fdb}', now(), now());
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, public)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1, true);
select network_create('pxe', 'provisioning', null, null, null, 'ann'), network_create('ipmi', 'bmc', null, null, null, 'ann');
\echo found behind the aggregate of its port, or behind its other member: no conflict; behind another one: a conflict
select nic, port, carrier, conflict from node_ports(1) union all select nic, port, carrier, conflict from node_ports(3) order by 1, 2;
\echo who fits: yes, no such NIC, two switches, no aggregate, an aggregate that is not asked for
\set bonded '{"groups": [{"class": "gpu", "count": 1, "image": "demo", "bonds": [{"name": "bond0", "nics": ["eth0", "eth1"]}], "nics": [{"nic": "bond0", "network": "front", "mode": "native"}, {"nic": "bond0", "network": "back", "mode": "tagged"}]}, {"count": 1, "image": "demo", "nics": [{"nic": "eth0", "network": "front"}, {"nic": "eth1", "network": "back"}]}, {"class": "cpu", "count": 1, "image": "demo"}, {"count": 1, "image": "demo"}], "networks": [{"name": "front", "prefix": "10.1.0.0/24"}, {"name": "back", "prefix": "10.2.0.0/24"}]}'
set role bampid;
select name, node_fits(id, class, :'bonded') from node order by name;
select node_fits(1, 'gpu', '{"groups": [{"count": 1, "image": "demo"}]}');
reset role;
\echo a PDCI with a bond: networks, addresses, and what the OS is told
\set request '{"groups": [{"class": "gpu", "count": 2, "image": "demo", "bonds": [{"name": "bond0", "nics": ["eth0", "eth1"]}], "nics": [{"nic": "bond0", "network": "front", "mode": "native"}, {"nic": "bond0", "network": "back", "mode": "tagged"}]}], "networks": [{"name": "front", "prefix": "10.1.0.0/24"}, {"name": "back", "prefix": "10.2.0.0/24"}]}'
select pdci_create('acme', 'one', :'request', 'ann') as one \gset
set role bampid;
select pdci_allocate(:one, 0, '[{"group": 0, "node": 1}, {"group": 0, "node": 2}]', 'bampid');
select node, slot, address from pdci_node order by node;
select node, params from deployment order by node;
reset role;
select node_id, name, nic from node_bond order by 1, 3;
select node_id, nic, network_id, mode, address from node_network order by 1, 3;
\echo provisioning: all ports of the aggregate that it boots from; its tenant: all members; parked: all
select node_place_ask(1, 'provisioning');
select a.port, n.name, a.mode from attachment a join network n on n.id = a.network_id order by 1, 2;
insert into network_vlan (fabric_id, vlan, network_id, state) select 1, 100 + id, id, 'used' from network;
select node_place_facts(1) -> 'vlans', node_network_vlan(1, 'bond0', id) from network where name = 'back';
select node_place_ask(1, 'tenant');
select problem from node_place where node_id = 1;
select a.port, n.name, a.mode from attachment a join network n on n.id = a.network_id order by 1, 2;
select node_place_ask(1, 'parking');
select count(*) from attachment;
\echo what the switch does not show as one is told; a NIC in a bond has nothing of its own
update port_observed set lag = '' where name = 'q2';
select node_place_ask(2, 'tenant');
select problem from node_place where node_id = 2;
select node_networks_set(2, '[{"nic": "eth0", "network": 3}]', 'ann');
select node_networks_set(2, '[{"nic": "bond9", "network": 3}]', 'ann');
update port_observed set lag = 'lag2' where name = 'q2';
update deployment set state = 'done', due_at = null, ended_at = now();
select node_transition(id, 'activate', 'x') from node where name in ('n1', 'n2') order by name;
\echo another node for one: only for its own tenant, and once
set role portald;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '2', false) \g /dev/null
select pdci_replace(:one, 'n1', 'tom');
select set_config('haas.tenant', '1', false) \g /dev/null
select pdci_replace(:one, 'n9', 'ann'), pdci_replace(99, 'n1', 'ann');
select pdci_replace(:one, 'n1', 'ann'), pdci_replace(:one, 'n1', 'ann');
reset role;
select state, generation from pdci;
set role bampid;
select * from pdci_replace_step(:one, 0, 'bampid');
select node, waits_for from pdci_replace_step(:one, 1, 'bampid');
reset role;
update port_intent set applied_version = wanted_version;
set role bampid;
select node, group_index, waits_for from pdci_replace_step(:one, 1, 'bampid');
select pdci_replace_take(:one, 1, '[{"group": 0, "node": 7}]', 'bampid');
select * from pdci_replace_step(:one, 1, 'bampid');
reset role;
select node, slot, address, replaces, replaced_by, released_at is null as held from pdci_node order by node;
select node, plan, params -> 'addresses' -> 0 ->> 'address' from deployment where due_at is not null order by node;
select subject, to_at is null from usage order by subject;
select name, state, tenant_id from node where name in ('n1', 'n7') order by name;
\echo a broken one is only taken off its networks; it leaves dirty, and comes back mended
select node_transition(id, 'break', 'x') from node where name = 'n2';
select due_at is not null from pdci;
set role portald;
select pdci_replace(:one, 'n2', 'ann');
reset role;
set role bampid;
select node, waits_for from pdci_replace_step(:one, 2, 'bampid');
reset role;
update port_intent set applied_version = wanted_version;
set role bampid;
select node, waits_for from pdci_replace_step(:one, 2, 'bampid');
reset role;
select name, state, dirty, tenant_id from node where name = 'n2';
select subject, to_at is null from usage order by subject;
select count(*) from node_bond where node_id = 2;
set role bampid;
select pdci_replace_take(:one, 2, '[{"group": 0, "node": 8}]', 'bampid');
reset role;
select node, slot, address, replaces, replaced_by, released_at is null as held from pdci_node order by node;
select kind, message from event where kind ~ '^pdci' order by id;
\echo released while somebody waits to be replaced: nothing more comes
set role portald;
select pdci_replace(:one, 'n7', 'ann');
select pdci_release(:one, 'ann');
select pdci_replace(:one, 'n8', 'ann');
reset role;
set role bampid;
select * from pdci_replace_step(:one, 4, 'bampid');
reset role;
\echo ports of BMCs: by plan, by network; they are for nothing else, and nothing else is among them
select set_config('haas.scope', 'operator', false) \g /dev/null
insert into wiring (switch_id, port, node_id, nic) values (2, 'b1', 1, 'bmc');
select attachment_put('leaf2', port, (select id from network where name = 'ipmi'), 'access', 'ann') from unnest(array['b1', 'b2', 'b3']) port;
select port_bmc(2, port) from unnest(array['b1', 'b2', 'b3', 'b4']) port;
select attachment_put('leaf2', 'b1', (select id from network where name = 'front'), 'native', 'ann');
select port_networks_apply(2, 'b1', array[(select id from network where name = 'front')], '{access}', 'ann');
select port_networks_apply(2, 'b2', array[(select id from network where name = 'front')], '{access}', 'ann');
select port_networks_apply(2, 'b3', array[(select id from network where name = 'pxe')], '{access}', 'ann');
update node set state = 'active', dirty = true, tenant_id = 1 where name = 'n5';
select attachment_put('leaf1', 'p5', (select id from network where name = 'ipmi'), 'access', 'ann');
select attachment_put('leaf1', 'p5', (select id from network where name = 'pxe'), 'access', 'ann');
select count(*) from node_ports(1) where port = 'b1';
\echo aggregates that we make: where the switch can be told to, of ports of their own whose cables are planned
insert into switch_ability (switch_id, aggregates) values (1, true);
select id as n3 from node where name = 'n3' \gset
update node set state = 'active', dirty = true, tenant_id = 1 where name = 'n3';
update port_observed set lag = '' where switch_id = 1 and name in ('p3', 'q3');
delete from nic_location where mac = '52:54:00:00:00:03';
insert into node_bond (node_id, name, nic) values (:n3, 'bond0', 'eth0'), (:n3, 'bond0', 'eth1');
select message from node_bond_fault(:n3);
update switch_ability set aggregates = false;
select message from node_bond_fault(:n3);
update switch_ability set aggregates = true;
select node_network_apply(:n3, 'tenant', 'ann') - 'missing';
select port, bond from port_intent where switch_id = 1 and port in ('p3', 'q3') order by port;
\echo in one of ours a port is still itself; found behind it is where it was planned
insert into switch_aggregate (switch_id, name, bond, members) values (1, 'haas-1', 'n3/bond0', '{p3,q3}');
update port_observed set lag = 'haas-1' where switch_id = 1 and name in ('p3', 'q3');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:03', 1, 'haas-1', 90, '{fdb}', now(), now());
select nic, port, carrier, conflict from node_ports(:n3) order by nic;
select message from node_bond_fault(:n3);
update port_observed set lag = '' where switch_id = 1 and name in ('p3', 'q3');
select nic, conflict from node_ports(:n3) order by nic;
\echo found at the other port of an aggregate that was ours: no conflict, unless that port is not for the node
update nic_location set port = 'q3' where mac = '52:54:00:00:00:03';
select nic, conflict from node_ports(:n3) order by nic;
begin;
delete from wiring where node_id = :n3 and port = 'q3';
select nic, conflict from node_ports(:n3) where nic = 'eth0';
rollback;
\echo off its networks: ports of their own again
select node_network_apply(:n3, 'parking', 'ann') - 'missing';
select port, bond from port_intent where switch_id = 1 and port in ('p3', 'q3') order by port;
delete from wiring where node_id = :n3 and nic = 'eth1';
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:01:03', 1, 'q3', 90, '{fdb}', now(), now());
select message from node_bond_fault(:n3);
