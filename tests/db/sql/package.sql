insert into tenant (name) values ('acme'), ('globex');
insert into package (name, version, kind, digest, size_bytes, state, received_bytes, public, tenant_id) values
	('open', '1', 'deb', repeat('a', 64), 5, 'ready', 5, true, null), ('cuda', '12.4', 'deb', repeat('b', 64), 6, 'ready', 6, false, null),
	('own', '1', 'bundle', repeat('c', 64), 7, 'ready', 7, false, 1), ('half', '1', 'deb', repeat('d', 64), 8, 'uploading', 2, true, null),
	('old', '1', 'deb', repeat('e', 64), 8, 'retired', 8, true, null);
\echo who may put what on a node: the operator all that is whole, a tenant its own, what is public, what it was granted
select n, package_allowed(n, null) as operator, package_allowed(n, 1) as acme, package_allowed(n, 2) as globex
from unnest(array['open:1', 'cuda:12.4', 'own:1', 'half:1', 'old:1', 'open', 'open:', 'open:2', ':1', '', 'cuda:12.4:x']) n;
set role portald;
select set_config('haas.scope', 'operator', false);
select grant_put('package', 'cuda:12.4', null, 'globex', now() + interval '1 hour', 'ann');
reset role;
select package_allowed('cuda:12.4', 1), package_allowed('cuda:12.4', 2);
update object_grant set expires_at = now() - interval '1 second';
select package_allowed('cuda:12.4', 2);
update object_grant set expires_at = null;
\echo as they are now, in their order; gone and not granted are told apart from allowed
select x from jsonb_array_elements(deployment_packages('{"packages": ["own:1", "open:1", "gone:3"]}', 1)) x;
select deployment_packages('{}', 1), deployment_packages('{"packages": []}', 1), deployment_packages('{"packages": "own:1"}', 1), deployment_packages(null, 1);
\echo an install with what its tenant may not have is refused whole; a release does not care
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, public)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('1', 64), repeat('2', 64), 2, 1, 1, '{bios}', 'ready', 1, true);
select count(*) from (select node_put(jsonb_build_object('name', 'n' || i, 'nics', jsonb_build_array(jsonb_build_object('name', 'eth0', 'boot', true, 'mac', '52:54:00:00:00:0' || i)),
	'bmc', jsonb_build_object('driver', 'sim', 'address', '10.99.0.' || i)), false, 'ann'), node_request('n' || i, 'accept', 'ann', '') from generate_series(1, 2) i) x;
select set_config('haas.scope', 'operator', false);
select * from deployment_create('install', '{n1,n2}', 'demo', 'acme', '{"packages": ["own:1", "cuda:12.4"]}', 'ann');
select count(*) from deployment;
select state from node where name = 'n1';
select pdci_create('acme', 'p', '{"groups": [{"count": 1, "image": "demo"}], "params": {"packages": ["cuda:12.4"]}}', 'ann');
select pdci_create('acme', 'p', '{"groups": [{"count": 1, "image": "demo"}], "params": {"packages": ["own:1"]}}', 'ann');
select node, refused from deployment_create('install', '{n1}', 'demo', 'globex', '{"packages": ["cuda:12.4", "open:1"]}', 'ann');
\echo the token of a boot intent may fetch them, and no longer what was taken back; the OS has none
insert into boot_intent (node_id, target, deployment_id, token, nonce, stored_digest) select 1, 'agent', id, repeat('0', 32), repeat('1', 32), repeat('2', 64) from deployment returning package_digests;
delete from object_grant;
update boot_intent set token = repeat('3', 32) returning package_digests;
update boot_intent set target = 'disk' returning package_digests;
\echo deleted by whoever owns it, with its grants
select grant_put('package', 'own:1', null, 'globex', null, 'ann');
set role portald;
select set_config('haas.scope', '', false), set_config('haas.tenant', '2', false);
select package_delete('own', '1', 'globex');
select package_delete('open', '1', 'globex');
select package_delete('cuda', '12.4', 'globex');
select set_config('haas.tenant', '1', false);
select package_delete('own', '1', 'acme');
select package_delete('own', '1', 'acme');
reset role;
select kind, count(*) from object_grant group by kind;
select kind, subject, message, detail ->> 'digest' from event where kind like 'package.%' order by id;
\echo bampid asks; nobody else does
set role bampi_bootd;
select deployment_packages('{}', 1);
select package_allowed('open:1', 1);
