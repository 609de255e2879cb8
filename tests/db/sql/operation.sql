select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
create view open as select kind, severity, subject, (select name from tenant where id = tenant_id) as tenant, message from alert where cleared_at is null order by kind, subject;
create view told as select kind, subject, detail ->> 'kind' from event where kind ~ '^alert[.]' order by id;
-- The next check is due, and says whether it was made.
create function check_now() returns boolean language sql as $$ update haas.operation_check set at = '-infinity'; select haas.operation_alert_put() $$;
select node_put('{"name":"n1","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:01"}],"bmc":{"driver":"sim","address":"10.0.0.1"}}', false, 'ann') \g /dev/null
select node_put('{"name":"n2","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:02"}]}', false, 'ann') \g /dev/null
set session_replication_role = replica; -- a superuser may
delete from event;
reset session_replication_role;
\echo a healthy site: no alert; one check in five seconds is enough
insert into daemon (name, instance, version, started_at) values ('bampid', 'c1', '0.1.0', now()), ('portald', 'c1', '0.1.0', now());
select check_now(), operation_alert_put();
select * from open;
\echo a daemon that is not heard, a BMC that is silent for a minute, a failed deployment, PDCIs that failed or wait
update daemon set seen_at = now() - interval '16 s' where name = 'bampid';
update bmc set failing = true, problem = '{"message":"the BMC does not answer"}';
update node_health set bmc_failing_since = now() - interval '61 s';
insert into deployment (plan, node_id, node, tenant_id, actor, state, step, due_at, started_at, ended_at, problem)
select 'inspect', id, name, 1, 'ann', 'failed', 'netboot', null, now(), now(), '{"message":"nothing was heard"}' from node where name = 'n1';
insert into pdci (tenant_id, name, request, state, problem, actor, created_at) values
(1, 'web', '{}', 'failed', '{"message":"node n1 left"}', 'ann', now()), (2, 'new', '{}', 'infeasible', '{"message":"1 of 3 nodes"}', 'ann', now()),
(2, 'old', '{}', 'infeasible', '{"message":"2 of 3 nodes"}', 'ann', now() - interval '11 min');
select check_now();
select * from open;
select * from told;
\echo told once; a tenant sees what is theirs; only operators see the status
set session_replication_role = replica; -- a superuser may
delete from event;
reset session_replication_role;
select check_now();
select * from told;
set role portald;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select kind, subject from alert where cleared_at is null order by kind;
select site_status();
select set_config('haas.scope', 'operator', false) \g /dev/null
select s ->> 'name' as section, s ->> 'state' as state, i ->> 'state' as item, i ->> 'subject' as subject from jsonb_array_elements(site_status() -> 'sections') s
left join lateral jsonb_array_elements(s -> 'items') i on true;
select alert_acknowledge(id, 'ann') from alert where cleared_at is null;
select site_status() -> 'ok' as known_problems_are_no_alarm;
reset role;
\echo a newer deployment supersedes a failed one; all else is over too
insert into deployment (plan, node_id, node, actor, state, due_at) select 'inspect', id, name, 'ann', 'queued', now() from node where name = 'n1';
update daemon set seen_at = now();
update bmc set failing = false, problem = null;
update pdci set wanted = 'absent';
select check_now();
select * from open;
select * from told;
\echo slow: longer than a minute and twice the usual time of this plan and class; without a history nothing is slow
delete from deployment where state = 'queued';
insert into deployment (plan, node_id, node, actor, state, step, due_at, started_at) select 'inspect', id, name, 'ann', 'waiting', 'agent', now(), now() - interval '200 s' from node where name = 'n1';
select check_now();
select * from open;
insert into deployment (plan, node_id, node, actor, state, due_at, started_at, ended_at)
select 'inspect', n.id, n.name, 'ann', 'done', null, now() - interval '1 h', now() - interval '1 h' + make_interval(secs => x * 10) from node n, generate_series(5, 7) x where n.name = 'n2';
select check_now(), deployment_usual_s('inspect', 'gpu');
select * from open;
\echo a daemon that moved to another host is forgotten after a week
insert into daemon (name, instance, version, started_at, seen_at) values ('bampid', 'c0', '0.1.0', now(), now() - interval '8 days');
select check_now();
select check_now();
select subject from open where kind = 'daemon.silent';
\echo a DHCP server that is not ours is an alert for an hour; ours are none, by a subnet or by their own word; a flood fills 64 rows
insert into subnet (name, prefix, boot_server) values ('r1', '10.2.0.0/24', '10.2.0.1');
select dhcp_server_put('c1', null, '{c1:eth1,c1:eth1,c1:eth1}', '{10.2.0.1,10.2.0.2,10.2.0.9}', '{02:00:00:00:00:01,02:00:00:00:00:02,null}') \g /dev/null
select dhcp_server_put('c2', '10.2.0.2', '{}', '{}', '{}') \g /dev/null
select check_now();
select * from open where kind like 'dhcp.%';
select dhcp_server_put('c1', null, '{c1:eth1}', '{10.2.0.9}', '{02:00:00:00:00:09}') \g /dev/null
select check_now();
select kind, subject, message, detail ->> 'hint' as hint from alert where cleared_at is null and kind like 'dhcp.%';
select s ->> 'name' as section, i ->> 'subject' as subject from jsonb_array_elements(site_status() -> 'sections') s, jsonb_array_elements(s -> 'items') i where i ->> 'message' like '%not ours%';
select dhcp_server_put('c1', null, array_agg('c1:eth1'::text), array_agg('10.9.0.0'::inet + i), array_agg(null::macaddr)) from generate_series(1, 200) i \g /dev/null
select count(*) <= 64 as bounded, count(*) > 40 as filled from dhcp_server;
update dhcp_server set seen_at = now() - interval '61 min';
select check_now();
select count(*) from alert where cleared_at is null and kind like 'dhcp.%';
