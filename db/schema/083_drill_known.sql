-- A drill path that names what never was says so, as it does of switches and tenants; what was once goes on being drillable.

-- The first part of a path that is not and was not: its kind, its name, what lists what there is. Asked where nothing was seen. Null: no such part in the path.
-- Ports and nodes are told of to operators only.
-- Part by part, what is small before what is large: each look is of an index, and of a partition only where nothing else knows the part.
create function drill_unknown(p_switch bigint, p_port text, p_tenants bigint[], p_vlan integer, p_a text, p_b text)
returns table (kind text, name text, list text) stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_end text;
begin
	-- of a switch that was never read nothing is known
	if p_switch is not null and is_operator() and exists (select from port_observed o where o.switch_id = p_switch)
		and not exists (select from port_observed o where o.switch_id = p_switch and o.name = p_port)
		and not exists (select from port_binding b where b.switch_id = p_switch and b.port = p_port)
		and not exists (select from nic_binding b where b.switch_id = p_switch and b.port = p_port)
		and not exists (select from link l where l.a_switch = p_switch and l.a_port = p_port or l.b_switch = p_switch and l.b_port = p_port) then
		if not exists (select from traffic_share t where t.step in (60, 3600) and t.switch_id = p_switch and t.port = p_port)
			and not exists (select from traffic_port t where t.step in (60, 3600) and t.switch_id = p_switch and t.port = p_port) then
			return query select 'port', s.name || ':' || p_port, 'haasctl drill' from switch s where s.id = p_switch;
			return;
		end if;
	end if;
	if p_vlan > 0 and p_tenants is not null
		and not exists (select from vlan_history h where h.vlan = p_vlan and h.tenant_id = any(p_tenants))
		and not exists (select from network_vlan v join network n on n.id = v.network_id where v.vlan = p_vlan and n.tenant_id = any(p_tenants)) then
		if not exists (select from traffic_share t where t.step in (60, 3600) and t.tenant_id = any(p_tenants) and t.vlan = p_vlan and t.direction = 'in') then
			return query select 'VLAN', format('%s of tenant %s', p_vlan, (select t.name from tenant_name t where t.tenant_id = any(p_tenants) limit 1)), 'haasctl network list';
			return;
		end if;
	end if;
	if not is_operator() then
		return;
	end if;
	foreach v_end in array array[p_a, p_b] loop
		-- an address may be anybody's
		continue when v_end is null or v_end = '' or v_end ~ ':' or v_end ~ '^[0-9]+([.][0-9]+){3}$';
		continue when exists (select from node n where n.name = v_end) or exists (select from nic_binding b where b.node = v_end);
		if not exists (select from traffic_pair t where t.step in (60, 3600) and t.tenant_id = any(p_tenants) and t.vlan = p_vlan and t.direction = 'in' and v_end in (t.a, t.b)) then
			return query select 'node', v_end, 'haasctl node list';
			return;
		end if;
	end loop;
end
$$;
revoke execute on function drill_unknown(bigint, text, bigint[], integer, text, text) from public;
grant execute on function drill_unknown(bigint, text, bigint[], integer, text, text) to portald;
