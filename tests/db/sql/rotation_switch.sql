select set_config('haas.scope', 'operator', false) \g /dev/null
insert into fabric (name, parking_vlan, parking_count, vlan_low, vlan_high) values ('f1', 60, 20, 100, 200);
select switch_manage('leaf1', '{"address":"10.0.0.1","credentials":{"ssh_user":"haas","host_key":"SHA256:a"},"secrets_sealed":"01"}', 'ann'),
	switch_manage('leaf2', '{"address":"10.0.0.2"}', 'ann') \g /dev/null
create function shown() returns setof text language sql as $$
	select format('%s %s | next %s %s | former %s %s | %s %s tries %s', encode(secrets_sealed, 'hex'), credentials, encode(secrets_next, 'hex'), credentials_next,
		encode(secrets_former, 'hex'), credentials_former, r.state, r.problem ->> 'message', r.tries)
	from switch_endpoint e left join lateral (select * from rotation x where x.switch_id = e.switch_id order by id desc limit 1) r on true
	where e.switch_id = (select id from switch where name = 'leaf1') $$;
create function newest() returns bigint language sql security definer set search_path = haas as 'select max(id) from rotation';
grant execute on function newest() to peregrined;
\echo who may, and what is refused
set haas.scope = 'tenant=1';
select switch_rotation_begin('leaf1', '{"secrets_sealed":"02"}', 'eve');
set haas.scope = 'operator';
select switch_rotation_begin('nosuch', '{"secrets_sealed":"02"}', 'ann');
select switch_rotation_begin('leaf2', '{"secrets_sealed":"02"}', 'ann');
select switch_rotation_begin('leaf1', '{}', 'ann');
select switch_rotation_begin('leaf1', '{"secrets_sealed":"02","credentials":{"host_key":"SHA256:evil"}}', 'ann');
\echo the new ones wait, and the present ones count; two at once are refused
select switch_rotation_begin('leaf1', '{"secrets_sealed":"02","credentials":{"ssh_user":"haas2"},"keep_s":3600}', 'ann') is not null;
select shown();
select switch_rotation_begin('leaf1', '{"secrets_sealed":"03"}', 'ann');
\echo only peregrined goes on: silence leaves all as it is
set session authorization portald;
select haas.switch_rotation_step(1, 'proven', null);
reset session authorization;
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'later', '{"message":"no answer"}'), haas.switch_rotation_step(haas.newest(), 'nonsense', '{}'), haas.switch_rotation_step(haas.newest(), 'back', '{}'), haas.switch_rotation_step(haas.newest(), 'end', null);
reset session authorization;
select shown();
\echo proven: they count, the former are kept; once
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'proven', null);
select haas.switch_rotation_step(haas.newest(), 'proven', null), haas.switch_rotation_step(haas.newest(), 'fail', '{"message":"late"}');
\echo all three places are sealed anew by peregrined, each only while it is what was opened
select part, encode(sealed, 'hex') from haas.sealed_rows('peregrined', 0, '');
select haas.sealed_put('peregrined', 0, '[{"id":1,"part":"secrets_former","old":"01","new":"0a"},{"id":1,"part":"secrets","old":"01","new":"0b"},{"id":1,"part":"secrets_next","old":"01","new":"0c"}]');
reset session authorization;
select shown();
\echo present secrets that were taken, or got no answer, are looked at later; silence sooner
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'later', null);
reset session authorization;
select state, problem, due_at - now() > interval '5 min' from rotation order by id desc limit 1;
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'again', '{"message":"no answer"}');
reset session authorization;
select state, problem ->> 'message', due_at - now() < interval '2 min' from rotation order by id desc limit 1;
\echo the switch refuses them after all: the former are in use again, and an alert says so
select switch_former_secrets();
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'back', '{"message":"wrong password"}');
reset session authorization;
select shown();
select x ->> 'key', x ->> 'message', x ->> 'hint' from jsonb_array_elements(switch_former_secrets()) x;
select fabric_alert_put('[]', 60);
\echo refused: the present ones stay
select switch_rotation_begin('leaf1', '{"secrets_sealed":"04"}', 'ann') is not null;
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'fail', '{"message":"wrong password"}');
reset session authorization;
select shown();
\echo no answer, ten times: they stay, too
select switch_rotation_begin('leaf1', '{"secrets_sealed":"05"}', 'ann') is not null;
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'later', '{"message":"no answer"}') from generate_series(1, 11);
reset session authorization;
select shown();
\echo another one succeeds, the alert is over, with an event; what is kept ends
select switch_rotation_begin('leaf1', '{"secrets_sealed":"06"}', 'ann') is not null;
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'proven', null);
reset session authorization;
select shown();
select switch_former_secrets();
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'end', null);
reset session authorization;
select shown();
\echo S5: new management voids next and former
select switch_rotation_begin('leaf1', '{"secrets_sealed":"07"}', 'ann') is not null;
select switch_manage('leaf1', '{"poll_s":9}', 'ann');
select shown();
select switch_manage('leaf1', '{"address":"10.0.0.66","secrets_sealed":"08"}', 'ann');
select shown();
select switch_rotation_begin('leaf1', '{"secrets_sealed":"09"}', 'ann') is not null;
set session authorization peregrined;
select haas.switch_rotation_step(haas.newest(), 'proven', null);
reset session authorization;
select switch_manage('leaf1', '{"address":"10.0.0.67","secrets_sealed":"10"}', 'ann');
select shown();
\echo a first host key reaches all three; a released switch has no rotation
select switch_manage('leaf1', '{"credentials":{"ssh_user":"haas","host_key_any":true},"secrets_sealed":"11"}', 'ann');
select switch_rotation_begin('leaf1', '{"secrets_sealed":"12"}', 'ann') is not null;
set session authorization peregrined;
select haas.switch_host_key_keep(1, 'SHA256:' || repeat('a', 43));
reset session authorization;
select shown();
select switch_release('leaf1', 'ann');
select state, ended_at is not null, problem ->> 'message' from rotation order by id desc limit 1;
select subject, kind, message from event where kind ~ 'rotation|password|alert' order by id;
\echo one row is of one thing
insert into node (name) values ('n1');
insert into rotation (node_id, node, switch, actor, keep_s) select id, 'n1', 'leaf1', 'ann', 0 from node;
insert into rotation (actor, keep_s) values ('ann', 0);
