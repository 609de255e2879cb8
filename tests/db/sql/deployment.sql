select set_config('haas.scope', 'operator', false) \g /dev/null
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state,
		   received_bytes)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1);
\echo a node comes from a sheet row; the second row takes a MAC that is taken
select node_put('{"name":"n1","nics":[{"name":"eth0","mac":"52:54:00:00:00:01","boot":true}],"bmc":{"address":"127.0.1.1","password_sealed":"ab"}}',
		false, 'ann');
select node_put('{"name":"n2","firmware":"uefi","nics":[{"name":"eth0","mac":"52:54:00:00:00:02","boot":true}],"bmc":{"address":"127.0.1.2"}}', false, 'ann');
select node_put('{"name":"n3","nics":[{"name":"eth0","mac":"52:54:00:00:00:01","boot":true}]}', true, 'ann');
select node_put('{"name":"n3"}', false, 'ann');
\echo all or none: n1 is not accepted, n2 boots uefi, n3 has no BMC, n4 is not there
select node_request('n2', 'accept', 'ann', ''), node_request('n3', 'accept', 'ann', '');
select node, deployment_id is null as none, refused, hint from deployment_create('install', array['n1', 'n2', 'n3', 'n4'], 'demo', null, '{}', 'ann');
select count(*) from deployment;
select node_request('n1', 'accept', 'ann', '');
select node, refused from deployment_create('install', array['n1'], 'demo', null, '{"hostname":"a"}', 'ann');
select node, refused from deployment_create('release', array['n1'], null, null, '{}', 'ann');
\echo only what has failed is retried; cancel takes it from whoever works on it
select deployment_request(1, 'retry', 'ann');
update deployment set generation = 5, claim_owner = 'bampid-1', claim_until = now() + interval '1 min', state = 'waiting', step = 'write_image';
select deployment_request(1, 'cancel', 'ann') is null;
select state, step, claim_owner, generation, due_at is not null from deployment;
update deployment set state = 'failed', due_at = null, ended_at = now(), step = 'verify', step_index = 6, problem = '{"message":"no callback"}';
select deployment_request(1, 'retry', 'ann') is null;
select state, step, step_index, attempt, problem is null, due_at is not null from deployment;
update deployment set state = 'failed', due_at = null, ended_at = now(), problem = '{"message":"no callback"}';
select deployment_request(1, 'clear', 'ann') is null;
select state, dirty from node where name = 'n1';
\echo cleared and dirty: only a release leads back
select node, refused from deployment_create('install', array['n1'], 'demo', null, '{}', 'ann');
select node, refused from deployment_create('release', array['n1'], null, null, '{}', 'ann');
select state, dirty from node where name = 'n1';
\echo power of a node that is worked on
select node, refused from node_action_create(array['n1'], 'power_off', '{}', false, 'ann');
select node, refused from node_action_create(array['n1'], 'power_off', '{}', true, 'ann');
select node_delete('n1', (select version from node where name = 'n1'), 'ann');
select kind, state, total, done, failed from job_view order by id;
select kind, subject, message from event order by id;
