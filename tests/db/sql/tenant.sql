insert into tenant (name) values ('acme'), ('globex');
insert into node (name, state, dirty, tenant_id) select 'n-' || name, 'active', true, id from tenant;
insert into node (name, state) values ('spare', 'free');
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state,
		   received_bytes, tenant_id, public)
select n, '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1,
       (select id from tenant where name = o), p
from (values ('debian', null, true), ('acme-os', 'acme', false), ('secret', null, false), ('shared', null, false)) v (n, o, p);
insert into object_grant (image_id, tenant_id, granted_by) select i.id, t.id, 'x' from image i, tenant t where i.name = 'shared' and t.name = 'globex';
select event_add('x', 'node.state', 'node', 'n-acme', (select id from tenant where name = 'acme'), 'theirs');
select event_add('x', 'node.state', 'node', 'spare', null, 'ours');
grant select on tenant to public;
set role portald;
\echo no scope
select count(*) from node_view;
select count(*) from event;
\echo acme
select set_config('haas.tenant', '1', false);
select name from node_view order by 1;
select name from image_view order by 1;
select message from event order by 1;
select name from tenant;
\echo globex: the shared image too, nothing of acme
select set_config('haas.tenant', '2', false);
select name from node_view order by 1;
select name from image_view order by 1;
select count(*) from event;
\echo a tenant makes no image of somebody else and grants nothing
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, tenant_id)
values ('x', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 1);
insert into object_grant (image_id, tenant_id, granted_by) values (3, 2, 'globex');
select grant_put('image', 'secret:1', null, 'globex', null, 'globex');
\echo may acme install what it sees? and what it does not see?
select name, image_allowed(id, 1) as acme, image_allowed(id, 2) as globex, image_allowed(id, null) as operator from image_view order by name;
select refused is null from deployment_ask('install', array['spare'], 'acme-os', null, '{}', 'globex');
select node, refused from deployment_ask('release', array['n-acme'], null, null, '{}', 'globex');
select node_request('spare', 'hold', 'globex', 'x');
select node, refused from node_action_create(array['n-acme'], 'power_off', '{}', true, 'globex');
\echo a deployment stays its tenant's to read when its node is another's
reset role;
insert into deployment (plan, node_id, tenant_id, actor, state, due_at, ended_at)
select 'release', id, tenant_id, 'acme', 'done', null, now() from node where name = 'n-acme';
update node set tenant_id = 2 where name = 'n-acme';
set role portald;
select set_config('haas.tenant', '1', false);
select count(*) from node_view where name = 'n-acme';
select plan, node, tenant from deployment_view;
select set_config('haas.tenant', '2', false);
select count(*) from deployment_view;
