select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme');
-- Rows of alerts as a watcher sets them; times of the outside text are fixed.
create function raise_alerts(p_rows jsonb) returns integer language sql as $$ select haas.alert_set('ann', array['switch.%', 'pdci.%'], '{}', p_rows, 60) $$;
create view told as select target, alert_id, told, attempts, problem ->> 'message' as problem, round(extract(epoch from next_at - clock_timestamp())) as wait_s from notice order by target, alert_id;
\echo nothing to tell
set role portal_outward;
select * from notice_take('webhook', null, '');
select count(*) from notice;
reset role;
\echo two alerts: taken once, not again while the lease holds; each receiver has its own
select raise_alerts('[{"key":"switch.x:leaf1","kind":"switch.x","severity":"warning","subject_kind":"switch","subject":"leaf1","message":"leaf1 is silent","hint":"look"},
 {"key":"pdci.failed:1","kind":"pdci.failed","severity":"critical","subject_kind":"pdci","subject":"web","tenant_id":1,"message":"PDCI web failed","hint":"haasctl pdci show web"},
 {"key":"switch.note:leaf1","kind":"switch.note","severity":"info","subject_kind":"switch","subject":"leaf1","message":"no news","hint":""}]');
update alert set raised_at = '2026-01-02T03:04:05Z';
set role portal_outward;
select alerts, states, jsonb_pretty(body::jsonb) from notice_take('webhook', null, '');
select * from notice_take('webhook', null, '');
select alerts, jsonb_pretty(jsonb_path_query_array(body::jsonb, '$[*].labels')) from notice_take('alertmanager', 120, '');
select * from notice_take('mail', null, 'ops@example.org');
select notice_done('webhook', '{1,3}', '{raised,raised}', null), notice_done('mail', '{1,3}', '{raised,raised}', null), notice_done('alertmanager', '{1,3}', '{raised,raised}', '{"message":"no answer"}');
reset role;
select * from told;
\echo an open alert is told again to an alertmanager alone; the pause after a failure grows to 300 s
update notice set told = 'raised', told_at = now() - interval '121 s', attempts = 0, problem = null, next_at = now();
select alerts from notice_take('webhook', null, '');
select alerts from notice_take('alertmanager', 120, '');
select count(notice_done('alertmanager', '{1,3}', '{raised,raised}', '{"message":"no answer"}')) from generate_series(1, 12);
select attempts, round(extract(epoch from next_at - clock_timestamp())) from notice where target = 'alertmanager';
\echo over: told to those who know of it; one that came and went untold is not told
select raise_alerts('[{"key":"pdci.failed:1","kind":"pdci.failed","severity":"critical","subject_kind":"pdci","subject":"web","tenant_id":1,"message":"PDCI web failed","hint":""}]');
update alert set cleared_at = '2026-01-02T03:05:05Z' where cleared_at is not null;
select alerts, states from notice_take('webhook', null, '');
select body from notice_take('mail', null, 'ops@example.org');
delete from notice where target = 'mail';
select alerts, states from notice_take('mail', null, 'ops@example.org');
\echo a silenced alert waits until the silence is over; text from outside begins no header
select notice_done('mail', '{1}', '{raised}', null);
select alert_silence_add('switch.', '', 'work', 60, 'ann') as silence \gset
select raise_alerts('[{"key":"switch.y:leaf2","kind":"switch.y","severity":"warning","subject_kind":"switch","subject":"leaf2","message":"bad\r\nBcc: all@example.org\u001b[31m","hint":"look\nthere"}]');
update alert set raised_at = '2026-01-02T03:04:05Z' where subject = 'leaf2';
select alerts from notice_take('mail', null, 'ops@example.org') ;
select alert_silence_end(:silence, 'ann');
delete from notice where target = 'mail';
select body from notice_take('mail', null, 'ops@example.org');
\echo its role may nothing else
set role portal_outward;
select count(*) from alert;
select count(*) from notice;
select alert_set('x', '{}', '{}', '[]', 1);
