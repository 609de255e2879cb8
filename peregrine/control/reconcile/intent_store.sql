-- Statements of peregrine/control/reconcile/intent_store.c.

-- :part open_alerts
a.cleared_at is null and a.kind in ('switch.drift', 'switch.unsaved', 'switch.tags_unproven', 'switch.no_parking', 'switch.provisioning_open', 'switch.uplink_refused', 'switch.undo_failed', 'fabric.isolation',
 'network.vlan_leak', 'network.vlan_short')

-- :statement intent_load
-- :columns site
-- json, not jsonb: of 44,000 ports the text is made once, in two thirds of the time.
select json_build_object(
'now_ms', floor(extract(epoch from clock_timestamp()) * 1000)::bigint,
'fabrics', (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'low', vlan_low, 'high', vlan_high, 'parking', parking_vlan, 'parking_count', parking_count,
  'quarantine_s', quarantine_s, 'repair', repair = 'repair') order by id), '[]') from haas.fabric),
'switches', (select coalesce(json_agg(json_build_object('id', e.switch_id, 'name', s.name, 'fabric', e.fabric_id, 'spine', e.role = 'spine',
  'managed', e.managed and (select not haas.restoration_waits()), 'chassis', coalesce(o.chassis, ''), 'since', floor(extract(epoch from e.created_at) * 1000000)::bigint, 'family', coalesce(nullif(e.family, ''), o.family, ''),
  'aggregates', (select a.aggregates from haas.switch_ability a where a.switch_id = e.switch_id)) order by e.switch_id), '[]')
  from haas.switch_endpoint e join haas.switch s on s.id = e.switch_id left join haas.switch_observed o on o.switch_id = e.switch_id),
'links', (select coalesce(json_agg(x order by id), '[]') from (select id, a_switch, a_port, b_switch, b_port, state from haas.link) x),
'networks', (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'tenant', tenant_id,
  'tenant_name', (select t.name from haas.tenant t where t.id = network.tenant_id), 'present', wanted = 'present',
  'meant', case when wanted = 'present' and not exists (select from haas.network_vlan v where v.network_id = network.id) then
   (select json_agg(distinct e.fabric_id) from haas.node_network w cross join lateral haas.node_ports(w.node_id) q
    join haas.switch_endpoint e on e.switch_id = q.switch_id where w.network_id = network.id and w.mode = 'tagged') end) order by id), '[]')
  from haas.network),
'vlans', (select coalesce(json_agg(x order by fabric, vlan), '[]') from (select fabric_id as fabric, vlan, network_id as network, state,
  floor(extract(epoch from until) * 1000)::bigint as until_ms, waits from haas.network_vlan) x),
'ports', (select coalesce(json_agg(x order by switch, port), '[]') from (select switch_id as switch, port, wanted_version as wanted,
  applied_version as applied, applied_trunk as trunk, applied_native as native, applied_tagged as tagged, applied_apart as apart, problem ->> 'message' as problem, bond
  from haas.port_intent) x),
'aggregates', (select coalesce(json_agg(x order by switch, name), '[]') from (select switch_id as switch, name, bond, members from haas.switch_aggregate) x),
'uplinks', (select coalesce(json_agg(x), '[]') from (select switch_id as switch, port, tagged from haas.uplink_applied) x),
-- changed in the last minutes or just now, and perhaps not saved before somebody ended us; or known not to be saved
'unsaved', (select coalesce(json_agg(y), '[]') from (select id, bool_or(told) as told from (
  select switch_id as id, false as told from (select switch_id, ended_at from haas.change order by id desc limit 500) c
   where ended_at is null or ended_at > now() - interval '5 minutes'
  union all select switch_id, false from haas.switch_unsaved
  union all select switch_id, false from haas.port_intent where applied_version <> wanted_version and applied_at is not null
  union all select s.id, true from haas.alert a join haas.switch s on s.name = a.subject where a.kind = 'switch.unsaved' and a.cleared_at is null) x
  group by id) y),
-- open, and ours to clear; orphan: of a switch or a fabric that is not there any more
'alerts', (select coalesce(json_agg(json_build_object('key', a.key, 'orphan', case a.subject_kind
  when 'switch' then not exists (select from haas.switch_endpoint e join haas.switch s on s.id = e.switch_id where s.name = a.subject)
  else not exists (select from haas.fabric f where f.name = a.subject) end)), '[]') from haas.alert a where ${open_alerts}),
'attachments', (select coalesce(json_agg(x order by switch, port, network), '[]') from (select a.switch_id as switch, a.port, a.network_id as network, a.mode,
  b.port is not null as blocked, i.node_id is not null and n.kind = 'provisioning' as apart from haas.attachment a
  join haas.network n on n.id = a.network_id left join haas.port_intent i on i.switch_id = a.switch_id and i.port = a.port
  left join haas.port_block b on b.switch_id = a.switch_id and b.port = a.port and b.wanted_version = i.wanted_version) x)) as site

-- :statement fabric_claim
-- :columns generation
-- An owner's earlier life cannot be at work any more; anybody else's claim has to run out.
insert into haas.fabric_claim as c (fabric_id, owner, until) values ($1::bigint, $2, now() + $3::bigint * interval '1 ms')
on conflict (fabric_id) do update set owner = excluded.owner, until = excluded.until,
 generation = c.generation + (c.owner <> excluded.owner or $4::boolean)::int
where c.until <= now() or c.owner = excluded.owner returning generation

-- :statement change_unfinished
-- :columns batch_id, id, switch_id, edit, state
select b.id as batch_id, c.id, c.switch_id, c.edit, c.state from haas.change_batch b left join haas.change c on c.batch_id = b.id
 where b.fabric_id = $1::bigint and b.state not in ('done', 'undone', 'failed') order by b.id, c.id

-- :part ours
with ours as (update haas.fabric_claim set until = now() + $4::bigint * interval '1 ms'
 where fabric_id = $1::bigint and owner = $2 and generation = $3::bigint returning fabric_id)

-- :statement change_close
${ours}, rows as (select x.* from ours, jsonb_to_recordset($5::jsonb) as x (batch bigint, state text, problem jsonb, changes jsonb)),
 b as (update haas.change_batch t set state = r.state, problem = r.problem, ended_at = now() from rows r where t.id = r.batch returning t.id),
 c as (update haas.change t set state = y.state, ended_at = now() from rows r, jsonb_to_recordset(r.changes) as y (id bigint, state text)
  where t.id = y.id returning t.id)
select (select count(*) from b), (select count(*) from c) from ours

-- :statement network_numbers
${ours}, rows as (select x.* from ours, jsonb_to_recordset($5::jsonb) as x (op text, vlan integer, network bigint, rest_s bigint, waits bigint[])),
 made as (insert into haas.network_vlan (fabric_id, vlan, network_id, state) select $1::bigint, vlan, network, 'used' from rows where op = 'assign'
  returning vlan, network_id),
 noted as (insert into haas.vlan_history (fabric_id, vlan, network_id, network, tenant_id, valid_from)
  select $1::bigint, m.vlan, n.id, n.name, n.tenant_id, now() from made m join haas.network n on n.id = m.network_id returning vlan),
 given as (update haas.network_vlan t set state = 'quarantine', network_id = null, until = now() + r.rest_s * interval '1 s', waits = r.waits from rows r
  where r.op = 'release' and t.fabric_id = $1::bigint and t.vlan = r.vlan and t.state = 'used' returning t.vlan),
 ended as (update haas.vlan_history h set valid_to = now() from given g where h.fabric_id = $1::bigint and h.vlan = g.vlan and h.valid_to is null
  returning h.vlan),
 freed as (delete from haas.network_vlan t using rows r where r.op = 'rested' and t.fabric_id = $1::bigint and t.vlan = r.vlan
  and t.state = 'quarantine' and t.waits = '{}' returning t.vlan),
 waiting as (update haas.network_vlan t set waits = r.waits from rows r where r.op = 'waits' and t.fabric_id = $1::bigint and t.vlan = r.vlan
  and t.state = 'quarantine' returning t.vlan)
select (select count(*) from made) + (select count(*) from given) + (select count(*) from freed) + (select count(*) from waiting) + 0 * (select count(*) from noted)
 + 0 * (select count(*) from ended) from ours

-- :statement network_gone
-- When its last number is given back, in every fabric, the row goes. A statement of its own: what the one before wrote is seen by it.
${ours}, g as (delete from haas.network n using ours where n.wanted = 'absent'
  and not exists (select from haas.network_vlan v where v.network_id = n.id)
  and not exists (select from haas.attachment a where a.network_id = n.id) returning n.id, n.name, n.tenant_id)
select count(haas.event_told('network.gone', 'network', name, tenant_id, 'on no switch any more', jsonb_build_object('network', id))) from g

-- :statement change_journal
-- :columns batch_id, change_ids
${ours}, b as (insert into haas.change_batch (fabric_id, reason, state, owner, generation) select fabric_id, $5, 'creating', $2, $3::bigint from ours returning id),
 c as (insert into haas.change (batch_id, switch_id, phase, edit, state)
  select b.id, x.switch, x.phase, x.edit, 'planned' from b, rows from (jsonb_to_recordset($6::jsonb) as (switch bigint, phase integer, edit jsonb))
   with ordinality as x (switch, phase, edit, place) order by x.place returning id),
 u as (delete from haas.uplink_applied t using b, jsonb_to_recordset($6::jsonb) as x (switch bigint, link boolean, edit jsonb)
  where x.link and t.switch_id = x.switch and t.port = x.edit ->> 'port' returning t.port)
select b.id as batch_id, (select array_agg(id order by id) from c) as change_ids from b

-- :statement change_phase
${ours}, b as (update haas.change_batch t set state = $7 from ours where t.id = $5::bigint returning t.id),
 c as (update haas.change t set state = 'sent', sent_at = now() from b where t.batch_id = b.id and t.phase = $6::integer returning t.id)
select count(*), (select count(*) from c) from b having count(*) > 0

-- :statement change_save
${ours}, r as (select $5::jsonb as r from ours),
 b as (update haas.change_batch t set state = r.r ->> 'state', problem = nullif(r.r -> 'problem', 'null'), ended_at = now() from r
  where t.id = (r.r ->> 'batch')::bigint returning t.id),
 c as (update haas.change t set state = x.state, problem = x.problem, ended_at = now()
  from r, jsonb_to_recordset(r.r -> 'changes') as x (id bigint, state text, problem jsonb) where t.id = x.id
  returning t.id, t.switch_id, t.sent_at),
 v as (insert into haas.switch_unsaved (switch_id) select distinct switch_id from c where sent_at is not null on conflict do nothing returning switch_id),
 p as (update haas.port_intent t set applied_version = x.version, applied_trunk = x.trunk, applied_native = x.native, applied_tagged = x.tagged, applied_apart = coalesce(x.apart, false),
  applied_at = now(), problem = case when t.wanted_version = x.version then null else t.problem end
  from r, jsonb_to_recordset(r.r -> 'ports') as x (switch bigint, port text, version bigint, trunk boolean, native integer, tagged text, apart boolean)
  where t.switch_id = x.switch and t.port = x.port and t.wanted_version >= x.version returning t.switch_id, t.port),
 f as (update haas.port_intent t set problem = x.problem
  from r, jsonb_to_recordset(r.r -> 'faults') as x (switch bigint, port text, version bigint, problem jsonb)
  where t.switch_id = x.switch and t.port = x.port and t.wanted_version = x.version and not exists (select from p where p.switch_id = t.switch_id
   and p.port = t.port) returning t.port),
 u as (insert into haas.uplink_applied as t (switch_id, port, tagged)
  select x.switch, x.port, x.tagged from r, jsonb_to_recordset(r.r -> 'uplinks') as x (switch bigint, port text, tagged text)
  on conflict (switch_id, port) do update set tagged = excluded.tagged, applied_at = now() where t.tagged <> excluded.tagged returning t.port),
 s as (insert into haas.switch_ability as t (switch_id, apart, apart_at) select x.switch, x.state, now()
  from r, jsonb_to_recordset(r.r -> 'apart') as x (switch bigint, state text) join haas.switch_endpoint e on e.switch_id = x.switch
  on conflict (switch_id) do update set apart = excluded.apart, apart_at = excluded.apart_at returning t.switch_id),
 a as (select x.* from r, jsonb_to_recordset(r.r -> 'alerts') as x (op text, key text, kind text, severity text, subject_kind text, subject text,
  message text, detail jsonb)),
 up as (insert into haas.alert as t (key, kind, severity, subject_kind, subject, message, detail)
  select key, kind, severity, subject_kind, subject, message, coalesce(detail, '{}') from a where op = 'raise'
  on conflict (key) where cleared_at is null do update set seen_at = now(), message = excluded.message, detail = excluded.detail,
   severity = excluded.severity returning t.id),
 down as (update haas.alert t set cleared_at = now() from a where a.op = 'clear' and t.key = a.key and t.cleared_at is null returning t.id),
 e as (select haas.event_told(x.kind, x.subject_kind, x.subject, x.tenant, x.message, x.detail) as id
  from r, jsonb_to_recordset(r.r -> 'events') as x (kind text, subject_kind text, subject text, tenant bigint, message text, detail jsonb))
select (select count(*) from b), (select count(*) from c), (select count(*) from p), (select count(*) from f), (select count(*) from up),
 (select count(*) from down), (select count(*) from s), (select count(id) from e) from ours

-- :statement aggregate_write
-- :columns batch_id, change_id, made, unsaved
-- Written before it is sent, and in the journal as any change; what goes is still ours until it is gone.
${ours}, x as (select r.* from ours, jsonb_to_record($5::jsonb) as r (make boolean, switch bigint, name text, bond text, vlan integer, members text[])),
 a as (insert into haas.switch_aggregate as t (switch_id, name, bond, members) select switch, name, bond, members from x
  where make on conflict (switch_id, name) do update set bond = excluded.bond, members = excluded.members, made_at = now() returning name),
 v as (insert into haas.switch_unsaved (switch_id) select switch from x on conflict do nothing returning switch_id),
 b as (insert into haas.change_batch (fabric_id, reason, state, owner, generation) select fabric_id, 'intent', 'attaching', $2, $3::bigint from ours returning id),
 c as (insert into haas.change (batch_id, switch_id, phase, edit, state, sent_at) select b.id, x.switch, 3, jsonb_build_object('kind',
   case when x.make then 'aggregate_make' else 'aggregate_unmake' end, 'port', x.name, 'vlan', x.vlan, 'bond', x.bond, 'members', x.members), 'sent', now()
  from b, x returning id, batch_id)
select c.batch_id, c.id as change_id, (select count(*) from a) as made, (select count(*) from v) as unsaved from c

-- :statement switch_saved
delete from haas.switch_unsaved where switch_id = $1::bigint

-- :statement switch_ability
insert into haas.switch_ability as t (switch_id, aggregates) select e.switch_id, x.aggregates
 from jsonb_to_recordset($1::jsonb) as x (switch bigint, aggregates boolean) join haas.switch_endpoint e on e.switch_id = x.switch
 on conflict (switch_id) do update set aggregates = excluded.aggregates

-- :statement alert_orphans
with gone as (update haas.alert a set cleared_at = now() where ${open_alerts} and case a.subject_kind
  when 'switch' then not exists (select from haas.switch_endpoint e join haas.switch s on s.id = e.switch_id where s.name = a.subject)
  else not exists (select from haas.fabric f where f.name = a.subject) end returning a.kind, a.subject_kind, a.subject, a.message)
select count(haas.event_told('alert.cleared', subject_kind, subject, null, message, jsonb_build_object('kind', kind))) from gone

-- :statement applied_notify
select pg_notify('event', '')
