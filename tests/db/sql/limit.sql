insert into tenant (name) values ('acme'), ('globex');
insert into node (name, class, state) values ('g1', 'gpu', 'free'), ('g2', 'gpu', 'free'), ('g3', 'gpu', 'free'), ('c1', 'cpu', 'free'), ('c2', 'cpu', 'free'), ('x1', '', 'free');
insert into nic (mac, node_id, name, boot) select ('02:00:00:00:00:0' || id)::macaddr, id, 'eth0', true from node;
insert into bmc (node_id, driver, address) select id, 'sim', ('10.9.0.' || id)::inet from node;
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, public)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1, true);
set role portald;
select set_config('haas.scope', 'operator', false);
select storage_put('s1', '{"portal": "10.0.0.1:3260", "capacity_bytes": 104857600}', 'ann');
\echo a fresh site limits nothing; a default holds for whoever has no row of its own; no limit of its own is one too
select tenant_limits(null);
select x from jsonb_array_elements(tenant_limits('acme')) x;
select tenant_limit_put(null, '[{"kind": "networks", "amount": 2}, {"kind": "nodes", "amount": 5}, {"kind": "images", "amount": null}]', 'ann');
select tenant_limit_put('acme', '[{"kind": "nodes", "class": "gpu", "amount": 2}, {"kind": "volume_bytes", "amount": 10485760}]', 'ann');
select tenant_limit_put('globex', '[{"kind": "networks", "amount": null}]', 'ann');
select tenant_limits(null);
select x from jsonb_array_elements(tenant_limits('acme')) x;
select x from jsonb_array_elements(tenant_limits('globex')) x where x ->> 'limit' is not null or (x ->> 'own')::boolean;
\echo an operator is held to it as well, and is told how to raise it; twice the same is one
select node, refused from deployment_ask('install', '{g1,g2,g3}', 'demo', 'acme', '{}', 'ann');
select tenant_limit_put('acme', '[{"kind": "nodes", "class": "gpu", "amount": 2}]', 'ann');
select count(*) from event where kind = 'tenant.limited';
\echo a tenant sets none and sees its own alone
select set_config('haas.scope', '', false), set_config('haas.tenant', '1', false);
select tenant_limit_put('acme', '[{"kind": "nodes", "amount": 99}]', 'acme');
select tenant_limits(null);
select tenant_limits('globex');
select count(*) from jsonb_array_elements(tenant_limits('acme'));
\echo nodes: by class, and of all classes; places that wait count, and one of any class counts for each
select pdci_create(null, 'three', '{"groups": [{"class": "gpu", "count": 3, "image": "demo"}]}', 'acme');
select pdci_create(null, 'split', '{"groups": [{"class": "gpu", "count": 1, "image": "demo"}, {"class": "gpu", "count": 2, "image": "demo"}]}', 'acme');
select pdci_create(null, 'any', '{"groups": [{"count": 3, "image": "demo"}]}', 'acme');
select pdci_create(null, 'six', '{"groups": [{"class": "cpu", "count": 6, "image": "demo"}]}', 'acme');
select pdci_try(null, 'three', '{"groups": [{"class": "gpu", "count": 3, "image": "demo"}]}', 'acme');
select pdci_create(null, 'two', '{"groups": [{"class": "gpu", "count": 1, "image": "demo"}, {"class": "cpu", "count": 1, "image": "demo"}]}', 'acme') is not null;
select node, refused from deployment_ask('install', '{c1}', 'demo', null, '{}', 'acme');
select x -> 'class' as class, x -> 'used' as used, x -> 'free' as free from jsonb_array_elements(tenant_limits('acme')) x where x ->> 'kind' = 'nodes';
select node, refused from deployment_ask('install', '{g1,g2}', 'demo', null, '{}', 'acme');
select node, refused from deployment_ask('install', '{g1,c2,x1}', 'demo', null, '{}', 'acme');
\echo the PDCI takes the nodes that were counted when it was made
reset role;
set role bampid;
select pdci_allocate(id, generation, '[{"group": 0, "node": 1}, {"group": 1, "node": 5}]', 'bampid') from pdci where name = 'two';
reset role;
set role portald;
select x -> 'class' as class, x -> 'used' as used from jsonb_array_elements(tenant_limits('acme')) x where x ->> 'kind' = 'nodes';
select node, refused from deployment_ask('install', '{g2,g3}', 'demo', null, '{}', 'acme');
select node, refused from deployment_ask('install', '{g2}', 'demo', null, '{}', 'acme');
\echo released: counted until the nodes are back
select pdci_release(id, 'acme') from pdci_view where name = 'two';
select x -> 'class' as class, x -> 'used' as used from jsonb_array_elements(tenant_limits('acme')) x where x ->> 'kind' = 'nodes';
reset role;
select node from pdci_release_nodes((select id from pdci where name = 'two'), (select generation from pdci where name = 'two'), 'bampid') order by 1;
reset role;
update deployment set state = 'done', due_at = null, ended_at = now() where node in ('g1', 'c2') and due_at is not null;
update node set state = 'free', dirty = false, tenant_id = null where name in ('g1', 'c2');
select node from pdci_release_nodes((select id from pdci where name = 'two'), (select generation from pdci where name = 'two'), 'bampid') order by 1;
reset role;
set role portald;
select x -> 'class' as class, x -> 'used' as used from jsonb_array_elements(tenant_limits('acme')) x where x ->> 'kind' = 'nodes';
\echo bytes of volumes: made, grown, archived; what is deleted counts until it is gone
select volume_create(null, '{"name": "a", "size_bytes": 6291456}', 'acme');
select volume_create(null, '{"name": "b", "size_bytes": 6291456}', 'acme');
reset role;
update volume set state = 'ready', kept_bytes = size_bytes, ready_at = now();
set role portald;
select volume_resize(1, 11534336, 'acme');
select archive_create(1, 'old', 'acme');
select volume_resize(1, 8388608, 'acme');
select volume_delete(1, 'acme');
select volume_create(null, '{"name": "c", "size_bytes": 3145728}', 'acme');
reset role;
update volume set state = 'deleted', ended_at = now() where name = 'a';
set role portald;
select volume_create(null, '{"name": "c", "size_bytes": 3145728}', 'acme');
select x from jsonb_array_elements(tenant_limits('acme')) x where x ->> 'kind' = 'volume_bytes';
\echo networks: those of the site are not counted, nor is the way to a storage
select network_create('n1', 'tenant', null, '10.1.0.0/24', null, 'acme');
select set_config('haas.scope', 'operator', false), set_config('haas.tenant', '', false);
select network_create('n1', 'tenant', 'acme', '10.1.0.0/24', null, 'ann'), network_create('n2', 'tenant', 'acme', '10.2.0.0/24', null, 'ann'),
       network_create('bmcs', 'bmc', null, '10.9.0.0/24', null, 'ann');
select network_create('n3', 'tenant', 'acme', '10.3.0.0/24', null, 'ann');
select pdci_create('acme', 'nets', '{"groups": [{"class": "cpu", "count": 1, "image": "demo"}], "networks": [{"name": "n3"}]}', 'ann');
select network_create(n, 'tenant', 'globex', null, null, 'ann') is not null from unnest('{n1,n2,n3}'::text[]) n;
\echo lowered below what is there: that stays, and nothing is added; back at the default of the site
select tenant_limit_put('acme', '[{"kind": "networks", "amount": 0}, {"kind": "packages", "amount": 1}, {"kind": "image_bytes", "amount": 10}]', 'ann');
select network_create('n3', 'tenant', 'acme', null, null, 'ann');
select x from jsonb_array_elements(tenant_limits('acme')) x where x ->> 'kind' = 'networks';
select tenant_limit_put('acme', '[{"kind": "networks", "default": true}, {"kind": "nodes", "class": "gpu", "default": true}]', 'ann');
select x from jsonb_array_elements(tenant_limits('acme')) x where x ->> 'kind' in ('networks', 'nodes');
\echo images and packages, by number and bytes
reset role;
insert into package (name, version, kind, digest, size_bytes, tenant_id) values ('p', '1', 'deb', repeat('a', 64), 8, 1);
insert into package (name, version, kind, digest, size_bytes, tenant_id) values ('p', '2', 'deb', repeat('a', 64), 1, 1);
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, tenant_id)
values ('own', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 3, 1, '{bios}', 1);
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, tenant_id)
values ('own', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 2, 1, '{bios}', 1);
\echo what is no limit is refused, and whose tenant does not exist
set role portald;
select tenant_limit_put('acme', '[{"kind": "disks", "amount": 1}]', 'ann');
select tenant_limit_put('acme', '[{"kind": "networks", "class": "x", "amount": 1}]', 'ann');
select tenant_limit_put('acme', '[{"kind": "networks", "amount": -1}]', 'ann');
select tenant_limit_put('acme', '[{"kind": "networks", "amount": 1}, {"kind": "networks", "amount": 2}]', 'ann');
select tenant_limit_put('nobody', '[{"kind": "networks", "amount": 1}]', 'ann');
reset role;
select actor, subject_kind, subject, message, detail -> 'before' as before from event where kind = 'tenant.limited' order by id;
