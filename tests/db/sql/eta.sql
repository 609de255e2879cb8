select set_config('haas.scope', 'operator', false) \g /dev/null
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state,
		   received_bytes)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1);
insert into node (name, class) values ('n1', 'gpu'), ('n2', 'gpu'), ('n3', 'gpu'), ('n4', 'cpu');
\echo three that ended well: netboot took 10, 20, 60 s, write_image 100, 200, 600 s, verify 5, 10, 30 s; one of them had to start again
insert into deployment (plan, node_id, node, image_id, actor, state, due_at, started_at, ended_at) select 'install', id, name, 1, 'ann', 'done', null, now(), now() + id * interval '1 ms' from node where class = 'gpu';
insert into deployment_step (deployment_id, step_index, step, state, attempt, started_at, ended_at)
select d.id, s.i, s.step, 'done', 1, now() - interval '1 h' + s.from_s * f.f * interval '1 s', now() - interval '1 h' + s.to_s * f.f * interval '1 s'
from deployment d join lateral (select (array[1, 2, 6])[d.id] as f) f on true
cross join (values (1, 'netboot', 0, 10), (4, 'write_image', 10, 110), (9, 'verify', 110, 115)) s (i, step, from_s, to_s);
insert into deployment_step (deployment_id, step_index, step, state, attempt, started_at, ended_at) select 1, 1, 'netboot', 'failed', 0, now() - interval '1 h 10 s', now() - interval '1 h';
select deployment_pace_learn(array[1, 2, 3]);
select step, step_index, step_s, (select array_agg(round(x)) from unnest(left_s) x) from deployment_pace order by step_index;
\echo only the newest 32 are kept
begin;
select count(deployment_pace_learn(array[1, 2, 3])) from generate_series(1, 40) \g /dev/null
select step, cardinality(step_s), cardinality(left_s) from deployment_pace order by step_index;
rollback;
\echo before the first step; the tenant whose it is sees it as well
insert into tenant (name) values ('acme');
insert into deployment (plan, node_id, node, image_id, actor, state, due_at, tenant_id) select 'install', n.id, n.name, 1, 'ann', 'queued', now(), t.id from node n, tenant t where n.name = 'n1';
update node set state = 'reserved', tenant_id = 1 where name = 'n1';
create view eta as select e.step, round(extract(epoch from (e.eta ->> 'at')::timestamptz - now())) as at_s, round(extract(epoch from (e.eta ->> 'latest')::timestamptz - now())) as latest_s,
	round(extract(epoch from (e.eta ->> 'step_at')::timestamptz - now())) as step_s, e.eta - 'at' - 'latest' - 'step_at' as eta from deployment_view e where e.ended_at is null;
select abs(at_s - 230) <= 2, abs(latest_s - 598) <= 2, abs(step_s) <= 2, eta from eta;
set session authorization portald_tenant;
begin;
select scope_as('acme') \g /dev/null
select eta ->> 'samples' from deployment_view;
commit;
reset session authorization;
select set_config('haas.scope', 'operator', false) \g /dev/null
\echo in a step: those count that took longer
update deployment set state = 'waiting', step = 'netboot', step_index = 1, started_at = now(), step_started_at = now() - interval '15 s' where id = 4;
select abs(at_s - (215 + 675) / 2) <= 1, abs(step_s - (5 + 45) / 2) <= 1, eta from eta;
\echo later than ever: no bound, and what comes after it
update deployment set step_started_at = now() - interval '70 s' where id = 4;
select abs(at_s - 210) <= 1, latest_s, step_s, eta from eta;
\echo its share is believed after ten seconds
update deployment set step = 'write_image', step_index = 4, step_started_at = now() - interval '50 s' where id = 4;
insert into progress (deployment_id, percent) values (4, 50);
select abs(at_s - 60) <= 1, abs(step_s - 50) <= 1, eta from eta;
update deployment set step_started_at = now() - interval '5 s' where id = 4;
select abs(at_s - 205) <= 1, eta -> 'late' from eta;
\echo what comes after it
select deployment_ahead('install', 'gpu', 1), deployment_ahead('install', 'gpu', 9), deployment_ahead('install', 'cpu', 1);
\echo nothing is known of another class, of what is cancelled, and of what a label pauses
update deployment set node_id = 4 where id = 4;
select eta from eta;
update deployment set node_id = 1, state = 'cancelling' where id = 4;
select eta from eta;
