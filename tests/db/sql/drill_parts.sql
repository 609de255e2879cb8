\echo a VLAN of a capture is one of its own tenant
select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 299, 99);
insert into network (tenant_id, name) values (1, 'net1'), (2, 'net2');
insert into network_vlan (fabric_id, vlan, network_id, state) values (1, 101, 1, 'used'), (1, 202, 2, 'used');
select capture_vlan('acme', 101);
select capture_vlan('acme', 202);
select capture_vlan('acme', 4000);
\echo what never was in a drill path: the first part of it
insert into switch (name) values ('leaf1'), ('leaf2');
insert into port_observed (switch_id, name, if_index, admin_up, up, seen_at) values (1, 'p1', 1, true, true, now());
insert into node (name, state, tenant_id, dirty) values ('n1', 'active', 1, true);
create view asked as select x.* from (values (1, 'p1', null, null, null, null), (1, 'p9', null, null, null, null), (2, 'p9', null, null, null, null),
	(null, null, '{1}', 101, null, null), (null, null, '{1}', 202, null, null), (1, 'p9', '{1}', 202, null, null), (null, null, null, 202, null, null), (null, null, '{1}', 0, null, null),
	(null, null, '{1}', 101, 'n1', '10.0.0.9'), (null, null, '{1}', 101, 'n1', '52:54:00:00:00:09'), (null, null, '{1}', 101, 'n1', 'zz'), (null, null, '{1}', 101, 'zz', ''))
	x (switch_id, port, tenants, vlan, a, b);
select a.*, u.* from asked a left join lateral drill_unknown(switch_id, port, tenants::bigint[], vlan, a, b) u on true;
\echo a tenant learns of its VLANs, of no port and no node
set haas.scope = 'tenant'; set haas.tenant = '1';
select a.*, u.* from asked a left join lateral drill_unknown(switch_id, port, tenants::bigint[], vlan, a, b) u on true where u.kind is not null;
