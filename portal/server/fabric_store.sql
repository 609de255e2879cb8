-- SQL of fabrics, how switches are managed, cables, places and the planned cabling. What writes calls the functions of fabric.sql, in two
-- steps: the change, then the answer.
-- :use portal/server/alert_text.sql
-- :use portal/server/fabric_text.sql
-- :use portal/server/store_text.sql

-- :part fabric_item
jsonb_build_object('name', f.name, 'vlan_low', f.vlan_low, 'vlan_high', f.vlan_high, 'parking_vlan',
f.parking_vlan, 'parking_count', f.parking_count, 'quarantine_s', f.quarantine_s, 'repair', f.repair, 'version', f.version,
'created_at', f.created_at,
'switches', (select count(*) from haas.switch_endpoint e where e.fabric_id = f.id),
'silent', (select count(*) from haas.switch_endpoint e join haas.switch_observed o on o.switch_id = e.switch_id
where e.fabric_id = f.id and not o.reachable),
'links', (select count(*) from haas.link_view l where l.fabric = f.name and l.state <> 'gone'))

-- :part link_item
jsonb_build_object('id', l.id, 'fabric', l.fabric, 'a_switch', l.a_switch, 'a_port', l.a_port,
'b_switch', l.b_switch, 'b_port', l.b_port, 'state', l.state, 'certainty', l.certainty, 'evidence',
l.evidence, 'lag', l.lag, 'members', l.members, 'since', l.since, 'seen_at', l.seen_at)

-- :part location_item
jsonb_build_object('mac', v.mac::text, 'node', v.node, 'nic', v.nic, 'switch', v.switch, 'port', v.port,
'certainty', v.certainty, 'sources', to_jsonb(v.sources), 'vlan', v.vlan, 'kind', v.kind, 'up', v.up,
'speed_bps', v.speed_bps, 'alias', v.alias, 'since', v.since, 'seen_at', v.seen_at)

-- :part wiring_item
jsonb_build_object('switch', s.name, 'port', w.port, 'node', n.name, 'nic', w.nic, 'peer_switch', p.name,
'peer_port', w.peer_port)

-- :part edited version, body, from
${store_answer select 200 as status, null as location, ${version} as version, ${body}
 as body ${from}}

-- :part answer status, body, from
${store_answer select ${status}
 as status, null as location, null::bigint as version, ${body}
 as body ${from}}

-- :statement fabric_list
-- :columns = document
-- :list text
--   name          natural  f.name
--   vlan_low      number   f.vlan_low
--   vlan_high     number   f.vlan_high
--   parking_vlan  number   f.parking_vlan
--   quarantine_s  number   f.quarantine_s
--   repair        text     f.repair::text
--   switches      number   (select count(*) from haas.switch_endpoint e where e.fabric_id = f.id)
--   created_at    time     f.created_at
-- $1 limit $2 cursor -> (page)
${store_page f.name ;; ${fabric_item} ;; haas.fabric f where ($2::text is null or f.name collate haas.natural_order > $2) ;; f.name collate haas.natural_order}

-- :statement fabric_get
-- :columns = resource
-- The whole of it for people: switches, cables, what is wrong.
-- $1 name -> (body, version, whole)
select (${fabric_item}
 || jsonb_build_object('switch_list', coalesce((select jsonb_agg(${switch_item}
 order by v.role desc, v.name collate haas.natural_order) from haas.switch_view v where v.fabric = f.name), '[]'),
'link_list', coalesce((select jsonb_agg(${link_item}
 order by l.a_switch collate haas.natural_order, l.a_port collate haas.natural_order, l.b_switch collate haas.natural_order, l.b_port collate haas.natural_order) from haas.link_view l where l.fabric = f.name), '[]'),
'resting_list', coalesce((select jsonb_agg(jsonb_build_object('vlan', x.vlan, 'since', x.since, 'until', x.until, 'waits',
coalesce((select jsonb_agg(s.name order by s.name collate haas.natural_order) from haas.switch s where s.id = any (x.waits)), '[]')) order by x.vlan)
from haas.network_vlan x where x.fabric_id = f.id and x.state = 'quarantine'), '[]'),
'alert_list', coalesce((select jsonb_agg(${alert_item}
 order by case a.severity when 'critical' then 0 when 'warning' then 1 else 2 end, a.kind, a.subject) from haas.alert a
where a.cleared_at is null and exists (select from haas.switch_view v where v.fabric = f.name and v.name = split_part(a.subject, ':', 1))), '[]')))::text as body,
haas.edit_version('fabric', f.name) as version, false as whole
from haas.fabric f where f.name = $1

-- :statement fabric_put
-- $1 name $2 spec $3 actor
select haas.fabric_put($1, $2::jsonb, $3)

-- :statement fabric_placed
-- :columns = answer
-- $1 name -> answer
${edited haas.edit_version('fabric', $1) ;; ${fabric_item} ;; from haas.fabric f where f.name = $1}

-- :statement fabric_delete
-- :columns = answer
-- $1 name $2 actor -> answer
${answer 204 ;; null::jsonb ;; from (select haas.fabric_delete($1, $2) offset 0) r}

-- :statement switch_key
-- :columns = public_key
-- -> (public key of peregrined)
select encode(public_key, 'hex') as public_key from haas.daemon_key where daemon = 'peregrined'

-- :statement switch_manage
-- $1 name $2 spec $3 actor
select haas.switch_manage($1, $2::jsonb, $3)

-- :statement switch_rotation_begin
-- :columns = answer
-- $1 name $2 spec $3 actor -> answer
${answer 202 ;; jsonb_build_object('switch', $1::text) ;; from (select haas.switch_rotation_begin($1, $2::jsonb, $3) offset 0) r}

-- :statement switch_managed
-- :columns = answer
-- $1 name -> answer
${edited haas.edit_version('switch', $1) ;; ${switch_item} ;; from haas.switch_view v where v.name = $1}

-- :statement switch_release
-- :columns = answer
-- $1 name $2 actor $3 force -> answer
${answer 204 ;; null::jsonb ;; from (select haas.switch_release($1, $2, $3::boolean) offset 0) r}

-- :statement switch_known
-- $1 name -> a row when it is managed
select s.id from haas.switch s join haas.switch_endpoint e on e.switch_id = s.id where s.name = $1

-- :part aggregate_ours
-- Ours is one whose row names its members; a row stays when the aggregate is gone.
coalesce(a.members && m.members, false)

-- :part aggregate_item
jsonb_build_object('switch', s.name, 'aggregate', o.name, 'members', to_jsonb(m.members), 'up', o.up, 'trunk', o.trunk,
'native_vlan', o.native_vlan, 'tagged_vlans', o.tagged_vlans, 'ours', ${aggregate_ours}
,
'bond', case when ${aggregate_ours}
 then a.bond end, 'made_at', case when ${aggregate_ours}
 then a.made_at end, 'seen_at', o.seen_at)

-- :statement aggregate_list
-- :columns = document
-- :list text
--   switch       natural  s.name
--   aggregate    natural  o.name
--   members      text unsorted  array_to_string(m.members, ' ')
--   up           bool     o.up
--   trunk        bool     o.trunk
--   native_vlan  number   o.native_vlan
--   ours         bool     ${aggregate_ours}
--   seen_at      time     o.seen_at
-- $1 limit $2 cursor $3 switch
${store_page s.name || chr(9) || o.name ;; ${aggregate_item} ;; haas.port_observed o join haas.switch s on s.id = o.switch_id
left join haas.switch_aggregate a on a.switch_id = o.switch_id and a.name = o.name
cross join lateral (select coalesce(array_agg(x.name order by x.name collate haas.natural_order), '{}') as members from haas.port_observed x
where x.switch_id = o.switch_id and x.lag = o.name) m
where o.is_lag and ($2::text is null or (s.name || chr(9) || o.name) collate haas.natural_order > $2) and ($3::text is null or s.name = $3) ;; (s.name || chr(9) || o.name) collate haas.natural_order}

-- :statement switch_ports
-- :columns = document
-- $1 name -> (body)
select jsonb_build_object('items', coalesce((select jsonb_agg(jsonb_build_object('port', p.name, 'kind', p.kind, 'up', p.up,
'admin_up', p.admin_up, 'speed_bps', p.speed_bps, 'alias', p.alias, 'lag', p.lag, 'stp', p.stp, 'trunk', p.trunk, 'native_vlan', p.native_vlan,
'tagged_vlans', p.tagged_vlans, 'mac', p.mac::text, 'if_index', i.if_index, 'base_port', p.base_port, 'seen_at', p.seen_at,
'peer', (select case when l.a_switch = p.switch_id and l.a_port = p.name then b.name || ':' || l.b_port else a.name || ':' || l.a_port end
from haas.link l join haas.switch a on a.id = l.a_switch join haas.switch b on b.id = l.b_switch where l.state <> 'gone'
and ((l.a_switch = p.switch_id and l.a_port = p.name) or (l.b_switch = p.switch_id and l.b_port = p.name)) order by l.certainty desc, l.id limit 1),
'nics', coalesce((select jsonb_agg(coalesce(x.node || ':' || x.nic, x.mac::text) order by x.node collate haas.natural_order, x.nic collate haas.natural_order, x.mac) from haas.nic_view x
where x.switch = s.name and x.port = p.name), '[]')) order by nullif(i.if_index, 0), p.name collate haas.natural_order) from haas.port_observed p
join haas.port_index i on i.switch_id = p.switch_id and i.name = p.name where p.switch_id = s.id), '[]'))::text as body
from haas.switch s where s.name = $1

-- :statement link_list
-- :columns = document
-- :list bigint
--   id         number   l.id
--   fabric     natural  l.fabric
--   a_switch   natural  l.a_switch
--   a_port     natural  l.a_port
--   b_switch   natural  l.b_switch
--   b_port     natural  l.b_port
--   state      text     l.state::text
--   certainty  number   l.certainty
--   evidence   text     l.evidence
--   lag        bool     l.lag
--   members    number   l.members
--   since      time     l.since
--   seen_at    time     l.seen_at
-- $1 limit $2 cursor $3 fabric $4 switch $5 state
${store_page l.id ;; ${link_item} ;; haas.link_view l where ($2::bigint is null or l.id > $2::bigint) and ($3::text is null or l.fabric = $3)
and ($4::text is null or $4 in (l.a_switch, l.b_switch)) and ($5::text is null or l.state = $5) ;; l.id}

-- :statement location_list
-- :columns = document
-- :list macaddr
--   mac        text     v.mac::text
--   node       natural  v.node
--   nic        natural  v.nic
--   switch     natural  v.switch
--   port       natural  v.port
--   certainty  number   v.certainty
--   sources    text     array_to_string(v.sources, ' ')
--   vlan       number   v.vlan
--   kind       text     v.kind::text
--   up         bool     v.up
--   speed_bps  number   v.speed_bps
--   alias      text     v.alias
--   since      time     v.since
--   seen_at    time     v.seen_at
-- $1 limit $2 cursor $3 mac $4 node $5 nic $6 switch $7 port
${store_page v.mac ;; ${location_item} ;; haas.nic_view v where ($2::text is null or v.mac > $2::macaddr) and ($3::text is null or v.mac = $3::macaddr)
and ($4::text is null or v.node = $4) and ($5::text is null or v.nic = $5) and ($6::text is null or v.switch = $6)
and ($7::text is null or v.port = $7) ;; v.mac}

-- :statement wiring_list
-- :columns = document
-- :list text
--   switch       natural  s.name
--   port         natural  w.port
--   node         natural  n.name
--   nic          natural  w.nic
--   peer_switch  natural  p.name
--   peer_port    natural  w.peer_port
-- $1 limit $2 cursor $3 switch $4 node
${store_page s.name || chr(9) || w.port ;; ${wiring_item} ;; haas.wiring w join haas.switch s on s.id = w.switch_id left join haas.node n on n.id = w.node_id
left join haas.switch p on p.id = w.peer_switch_id where ($2::text is null or (s.name || chr(9) || w.port) collate haas.natural_order > $2)
and ($3::text is null or s.name = $3) and ($4::text is null or n.name = $4) ;; (s.name || chr(9) || w.port) collate haas.natural_order}

-- :statement wiring_plan
-- :columns = resource
select jsonb_build_object('rows', (select count(*) from haas.wiring), 'placed_by', e.actor, 'placed_at', e.at)::text as body,
haas.edit_version('plan of', 'cables') as version, false as whole from (select) one left join lateral (select x.actor, x.at from haas.event x
where x.subject_kind = 'site' and x.subject = '' and x.kind = 'wiring.placed' order by x.id desc limit 1) e on true

-- :statement wiring_put
-- $1 rows $2 replace $3 dry_run $4 actor
select set_config('haas.result', haas.wiring_import($1::jsonb, $2::boolean, $3::boolean, $4)::text, true)

-- :statement wiring_told
-- :columns = answer
-- -> answer
${store_answer select case when jsonb_array_length(r.j -> 'errors') = 0 then 200 else 422 end as status, null as location,
case when jsonb_array_length(r.j -> 'errors') = 0 then haas.edit_version('plan of', 'cables') end as version,
case when jsonb_array_length(r.j -> 'errors') = 0 then jsonb_build_object('rows', r.j -> 'rows', 'dry_run', $1::boolean) else ${store_problem 422 ;; invalid ;; 'the plan has mistakes; nothing was written' ;; 'correct the rows and import it again' ;; r.j -> 'errors'} end as body from (select current_setting('haas.result')::jsonb as j) r}

-- :statement wiring_delete
-- :columns = answer
-- $1 switch $2 port $3 actor -> answer
${answer 204 ;; null::jsonb ;; from (select haas.wiring_delete($1, $2, $3) offset 0) r}
