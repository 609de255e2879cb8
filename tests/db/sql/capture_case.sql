select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1');
insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', '10.0.0.1');
insert into node (name, state, tenant_id, dirty) values ('n1', 'active', 1, true), ('n2', 'active', 1, true), ('n3', 'active', 2, true);
insert into nic (mac, node_id, name) select ('52:54:00:00:00:0' || id)::macaddr, id, 'eth0' from node;
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) select ('52:54:00:00:00:0' || id)::macaddr, 1, 'p' || id, 90, '{fdb}', now(), now() from node;
insert into capture_point (switch_id, port, interface) values (1, 'cap0', 'eth9');
insert into port_observed (switch_id, name, if_index, admin_up, up, seen_at) values (1, 'cap0', 9, true, true, now());
create view entries as select case_id, actor, kind, text, detail from case_entry where kind = 'capture' order by id;
create function asked(p_spec jsonb, p_case bigint, p_actor text) returns bigint language sql as $$ select capture_ask(p_spec, p_case, p_actor) $$;
\echo without a case that is open nothing is written down
select asked('{"node": "n1", "seconds": 5}', null, 'user a');
select case_id from capture;
select capture_stop(1, 'user a');
select count(*) from entries;
\echo of the tenant, whoever asks; what is found is in it, and it is told in order
select case_open('acme', null, 'my network is slow', 'user ann') as acme \gset
select case_open(null, null, 'something smells', 'user a') as mine \gset
select case_open('globex', null, 'so is mine', 'user ann') as globex \gset
select asked('{"node": "n1", "peer": "n2", "filter": "tcp", "reason": "slow since ten"}', null, 'user a') as id \gset
select case_id = :acme from capture where id = :id;
select capture_approve(:id, 'user b');
select capture_told(:id, 'listening', null, null, null);
select capture_mirrored(:id, true, null);
select capture_told(:id, 'running', null, null, '{"packets": 7}');
select capture_told(:id, 'ended', 'deadline', null, '{"packets": 812, "bytes": 98304, "dropped": 3, "tcp": {"segments": 800, "retransmissions": 3, "zero_windows": 2, "rtt_count": 9, "rtt_least_us": 210, "rtt_mean_us": 305, "rtt_most_us": 1100}, "applications": [{"application": "DNS", "bytes": 100}, {"application": "TLS", "bytes": 300}]}');
select text, detail from entries where case_id = :acme;
\echo consent was given, and the switch refuses the session: it ends, and says so everywhere
select asked('{"node": "n1", "peer": "n2"}', null, 'user a') as refused \gset
select capture_approve(:refused, 'user b');
select capture_told(:refused, 'listening', null, null, null);
select capture_mirrored(:refused, false, '{"message": "leaf1: no session is free", "hint": "haasctl capture list --switch leaf1"}');
select state, wanted, because, problem ->> 'message' as problem from capture where id = :refused;
select capture_mirrored(:refused, false, '{"message": "leaf1: another reason"}');
select capture_told(:refused, 'ended', 'stopped', null, '{"packets": 0}');
select state, wanted, because, problem ->> 'message' as problem, started_at from capture where id = :refused;
select case_id = :acme as acme, text from entries where detail ->> 'capture' = :'refused';
select actor, kind, message from event where subject_kind = 'capture' and subject = :'refused' or kind like 'capture.%' and detail ->> 'capture' = :'refused' order by id;
select capture_mirrored(:refused, false, '{"message": "leaf1: too late"}');
select state, because, problem ->> 'message' as problem from capture where id = :refused;
\echo in a case that is named; of no tenant in that of who asked; a tenant is not told of another
select asked('{"node": "n3"}', :acme, 'user a') as other \gset
select capture_stop(:other, 'user a');
select case_id = :acme as named, text from entries where detail ->> 'capture' = :'other';
select case_close(:globex, 'it is well', false, 'user ann');
select asked('{"node": "n3"}', null, 'user a') as third \gset
select case_id = :mine as mine, text from entries where detail ->> 'capture' = :'third';
select asked('{"node": "n3"}', :globex, 'user a');
select asked('{"node": "n3"}', 77, 'user a');
set haas.scope = 'tenant'; set haas.tenant = '1';
select asked('{"node": "n1"}', :acme, 'user a');
set haas.scope = 'operator';
select case_close(:acme, 'Segments were sent again.', true, 'user ann');
select regexp_replace(case_report(:acme), '[0-9]{4}-[0-9-]+ [0-9:]+|\+[0-9:]+|after [0-9:]+', 'T', 'g');
set haas.scope = 'tenant'; set haas.tenant = '1';
select regexp_replace(case_report(:acme), '[0-9]{4}-[0-9-]+ [0-9:]+|\+[0-9:]+|after [0-9:]+', 'T', 'g');
set haas.scope = 'operator';
\echo closed: what ends later is not in it
select capture_stop(:third, 'user a');
select count(*) from entries where case_id = :acme;
\echo whatever a process tells, its capture ends
select capture_summary(x::jsonb) from (values ('7'), ('[]'), ('{"packets": "many", "tcp": 7, "applications": {"a": 1}}'), ('{"packets": -1, "bytes": 1e400, "applications": [7, {"application": "](http://x) \u0007<b>", "bytes": 1e30}, {"bytes": null}]}'),
	('{"tcp": {"segments": 0.5, "rtt_count": true}, "dropped": 1.5}'), ('null'),
	('{"packets": 3, "bytes": 300, "applications": [{"application": "HTTP", "guessed": false, "bytes": 100}, {"application": "TargusDataspeed", "guessed": true, "bytes": 200}]}')) v (x);
\echo how much is kept: what a capture may yet take counts
update capture set files = 'removed';
select capture_keep('main', 30, 134217728, 104857600);
select asked('{"node": "n1"}', null, 'user a') > 0;
select asked('{"node": "n1"}', null, 'user a');
select asked('{"node": "n1", "max_bytes": 41943040}', null, 'user a');
select asked('{"node": "n3", "max_bytes": 67108865}', null, 'user a');
set haas.scope = 'tenant'; set haas.tenant = '2';
select asked('{"node": "n3", "max_bytes": 67108865}', null, 'user a');
set haas.scope = 'operator';
select asked('{"node": "n3", "max_bytes": 1048576}', null, 'user a') as last \gset
select count(*) from capture where state <> 'ended';
\echo ended: what it took counts
select capture_approve(:last, 'user b');
select capture_told(:last, 'running', null, null, '{"packets": 1}');
select capture_mirrored(:last, true, null);
select capture_told(:last, 'ended', 'full', null, '{"packets": 1, "stored_bytes": 4096}');
select capture_kept_bytes(c) from capture c where id = :last;
\echo too old: deleted, and said
select capture_keep('main', 30, 134217728, 104857600), capture_keep('other', 30, 134217728, 104857600);
update capture set ended_at = now() - interval '31 days' where id = :last;
select capture_keep('other', 30, 134217728, 104857600), capture_keep('main', 30, 134217728, 104857600), capture_keep('main', 30, 134217728, 104857600);
select files from capture where id = :last;
select id = :last as it, files from capture_work where files = 'removing';
select actor, kind, message from event where subject_kind = 'capture' and subject = :'last' and kind = 'capture.removed';
\echo daemons and tenants
set role portald;
select capture_start('{"node": "n1"}', 'user a');
select capture_keep('main', 1, 1, 1);
select count(*) from capture_collector;
reset role;
set role peregrine_captured;
select capture_ask('{"node": "n1"}', null, 'user a');
select capture_keep('main', 30, 134217728, 104857600);
