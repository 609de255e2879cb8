\echo a database that stood still judges nobody
select capture_judges();
select capture_sweep();
update capture_look set since = now() - interval '1 min', looked_at = now() - interval '3 s';
select capture_look_note();
select since < now() - interval '50 s' as goes_on from capture_look;
update capture_look set looked_at = now() - interval '11 s';
select capture_look_note();
select since > now() - interval '30 s' as begins_anew from capture_look;
create or replace function capture_judges() returns boolean stable language sql as 'select true';   -- this database has just begun
select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1'), ('leaf2');
insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', '10.0.0.1'), (2, 1, 'leaf', '10.0.0.2');
insert into node (name, state, tenant_id, dirty) values ('n1', 'active', 1, true), ('n2', 'active', 1, true), ('n3', 'active', 2, true), ('n4', 'free', null, false);
insert into nic (mac, node_id, name) select ('52:54:00:00:00:0' || id)::macaddr, id, 'eth0' from node;
create function started(p_spec jsonb, p_actor text) returns text language plpgsql as $$ begin perform capture_start(p_spec, p_actor); return 'ok'; end $$;
create view told as select id, node, peer, state, wanted, consent, consent_by, because, mirrored, files from capture order by id;
\echo what cannot be captured is said at once
select started('{"node": "n9"}', 'user a');
select started('{"node": "n4"}', 'user a');
select started('{"node": "n1"}', 'user a');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) select ('52:54:00:00:00:0' || id)::macaddr, 1, 'p' || id, 90, '{fdb}', now(), now() from node;
select started('{"node": "n1"}', 'user a');
insert into capture_point (switch_id, port, interface) values (1, 'cap0', 'eth9');
select started('{"node": "n1"}', 'user a');
insert into port_observed (switch_id, name, if_index, admin_up, up, seen_at) values (1, 'cap0', 9, true, true, now());
select started('{"node": "n1", "peer": "n3"}', 'user a');
select started('{"node": "n1", "tenant": "globex"}', 'user a');
\echo its own port, or the switch that does not answer; never one that leads there
insert into switch (name) values ('spine1');
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, since, seen_at) values (1, 'up1', 3, 'dn1', 'confirmed', 100, now(), now());
insert into switch_observed (switch_id, family, object_id, text, system, chassis, uptime_ms, reachable, read_at, asked_at)
	select id, '', '', '', '', name, 1000, true, now(), now() from switch;
select * from capture_port(1);
begin;
update switch_observed set reachable = false where switch_id = 1;
select * from capture_port(1);
select started('{"node": "n1"}', 'user a');
rollback;
begin;
update nic_location set switch_id = 3, port = 'dn1' where mac = '52:54:00:00:00:01';
select * from capture_port(1);
create function told_why() returns text language plpgsql as $$ begin perform capture_start('{"node": "n1"}', 'user a'); return 'ok';
exception when others then declare d text; h text; begin get stacked diagnostics d = pg_exception_detail, h = pg_exception_hint; return concat_ws('; ', sqlerrm, d, h); end; end $$;
select told_why();
update switch_observed set reachable = false where switch_id = 1;
select * from capture_port(1);
select told_why();
rollback;
begin;
update nic_location set switch_id = 3, port = 'dn1' where mac = '52:54:00:00:00:01';
update link set state = 'gone';
select * from capture_port(1);
update switch_observed set reachable = false where switch_id = 1;
select * from capture_port(1);
delete from nic_binding where switch_id = 1;   -- it never was there
select * from capture_port(1);
rollback;
begin;
update nic_location set switch_id = 3, port = 'dn1' where mac = '52:54:00:00:00:01';
insert into port_intent (switch_id, port, node_id) values (1, 'p1', 1);
insert into port_binding (switch_id, port, tag, network_id, tenant_id) values (1, 'p1', 0, 1, 1);
select * from capture_port(1);
update link set state = 'claimed';   -- by whoever is there
select * from capture_port(1);
update switch_observed set reachable = false where switch_id = 1;
select * from capture_port(1);
rollback;
begin;
insert into port_intent (switch_id, port, node_id) values (1, 'p1', 1);
insert into port_binding (switch_id, port, tag, network_id, tenant_id) values (1, 'p1', 0, 1, 1);
update nic_location set port = 'p9' where mac = '52:54:00:00:00:01';   -- its cable was moved
select * from capture_port(1);
update nic_location set switch_id = 2 where mac = '52:54:00:00:00:01';
select * from capture_port(1);
update switch_observed set reachable = false where switch_id = 1;   -- and cannot say where it is
select * from capture_port(1);
update switch_observed set reachable = true;
insert into nic (mac, node_id, name) values ('52:54:00:00:00:f1', 1, 'eth1');   -- which was not heard yet, and is to be there
select * from capture_port(1);
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:f1', 2, 'p8', 70, '{fdb}', now(), now());
select * from capture_port(1);
rollback;
\echo without a grant it waits for somebody else
select started('{"node": "n1", "peer": "n2"}', 'user a');
select started('{"node": "n1", "snap_length": 5}', 'user a');
select capture_approve(1, 'user a');
select capture_approve(1, 'user b');
select capture_approve(1, 'user c');
select * from told;
select "order" from capture_work;
\echo its process, its session, its time
select capture_told(1, 'listening', null, null, null);
select state, deadline between now() + interval '50 s' and now() + interval '70 s' as soon from capture;
select switch_id, id, port, target from capture_session;
\echo the switch did not answer in time
begin;
update capture set deadline = now() - interval '1 s';
select capture_sweep();
select state, because, problem ->> 'message' as problem from capture;
rollback;
begin;   -- nor did the database, just before
create or replace function capture_judges() returns boolean stable language sql as 'select false';
update capture set deadline = now() - interval '1 s';
select capture_sweep();
select state, because, problem ->> 'message' as problem from capture;
rollback;
\echo as long as its time
select capture_left_ms(1) between 1 and 60000;
update capture set mirrored = true;
select capture_mirrored(1, true, null);
select capture_told(1, 'running', null, null, '{"packets": 7}');
update capture set deadline = now() - interval '1 s';
select capture_sweep(), capture_sweep();
select * from told;
select count(id) from capture_session;
select capture_told(1, 'ended', 'stopped', null, '{"packets": 9}');
select state from capture;
select capture_unmirrored(1, '{}');
select * from told;
\echo who reads it
select capture_read(1, true, 'user c');
select capture_read(1, true, 'user b');
set haas.scope = 'tenant'; set haas.tenant = '2';
select capture_read(1, true, 'user t');
set haas.tenant = '1';
select capture_read(1, false, 'user t');
select capture_read(1, false, 'user a');
set haas.scope = 'operator';
\echo a tenant grants its own packets, with an end; nobody grants himself
select capture_grant_put(null, now() + interval '1 h', 'user b');
set haas.scope = 'tenant'; set haas.tenant = '1'; set haas.role = 'operator';
select capture_grant_put('n1', now() + interval '1 h', 'user b');
set haas.role = 'tenant-member';
select capture_grant_put('n1', now() + interval '1 h', 'user m');
set haas.role = 'tenant-admin';
select capture_grant_put(null, now() + interval '1 year', 'user t');
select capture_grant_put('n3', now() + interval '1 h', 'user t');
select capture_grant_put('n1', now() + interval '1 h', 'user t');
select started('{"node": "n3"}', 'user t');
set haas.scope = 'operator'; set haas.role = 'operator';
select started('{"node": "n2"}', 'user a');
select started('{"node": "n1"}', 'user t');
select started('{"node": "n1"}', 'user a');
select * from told where id > 1;
\echo or as the grant that it rests on
select capture_left_ms(5) between 1 and 3600000;
\echo withdrawn: it ends, whatever it was doing
select capture_told(max(id), 'listening', null, null, null) from capture where consent = 'grant';
select capture_grant_withdraw(1, 'user t');
select capture_sweep() > 0;
select * from told where consent = 'grant';
\echo the node changes hands: it ends
select capture_approve(min(id), 'user b') from capture where state = 'waiting' and node = 'n1';
update node set tenant_id = 2 where name = 'n1';
select capture_sweep() > 0;
select node, state, because from capture where consent = 'approver' and id > 1;
\echo its collector is gone: the session goes as well
select capture_approve(max(id), 'user b') from capture where state = 'waiting';
select capture_told(max(id), 'listening', null, null, null) from capture where state = 'approved';
update capture set beat_at = now() - interval '1 min', mirrored = true where state = 'listening';
select capture_sweep() > 0;
select node, state, because, problem ->> 'message' as problem from capture where state = 'ending' order by id;
select capture_unmirrored(1, '{}');
select count(*) filter (where state <> 'ended') as open from capture;
\echo no operator consents to himself, as whoever he sees; nor as a tenant for another
set haas.scope = 'tenant'; set haas.tenant = '1'; set haas.role = 'tenant-admin';
select capture_grant_put('n2', now() + interval '1 h', 'user s');
set haas.role = 'operator';
select started('{"node": "n2", "seconds": 61}', 'user s');
select capture_approve(id, 'user x') from capture where seconds = 61;
select started('{"node": "n2", "seconds": 62}', 'user a');
select capture_watch(id, true, 'user s') from capture where seconds = 61;
select capture_watch(id, true, 'user c') from capture where seconds = 62;
select capture_watch(id, false, 'user a'), capture_watch(id, false, 'user a') from capture where seconds = 62;
set haas.role = 'tenant-member';
select capture_approve(id, 'user m') from capture where seconds = 61;
\echo a tenant asks for its own packets: its word is enough, and it reads them
select started('{"node": "n2", "seconds": 59}', 'user m');
select state, consent, consent_by, approved_at is not null as at from capture where seconds = 59;
select capture_watch(id, true, 'user m') from capture where seconds = 59;
select capture_stop(id, 'user m') from capture where seconds = 59;
set haas.scope = 'operator'; set haas.role = 'operator';
update capture set consent = 'approver', consent_by = requester where seconds = 61;
update capture set state = 'ended', ended_at = now(), files = 'none' where seconds = 59;
\echo a lost line; a process of what nobody agreed to
select capture_told(id, 'running', null, null, '{"packets": 1}') from capture where seconds in (61, 62);
select node, seconds, state, consent, consent_by, files, deadline is not null from capture where seconds in (61, 62) order by id;
\echo its switch stays
select switch_release('leaf1', 'user a');
update switch_endpoint set managed = false where switch_id = 1;
delete from switch where name = 'leaf1';
delete from switch where name = 'leaf2';
select capture_stop(id, 'user a') from capture where seconds in (61, 62);
update capture set beat_at = now() - interval '1 min' where seconds = 62;
select capture_sweep();
\echo a start that failed: its folder goes, also when it was stopped before
select started('{"node": "n2", "seconds": 63}', 'user a'), started('{"node": "n2", "seconds": 64}', 'user a');
select capture_stop(id, 'user a') from capture where seconds = 64;
select capture_told(id, 'ended', 'failed', null, null) from capture where seconds in (63, 64);
select seconds, state, because, files from capture where seconds in (63, 64) order by id;
select count(*) from capture_work;
select capture_told(id, 'removed', null, null, null) from capture where seconds in (63, 64);
select seconds, state, files from capture where seconds > 60 order by id;
\echo a mirror port has no node and no network
select capture_point_put('leaf1', '{"port": "p2", "interface": "eth9"}', 'user a');
insert into port_observed (switch_id, name, if_index, admin_up, up, seen_at, lag) values (1, 'p2', 2, true, true, now(), 'lag1');
select capture_point_put('leaf1', '{"port": "lag1", "interface": "eth9"}', 'user a');
select network_create('red', 'tenant', 'acme', null, null, 'user a') > 0;
insert into attachment (switch_id, port, network_id, mode) select 1, 'cap0', id, 'access' from network where name = 'red';
select capture_point_put('leaf1', '{"port": "cap0", "interface": "eth9"}', 'user a');
select started('{"node": "n2"}', 'user a');
delete from attachment;
\echo a switch that sends what it copies itself has no port for it
create function pointed(p_spec jsonb) returns text language plpgsql as $$ begin perform capture_point_put('leaf1', p_spec, 'user a'); return 'ok'; end $$;
select pointed('{"interface": "eth9"}');
select pointed('{"interface": "eth9", "address": "10.9.0.2"}');
select pointed('{"interface": "eth9", "origin": "10.9.0.1", "port": "cap0"}');
select pointed('{"interface": "eth9", "address": "10.9.0.2", "origin": "10.9.0.1", "port": "cap0"}');
select pointed('{"interface": "eth9", "address": "10.9.0.2", "origin": "10.9.0.1", "kind": "gre"}');
select pointed('{"interface": "eth9", "address": "10.9.0.2", "origin": "10.9.0.1", "session": 1024}');
select pointed('{"interface": "eth9", "address": "fe80::2", "origin": "10.9.0.1"}');
select pointed('{"interface": "eth9", "address": "10.9.0.2", "origin": "10.9.0.1", "session": 5}');
select started('{"node": "n2", "seconds": 65}', 'user a');
select capture_told(id, 'listening', null, null, null) from capture where seconds = 65;
select port, target, tunnel_to, tunnel_from, session from capture_session where switch_id = 1;
\echo a session that runs, and that the switch refuses afterwards: it ends as refused
update capture set mirrored = true where seconds = 65;
select capture_mirrored(id, true, null) from capture where seconds = 65;
select capture_told(id, 'running', null, null, '{"packets": 3}') from capture where seconds = 65;
select capture_mirrored(id, false, '{"code": "conflict", "message": "the switch refused a command", "hint": ""}') from capture where seconds = 65;
select capture_mirrored(id, true, null) from capture where seconds = 65;
select state, wanted, because, mirrored from capture where seconds = 65;
select count(id) from capture_session;
select capture_told(id, 'ended', 'stopped', null, '{"packets": 3}') from capture where seconds = 65;
select capture_unmirrored(1, '{}');
select state, because, mirrored, files, problem ->> 'message' as problem from capture where seconds = 65;
select message from event where kind = 'capture.ended' and detail ->> 'seconds' = '65';
select pointed('{"interface": "eth9", "port": "cap0"}');
\echo packets are kept: the switch stays
update switch_endpoint set managed = false where switch_id = 1;
update capture set files = 'removed';
update switch_endpoint set managed = false where switch_id = 1;
select started('{"node": "n2"}', 'user a');
update switch_endpoint set managed = true where switch_id = 1;
select actor, kind from event where kind = 'capture.watched';
\echo what is written down of it
select actor, kind, subject, message from event where kind like 'capture.%' and (detail ->> 'capture' = '1' or kind in ('capture.granted', 'capture.withdrawn')) and kind <> 'capture.granted' order by id;
\echo daemons: no consent, no other rows
set role peregrine_captured;
update capture set state = 'approved';
select capture_approve(1, 'x');
select count(*) from node;
reset role;
set role peregrined;
update capture set consent = 'tenant';
select "order" from capture_work;
reset role;
set role portald;
update capture set state = 'approved';
select capture_told(1, 'running', null, null, null);
set haas.scope = 'tenant'; set haas.tenant = '2';
select count(*) from capture where node <> 'n3';
