"""A fabric of rows for the page: pods of leaves and spines below cores, a node's two NICs at two leaves, trees of tenants, what links carry, and what is
wrong with it. After FLEET of page_site.py."""

SHAPE = """
set session_replication_role = replica;
delete from nic_location; delete from switch;
insert into tenant (name) values ('initech'), ('umbrella');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 999, 4000);
-- n counts the switches of a role through the site, p is the pod
create temporary table made as
select 'leaf' || n as name, 'leaf' as role, n, (n - 1) / {leaves} + 1 as p from generate_series(1, {pods} * {leaves}) n
union all select 'spine' || n, 'spine', n, (n - 1) / {spines} + 1 from generate_series(1, {pods} * {spines}) n
union all select 'core' || n, 'spine', n, 0 from generate_series(1, {cores}) n;
insert into switch (name) select name from made;
insert into switch_endpoint (switch_id, fabric_id, role, address) select s.id, f.id, m.role, '10.3.0.0'::inet + s.id::integer from made m join switch s using (name), fabric f;
insert into switch_observed (switch_id, family, object_id, text, system, chassis, uptime_ms, reachable, problem, read_at, asked_at)
select s.id, 'arista', '1.3.6.1.4.1.30065.1', 'Arista Networks EOS', m.name, '02:03:00:00:00:01', 86400000, m.name <> 'spine2',
	case when m.name = 'spine2' then '{{"code": "timeout", "message": "it does not answer", "detail": "SNMP, 3 tries in 6 s", "hint": "look at its management port"}}'::jsonb end, now() - interval '20 s', now() - interval '4 s'
from made m join switch s using (name);
-- cables: leaf to each spine of its pod, spine to its share of the cores
create temporary table cables as
select l.name as a, 'up' || (s.n - (s.p - 1) * {spines}) as ap, s.name as b, 'dn' || (l.n - (l.p - 1) * {leaves}) as bp, l.n as leaf, 100000000000 as speed
from made l join made s on l.role = 'leaf' and s.name like 'spine%' and s.p = l.p
union all select s.name, 'up' || c, 'core' || ((s.n * {ups} + c) % {cores} + 1), 'dn' || s.n || '-' || c, 0, 400000000000 from made s, generate_series(1, {ups}) c where s.name like 'spine%';
-- a cable has one direction in `link`: its first end has the lower id
insert into link (a_switch, a_port, b_switch, b_port, state, certainty, evidence, since, seen_at)
select a.id, c.ap, b.id, c.bp, case when c.a = 'leaf3' and c.ap = 'up1' then 'claimed' else 'confirmed' end, case when c.a = 'leaf3' and c.ap = 'up1' then 60 else 100 end, '{{"by": "both"}}', now() - interval '9 d', now()
from cables c join switch a on a.name = c.a join switch b on b.name = c.b;
-- which tenants a leaf's links carry: acme everywhere, globex in half of the pods, the others in one
create temporary table lists as
select n as leaf, '101' || case when p % 2 = 1 then ',201' else '' end || case when p = 1 then ',301' when p = 2 then ',401' else '' end as list from made where role = 'leaf';
insert into port_observed (switch_id, name, if_index, admin_up, up, speed_bps, kind, trunk, native_vlan, tagged_vlans, seen_at)
select s.id, x.port, row_number() over (partition by s.id order by x.port), true, x.up, x.speed, 'uplink', true, 1, coalesce(x.list, '101,201'), now()
from (select c.a as sw, c.ap as port, c.speed, l.list, not (c.a = 'leaf2' and c.ap = 'up2') as up from cables c left join lists l on l.leaf = c.leaf
	union all select c.b, c.bp, c.speed, case when c.a = 'leaf1' and c.ap = 'up2' then '101' else l.list end, not (c.a = 'leaf2' and c.ap = 'up2') from cables c left join lists l on l.leaf = c.leaf) x join switch s on s.name = x.sw;
insert into network (name, kind, tenant_id) select 'blue', 'tenant', id from tenant;
insert into network_vlan (fabric_id, vlan, network_id, state) select f.id, v.vlan, n.id, 'used' from (values ('acme', 101), ('globex', 201), ('initech', 301), ('umbrella', 401)) v (tenant, vlan)
join tenant t on t.name = v.tenant join network n on n.tenant_id = t.id and n.name = 'blue', fabric f;
-- nodes: two NICs at two neighbours
create temporary table seats as
select c.mac, n.name as node, c.name as nic, n.id, ((n.id - 1) % ({pods} * {leaves} / 2)) * 2 + case when c.name = 'eth0' then 1 else 2 end as leaf from nic c join node n on n.id = c.node_id;
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at)
select x.mac, s.id, 'c' || x.id, 90, '{{fdb,lldp}}', now() - interval '3 d', now() from seats x join switch s on s.name = 'leaf' || x.leaf where x.id % 50 <> 7;
insert into wiring (switch_id, port, node_id, nic) select s.id, 'c' || x.id, x.id, x.nic from seats x join switch s on s.name = 'leaf' || x.leaf;
insert into wiring (switch_id, port, peer_switch_id, peer_port) select a.id, c.ap, b.id, c.bp from cables c join switch a on a.name = c.a join switch b on b.name = c.b where c.leaf > 0;
insert into port_observed (switch_id, name, if_index, admin_up, up, speed_bps, kind, trunk, native_vlan, tagged_vlans, seen_at)
select s.id, 'c' || x.id, 1000 + x.id, true, x.id % 50 <> 7, 25000000000, 'edge', false, 101, '', now() from seats x join switch s on s.name = 'leaf' || x.leaf;
-- the first nodes are in their tenant's network, by the ports that they boot from
insert into attachment (switch_id, port, network_id, mode) select s.id, 'c' || x.id, w.id, 'native' from seats x join node d on d.id = x.id join network w on w.tenant_id = d.tenant_id and w.name = 'blue'
join switch s on s.name = 'leaf' || x.leaf where x.id <= 4 and x.nic = 'eth0';
insert into port_intent (switch_id, port, wanted_version, applied_version, applied_at, node_id) select switch_id, port, 1, 1, now(), substr(port, 2)::bigint from attachment;
select traffic_partitions_turn(now());
"""

# So much of the speed: by the name of the port, the same each time; one link is full.
LOADS = """
insert into traffic_60_counter (at, switch_id, port, seconds, in_bytes, out_bytes, in_packets, out_packets, in_errors, out_errors, in_discards, out_discards, speed_bps, up)
select date_trunc('second', now()) - make_interval(secs => 60 * k + 10), o.switch_id, o.name, 60, o.speed_bps / 8 * 60 * i, o.speed_bps / 8 * 60 * u, 1000, 1000, 0, 0, 0, case when h = 7 then 12 else 0 end, o.speed_bps, true
from port_observed o join switch s on s.id = o.switch_id cross join lateral (select abs(hashtext(s.name || o.name)) % 90 as h) x cross join generate_series(0, {minutes}) k
cross join lateral (select case when s.name = 'leaf1' and o.name = 'up1' then 0.93 + 0.03 * sin(k / 9.0) else (h / 100.0) * (0.6 + 0.4 * sin((k + h) / 12.0)) end as u, (89 - h) / 120.0 as i) y
where o.up and (k = 0 or s.name in ('leaf1', 'leaf2'));
insert into switch_health (switch_id, asked_at, heard_at, response_ms, counters_at, stp, lags, sensors)
select s.id, now() - interval '40 s', case when s.name = 'spine2' then now() - interval '9 min' else now() - interval '40 s' end, 12 + s.id % 9, now() - interval '10 s',
	'{{"running": true, "version": "rstp", "bridge": "8000.020300000001", "root": "8000.020300000001", "ports": [{{"port": "up1", "role": "root", "state": "forwarding", "transitions": 2}}, {{"port": "up2", "role": "alternate", "state": "blocking", "transitions": 5}}]}}',
	'[]', '[{{"name": "Xcvr 1 temperature", "text": "optic of up1", "port": "up1", "value": 71.5, "unit": "celsius", "status": "ok"}}, {{"name": "Fan 2", "text": "", "port": "", "value": 0, "unit": "rpm", "status": "broken"}}]'
from switch s;
insert into port_observed (switch_id, name, if_index, admin_up, up, speed_bps, kind, lag, is_lag, trunk, native_vlan, tagged_vlans, seen_at)
select s.id, p.name, p.i, true, p.name <> 'm2', 25000000000, 'edge', case when p.name <> 'ae1' then 'ae1' else '' end, p.name = 'ae1', true, 1, '101', now()
from switch s, (values ('ae1', 901), ('m1', 902), ('m2', 903)) p (name, i) where s.name = 'leaf1';
insert into subnet (name, prefix, boot_server, pool_low, pool_high, reserved_only, lease_s) values ('prov', '10.50.0.0/16', '10.50.0.1', '10.50.8.0', '10.50.8.255', false, 3600), ('bmc', '10.1.0.0/16', '10.1.0.1', null, null, true, 86400);
insert into lease (address, mac, subnet_id, state, client, expires_at) select '10.50.8.0'::inet + c.node_id, c.mac, s.id, case when c.node_id = 9 then 'declined' else 'bound' end, 'PXEClient:Arch:00007', now() + interval '40 minutes'
from nic c, subnet s where s.name = 'prov' and c.name = 'eth0' and c.node_id <= 60;
insert into reservation (mac, subnet_id, address) select c.mac, s.id, '10.50.1.0'::inet + c.node_id from nic c, subnet s where s.name = 'prov' and c.name = 'eth0' and c.node_id between 61 and 64;
insert into circuit_unknown (relay, circuit, remote, mac, seen) values ('10.50.0.2', 'Ethernet1/7', 'leaf1', '02:00:00:00:00:07', 12), ('10.50.0.2', '\\x00040001', '\\x0006aabbccddeeff', '02:00:00:00:00:08', 3),
	('10.50.0.3', '<script>window.hacked=1</script>', '', '02:00:00:00:00:09', 1);
insert into circuit_rule (name, relay, family, circuit, port) values ('leaf2', '10.50.0.4/32', 'cisco-ios', 'Ethernet{{slot}}/{{port}}', '{{slot}}/{{port}}');
insert into sampling (fabric_id, collector, rate) select id, '10.0.0.5', 10000 from fabric;
insert into sampling_state (switch_id, state, version, sources, rate_low, rate_high, told_rate, told_at, problem) select s.id, case when s.name = 'leaf2' then 'refused' else 'applied' end, 1, 8, 10000, 10000, 10000, now(),
	case when s.name = 'leaf2' then '{{"message": "its sFlow agent takes one collector, and has another"}}'::jsonb end from switch s where s.name like 'leaf%';
"""


def rows(pods=2, leaves=6, spines=2, cores=2, ups=2, minutes=60):
    """4 figures and the cables of a spine to the cores: 12, 36, 4, 20, 4 are 500 switches and 1,920 links."""
    return (SHAPE + LOADS).format(pods=pods, leaves=leaves, spines=spines, cores=cores, ups=ups, minutes=minutes) + "set session_replication_role = origin;\n"
