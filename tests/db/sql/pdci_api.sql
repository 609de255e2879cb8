insert into tenant (name) values ('acme'), ('globex');
insert into node (name, class, state, tenant_id, dirty) values ('n1', 'gpu', 'active', 1, true), ('n2', 'gpu', 'active', 2, true), ('n3', 'gpu', 'free', null, false);
insert into nic (mac, node_id, name, boot) select ('02:00:00:00:00:0' || id)::macaddr, id, 'eth0', true from node;
insert into pdci (tenant_id, name, request, actor, state, ended_at) values
	(1, 'one', '{"groups": []}', 'x', 'released', now()), (1, 'one', '{"groups": []}', 'x', 'released', now()), (1, 'one', '{"groups": []}', 'x', 'ready', null),
	(1, 'old', '{"groups": []}', 'x', 'released', now()), (1, 'old', '{"groups": []}', 'x', 'released', now()), (2, 'one', '{"groups": []}', 'x', 'ready', null);
insert into network (name, kind, tenant_id) values ('front', 'tenant', 1), ('front', 'tenant', 2), ('site', 'provisioning', null), ('own', 'tenant', 1);
set role portald;
\echo a tenant finds its own by name: the living one, else the newest
select set_config('haas.tenant', '1', false);
select pdci_find('one', null), pdci_find('old', null), pdci_find('4', null), pdci_find('one', 'acme');
select pdci_find('6', null);
select pdci_find('one', 'globex');
select pdci_find('99999999999999999999', null);
select network_find('front', null), network_find('own', null);
select network_find('site', null);
select network_find('2', null);
\echo an operator says whose
select set_config('haas.scope', 'operator', false);
select pdci_find('one', null);
select pdci_find('one', 'globex'), pdci_find('one', 'acme'), pdci_find('6', null), pdci_find('old', null);
select network_find('front', null);
select network_find('front', 'globex'), network_find('site', null);
\echo a network is returned as it was read
select network_remove('own', null, 7, 'x');
select network_remove('own', null, 1, 'x');
select name, wanted, version from network where name = 'own';
\echo networks of a node: by name, of the tenant that has it
select node_networks_put('n1', '[{"nic": "eth0", "network": "front"}]', 'x');
select node_networks_put('n2', '[{"nic": "eth0", "network": "front", "mode": "tagged"}]', 'x');
select node_networks_put('n1', '[{"nic": "eth0", "network": "own"}]', 'x');
select node_networks_put('n1', '[{"nic": "eth0", "network": "site"}]', 'x');
select node_networks_put('n1', '[{"nic": "eth1", "network": "front"}]', 'x');
select node_networks_put('n3', '[]', 'x');
select node_networks_put('n9', '[]', 'x');
select d.name, n.id, w.nic, w.mode from node_network w join node d on d.id = w.node_id join network n on n.id = w.network_id order by 1;
select set_config('haas.scope', '', false);
select node_networks_put('n2', '[]', 'x');
select node_networks_put('n1', '[]', 'x');
