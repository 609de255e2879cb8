select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1');
insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', '10.0.0.1');
select node_put(format('{"name":"n%s","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true}]}', i)::jsonb, false, 'ann') ->> 'result' from generate_series(1, 4) i;
update node set state = 'free', rack = 'r1';
insert into bmc (node_id, driver, address) select id, 'sim', ('10.9.0.' || id)::inet from node;
insert into wiring (switch_id, port, node_id, nic) select 1, 'p' || i, i, 'eth0' from generate_series(1, 4) i;
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, public)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1, true);
select network_create('pxe', 'provisioning', null, null, null, 'ann') > 0;
set role portald;
\echo where a storage is plugged in: no unknown switch, no port of a node, addresses that nobody else has
select storage_put('s1', '{"portal": "10.0.0.9:3261", "capacity_bytes": 104857600, "port": "leaf9:x1"}', 'ann');
select storage_put('s1', '{"portal": "10.0.0.9:3261", "capacity_bytes": 104857600, "port": "leaf1:p1", "prefix": "100.96.0.0/26"}', 'ann');
select storage_put('s1', '{"portal": "10.0.0.9:3261", "capacity_bytes": 104857600, "port": "leaf1:x1"}', 'ann');
select storage_put('s1', '{"portal": "10.0.0.9:3261", "capacity_bytes": 104857600, "port": "leaf1"}', 'ann');
select storage_put('s1', '{"portal": "10.0.0.9:3261", "capacity_bytes": 104857600, "port": "leaf1:x1", "prefix": "100.96.0.0/29"}', 'ann');
select storage_put('s1', '{"portal": "10.0.0.9:3261", "capacity_bytes": 104857600, "port": "leaf1:x1", "prefix": "100.96.0.0/26"}', 'ann');
select storage_put('s2', '{"portal": "10.0.0.8:3260", "prefix": "100.96.0.0/16"}', 'ann');
select network_create('own', 'tenant', 'acme', '100.96.0.0/24', null, 'ann');
\echo a PDCI each, with one prefix: its own network to its volumes, tagged beside what the NIC has; storage and nodes are in no other
select pdci_create('acme', 'a', '{"groups": [{"class": "gpu", "count": 2, "image": "demo"}], "networks": [{"name": "front", "prefix": "10.1.0.0/24"}], "volumes": [{"name": "data", "size_bytes": 4194304}, {"name": "more", "size_bytes": 4194304}]}', 'ann') as a \gset
select pdci_create('globex', 'g', '{"groups": [{"class": "gpu", "count": 1, "image": "demo"}], "networks": [{"name": "front", "prefix": "10.1.0.0/24"}]}', 'ann') as g \gset
reset role;
set role bampid;
select pdci_allocate(:a, 0, '[{"group": 0, "node": 1}, {"group": 0, "node": 2}]', 'bampid');
select pdci_allocate(:g, 0, '[{"group": 0, "node": 3}]', 'bampid');
select node, params -> 'addresses' from deployment order by node;
reset role;
select name, prefix, pdci_id = :a as of_a, tenant_id from network where storage_id is not null order by id;
select node_place_ask(id, 'tenant') from node where id < 4;
select a.port, n.name, a.mode from attachment a join network n on n.id = a.network_id order by 1, 2, 3;
update volume set state = 'ready', kept_bytes = size_bytes, ready_at = now();
update pdci set state = 'ready', ready_at = now();
insert into network_vlan (fabric_id, vlan, network_id, state) select 1, 100 + id, id, 'used' from network;
\echo open when the storage says that it listens there, to addresses of that network
set session authorization bampi_stored;
set search_path = haas;
select generation from storage_claim('s1', 'me', 60000, decode(repeat('00', 32), 'hex'), 104857600, 104857600, null);
select name, initiators from volume_work(1);
select * from storage_network_work(1);
select * from storage_network_work(2);
select storage_network_tell(1, 0, '[{"network": 3, "up": true}]');
select up from storage_network_work(1);
select storage_network_tell(1, 1, '[{"network": 3, "up": true, "problem": null}, {"network": 1, "up": true}]');
select name, initiators from volume_work(1);
\echo secrets for nodes that are installed: to the agent of this boot, by their storage, with the number that holds
reset session authorization;
set search_path = haas;
insert into boot_intent (node_id, deployment_id, target, token, nonce) select node_id, id, 'agent', repeat('a', 31) || node_id, repeat('b', 31) || node_id from deployment where node_id in (1, 2);
select boot_agent_begin(repeat('a', 31) || '1', repeat('c', 64), '52:54:00:00:00:01', '{}');
select boot_agent_begin('x', repeat('d', 64), '52:54:00:00:00:01', '{}');
select agent_seal_key(id) from node where id < 4 order by id;
set session authorization bampi_stored;
set search_path = haas;
select volume, node, agent_key, secret_sealed, secret_number from volume_login_work(1);
select count(*) from volume_login_work(2);
select volume_secret_make(1, 1, '[{"volume": 1, "number": 7, "sealed": "00"}, {"volume": 2, "number": 1, "sealed": "01"}]');
select volume, node, secret_sealed, secret_number from volume_login_work(1);
select volume_login_put(1, 1, format('[{"volume": 2, "node": 1, "key": "%s", "number": 1, "sealed": "02"}]', repeat('c', 64))::jsonb);
select count(*) from volume_login_work(1);
select volume_login_put(1, 0, format('[{"volume": 2, "node": 1, "key": "%s", "number": 2, "sealed": "02"}]', repeat('c', 64))::jsonb);
select count(*) from volume_login_work(1);
select volume_login_put(1, 1, format('[{"volume": 2, "node": 1, "key": "%s", "number": 2, "sealed": "02"}]', repeat('c', 64))::jsonb);
select volume from volume_login_work(1);
select count(*) from volume_login;
set session authorization bampid;
set search_path = haas;
select jsonb_pretty(node_volume_facts(1));
select node_volume_facts(2), node_volume_facts(3);
set session authorization bampi_stored;
set search_path = haas;
update volume v set served_pdci_id = v.pdci_id, served = w.initiators from volume_work(1) w where w.id = v.id;
reset session authorization;
set search_path = haas;
select set_config('haas.scope', '', false), set_config('haas.tenant', '1', false) \g /dev/null
set role portald;
select name, state, portal from volume_view order by name;
\echo who changes a node networks does not take that away; nobody attaches a network of another tenant storage
select node_networks_put('n1', '[]', 'acme') ->> 'changed';
select set_config('haas.tenant', '2', false) \g /dev/null
select count(*) from network where storage_id is not null;
reset role;
set role bampid;
select node_networks_set(3, '[{"nic": "eth0", "network": 3}]', 'globex');
reset role;
select nic, network_id, mode, address from node_network where node_id = 1 order by 2;
\echo a volume attached later: the nodes that are there become members; the last one detached and closed: no more
select set_config('haas.scope', 'operator', false) \g /dev/null
select volume_create('globex', '{"name": "late", "size_bytes": 1048576, "pdci": 2}', 'ann') > 0;
select nic, network_id, mode, address from node_network where node_id = 3 order by 2;
select a.port, n.name, a.mode from attachment a join network n on n.id = a.network_id where a.port in ('x1', 'p3') order by 1, 2;
update volume set served_pdci_id = pdci_id where name = 'late';
select volume_detach((select id from volume where name = 'late'), 'ann');
select count(*) from attachment where port = 'x1';
select set_config('haas.scope', '', false) \g /dev/null
set session authorization bampi_stored;
update haas.volume set served_pdci_id = null where name = 'late';
reset session authorization;
set search_path = haas;
select set_config('haas.scope', 'operator', false) \g /dev/null
select a.port, n.name, a.mode from attachment a join network n on n.id = a.network_id where a.port in ('x1', 'p3') order by 1, 2;
select count(*) from network where name like 'volumes-2-%';
\echo while something is there its port stays; no room for more nodes than addresses
select storage_put('s1', '{"port": ""}', 'ann');
select storage_put('s1', '{"port": "leaf1:x1", "prefix": "100.96.0.0/26"}', 'ann');
select pdci_create('globex', 'many', '{"groups": [{"class": "gpu", "count": 60, "image": "demo"}], "volumes": [{"name": "v", "size_bytes": 1048576}]}', 'ann');
select pdci_create('globex', 'fits', '{"groups": [{"class": "gpu", "count": 14, "image": "demo"}], "volumes": [{"name": "v", "size_bytes": 1048576}]}', 'ann') > 0;
select prefix from network where storage_id is not null order by 1;
\echo given back: the storage port first, when the volumes are closed
select pdci_release(:a, 'ann');
set role bampid;
select * from pdci_release_step(:a, (select generation from pdci where id = :a), 'bampid');
reset role;
update volume set served_pdci_id = null, served = null;
set role bampid;
select node from pdci_release_step(:a, (select generation from pdci where id = :a), 'bampid');
reset role;
select name, wanted from network where storage_id is not null order by id;
select a.port, n.name from attachment a join network n on n.id = a.network_id where a.port = 'x1';
select kind, subject, message from event where kind like 'network.%' and subject like 'volumes-%' order by id;
