select set_config('haas.scope', 'operator', false) \g /dev/null
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state,
		   received_bytes)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1);
select node_put('{"name":"n1","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:01","boot":true}],"bmc":{"address":"127.0.1.1","password_sealed":"ab"}}',
		false, 'ann') \g /dev/null
select node_request('n1', 'accept', 'ann', '') \g /dev/null
select node from deployment_create('install', array['n1'], 'demo', null, '{}', 'ann');
\echo user 3: bampid was never heard: it has 10 s to come, then it is named
select waiting from deployment_view;
update deployment set created_at = now() - interval '11 s';
select waiting ->> 'daemon', waiting ->> 'message', waiting ->> 'detail', (waiting ->> 'since')::timestamptz = created_at from deployment_view;
\echo user 3: the power of a node while bampid is dead
insert into daemon (name, instance, version, started_at, seen_at) values ('bampid', 'c1', '0.1', now(), now() - interval '60 s');
select node from node_action_create(array['n1'], 'power_status', '{}', true, 'ann');
set role portald;
select x ->> 'state', x -> 'waiting' ->> 'message', x -> 'waiting' ->> 'hint' from job_view j, jsonb_array_elements(j.items) x order by j.id;
reset role;
\echo heard again: a deployment that is due and that nobody takes is told as well
update daemon set seen_at = now();
select waiting from deployment_view;
update deployment set due_at = now() - interval '11 s';
select waiting ->> 'daemon', waiting ->> 'message' from deployment_view;
\echo user 7: the reason of its step, and since when
update deployment set due_at = now() + interval '1 h', state = 'waiting', step = 'netboot', waiting_since = now() - interval '3 min',
	waiting_reason = '{"code":-110,"message":"the BMC of node n1 does not answer: it is in back-off","detail":"asked again at 10:00","hint":"look"}';
select waiting - 'since', date_trunc('minute', now() - (waiting ->> 'since')::timestamptz) from deployment_view;
\echo a daemon that its step needs comes before
insert into daemon (name, instance, version, started_at, seen_at) values ('bampi-bootd', 'c1', '0.1', now(), now() - interval '60 s');
select waiting ->> 'message', waiting ->> 'detail' like '%; the BMC of node n1%' from deployment_view;
update deployment set step = 'attach';
select waiting ->> 'message' from deployment_view;
\echo a pause comes before all; the problem of the last attempt stays in sight; its class is told
insert into deployment_step (deployment_id, step_index, step, state, attempt, ended_at, problem)
select id, 1, 'netboot', 'failed', 1, now(), '{"message":"it never asked"}' from deployment;
update deployment set paused = '{"code":"paused","message":"no automation"}', paused_at = now();
select waiting - 'since', last_problem, class from deployment_view;
\echo cancel waits for nothing yet, and what has ended never does
update deployment set paused = null, paused_at = null;
select deployment_request(1, 'cancel', 'ann') is null;
select waiting, waiting_reason, waiting_since from deployment d join deployment_view using (id);
update deployment set state = 'cancelled', due_at = null, ended_at = now(), waiting_reason = '{"message":"x"}', waiting_since = now();
update deployment set waiting_reason = '{"message":"x"}';
update deployment set state = 'cancelled', due_at = null, ended_at = now();
select waiting, last_problem from deployment_view;
