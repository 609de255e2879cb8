-- A switch as the API shows it, for both of its sides: what gives addresses (cable_store), and how it is managed and what it said
-- (fabric_store). v is switch_view.

-- :part switch_item
jsonb_build_object('name', v.name, 'ports', v.ports, 'base', v.base, 'port_low', v.port_low,
'port_high', v.port_high, 'moved', v.moved, 'swapped', v.swapped, 'created_at', v.created_at,
'state', case when v.fabric is null then 'unmanaged' when v.reachable is null then 'new' when v.reachable
then 'reachable' else 'silent' end,
'management', case when v.fabric is not null then jsonb_build_object('fabric', v.fabric, 'role', v.role,
'address', v.address, 'family', v.family_wanted, 'ports', v.service_ports, 'credentials', v.credentials,
'managed', v.managed, 'poll_s', v.poll_s, 'version', v.version) end,
'observed', case when v.reachable is not null and v.fabric is not null then jsonb_build_object(
'family', v.family, 'object_id', v.object_id, 'text', v.text, 'system', v.system, 'chassis', v.chassis,
'uptime_ms', v.uptime_ms, 'reachable', v.reachable, 'problem', v.problem, 'read_at', v.read_at,
'asked_at', v.asked_at, 'requests', v.requests, 'odd', v.odd, 'odd_text', v.odd_text, 'vlans', v.vlans,
'ports', v.port_count, 'up', v.ports_up, 'uplinks', v.uplinks, 'edges', v.edges,
'parts', (select coalesce(jsonb_agg(jsonb_build_object('part', p.part, 'state', p.state, 'reason', p.reason, 'since', p.since)
order by array_position('{ports,vlans,addresses,neighbors,aggregates}', p.part)), '[]') from haas.switch_part p where p.switch_id = v.id)) end,
'isolation', (select jsonb_build_object('state', x.apart, 'at', x.apart_at) from haas.switch_ability x where x.switch_id = v.id and x.apart <> ''),
'alerts', (select coalesce(jsonb_agg(jsonb_build_object('kind', a.kind, 'severity', a.severity, 'message', a.message) order by a.kind), '[]')
from haas.alert a where a.subject_kind = 'switch' and a.subject = v.name and a.cleared_at is null))
