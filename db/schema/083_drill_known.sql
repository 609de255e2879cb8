-- A drill path that names what never was says so, as it does of switches and tenants; what was once goes on being drillable.

-- The first part of a path that is not and was not: its kind, its name, what lists what there is. Asked where nothing was seen. Null: no such part in the path.
-- Ports and nodes are told of to operators only.
create function drill_unknown(p_switch bigint, p_port text, p_tenants bigint[], p_vlan integer, p_a text, p_b text)
returns table (kind text, name text, list text) stable language sql security definer set search_path = haas, pg_temp as $$
	select 'port', s.name || ':' || p_port, 'haasctl drill'
	from switch s
	where s.id = p_switch and is_operator()
		-- of a switch that was never read nothing is known
		and exists (select from port_observed o where o.switch_id = s.id)
		and not exists (select from port_observed o where o.switch_id = s.id and o.name = p_port)
		and not exists (select from port_binding b where b.switch_id = s.id and b.port = p_port)
		and not exists (select from nic_binding b where b.switch_id = s.id and b.port = p_port)
		and not exists (select from link l where l.a_switch = s.id and l.a_port = p_port or l.b_switch = s.id and l.b_port = p_port)
		and not exists (select from traffic_share t where t.switch_id = s.id and t.port = p_port)
		and not exists (select from traffic_port t where t.switch_id = s.id and t.port = p_port)
	union all
	select 'VLAN', format('%s of tenant %s', p_vlan, (select t.name from tenant_name t where t.tenant_id = any(p_tenants) limit 1)), 'haasctl network list'
	where p_vlan > 0 and p_tenants is not null
		and not exists (select from vlan_history h where h.vlan = p_vlan and h.tenant_id = any(p_tenants))
		and not exists (select from network_vlan v join network n on n.id = v.network_id where v.vlan = p_vlan and n.tenant_id = any(p_tenants))
		and not exists (select from traffic_share t where t.step in (60, 3600) and t.tenant_id = any(p_tenants) and t.vlan = p_vlan and t.direction = 'in')
		and not exists (select from traffic_share t where t.step in (60, 3600) and t.tenant_id = any(p_tenants) and t.vlan = p_vlan and t.direction = 'out')
	union all
	-- an address may be anybody's
	select 'node', x.name, 'haasctl node list'
	from unnest(array[p_a, p_b]) with ordinality x (name, nth)
	where is_operator() and x.name <> '' and x.name !~ ':' and x.name !~ '^[0-9]+([.][0-9]+){3}$'
		and not exists (select from node n where n.name = x.name)
		and not exists (select from nic_binding b where b.node = x.name)
		and not exists (select from traffic_pair t where t.step in (60, 3600) and x.name in (t.a, t.b)
				and (p_tenants is null or t.tenant_id = any(p_tenants)))
	limit 1
$$;
revoke execute on function drill_unknown(bigint, text, bigint[], integer, text, text) from public;
grant execute on function drill_unknown(bigint, text, bigint[], integer, text, text) to portald;
