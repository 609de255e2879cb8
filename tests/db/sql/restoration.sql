select set_config('haas.scope', 'operator', false) \g /dev/null
create view state as select case when restoration_waits() then 'switches are read' else 'switches are set' end as switches, (select count(*) from capture_session) as mirrors,
	(select count(*) from storage_claim('s1', 'me', 1, decode(repeat('0', 64), 'hex'), 1, 1, null)) as storages,
	(select string_agg(n.name || ' ' || l.label || ' ' || l.effects::text, ', ' order by n.name) from health_label l join node n on n.id = l.node_id) as labels;
create view work as select string_agg(plan || ' ' || node || ' ' || state || coalesce(': ' || (problem ->> 'message'), ''), ', ' order by id) as deployments,
	(select string_agg(kind || ' ' || state, ', ' order by id) from agent_task) as tasks, (select string_agg(target, ', ') from boot_intent) as intents from deployment;
create view told as select s -> 'items' -> 0 ->> 'message' as message from jsonb_array_elements(site_status() -> 'sections') s where s ->> 'name' = 'database';
insert into tenant (name) values ('acme');
select node_put('{"name":"n1","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:01","boot":true}],"bmc":{"driver":"sim","address":"10.0.0.1"}}', false, 'ann') \g /dev/null
select node_put('{"name":"n2","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:02"}]}', false, 'ann') \g /dev/null
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f', 100, 200, 99);
select switch_manage('leaf1', '{"address":"10.0.1.1"}', 'ann'), switch_manage('leaf2', '{"address":"10.0.1.2","managed":false}', 'ann') \g /dev/null
insert into capture_point (switch_id, port, interface) select id, 'eth9', 'mirror0' from switch where name = 'leaf1';
select storage_put('s1', '{"portal":"10.9.9.9:3260"}', 'ann') \g /dev/null
update storage set login = session_user;
update bmc set observed_power = 'off', observed_at = now(), power_since = now();
insert into switch_observed (switch_id, family, object_id, text, system, chassis, uptime_ms, reachable, read_at, asked_at) select id, '', '', '', '', '', 1, true, now(), now() from switch;
insert into switch_part (switch_id, part, state, since) select id, 'ports', 'whole', now() from switch;
insert into daemon (name, instance, version, started_at) values ('bampid', 'c1', '0', now());
insert into deployment (plan, node_id, node, actor, state, step, due_at, started_at) select 'release', id, name, 'ann', 'waiting', 'agent', now(), now() from node where name = 'n1';
insert into deployment_step (deployment_id, step_index, step, state) select id, 1, 'agent', 'running' from deployment;
insert into boot_intent (node_id, target, deployment_id, token, nonce) select node_id, 'agent', id, repeat('a', 32), repeat('b', 32) from deployment;
insert into agent_task (deployment_id, node_id, token, step, kind, statement, signature) select id, node_id, repeat('a', 32), 'erase', 'erase', '', repeat('0', 128) from deployment;
insert into event (xid, actor, kind, subject_kind, subject, message) values ('4611686018427387904', 'ann', 'old.event', 'node', 'n1', 'of a cluster that was older');
\echo a database that was never restored
select * from state;
select message is null as nothing_told from told;
select restoration_accept('ann');
\echo restored: switches are only read, storages and nodes are left alone, no agent erases, nothing that was read is believed
select max(id) as before from node \gset
select restoration_begin('2026-11-26 13:04:05Z', 'c1');
select * from state;
select * from work;
select state, problem ->> 'message' from deployment_step;
select observed_power, observed_at from bmc;
select bool_or(reachable), count(read_at), (select count(*) from switch_part), (select count(*) from daemon) from switch_observed;
select * from told;
select site_status() -> 'ok' as ok;
select node_put('{"name":"n3"}', false, 'ann') \g /dev/null
\echo numbers given since the backup are not given again
select id - :before >= 10000 as far from node where name = 'n3';
\echo events of an older cluster are read, and before those that come
select count(*) from event where xid >= pg_snapshot_xmax(pg_current_snapshot());
\echo no node is worked on: what is asked for waits
select node, refused from deployment_create('inspect', '{n1}', null, null, '{}', 'ann');
select paused ->> 'message' from deployment where node = 'n1' and due_at is not null;
\echo restored from a backup that nobody had accepted
select restoration_begin(null, '');
select * from told;
\echo only the owner of the schema may accept
set role portald;
select restoration_accept('ann');
reset role;
select restoration_accept('ann');
select * from state;
select message is null as nothing_told from told;
select paused from deployment where node = 'n1' and due_at is not null;
select actor, kind, message from event where subject_kind = 'database' order by id;
select restoration_accept('ann');
\echo a site without a backup for two days is told; one that is new is not
create view backups as select s ->> 'state' as state, s -> 'items' -> 0 ->> 'message' as message from jsonb_array_elements(site_status() -> 'sections') s where s ->> 'name' = 'backups';
select * from backups;
update node set created_at = now() - interval '3 days';
select * from backups;
insert into backup (file, bytes, made_at) values ('f', 1, now() - interval '1 day');
select * from backups;
update backup set made_at = now() - interval '3 days';
select * from backups;
