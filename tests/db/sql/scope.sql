-- The rights of portald_tenant: all that a tenant's statements can do.
\echo relations: rights, rows
select c.relname, string_agg(distinct p.privilege, ' ' order by p.privilege), coalesce((select pg_get_expr(y.polqual, y.polrelid) from pg_policy y where y.polrelid = c.oid and y.polname = 'tenant_select'), 'a view')
from pg_class c join lateral (
	select lower(a.privilege_type) as privilege from aclexplode(c.relacl) a where a.grantee = 'portald_tenant'::regrole
	union all select lower(a.privilege_type) || '(' || string_agg(t.attname, ',' order by t.attnum) || ')' from pg_attribute t cross join aclexplode(t.attacl) a
	where t.attrelid = c.oid and a.grantee = 'portald_tenant'::regrole group by a.privilege_type) p on true
where c.relnamespace = 'haas'::regnamespace group by c.oid, c.relname order by 1;
\echo functions: with the rights of their owner, and why they need not ask
select p.oid::regprocedure, case when p.prosecdef then 'definer' end, obj_description(p.oid, 'pg_proc') from pg_proc p
where p.pronamespace = 'haas'::regnamespace and has_function_privilege('portald_tenant', p.oid, 'execute') order by p.oid::regprocedure::text collate "C";
\echo what a tenant reaches into: its node while it is active and no deployment is due
insert into tenant (name) values ('acme'), ('globex');
insert into node (name, state, tenant_id, dirty) values ('n1', 'active', 1, true), ('n2', 'scrubbing', 1, true), ('n3', 'active', 2, true), ('n4', 'active', 1, true);
insert into bmc (node_id, driver, address) select id, 'sim', '10.9.0.0'::inet + id from node;
insert into job (kind, actor, tenant_id) values ('deployment.reinstall', 'ann', 1);
set session authorization portald_tenant;
\set QUIET on
select scope_as('globex') \g /dev/null
select scope_as('nobody');
begin;
select set_config('haas.role', 'tenant-member', true), set_config('haas.tenant', '1', true) \g /dev/null
select scope_as('acme') \g /dev/null
select scope_as('globex');
rollback;
begin;
select scope_as('acme') \g /dev/null
select node, refused from node_action_create('{n1,n2,n3}', 'boot_device', '{"device": "pxe"}', false, 'ann');
select node, refused from node_action_create('{n1,n2,n3}', 'power_cycle', '{}', true, 'ann');
select node, refused from node_action_create('{n1,n2,n3}', 'power_status', '{}', false, 'ann');
select n, c.tenant, c.since_ms > 0 as from_then_on, c.why from unnest('{n1,n2,n3}'::text[]) n left join node_console(n) c on true order by 1;
commit;
begin;
select scope_as('acme') \g /dev/null
select * from deployment_ask('release', '{n1}', null, null, '{"lost_drives": ["S1"]}', 'ann', false);
rollback;
reset session authorization;
insert into deployment (job_id, plan, node_id, tenant_id, actor) select 1, 'release', id, 1, 'ann' from node where name in ('n1', 'n4');
\echo a deployment is due: what was asked before is not done, no more is asked
select node, action, state, problem ->> 'message' from node_action order by id;
set session authorization portald_tenant;
begin;
select scope_as('acme') \g /dev/null
select node, refused from node_action_create('{n1}', 'boot_device', '{"device": "pxe"}', true, 'ann');
select c.why from node_console('n1') c;
rollback;
reset session authorization;
\echo an operator may
set haas.scope = 'operator';
select node, refused from node_action_create('{n1,n2}', 'boot_device', '{"device": "pxe"}', true, 'ann');
select n, c.tenant, c.why from unnest('{n1,n2,n3}'::text[]) n left join node_console(n) c on true order by 1;
