-- SQL of the network routes. A network is meant by its id or by the name that it has in its tenant (network_find of db/schema).
-- :use portal/server/store_text.sql

-- :part network_item
-- n is network. `applied`: every port that should carry it was read back as wanted.
jsonb_build_object('id', n.id, 'name', n.name, 'kind', n.kind, 'tenant', t.name, 'pdci', p.name, 'prefix', n.prefix::text,
'wanted', n.wanted, 'vlans', coalesce((select jsonb_agg(jsonb_build_object('fabric', f.name, 'vlan', x.vlan) order by f.name collate haas.natural_order)
from haas.network_vlan x join haas.fabric f on f.id = x.fabric_id where x.network_id = n.id), '[]'), 'ports_count', c.ports,
'applied', c.open = 0, 'version', n.version, 'created_at', n.created_at)

-- :part networks
haas.network n left join haas.tenant t on t.id = n.tenant_id left join haas.pdci p on p.id = n.pdci_id
cross join lateral (select count(*) as ports, count(*) filter (where i.applied_version is distinct from i.wanted_version) as open
from haas.attachment a left join haas.port_intent i on i.switch_id = a.switch_id and i.port = a.port where a.network_id = n.id) c

-- :part port_item
-- a is attachment, s its switch, i the intent of its port. What went wrong on a switch may name others: for operators.
jsonb_build_object('switch', s.name, 'port', a.port, 'mode', a.mode, 'node',
(select d.name from haas.node d where d.id = haas.port_node_seen(a.switch_id, a.port)),
'applied', coalesce(i.applied_version = i.wanted_version, false), 'applied_at', i.applied_at,
'problem', case when haas.is_operator() and i.applied_version is distinct from i.wanted_version then i.problem end)

-- :part network_whole
${network_item} || jsonb_build_object('ports', coalesce((select jsonb_agg(${port_item} order by s.name collate haas.natural_order, a.port collate haas.natural_order) from haas.attachment a
join haas.switch s on s.id = a.switch_id left join haas.port_intent i on i.switch_id = a.switch_id and i.port = a.port
where a.network_id = n.id), '[]'), 'nodes', coalesce((select jsonb_agg(jsonb_build_object('node', d.name, 'nic', w.nic, 'mode', w.mode)
order by d.name collate haas.natural_order, w.nic collate haas.natural_order) from haas.node_network w join haas.node d on d.id = w.node_id where w.network_id = n.id), '[]'))

-- :part network_key
n.name || ' ' || coalesce(t.name, '')

-- :statement network_list
-- :columns = document
-- :list text
--   id           number   n.id
--   name         natural  n.name
--   kind         text     n.kind::text
--   tenant       natural  t.name
--   pdci         natural  p.name
--   prefix       natural  n.prefix::text
--   vlans        text     (select string_agg(f.name || ':' || x.vlan, ' ' order by f.name collate haas.natural_order) from haas.network_vlan x
--      join haas.fabric f on f.id = x.fabric_id where x.network_id = n.id)
--   wanted       text     n.wanted::text
--   ports_count  number   c.ports
--   applied      bool     c.open = 0
--   created_at   time     n.created_at
-- $1 limit $2 cursor $3 tenant $4 kind $5 name -> (page)
${store_page ${network_key} ;; ${network_item} ;; ${networks} where ($2::text is null or (${network_key}) collate haas.natural_order > $2) and ($3::text is null or t.name = $3)
and ($4::text is null or n.kind = $4) and ($5::text is null or n.name = $5) ;; (${network_key}) collate haas.natural_order}

-- :statement network_get
-- :columns = resource
-- $1 id or name $2 tenant -> (body, version, whole)
select (${network_whole})::text as body, n.version, false as whole from ${networks} where n.id = haas.network_find($1, $2)

-- :statement network_create
-- $1 name $2 kind $3 tenant $4 prefix $5 actor
select set_config('haas.result', haas.network_create($1, $2, $3, $4::cidr, null, $5)::text, true)

-- :statement network_created
-- :columns = answer
-- -> answer
${store_answer select 201 as status, '/api/v1/networks/' || n.id as location, n.version, ${network_whole}
 as body from ${networks} where n.id = ${kept}::bigint}

-- :statement network_delete
-- $1 id or name $2 tenant $3 version $4 actor
select set_config('haas.result', haas.network_remove($1, $2, $3::bigint, $4)::text, true)

-- :statement network_deleted
-- :columns = answer
-- -> answer
${store_answer select 202 as status, null as location, n.version, ${network_whole}
 as body from ${networks} where n.id = ${kept}::bigint}

-- :statement attachment_put
-- $1 id or name $2 tenant $3 switch $4 port $5 mode $6 actor
select set_config('haas.result', f.id::text, true), haas.attachment_put($3, $4, f.id, $5, $6)
from (select haas.network_find($1, $2) as id offset 0) f

-- :statement attachment_placed
-- :columns = answer
-- $1 switch $2 port -> answer
${store_answer select 200 as status, null as location, null::bigint as version, ${port_item}
 || jsonb_build_object('network', n.name) as body from haas.attachment a join haas.network n on n.id = a.network_id
join haas.switch s on s.id = a.switch_id left join haas.port_intent i on i.switch_id = a.switch_id and i.port = a.port
where a.network_id = ${kept}::bigint and s.name = $1 and a.port = $2}

-- :statement attachment_remove
-- $1 id or name $2 tenant $3 switch $4 port $5 actor
select haas.attachment_remove($3, $4, haas.network_find($1, $2), $5)

-- :statement attachment_removed
-- :columns = answer
-- -> answer
${store_answer select 204 as status, null as location, null::bigint as version, null::jsonb as body}

-- :statement port_park
-- $1 switch $2 port $3 actor
select haas.port_park($1, $2, $3)

-- :statement port_release
-- $1 switch $2 port $3 actor
select haas.port_release($1, $2, $3)

-- :statement port_intent
-- :columns = answer
-- $1 switch $2 port -> answer
${store_answer select 200 as status, null as location, null::bigint as version, jsonb_build_object('switch', s.name, 'port', $2::text,
'ours', i.port is not null, 'applied', i.applied_version = i.wanted_version, 'applied_at', i.applied_at, 'problem',
case when i.applied_version is distinct from i.wanted_version then i.problem end) as body
from haas.switch s left join haas.port_intent i on i.switch_id = s.id and i.port = $2 where s.name = $1}

-- :part node_networks
-- d is node.
jsonb_build_object('node', d.name, 'place', x.place, 'applied', x.open = 0 and x.fault is null, 'ports_count', x.ports,
'problem', case when haas.is_operator() then coalesce(x.problem, x.fault) end, 'networks', coalesce((select jsonb_agg(jsonb_build_object(
'nic', w.nic, 'network', n.name, 'mode', w.mode) order by w.nic collate haas.natural_order, n.name collate haas.natural_order) from haas.node_network w join haas.network n on n.id = w.network_id
where w.node_id = d.id), '[]'))

-- :part nodes
haas.node d cross join lateral haas.node_network_seen(d.id) x where d.name = $1

-- :statement node_networks
-- :columns = resource
-- $1 node -> (body, version, whole)
select (${node_networks})::text as body, coalesce(haas.edit_version('networks of node', d.name), 0) as version, false as whole from ${nodes}

-- :statement node_networks_put
-- $1 node $2 networks $3 actor
select set_config('haas.result', haas.node_networks_put($1, $2::jsonb, $3)::text, true)

-- :statement node_networks_done
-- :columns = answer
-- $1 node -> answer
${store_answer select 200 as status, null as location, haas.edit_version('networks of node', $1) as version, ${node_networks}
 || jsonb_build_object('missing', coalesce((${kept}::jsonb) -> 'missing', '[]')) as body from ${nodes}}
