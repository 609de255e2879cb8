insert into tenant (name) values ('acme'), ('globex');
insert into node (name, class, rack, state) values ('n1', 'gpu', 'r1', 'free'), ('n2', 'gpu', 'r2', 'free'), ('n3', 'gpu', 'r3', 'free');
insert into nic (mac, node_id, name, boot) select ('02:00:00:00:00:0' || id)::macaddr, id, 'eth0', true from node;
insert into bmc (node_id, driver, address) select id, 'sim', ('10.9.0.' || id)::inet from node;
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, public)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1, true);
\set request '{"groups": [{"class": "gpu", "count": 2, "image": "demo"}], "networks": [{"name": "front", "prefix": "10.1.0.0/24"}, {"name": "back"}], "params": {"ssh_keys": ["k"]}}'
set role portald;
select set_config('haas.tenant', '1', false);
\echo a tenant asks for itself, and for nobody else
select pdci_create(null, 'one', :'request', 'acme') is not null;
select pdci_create(null, 'one', :'request', 'acme');
select pdci_create('globex', 'two', :'request', 'acme');
select pdci_create(null, 'two', '{"groups": [{"class": "gpu", "count": 1, "image": "secret"}]}', 'acme');
select name, state, jsonb_array_length(nodes), (select string_agg(x ->> 'name', ',' order by x ->> 'name') from jsonb_array_elements(networks) x) from pdci_view;
\echo another tenant sees nothing of it and cannot release it
select set_config('haas.tenant', '2', false);
select count(*) from pdci_view;
select pdci_release(1, 'globex');
reset role;
set role bampid;
\echo a stale generation takes nothing
select pdci_allocate(1, 7, '[{"group": 0, "node": 1}, {"group": 0, "node": 2}]', 'bampid');
select pdci_allocate(1, 0, '[{"group": 0, "node": 1}, {"group": 0, "node": 2}]', 'bampid');
select node, class, address, deployment_id is not null from pdci_node order by node;
select name, state, dirty, tenant_id from node order by name;
select d.node, d.plan, d.params from deployment d order by d.node;
select n.name, w.nic, x.name, w.mode from node_network w join node n on n.id = w.node_id join network x on x.id = w.network_id order by 1, 3;
\echo what was taken meanwhile is refused, whole
reset role;
set role portald;
select pdci_create(null, 'late', '{"groups": [{"class": "gpu", "count": 2, "image": "demo"}]}', 'globex') is not null;
reset role;
set role bampid;
select pdci_allocate(id, 0, '[{"group": 0, "node": 2}, {"group": 0, "node": 3}]', 'bampid') from pdci where name = 'late';
select name, state from node where name = 'n3';
\echo handed over: usage begins; a release ends it
reset role;
update deployment set state = 'done', due_at = null, ended_at = now();
select node_transition(id, 'activate', 'x') from node where name in ('n1', 'n2') order by name;
select tenant, kind, subject, class, pdci, to_at is null from usage order by subject;
delete from usage;
update usage set tenant = 'globex';
set role portald;
select set_config('haas.tenant', '1', false);
select pdci_release(1, 'acme');
select state, wanted from pdci_view where name = 'one';
reset role;
set role bampid;
select node, waits_for like 'deployment % (release)' from pdci_release_step(1, 1, 'bampid');
select node, waits_for like 'deployment % (release)' from pdci_release_step(1, 1, 'bampid');
reset role;
select subject, to_at is null from usage order by subject;
update deployment set state = 'done', due_at = null, ended_at = now() where plan = 'release';
select node_transition(id, 'scrubbed', 'x') from node where name in ('n1', 'n2') order by name;
set role bampid;
select * from pdci_release_step(1, 1, 'bampid');
reset role;
select name, state, ended_at is not null from pdci where name = 'one';
select name, wanted from network order by name;
select count(*) from node_network;
\echo the name is free again, and what was used stays known
set role portald;
select pdci_create(null, 'one', '{"groups": [{"class": "gpu", "count": 1, "image": "demo"}]}', 'acme') is not null;
select subject, pdci from usage order by subject;
reset role;
delete from node where name = 'n1';
select subject, to_at is null from usage order by subject;
select network_address('10.1.0.0/24', 0), network_address('10.1.0.0/24', 5), network_address('10.1.0.0/30', 9), network_address(null, 1);
