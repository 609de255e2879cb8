select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99), ('f2', 150, 250, 260), ('f3', 300, 399, 260);
insert into switch (name) values ('leaf1'), ('leaf2'), ('leaf3');
insert into switch_endpoint (switch_id, fabric_id, address) select s.id, case s.name when 'leaf3' then 2 else 1 end, host('10.0.0.0'::inet + s.id)::inet from switch s;
select network_create('red', 'tenant', 'acme', null, null, 'ann');
set role portald;
select attachment_put('leaf1', 'e1', 1, 'access', 'ann');
\echo a switch in use stays in its fabric and is managed, unless that is meant
select switch_manage('leaf1', '{"fabric": "f2"}', 'ann');
select switch_manage('leaf1', '{"managed": false}', 'ann');
select switch_manage('leaf1', '{"fabric": "f1", "managed": true, "poll_s": 7}', 'ann');
select switch_manage('leaf2', '{"fabric": "f2"}', 'ann'), switch_manage('leaf2', '{"fabric": "f1", "managed": false}', 'ann');
select switch_manage('leaf1', '{"fabric": "f2", "managed": false, "force": true}', 'ann');
select fabric_id, managed, (select count(*) from attachment where switch_id = 1) from switch_endpoint where switch_id = 1;
select switch_manage('leaf1', '{"fabric": "f1", "force": true}', 'ann');
select switch_manage('leaf1', '{"managed": true}', 'ann');
\echo two fabrics with numbers in common: told of when there is a cable, a plan of one, or a switch of both
reset role;
select fabric_overlaps();
insert into switch_observed (switch_id, family, object_id, text, system, chassis, uptime_ms, reachable, asked_at) select id, '', '', '', '', 'AA:' || id % 2, 1, true, now() from switch;
select x ->> 'key', x ->> 'message', x ->> 'hint' from jsonb_array_elements(fabric_overlaps()) x;
insert into wiring (switch_id, port, peer_switch_id, peer_port) values (3, 'up9', 1, 'up9');
select x ->> 'key', x ->> 'message' from jsonb_array_elements(fabric_overlaps()) x;
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, since, seen_at) values (1, 'up1', 3, 'up2', 'claimed', 50, now(), now());
set role peregrined;
select fabric_alert_put('[]', 60), fabric_alert_put('[]', 60);
select kind, severity, message from alert where cleared_at is null;
reset role;
update fabric set vlan_low = 200 where name = 'f2';
select fabric_alert_put('[]', 60);
select kind from alert where cleared_at is null;
update fabric set parking_vlan = 270 where name = 'f1';
update switch_endpoint set fabric_id = 3 where switch_id = 3;
update fabric set parking_count = 20 where name in ('f1', 'f3');
select x ->> 'message' from jsonb_array_elements(fabric_overlaps()) x;
\echo a port that the switch does not show
update switch_observed set chassis = '' , read_at = now();
set role portald;
select attachment_put('leaf1', 'nosuchport', 1, 'access', 'ann');
reset role;
select attachment_remove('leaf1', 'nosuchport', 1, 'ann');
insert into port_observed (switch_id, name, if_index, admin_up, up, kind, seen_at) values (1, 'e1', 1, true, true, 'edge', now());
set role portald;
select attachment_put('leaf1', 'nosuchport', 1, 'access', 'ann');
select port_park('leaf1', 'nosuchport', 'ann');
select attachment_remove('leaf1', 'e1', 1, 'ann'), attachment_put('leaf1', 'e1', 1, 'access', 'ann'), switch_manage('leaf2', '{"managed": true}', 'ann');
select attachment_put('leaf2', 'anyport', 1, 'access', 'ann');
