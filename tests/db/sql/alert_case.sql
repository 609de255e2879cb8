select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1'), ('spine1');
insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', '10.0.0.1'), (2, 1, 'spine', '10.0.0.2');
insert into network (name, kind, tenant_id) values ('red', 'tenant', 1), ('blue', 'tenant', 2);
insert into network_vlan (fabric_id, vlan, network_id, state) values (1, 100, 1, 'used'), (1, 101, 2, 'used');
create view seen as select key, severity, tenant_id, message, detail, seen_at - raised_at as seen, cleared_at - raised_at as cleared, muted from alert order by id;
-- Times of rows: "@3" is three tenths of a second after one that has passed.
create function at(p_rows text) returns jsonb volatile language sql as $$
	select regexp_replace(p_rows, '@([0-9]+)', extract(epoch from date_trunc('hour', now()))::bigint || '\1' || '00000', 'g')::jsonb $$;
grant execute on function at(text) to peregrine_flowd;
create view told as select kind, subject, tenant_id, message from event where kind ~ '^(alert|case)[.]' order by id;
\echo one door: its own kinds only, no way around it
set role peregrine_flowd;
insert into alert (key, kind, severity, subject_kind, subject, message) values ('x', 'traffic.share', 'info', 'port', 'p', 'm');
update alert set message = 'm';
select alert_put(at('[{"op":"put","key":"switch.drift:leaf1","kind":"switch.drift","severity":"warning","subject_kind":"switch","subject":"leaf1","message":"m","raised_us":1,"at_us":1}]'));
select alert_put(at('[{"op":"put","key":"traffic.share:leaf1","kind":"traffic.errors","severity":"warning","subject_kind":"switch","subject":"leaf1","message":"m","raised_us":1,"at_us":1}]'));
\echo raised; written twice it is one; kept; a row whose tenant is gone; cleared, and what is written again after that changes nothing
select alert_put(at('[{"op":"put","key":"traffic.share:leaf1:up0:acme","kind":"traffic.share","severity":"warning","subject_kind":"port","subject":"leaf1:up0","tenant_id":1,"message":"acme has 80 %","detail":{"hint":"h","value":80},"raised_us":@0,"at_us":@0}]'));
select alert_put(at('[{"op":"put","key":"traffic.share:leaf1:up0:acme","kind":"traffic.share","severity":"warning","subject_kind":"port","subject":"leaf1:up0","tenant_id":1,"message":"acme has 80 %","detail":{"hint":"h","value":80},"raised_us":@0,"at_us":@0}]'));
select alert_put(at('[{"op":"put","key":"traffic.share:leaf1:up0:acme","kind":"traffic.share","severity":"critical","subject_kind":"port","subject":"leaf1:up0","tenant_id":1,"message":"acme has 90 %","detail":{"value":90},"raised_us":@0,"at_us":@3},
 {"op":"put","key":"traffic.gap:leaf1","kind":"traffic.gap","severity":"warning","subject_kind":"switch","subject":"leaf1","tenant_id":99,"message":"lost","raised_us":@0,"at_us":@0}]'));
select alert_put(at('[{"op":"clear","key":"traffic.share:leaf1:up0:acme","kind":"traffic.share","subject_kind":"port","subject":"leaf1:up0","message":"over","raised_us":@0,"at_us":@4}]'));
select alert_put(at('[{"op":"put","key":"traffic.share:leaf1:up0:acme","kind":"traffic.share","severity":"warning","subject_kind":"port","subject":"leaf1:up0","tenant_id":1,"message":"acme has 80 %","raised_us":@0,"at_us":@0},
 {"op":"clear","key":"traffic.share:leaf1:up0:acme","kind":"traffic.share","subject_kind":"port","subject":"leaf1:up0","message":"over","raised_us":@0,"at_us":@4},
 {"op":"clear","key":"traffic.none:leaf1","kind":"traffic.none","subject_kind":"port","subject":"leaf1:up0","message":"over","raised_us":1,"at_us":1}]'));
reset role;
select * from seen;
\echo who was not told because of a silence is told when it is over
set role portald;
select alert_silence_add('', '', 'all', 60, 'ann');
select alert_silence_add('Traffic', '', 'a kind is small', 60, 'ann');
select alert_silence_add('traffic.', 'leaf1', 'cables are moved', 3600, 'ann') as silence \gset
set role peregrine_flowd;
select alert_put(at('[{"op":"put","key":"traffic.errors:leaf1:up0","kind":"traffic.errors","severity":"warning","subject_kind":"port","subject":"leaf1:up0","message":"errors","raised_us":@0,"at_us":@0}]'));
select alert_put(at('[{"op":"put","key":"traffic.errors:spine1:p1","kind":"traffic.errors","severity":"warning","subject_kind":"port","subject":"spine1:p1","message":"errors","raised_us":@0,"at_us":@0}]'));
set role portald;
select key, muted, (alert_silence_of(kind, subject)).reason from alert where cleared_at is null order by id;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select count(*) as silences_that_a_tenant_sees from alert_silence;
select alert_silence_add('traffic.', '', 'mine', 60, 'tom');
select alert_silence_end(:silence, 'tom');
select set_config('haas.scope', 'operator', false) \g /dev/null
select alert_silence_end(:silence, 'ann');
select alert_silence_end(:silence, 'ann');
select id, kind, subject, reason, until <= now() as over, ended_by from alert_silence;
set role peregrine_flowd;
select alert_put(at('[{"op":"put","key":"traffic.errors:leaf1:up0","kind":"traffic.errors","severity":"warning","subject_kind":"port","subject":"leaf1:up0","message":"errors still","raised_us":@0,"at_us":@3}]'));
select alert_put(at('[{"op":"put","key":"traffic.errors:leaf1:up0","kind":"traffic.errors","severity":"warning","subject_kind":"port","subject":"leaf1:up0","message":"errors still","raised_us":@0,"at_us":@6}]'));
reset role;
select * from told;
\echo candidates: who else is on the uplink, what was changed, what the BMC of a node logged, what counters said
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, since, seen_at) values (1, 'up0', 2, 'p1', 'confirmed', 100, now(), now());
insert into uplink_applied (switch_id, port, tagged) values (1, 'up0', '100-101,150');
select node_put('{"name":"n1","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:01"}]}', false, 'ann') \g /dev/null
set session_replication_role = replica; -- a superuser may
delete from event where subject_kind in ('node', 'switch', 'port');
reset session_replication_role;
insert into sel_entry (node_id, record, sensor, event) select id, 1, 'DIMM 3', 'uncorrectable error' from node;
insert into change_batch (fabric_id, reason, state, owner) values (1, 'intent', 'done', 'p');
insert into change (batch_id, switch_id, phase, edit, state, sent_at) values (1, 1, 3, '{"kind": "port_set", "vlan": 0, "port": "up0"}', 'applied', now() - interval '5 minutes'),
	(1, 1, 3, '{"kind": "vlan_create", "vlan": 101}', 'applied', now() - interval '2 hours');
select event_add('peregrined', 'port.up', 'port', 'spine1:p1', null, 'it has a link') \g /dev/null
select traffic_partitions_turn(now()) \g /dev/null
insert into traffic_60_port (step, at, switch_id, port, seconds, in_errors, out_errors, in_discards, out_discards) values (60, now() - interval '2 minutes', 2, 'p1', 60, 7, 0, 0, 1);
set role peregrine_flowd;
select f - 'age_s' as fact, f ->> 'age_s' is null or (f ->> 'age_s')::int between 0 and 3600 as in_time
from jsonb_array_elements(alert_candidates(1, 'up0', '{n1,nobody}', clock_timestamp())) f order by f ->> 'fact', f ->> 'name', f ->> 'text';
select alert_candidates(1, '', '{}', '2001-01-01');
\echo of an alert that began before: what was changed since is no cause; what a BMC logged, and counters said, a little later is told
select f - 'age_s' as fact, (f ->> 'age_s')::int between 150 and 200 as before, (f ->> 'age_s')::int between -150 and -100 as after from jsonb_array_elements(alert_candidates(1, 'up0', '{n1}', now() - interval '2 minutes 30 seconds')) f
where f ->> 'fact' in ('changed', 'logged', 'counted') order by f ->> 'fact', f ->> 'name';
select f ->> 'text' as changed_on_the_switch, f -> 'here' as here from jsonb_array_elements(alert_candidates(1, '', '{}', clock_timestamp())) f where f ->> 'fact' = 'changed';
select jsonb_agg(f ->> 'text') as an_hour_later from jsonb_array_elements(alert_candidates(1, 'up0', '{}', now() - interval '1 hour 59 minutes')) f where f ->> 'fact' = 'changed';
\echo who was there when it began, also if his network is gone by now: by the name that it had; who came since was not, nor was a node ill that became so later
reset role;
insert into vlan_history (fabric_id, vlan, network_id, network, tenant_id, valid_from, valid_to) values (1, 102, 77, 'brown', 1, now() - interval '1 hour', now() - interval '10 minutes');
select node_put('{"name":"n2","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:02"}]}', false, 'ann') \g /dev/null
insert into port_binding (switch_id, port, tag, network_id, tenant_id, valid_from, valid_to) values (1, 'p9', 0, 77, 1, now() - interval '1 hour', now() - interval '10 minutes'),
	(1, 'p9', 103, 78, 1, now() - interval '1 hour', now() - interval '10 minutes'), (1, 'p9', 101, 2, 2, now() - interval '10 minutes', null);
insert into nic_binding (mac, switch_id, port, node_id, valid_from, valid_to) select '52:54:00:00:00:01'::macaddr, 1, 'p9', id, now() - interval '1 hour', now() - interval '10 minutes' from node where name = 'n1'
	union all select '52:54:00:00:00:02', 1, 'p9', id, now() - interval '10 minutes', null from node where name = 'n2';
insert into health_label (node_id, label, source, severity, reason, actor, since) select n.id, x.label, 'rule', 'warning', x.label, 'bampid', now() - make_interval(mins => x.ago)
	from node n, (values ('before', 30), ('soon_after', 16), ('since', 8)) x (label, ago);
set role peregrine_flowd;
select x.ago, f - 'severity' as fact from (values (20), (0)) x (ago), jsonb_array_elements(alert_candidates(1, 'p9', '{}', now() - make_interval(mins => x.ago))) f
where f ->> 'fact' in ('located', 'ill') order by x.ago desc, f ->> 'fact' desc, f ->> 'text';
\echo counters that SNMP alone has; of a port that both speak of, those that say more
reset role;
insert into traffic_60_counter (at, switch_id, port, seconds, in_errors, in_discards, up) values (now() - interval '30 seconds', 1, 'up0', 60, 600, null, true),
	(now() - interval '30 seconds', 2, 'p1', 60, 0, 0, true), (now() - interval '20 minutes', 1, 'up0', 60, 1000000, 0, true);
set role peregrine_flowd;
select f from jsonb_array_elements(alert_candidates(1, 'up0', '{}', clock_timestamp())) f where f ->> 'fact' = 'counted' order by f ->> 'name';
\echo of a port that is read by its command line, and has another name by SNMP
reset role;
insert into port_observed (switch_id, name, if_index, admin_up, up, seen_at) values (1, 'GigabitEthernet1/0/1', 0, true, true, now()), (1, 'Gi1/0/2', 0, true, true, now());
set role peregrined;
select port_number_put(1, '[{"port": "Gi1/0/1", "if_index": 7}, {"port": "GigabitEthernet1/0/1", "if_index": 7}, {"port": "Gi1/0/2", "if_index": 8}]');
reset role;
insert into traffic_60_counter (at, switch_id, port, seconds, in_errors, in_discards, up) values (now() - interval '30 seconds', 1, 'Gi1/0/1', 60, 600, 3, true),
	(now() - interval '30 seconds', 1, 'Gi1/0/2', 60, 8, 0, true);
set role peregrine_flowd;
select f from jsonb_array_elements(alert_candidates(1, 'GigabitEthernet1/0/1', '{}', clock_timestamp())) f where f ->> 'fact' = 'counted';
select counted, port from counter_port order by 1;
set role portald;
select port, source, in_errors, in_discards from port_errors where switch_id = 1 order by port;
select in_errors from port_counter where switch_id = 1 and port = any (counter_names(1, 'GigabitEthernet1/0/1'));
select counter_names(1, 'up0'), counter_names(2, 'nosuch');
set role peregrine_flowd;
select count(*) from sel_entry;
\echo a case: opened, worked on, answered; only appended to
set role portald;
select case_open('nobody', null, 'slow', 'ann');
select case_open('acme', 77, 'slow', 'ann');
select case_open('acme', (select min(id) from alert), 'my network is slow', 'user ann') as id \gset
select case_open(null, null, 'something smells', 'user ann') as other \gset
select case_note(:id, 'query', 'x', '{}', 'user ann') \g /dev/null
select case_query(:id, '{"path":"link:leaf1:up0","from":"2026-01-01T10:40:00Z","to":"2026-01-01T10:42:00Z","total":{"bytes":10,"bits_per_second":9400000000},"rows":[{"name":"globex","path":"link:leaf1:up0/tenant:globex","share":0.8512,"bits_per_second":8},{"name":"acme","path":"p","share":0.1,"bits_per_second":1}]}', 'user ann') is not null as recorded;
select case_query(:id, '{"path":"link:leaf1:up0/tenant:globex/vlan:101","from":"2026-01-01T10:40:00Z","to":"2026-01-01T10:42:00Z","total":{"bytes":10,"bits_per_second":800},"rows":[{"name":"n8 - n9","path":"p","share":1,"bits_per_second":8}]}', 'user ann') is not null as recorded;
select case_query(:id, '{"path":"link:leaf1:up0/nobody:port_unbound/vlan:7/pair:10.9.0.1~02%3A00%3A00%3A00%3A00%3A01","from":"2026-01-01T10:40:00Z","to":"2026-01-01T10:42:00Z","total":{"bytes":10,"bits_per_second":8},"rows":[{"name":"10.9.0.1 > 10.9.0.2 icmp","path":"p","share":1,"bits_per_second":8}]}', 'user ann') is not null as recorded;
select case_query(:id, '{"path":"tenant:acme","from":"2026-01-01T10:40:00Z","to":"2026-01-01T10:42:00Z","total":{"bytes":10,"bits_per_second":12345},"rows":[{"name":"VLAN 100","path":"p","share":1,"bits_per_second":8}]}', 'user ann') is not null as recorded;
\echo the same question at once is one entry, at another time it is another
select case_query(:id, '{"path":"tenant:acme","from":"2026-01-01T10:40:00Z","to":"2026-01-01T10:42:00Z","total":{"bytes":10,"bits_per_second":12345},"rows":[{"name":"VLAN 100","path":"p","share":1,"bits_per_second":8}]}', 'user ann') = (select max(id) from case_entry) as recorded;
select count(*) from case_entry;
\echo the way between two nodes and an alert: once in a minute; no such alert
select case_path(:id, '{"tenant":"acme","a":"n1","b":"n2","paths":[{"network":"front","problem":null,"hops":[{},{},{}]},{"network":"back","problem":"cut at leaf1","hops":[{}]}]}', 'user ann') is not null as recorded;
select case_path(:other, '{"tenant":"globex","a":"n8","b":"n9","paths":[]}', 'user ann') is not null as recorded;
select case_path(:id, '{"tenant":"globex","a":"n8","b":"n9","paths":[]}', 'user ann') is not null as recorded;
select case_alert(:id, (select min(id) from alert), 'user ann') is not null as recorded;
select case_alert(:id, (select min(id) from alert), 'user ann') = (select max(id) from case_entry) as again;
select case_alert(:id, 77, 'user ann') is null as no_alert;
select case_query(:id, '{"path":"tenant:acme","from":"2026-01-01T10:40:00Z","to":"2026-01-01T10:43:00Z","total":{"bytes":10,"bits_per_second":12345},"rows":[{"name":"VLAN 100","path":"p","share":1,"bits_per_second":8}]}', 'user ann') is not null as recorded;
select count(*) from case_entry;
select case_note(:id, 'note', 'globex again', '{}', 'user ann') is not null as noted;
select case_note(:id, 'finding', 'the uplink of leaf1 is full', '{}', 'user ann') is not null as noted;
select case_note(:id, 'closed', 'no', '{}', 'user ann');
insert into case_entry (case_id, actor, kind, text) values (1, 'a', 'note', 't');
update case_entry set text = 't';
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select count(*), case_report(:id) is null as no_report from case_file;
select set_config('haas.scope', 'operator', false) \g /dev/null
select min(id) as alert from alert where tenant_id is distinct from 1 \gset
select set_config('haas.scope', 'tenant', false) \g /dev/null
select case_note(:id, 'note', 'let me', '{}', 'tom');
select case_publish(:id, 'tom');
\echo who looks as a tenant, or a daemon, complains for nobody
select case_open(null, null, 'it is slow', 'account ann');
set haas.role = 'operator';
select case_open(null, null, 'it is slow', 'account ann');
set haas.role = 'on-call';
select case_open('acme', null, 'it is slow', 'account ann');
select count(*) from case_file where complaint;
set haas.role = 'tenant-member';
\echo a tenant complains: for itself, of its own alerts; 16 wait at most; its operators are told, and not what they wrote
select case_open('globex', null, 'not mine', 'tom');
select case_open(null, :alert, 'of an alert of others', 'tom');
select case_open(null, null, 'it is slow', 'account acme/tom') as complaint \gset
select count(*), bool_and(complaint), regexp_replace(case_report(:complaint), '[0-9-]+ [0-9:]+Z', 'then') from case_file group by 3;
select count(*) from case_entry;
select count(case_open('acme', null, 'again', 'tom')) from generate_series(1, 15);
select case_open(null, null, 'once more', 'tom');
set haas.role = 'operator';
select set_config('haas.scope', 'operator', false) \g /dev/null
select kind, severity, subject_kind, message, detail ->> 'hint' as hint, tenant_id, cleared_at is null as open from alert where subject = :'complaint' and kind = 'case.complaint';
select kind, tenant_id, message from event where subject_kind = 'case' and subject = :'complaint' order by id;
select case_close(:complaint, 'a link was full', false, 'user ann');
select kind, cleared_at is null as open from alert where subject = :'complaint' and kind = 'case.complaint';
select set_config('haas.scope', 'tenant', false) \g /dev/null
select case_report(:complaint) like '%not answered yet%' as waits;
select set_config('haas.scope', 'operator', false) \g /dev/null
select case_publish(:complaint, 'user ann');
select set_config('haas.scope', 'tenant', false) \g /dev/null
select case_report(:complaint) like '%## Answer%a link was full%' as answered;
select set_config('haas.scope', 'operator', false) \g /dev/null
select case_publish(:id, 'user ann');
select case_close(:other, 'nothing', true, 'user ann');
select case_close(:other, 'nothing', false, 'user ann');
select case_close(:id, 'Another customer filled the uplink; he was moved.', true, 'user ann');
select case_close(:id, 'again', false, 'user ann');
select case_note(:id, 'note', 'late', '{}', 'user ann');
reset role;
delete from case_entry;
truncate case_entry;
alter table case_entry disable trigger case_entry_is_kept;
update case_file set opened_at = '2026-01-01 10:40Z', closed_at = '2026-01-01 11:41:30Z';
update case_entry set at = '2026-01-01 10:40Z'::timestamptz + make_interval(secs => 62 * n) from (select id as i, row_number() over (order by id) as n from case_entry) x where id = i;
set role portald;
select case_report(:id);
reset role;
update case_file set report = case_text(:id, true) where id = :id;
set role portald;
\echo what the tenant reads: no name of another
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select case_report(:id);
select count(*) from case_entry;
select set_config('haas.tenant', '2', false) \g /dev/null
select count(*), case_report(:id) is null as nothing from case_file;
reset role;
select * from told where kind like 'case.%';
