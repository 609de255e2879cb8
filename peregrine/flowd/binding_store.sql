-- Statements of peregrine/flowd/binding_store.c.

-- :part ended_kept
-- Samples come late by seconds; a binding that ended before this is of no use any more.
interval '10 minutes'

-- :part us column
(extract(epoch from ${column}) * 1000000)::bigint

-- :part holds
(b.valid_to is null or b.valid_to > now() - ${ended_kept})

-- :part held
-- to_us is null while the binding holds.
'from_us', ${us b.valid_from}, 'to_us', ${us b.valid_to}

-- :statement binding_mark
-- :columns mark
-- Ports and switches have no history: their state is a part of the mark.
select concat_ws(':', (select last_value from haas.binding_change), (select count(*) from haas.switch_endpoint),
 (select coalesce(sum(hashtextextended(switch_id || ':' || address || ':' || fabric_id, 0) % 1000000007), 0) from haas.switch_endpoint),
 (select coalesce(sum(hashtextextended(switch_id || ':' || agent || ':' || source, 0) % 1000000007), 0) from haas.flow_agent),
 (select count(*) || '.' || coalesce(sum(hashtextextended(switch_id || ':' || name || ':' || if_index || kind || lag || speed_bps, 0) % 1000000007), 0)
  from haas.port_index), (select count(*) from haas.network)) as mark

-- :statement binding_read
-- :columns bindings
-- json, not jsonb: the text is made once.
select json_build_object(
'switches', (select coalesce(json_agg(json_build_object('id', s.id, 'name', s.name, 'fabric', e.fabric_id) order by s.id), '[]')
  from haas.switch_endpoint e join haas.switch s on s.id = e.switch_id),
'agents', (select coalesce(json_agg(json_build_object('switch', switch_id, 'agent', host(agent), 'source', host(source)) order by switch_id), '[]') from
  (select switch_id, agent, source from haas.flow_agent union select switch_id, address, address from haas.switch_endpoint) x),
'ports', (select coalesce(json_agg(json_build_object('switch', p.switch_id, 'name', p.name, 'lag', p.lag, 'if_index', p.if_index,
  'kind', p.kind, 'speed_bps', p.speed_bps) order by p.switch_id, p.if_index), '[]')
  from haas.port_index p where p.if_index > 0 or (p.switch_id, p.name) in (select m.switch_id, m.lag from haas.port_index m where m.if_index > 0 and m.lag <> '')),
'networks', (select coalesce(json_agg(json_build_object('id', n.id, 'name', n.name, 'tenant', coalesce(n.tenant_id, 0),
  'tenant_name', coalesce(t.name, '')) order by n.id), '[]') from
  (select id, name, tenant_id from haas.network union select network_id, network, tenant_id from haas.vlan_history b where ${holds}
   and not exists (select from haas.network x where x.id = b.network_id)) n left join haas.tenant t on t.id = n.tenant_id),
'port_bindings', (select coalesce(json_agg(json_build_object('switch', b.switch_id, 'port', b.port, 'tag', b.tag, 'network', b.network_id,
  ${held})), '[]')
  from haas.port_binding b where ${holds}),
'vlans', (select coalesce(json_agg(json_build_object('fabric', b.fabric_id, 'vlan', b.vlan, 'network', b.network_id, ${held})), '[]')
  from haas.vlan_history b where ${holds}),
'vnis', (select coalesce(json_agg(json_build_object('vni', b.vni, 'network', b.network_id, ${held})), '[]')
  from haas.vni_binding b where ${holds}),
'nics', (select coalesce(json_agg(json_build_object('mac', b.mac, 'switch', b.switch_id, 'port', b.port, 'node', coalesce(b.node_id, 0),
  'node_name', b.node, ${held})), '[]')
  from haas.nic_binding b where ${holds})) as bindings
