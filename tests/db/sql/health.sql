select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme');
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state,
		   received_bytes, public)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1, true);
select node_put(format('{"name":"n%s","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true}],"bmc":{"address":"127.0.1.%1$s"}}', i)::jsonb,
		false, 'ann') ->> 'result' from generate_series(1, 3) i;
select node_request(format('n%s', i), 'accept', 'ann', '') from generate_series(1, 3) i;
\echo two readings of the log: what is known is passed over, an id that comes again after the log was cleared is new
select health_sel_put('[{"node_id":1,"record":2,"stamp":1700000100,"entries":[
 {"record":1,"time_s":1700000000,"type":"Fan","sensor":"Fan 1","event":"Lower Critical - going low"},
 {"record":2,"time_s":1700000100,"type":"Memory","sensor":"DIMM A1","event":"Uncorrectable memory error"}]},
 {"node_id":99,"record":1,"stamp":0,"entries":[{"record":1,"event":"a node that is gone"}]}]');
select health_sel_put('[{"node_id":1,"record":1,"stamp":1700000300,"entries":[
 {"record":2,"time_s":1700000100,"type":"Memory","sensor":"DIMM A1","event":"Uncorrectable memory error"},
 {"record":1,"time_s":1700000300,"type":"Fan","sensor":"Fan 1","event":"Lower Critical - going low","asserted":false}]}]');
select record, bmc_time_s, type, sensor, event, asserted from sel_entry order by id;
select sel_record, sel_stamp, due_at is not null from node_health where node_id = 1;
\echo an empty log moves the position, too; 512 entries of a node are kept
select health_sel_put('[{"node_id":1,"record":null,"stamp":null,"entries":[]}]');
select sel_record is null from node_health where node_id = 1;
select health_sel_put(jsonb_build_array(jsonb_build_object('node_id', 2, 'record', 700, 'stamp', 1700000700, 'entries',
	(select jsonb_agg(jsonb_build_object('record', i, 'time_s', 1700000000 + i, 'event', 'e' || i)) from generate_series(1, 700) i))));
select count(*), min(record), max(record) from sel_entry where node_id = 2;
\echo sensors: one row per node, due only when what is not nominal changes
update node_health set due_at = null;
select health_sensors_put('[{"node_id":1,"at_us":1700000000000000,"sensors":[{"name":"Temp","reading":30,"state":"nominal"}],"alarms":[]}]');
select due_at is null, sensors -> 0 ->> 'reading' from node_health where node_id = 1;
select health_sensors_put('[{"node_id":1,"at_us":1700000060000000,"sensors":[{"name":"Temp","reading":99,"state":"critical"}],"alarms":[{"name":"Temp","state":"critical"}]}]');
select due_at is not null, sensors -> 0 ->> 'reading' from node_health where node_id = 1;
\echo an older reading of another bampid changes nothing
select health_sensors_put('[{"node_id":1,"at_us":1700000000000000,"sensors":[],"alarms":[]}]');
select sensors -> 0 ->> 'reading' from node_health where node_id = 1;
\echo a label by rule; decided twice from the same facts it is written once
select health_save('[{"node_id":1,"generation":0,"memo":{},"next_ms":null,"labels":[{"label":"memory_fault","severity":"critical",
 "effects":["no_allocation"],"reason":"DIMM A1: Uncorrectable memory error","hint":"replace the module","since_ms":1700000100000}]}]');
select health_save('[{"node_id":1,"generation":0,"memo":{},"next_ms":null,"labels":[]}]');
select node, label, severity, source, effective, since at time zone 'UTC' from health_label_view;
select name from allocatable_node order by name;
\echo not given to a tenant: told why and what to do; a tenant is told less
select refused, hint from deployment_create('install', '{n1}', 'demo', 'acme', '{}', 'ann');
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select refused, hint from deployment_create('install', '{n1}', 'demo', 'acme', '{}', 'tom', true);
select set_config('haas.scope', 'operator', false) \g /dev/null
\echo an operator may insist
select refused, deployment_id is not null from deployment_create('install', '{n1}', 'demo', 'acme', '{}', 'ann', true);
\echo silenced, it has no effects; when the silence ends they are back
select refused from health_request('{n1,n7}', 'silence', 'memory_fault', null, null, 'module is on its way', now() + interval '1 day', 'ann');
select label, effects, effective from health_label_view;
update health_label set silenced_until = now() - interval '1 s';
select health_expire(), health_expire();
select label, effective, silenced_by is null from health_label_view;
\echo what is cleared by hand does not count any more
select refused from health_request('{n1}', 'clear', 'memory_fault', null, null, 'module replaced', null, 'ann');
select count(*), (select cleared ? 'memory_fault' from node_health where node_id = 1) from health_label;
select refused, hint from health_request('{n1}', 'acknowledge', 'memory_fault', null, null, 'seen', null, 'ann');
select health_request('{n1}', 'silence', 'memory_fault', null, null, 'seen', null, 'ann');
select health_request('{n1}', 'clear', 'memory_fault', null, null, '', null, 'ann');
\echo no automation: bampid finds nothing to claim and can save nothing; cancel goes through
select refused from health_request('{n1,n2}', 'add', 'hands_off', 'warning', '{no_automation}', 'bob is in the rack', null, 'ann');
select node, problem ->> 'message', problem ->> 'detail', problem ->> 'hint' from deployment_view;
update deployment set step_deadline_at = now(), paused_at = paused_at - interval '1 hour';
set role bampid;
select count(*) from (select from deployment where due_at <= now() for update skip locked) x;
update deployment set claim_owner = 'b1' where id = 1;
reset role;
select claim_owner is null from deployment;
\echo a deployment that begins on such a node waits from the start
select refused from deployment_create('install', '{n2}', 'demo', null, '{}', 'ann');
select id, paused is not null from deployment order by id;
select deployment_request(2, 'cancel', 'ann') is null;
select state, paused is null from deployment where id = 2;
\echo the label goes: it goes on, and the hour does not count
select refused from health_request('{n1}', 'clear', 'hands_off', null, null, 'done', null, 'ann');
select paused is null, step_deadline_at > now() + interval '59 min', due_at <= now() from deployment where id = 1;
set role bampid;
select count(*) from (select from deployment where due_at <= now() for update skip locked) x;
reset role;
\echo a failed erase and a BMC that fails make the labels due
update node_health set due_at = null;
insert into drive (node_id, serial, size_bytes, verdict) values (3, 'S1', 1, 'unknown');
select count(*) from node_health where node_id = 3;
update drive set verdict = 'failed' where serial = 'S1';
update bmc set failing = true, problem = '{"message":"no answer"}' where node_id = 2;
select node_id, due_at is not null, bmc_failing_since is not null from node_health where node_id in (2, 3) order by 1;
update bmc set failing = false, problem = null where node_id = 2;
select bmc_failing_since is null from node_health where node_id = 2;
\echo power makes them due only where it decides something: n2 has an alarm, n3 a label of a rule, n1 nothing
insert into node_health (node_id) values (1), (2), (3) on conflict do nothing;
update node_health set due_at = null, alarms = case node_id when 2 then '[{"name":"PS1"}]' else '[]' end::jsonb, memo = '{}';
delete from health_label where source = 'rule';
insert into health_label (node_id, label, source, severity, reason, actor) values (3, 'cooling', 'rule', 'warning', 'fan', 'health');
update bmc set observed_power = case observed_power when 'on' then 'off' else 'on' end;
select node_id, due_at is not null from node_health where node_id in (1, 2, 3) order by 1;
\echo nodes without a label and without a reason for one are saved together; one decided elsewhere meanwhile is passed over
update node_health set generation = 10 + node_id where node_id in (1, 2, 3);
select health_save('[{"node_id":1,"generation":11,"memo":{"a":1},"next_ms":null,"labels":[]},{"node_id":2,"generation":7,"memo":{"b":1},"next_ms":null,"labels":[]},
	{"node_id":3,"generation":13,"memo":{},"next_ms":2000000000000,"labels":[]}]');
select node_id, generation, memo, due_at is null, due_at > now() from node_health where node_id in (1, 2, 3) order by 1;
select count(*) from health_label where source = 'rule';
\echo labels of people end by time
select refused from health_request('{n3}', 'add', 'burn_in', null, '{no_allocation}', 'over night', now() + interval '1 s', 'ann');
select name, node_health_word(id) from node order by name;
update health_label set expires_at = now() where label = 'burn_in';
select name from allocatable_node order by name;
select health_expire();
select health_request('{n3}', 'add', 'Bad Word', null, null, 'x', null, 'ann');
select health_request('{n3}', 'add', 'x', null, '{no_coffee}', 'x', null, 'ann');
\echo a tenant sees the labels of its own nodes and changes none
select set_config('haas.scope', 'tenant', false) \g /dev/null
set role portald;
select node, label from health_label_view;
\echo of the log of a BMC a tenant sees what came since the hand-over
select count(*) from sel_entry;
reset role;
insert into usage (kind, subject, tenant_id, tenant, from_at) select 'node', n.name, n.tenant_id, 'acme', now() - interval '1 min' from node n where n.tenant_id is not null;
update sel_entry set seen_at = now() - interval '1 h' where id = (select min(e.id) from sel_entry e join node n on n.id = e.node_id where n.tenant_id is not null);
set role portald;
select count(*) from sel_entry;
select health_request('{n1}', 'clear', 'hands_off', null, null, 'x', null, 'tom');
insert into health_label (node_id, label, source, severity, reason, actor) values (1, 'x', 'operator', 'info', 'x', 'tom');
reset role;
select kind, actor, subject, message from event where kind like 'health.%' or kind in ('deployment.paused', 'deployment.resumed') order by id;
