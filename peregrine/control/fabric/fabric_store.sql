-- SQL of the fabric: what the conclusions need to know from the database, and the functions of fabric.sql and port.sql that take what was
-- concluded. One statement per table, all rows in one parameter.

-- :row written
--   events  how many it wrote

-- :statement fabric_nics
-- :columns mac, node_id, node, name, heard_chassis, heard_port, heard_system, heard_us, tenant_id, power, idle, starting
-- NICs that were declared, and those that an agent found besides; the declared name wins. starting: switched on, or declared and its power not known yet,
-- in the last minutes.
with reported as (select distinct on (1) (e ->> 'mac')::macaddr as mac, i.node_id, e ->> 'name' as name, e -> 'lldp' as lldp, i.at
 from haas.node_inventory i cross join lateral jsonb_array_elements(case when jsonb_typeof(i.data -> 'nics') = 'array'
 then i.data -> 'nics' else '[]' end) e where e ->> 'mac' ~* '^([0-9a-f]{2}:){5}[0-9a-f]{2}$' order by 1, i.at desc)
 select coalesce(d.mac, r.mac) as mac, coalesce(d.node_id, r.node_id) as node_id, n.name as node, coalesce(d.name, r.name) as name, r.lldp ->> 'chassis' as heard_chassis, r.lldp ->> 'port' as heard_port,
 r.lldp ->> 'system' as heard_system, (extract(epoch from r.at) * 1e6)::bigint as heard_us, coalesce(n.tenant_id, 0) as tenant_id, coalesce(b.observed_power, 'unknown') as power, n.tenant_id is null or n.state = 'reserved' as idle,
 coalesce(case b.observed_power when 'on' then b.power_since when 'off' then null else n.created_at end > now() - interval '10 minutes', false) as starting from haas.nic d full join reported r on r.mac = d.mac
 join haas.node n on n.id = coalesce(d.node_id, r.node_id) left join haas.bmc b on b.node_id = n.id

-- :statement fabric_sightings
-- :columns mac, switch, port, seen_us
select s.mac, s.switch, s.port, (extract(epoch from s.seen_at) * 1e6)::bigint as seen_us from haas.sighting s where s.port <> ''

-- :statement fabric_wiring
-- :columns switch_id, port, node_id, node, nic, peer_id, peer, peer_port
select w.switch_id, w.port, w.node_id, n.name as node, w.nic, w.peer_switch_id as peer_id, p.name as peer, w.peer_port from haas.wiring w
 left join haas.node n on n.id = w.node_id left join haas.switch p on p.id = w.peer_switch_id order by w.switch_id, w.port

-- :statement fabric_guards
-- :columns switch_id, port, version, tenant_id, networks
-- Sorted as guard_port_find() looks.
select i.switch_id, i.port, i.wanted_version as version, coalesce(max(n.tenant_id), 0) as tenant_id, string_agg(n.name, ', ' order by n.name) as networks
 from haas.port_intent i join haas.attachment a on a.switch_id = i.switch_id and a.port = i.port
 join haas.network n on n.id = a.network_id where n.kind = 'tenant' group by i.switch_id, i.port, i.wanted_version
 order by i.switch_id, i.port collate "C"

-- :statement fabric_given
-- :columns switch_id, port, bundle, holder
select i.switch_id, i.port, coalesce(g.number, 0) as bundle,
 coalesce(haas.port_holder(i.switch_id, i.port), 0) as holder
 from haas.port_intent i left join (
select distinct on (a.switch_id, m.port) a.switch_id, m.port, a.number from (select *, row_number() over (order by switch_id, name) as number
 from haas.switch_aggregate) a cross join unnest(a.members) as m (port) order by a.switch_id, m.port, a.made_at desc) g
 on g.switch_id = i.switch_id and g.port = i.port

-- :statement fabric_ends
-- :columns switch_id, port, peer_id
-- A cable is gone when neither end tells of it, also while one is asked in vain. A lie (10, see link_private.h) is none.
-- (switch_id, port, peer_id): ends of cables that are there, or that went while the other end was silent
select e.switch_id, e.port, e.peer_id from (select a_switch as switch_id, a_port as port, b_switch as peer_id, state, since, certainty from haas.link
 union all select b_switch, b_port, a_switch, state, since, certainty from haas.link) e left join haas.switch_observed o on o.switch_id = e.peer_id
 where e.certainty > 10 and (e.state in ('confirmed', 'claimed') or e.state = 'gone' and (o.read_at is null or o.read_at < e.since))

-- :statement fabric_blocks
-- :columns switch_id, port, kind, mac, version
-- (switch_id, port, kind, mac, version): ports that were blocked then
select switch_id, port, kind, mac, wanted_version as version from haas.port_block

-- :statement fabric_places
-- :columns mac, switch_id, port, seen_us
-- (mac, switch_id, port, seen_us): where MACs were concluded to be before we started
select mac, switch_id, port, (extract(epoch from seen_at) * 1e6)::bigint as seen_us from haas.nic_location

-- :statement fabric_rows
-- :columns
--   events     how many it wrote
--   switch_id  one row for each switch whose rows PostgreSQL refused, else null; the rows of all others are written
--   message    why, with the value
-- $1 table: observed, ports, links, places $2 ids of switches $3 rows $4 seen_s
select w.events, x.switch_id, x.message from haas.fabric_rows_write($1::text, $2::bigint[], $3::jsonb, $4::int) w
 left join lateral jsonb_to_recordset(w.refused) as x (switch_id bigint, message text) on true

-- :statement fabric_alerts
-- :columns = written
-- $1 rows $2 seen_s
select haas.fabric_alert_put($1::jsonb, $2::int) as events

-- :statement fabric_strays
-- :columns = written
-- $1 rows
select haas.nic_stray_put($1::jsonb) as events

-- :statement fabric_blocked
-- :columns = written
-- $1 rows
select haas.port_block_put($1::jsonb) as events

-- :statement fabric_notify
select pg_notify('event', '')
