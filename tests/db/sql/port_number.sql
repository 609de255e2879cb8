select set_config('haas.scope', 'operator', false) \g /dev/null
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('snmp'), ('cli');
insert into switch_endpoint (switch_id, fabric_id, role, address) select s.id, 1, 'leaf', host('10.0.0.0'::inet + s.id)::inet from switch s;
set role peregrined;
select port_observed_put('{1,2}', '[{"switch_id": 1, "name": "p1", "if_index": 5, "base_port": 0, "alias": "", "speed_bps": 0, "lag": "", "is_lag": false, "stp": "unknown", "kind": "edge", "admin_up": true, "up": true}, {"switch_id": 1, "name": "p2", "if_index": 6, "base_port": 0, "alias": "", "speed_bps": 0, "lag": "", "is_lag": false, "stp": "unknown", "kind": "edge", "admin_up": true, "up": true},
 {"switch_id": 2, "name": "Ethernet1/1", "if_index": 0, "base_port": 0, "alias": "", "speed_bps": 0, "lag": "", "is_lag": false, "stp": "unknown", "kind": "edge", "admin_up": true, "up": true}, {"switch_id": 2, "name": "Ethernet1/2", "if_index": 0, "base_port": 0, "alias": "", "speed_bps": 0, "lag": "", "is_lag": false, "stp": "unknown", "kind": "edge", "admin_up": true, "up": true}]', 60) is not null;
\echo nobody told the numbers of one: none is guessed
set role peregrine_flowd;
select switch_id, name, if_index from port_index order by 1, 2;
set role peregrined;
\echo its SNMP agent does; where a reading tells them itself, these count
select port_number_put(1, '[{"port": "p1", "if_index": 77}]'), port_number_put(2, '[{"port": "lo", "if_index": 1}, {"port": "ethernet1/1", "if_index": 436207616}, {"port": "Ethernet1/2", "if_index": 436208128}]');
set role peregrine_flowd;
select switch_id, name, if_index from port_index order by 1, 2;
set role peregrined;
\echo the same again changes nothing; another start, other numbers; one that is gone
select port_number_put(2, '[{"port": "lo", "if_index": 1}, {"port": "ethernet1/1", "if_index": 436207616}, {"port": "Ethernet1/2", "if_index": 436208128}]');
select port_number_put(2, '[{"port": "lo", "if_index": 1}, {"port": "Ethernet1/1", "if_index": 9}]');
set role peregrine_flowd;
select switch_id, name, if_index from port_index order by 1, 2;
set role peregrined;
\echo two numbers of one name are no number of it, also where only case differs
select port_number_put(2, '[{"port": "Ethernet1/1", "if_index": 9}, {"port": "ethernet1/1", "if_index": 8}, {"port": "Ethernet1/2", "if_index": 10}, {"port": "Ethernet1/2", "if_index": 10}]');
set role peregrine_flowd;
select switch_id, name, if_index from port_index where switch_id = 2 order by 1, 2;
set role peregrined;
\echo it is read another way now: nothing of then is left
select port_observed_put('{2}', '[{"switch_id": 2, "name": "Ethernet1/1", "if_index": 3, "base_port": 0, "alias": "", "speed_bps": 0, "lag": "", "is_lag": false, "stp": "unknown", "kind": "edge", "admin_up": true, "up": true}]', 60) is not null;
select port_number_put(2, '[{"port": "Ethernet1/1", "if_index": 9}]');
set role peregrine_flowd;
select switch_id, name, if_index from port_index order by 1, 2;
set role peregrined;
select count(*) from port_number;
\echo nobody else writes them
set role portald;
select port_number_put(2, '[]');
insert into port_number values (2, 'p1', 1);
