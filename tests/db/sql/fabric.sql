select set_config('haas.scope', 'operator', false) \g /dev/null
insert into switch (name) values ('leaf1'), ('leaf2');
\echo an operator declares a fabric and how its switches are reached
set role portald;
select fabric_put('f1', '{"vlan_low": 100, "vlan_high": 199}', 'ann');
select fabric_put('f1', '{"vlan_low": 100, "vlan_high": 199, "parking_vlan": 150}', 'ann');
select fabric_put('f1', '{"vlan_low": 100, "vlan_high": 199, "parking_vlan": 99}', 'ann');
select fabric_put('f1', '{"repair": "report"}', 'ann');
select vlan_low, vlan_high, parking_vlan, parking_count, repair, version from fabric;
select switch_manage('leaf1', '{}', 'ann');
select switch_manage('leaf1', '{"address": "10.0.0.1", "credentials": {"snmp_user": "u"}, "secrets_sealed": "00ff"}', 'ann');
select switch_manage('leaf2', '{"address": "10.0.0.1"}', 'ann');
select switch_manage('leaf2', '{"address": "10.0.0.2", "fabric": "f2"}', 'ann');
select switch_manage('leaf2', '{"address": "10.0.0.2", "fabric": "f1", "poll_s": 5}', 'ann');
select switch_manage('leaf1', '{"role": "spine", "poll_s": 7}', 'ann');
select name, fabric, role, address, credentials, managed, poll_s, version, reachable from switch_view order by name;
\echo the secrets are not for portald to read
select secrets_sealed from switch_endpoint;
select fabric_delete('f1', 'ann');
select set_config('haas.scope', 'tenant', false) \g /dev/null
select fabric_put('f3', '{}', 'tom');
select switch_manage('leaf1', '{}', 'tom');
select set_config('haas.scope', 'operator', false) \g /dev/null
reset role;
select encode(secrets_sealed, 'hex') from switch_endpoint where switch_id = 1;
select node_put('{"name":"n1","nics":[{"name":"eth0","mac":"52:54:00:00:00:01","boot":true}]}', false, 'ann') ->> 'result';

\echo peregrined tells what it read; the second time nothing is new
set role peregrined;
select switch_observed_put('[{"switch_id":1,"reachable":true,"problem":null,"asked_us":1000000,"family":"generic","object_id":".1.3","text":"t","system":"leaf1","chassis":"c1","uptime_ms":5000,"vlan_changes":3,"vlans":[1,100],"requests":9,"odd":0,"odd_text":"","read_us":1000000},{"switch_id":2,"reachable":false,"problem":{"message":"it is silent"},"asked_us":1000000},{"switch_id":99,"reachable":true,"asked_us":1}]');
select switch_observed_put('[{"switch_id":1,"reachable":true,"problem":null,"asked_us":2000000,"uptime_ms":10,"vlan_changes":4},{"switch_id":2,"reachable":true,"problem":null,"asked_us":2000000,"family":"generic"}]');
select switch_id, family, system, uptime_ms, vlan_changes, vlans, reachable, problem from switch_observed order by 1;
select port_observed_put('{1}', '[{"switch_id":1,"name":"e1","if_index":3,"base_port":1,"alias":"","mac":null,"admin_up":true,"up":true,"speed_bps":1000,"lag":"","is_lag":false,"stp":"forwarding","kind":"edge","trunk":false,"native_vlan":100,"tagged_vlans":""},{"switch_id":1,"name":"e2","if_index":4,"base_port":2,"alias":"","mac":"02:00:00:00:00:01","admin_up":true,"up":true,"speed_bps":1000,"lag":"","is_lag":false,"stp":"forwarding","kind":"uplink","trunk":true,"tagged_vlans":"100-101"}]', 60);
update port_observed set seen_at = '2020-01-01' where name = 'e2';
select port_observed_put('{1}', '[{"switch_id":1,"name":"e2","if_index":4,"base_port":2,"alias":"x","mac":"02:00:00:00:00:01","admin_up":true,"up":false,"speed_bps":1000,"lag":"","is_lag":false,"stp":"forwarding","kind":"uplink"}]', 60);
select port_observed_put('{1}', '[{"switch_id":1,"name":"e2","if_index":4,"base_port":2,"alias":"x","mac":"02:00:00:00:00:01","admin_up":true,"up":false,"speed_bps":1000,"lag":"","is_lag":false,"stp":"forwarding","kind":"unknown"}]', 60);
select name, up, alias, kind, trunk, native_vlan, tagged_vlans, seen_at > now() - interval '1 hour' as seen from port_observed order by name;

\echo switches 1: every number that an agent can fill in is taken; a refused row costs its switch its rows alone, and the answer names switch and value
create function pg_temp.without_times(jsonb) returns text language sql as $$ select regexp_replace($1::text, '[0-9-]{10} [0-9:.+]+', 'TIME', 'g') $$;
create temporary table offer (told text, rows jsonb);
insert into offer select told, format('[{"switch_id":1,"name":"e9","if_index":4294967295,"base_port":%s,"admin_up":true,"up":true,"lag":"","alias":"","speed_bps":4294967295000000,"is_lag":false,"stp":"unknown","kind":"%s"},{"switch_id":2,"name":"%s","if_index":1,"base_port":1,"admin_up":true,"up":true,"lag":"","alias":"","speed_bps":0,"is_lag":false,"stp":"unknown","kind":"edge"}]', base, kind, told)::jsonb
from (values ('good', '3000000000', 'edge'), ('number', '1e30', 'edge'), ('check', '1', 'wrong')) x(told, base, kind);
begin;
select o.told, w.events, pg_temp.without_times(w.refused) from offer o cross join lateral fabric_rows_write('ports', '{1,2}', o.rows, 60) w where told = 'good';
select switch_id, name, base_port from port_observed order by 1, 2;
select o.told, w.events, pg_temp.without_times(w.refused) from offer o cross join lateral fabric_rows_write('ports', '{1,2}', o.rows, 60) w where told = 'number';
select o.told, w.events, pg_temp.without_times(w.refused) from offer o cross join lateral fabric_rows_write('ports', '{1,2}', o.rows, 60) w where told = 'check';
select switch_id, name, base_port from port_observed order by 1, 2;
select events, pg_temp.without_times(refused) from fabric_rows_write('observed', '{}', '[{"switch_id":1,"reachable":true,"asked_us":1,"odd":1e30},{"switch_id":2,"reachable":true,"asked_us":1,"odd":4294967295}]', 60);
select events, pg_temp.without_times(refused) from fabric_rows_write('places', '{}', '[{"mac":"52:54:00:00:00:21","switch_id":1,"port":"e9","certainty":800,"sources":["fdb"]},{"mac":"52:54:00:00:00:22","switch_id":2,"port":"check","certainty":80,"sources":["fdb"]}]', 60);
select events, pg_temp.without_times(refused) from fabric_rows_write('links', '{1,2}', '[{"a_switch":1,"a_port":"e9","b_switch":2,"b_port":"check","state":"near","certainty":80,"evidence":{}},{"a_switch":2,"a_port":"check","b_switch":1,"b_port":"e9","state":"claimed","certainty":80,"evidence":{}}]', 60);
select switch_id, odd from switch_observed order by 1;
select mac, switch_id from nic_location;
select a_switch, b_switch, state from link;
rollback;
drop table offer;

\echo switches 7: which parts of a reading came, since when, and why not
begin;
select events from fabric_rows_write('observed', '{}', '[{"switch_id":1,"reachable":true,"asked_us":1,"parts":[{"part":"ports","state":"whole","reason":""},{"part":"vlans","state":"missing","reason":"no Q-BRIDGE-MIB"}]},{"switch_id":2,"reachable":true,"asked_us":1}]', 60);
select events from fabric_rows_write('observed', '{}', '[{"switch_id":1,"reachable":true,"asked_us":1,"parts":[{"part":"ports","state":"whole","reason":""},{"part":"vlans","state":"partial","reason":"rows out of order"}]}]', 60);
select 'refused' from fabric_rows_write('observed', '{}', '[{"switch_id":1,"reachable":true,"asked_us":1,"parts":[{"part":"lamps","state":"whole","reason":""}]}]', 60) w(e, refused) where refused::text ~ 'switch_part_part_check';
select switch_id, part, state, reason from switch_part order by 1, 2;
rollback;

\echo no number of somebody else becomes ours unsaid, and none in use is left out
reset role;
begin;
update switch_observed set vlans = '{1,100,300}' where switch_id = 1;
insert into network_vlan (fabric_id, vlan, state, until) values ((select id from fabric where name = 'f1'), 120, 'quarantine', now());
set role portald;
savepoint s;
select fabric_put('f1', '{"vlan_high": 400}', 'ann');
rollback to s;
select fabric_put('f1', '{"vlan_low": 121}', 'ann');
rollback to s;
select fabric_put('f1', '{"vlan_high": 299}', 'ann');
select fabric_put('f1', '{"vlan_high": 400, "take": true}', 'ann');
rollback;
set role peregrined;

\echo cables: up, changed, gone
select link_put('{1,2}', '[{"a_switch":1,"a_port":"e2","b_switch":2,"b_port":"e9","state":"claimed","certainty":50,"evidence":{"by":"name"}}]', 60);
select link_put('{1,2}', '[{"a_switch":1,"a_port":"e2","b_switch":2,"b_port":"e9","state":"claimed","certainty":50,"evidence":{"by":"name"}}]', 60);
select link_put('{1,2}', '[{"a_switch":1,"a_port":"e2","b_switch":2,"b_port":"e9","state":"confirmed","certainty":100,"evidence":{"by":"name"}}]', 60);
select link_put('{1,2}', '[{"a_switch":1,"a_port":"e3","b_switch":2,"b_port":"e9","state":"confirmed","certainty":100,"evidence":{"by":"name"}}]', 60);
select a_port, b_port, state, certainty from link order by a_port;

\echo places: a NIC of ours that moves is an event, a stranger is not
select nic_location_put('[{"mac":"52:54:00:00:00:01","switch_id":1,"port":"e1","certainty":80,"sources":["fdb"],"vlan":100},{"mac":"52:54:00:00:00:77","switch_id":1,"port":"e1","certainty":80,"sources":["fdb"]}]', 60);
select nic_location_put('[{"mac":"52:54:00:00:00:01","switch_id":2,"port":"e4","certainty":60,"sources":["fdb","lldp"],"vlan":100},{"mac":"52:54:00:00:00:77","switch_id":2,"port":"e1","certainty":80,"sources":["fdb"]}]', 60);
reset role;
select mac, node, nic, switch, port, certainty, sources, vlan from nic_view order by mac;
set role peregrined;

\echo alerts: raised once, refreshed, cleared, raised anew
select fabric_alert_put('[{"key":"a:1","kind":"wiring.miscabled","severity":"warning","subject_kind":"port","subject":"leaf1:e1","message":"m","hint":"h"}]', 60);
select fabric_alert_put('[{"key":"a:1","kind":"wiring.miscabled","severity":"info","subject_kind":"port","subject":"leaf1:e1","message":"m2","hint":"h"}]', 60);
insert into alert (key, kind, severity, subject_kind, subject, message) values ('d:1', 'drift.found', 'warning', 'port', 'leaf1:e1', 'somebody else''s');
select fabric_alert_put('[]', 60), fabric_alert_put('[{"key":"a:1","kind":"wiring.miscabled","severity":"info","subject_kind":"port","subject":"leaf1:e1","message":"m","hint":"h"}]', 60);
select key, severity, message, cleared_at is null as open from alert order by id;
reset role;

\echo the plan of cables: all or nothing, with an error for each wrong cell
set role portald;
select wiring_import('[{"switch":"leaf1","port":"e1","node":"n9"},{"switch":"leaf7","port":"e1","node":"n1","peer_switch":"leaf2"},{"switch":"leaf1","port":"e1","node":"n1"}]', false, false, 'ann');
select wiring_import('[{"switch":"leaf1","port":"e1","node":"n1","nic":"eth0"},{"switch":"leaf1","port":"e2","peer_switch":"leaf2","peer_port":"e9"}]', false, true, 'ann');
select count(*) from wiring;
select wiring_import('[{"switch":"leaf1","port":"e1","node":"n1","nic":"eth0"},{"switch":"leaf1","port":"e2","peer_switch":"leaf2","peer_port":"e9"}]', false, false, 'ann');
select wiring_import('[{"switch":"leaf1","port":"e5","node":"n1","nic":"eth0"}]', true, false, 'ann');
select switch_id, port, node_id, nic, peer_switch_id, peer_port from wiring;
insert into wiring (switch_id, port, node_id) values (1, 'x', 1);
select wiring_delete('leaf1', 'e1', 'ann');
select wiring_delete('leaf1', 'e5', 'ann');
select alert_acknowledge((select min(id) from alert), 'ann');
select acknowledged_by from alert order by id limit 1;
select alert_acknowledge(999, 'ann');
select switch_release('leaf2', 'ann');
select switch_release('leaf2', 'ann');
select fabric_delete('f1', 'ann');
select switch_release('leaf1', 'ann');
select fabric_delete('f1', 'ann');
select kind, subject, message from event where kind not like 'node.%' order by id;
