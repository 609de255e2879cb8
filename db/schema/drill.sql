-- What a drill-down reads beside the sums: how sure a scale is, and what was never there.
--
-- A drill path that names an object that never was gets an error with the object's kind. An object that was there once can still be drilled.

-- ==== shape ====

-- ==== functions ====

create function link_spread(p_step integer, p_from timestamptz, p_to timestamptz, p_switch bigint, p_port text, p_live jsonb default null)
returns table (bytes bigint, square double precision)
stable language plpgsql set search_path = haas, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
	return query select sum(x.bytes)::bigint, sum(x.square) from (
		select t.bytes, t.square from traffic_share t
		where t.step = p_step and t.at >= p_from and t.at < p_to and t.switch_id = p_switch and t.port = p_port and t.direction = 'out'
		union all select (m.link ->> 'bytes')::bigint, (m.link ->> 'square')::double precision from live_minutes(p_live) m) x;
end
$$;

-- Rounds the time between two readings to an interval that can be ordered: readings arrive unevenly, and their interval should not differ
-- from one to the next. Unknown: the default of `haasctl sampling set`.
create function reading_interval(p_seconds double precision)
returns integer immutable language sql as $$
	select case when coalesce(p_seconds, 0) <= 0 then 20 when p_seconds < 2.5 then 1 when p_seconds < 7.5 then 5 when p_seconds < 12.5 then 10 when p_seconds < 17.5 then 15
		when p_seconds < 25 then 20 when p_seconds < 45 then 30 when p_seconds < 90 then 60 else 300 end
$$;

-- Marks a bucket whose pairs and flows were dropped because the database was away too long. Each pair may have had all of a share, so the
-- bound of a pair becomes the share.
create function traffic_cut(p_step integer, p_at timestamptz)
returns void language sql security definer set search_path = haas, pg_temp as $$
	update traffic_share set floor = bytes where step = p_step and at = p_at and floor < bytes
$$;

create function live_minutes(p_live jsonb)
returns table (at timestamptz, seconds double precision, link jsonb, ports jsonb) stable language sql rows 6 set search_path = haas, pg_temp as $$
	select to_timestamp(m.at), m.seconds, m.link, m.ports from jsonb_to_recordset(p_live -> 'minutes') as m(at bigint, cut boolean, seconds double precision, link jsonb, ports jsonb)
	where m.cut or not exists (select from traffic_bucket b where b.step = 60 and b.at = to_timestamp(m.at) and starts_with(b.writer, (p_live ->> 'writer') || ':'))
$$;

create function port_scale(p_step integer, p_from timestamptz, p_to timestamptz, p_switch bigint, p_port text, p_live jsonb default null)
returns table (switch_id bigint, port text, exact bigint, seconds double precision, scale double precision, covered double precision, shift double precision)
stable language plpgsql security definer set search_path = haas, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
	v_collected double precision;
	v_all boolean := is_operator();
begin
	select sum(extract(epoch from x.upper - x.lower)) into v_collected
	from (select min(b.from_at) as lower, max(b.to_at) as upper from traffic_bucket b where b.step = p_step and b.at >= p_from and b.at < p_to group by b.at) x;
	if p_live is not null then
		v_collected := coalesce(v_collected, 0) + coalesce((select sum(m.seconds) from live_minutes(p_live) m), 0);
	end if;
	return query
	select x.switch_id, x.port, case when v_all then x.exact end, case when v_all then x.seconds end, case when x.usable then nullif(x.counted, 0) / x.sampled end,
		case when x.usable then 1 / (1 + (abs(v_collected - x.both_seconds) + x.beside) / (x.both_seconds + x.head)) end,
		case when v_all then coalesce(x.high - x.low, 0) end
	from (select y.*, y.both_seconds > v_collected / 2 and y.both_seconds <= v_collected * 3 as usable from (
		select t.switch_id, t.port, sum(t.out_bytes)::bigint as exact, sum(t.seconds) filter (where t.out_bytes is not null) as seconds,
			sum(t.seconds) filter (where t.out_bytes is not null and t.out_sampled is not null) - (array_agg(t.head order by t.at))[1] as both_seconds,
			(sum(t.out_bytes) filter (where t.out_sampled is not null))::double precision as counted,
			nullif((sum(t.out_sampled) filter (where t.out_bytes is not null))::double precision, 0) as sampled,
			(array_agg(t.head order by t.at))[1] as head, (array_agg(t.before order by t.at))[1] + (array_agg(t.after order by t.at desc))[1] as beside,
			greatest((array_agg(t.begin_high order by t.at))[1], (array_agg(t.end_high order by t.at desc))[1]) as high,
			least((array_agg(t.begin_low order by t.at))[1], (array_agg(t.end_low order by t.at desc))[1]) as low
		from (select p.switch_id, p.port, p.at, p.seconds, p.out_bytes, p.out_sampled, 0::double precision as head,
				reading_interval(p.interval_s)::double precision as before, reading_interval(p.interval_s)::double precision as after,
				null::double precision as begin_low, null::double precision as begin_high, null::double precision as end_low, null::double precision as end_high
		      from traffic_port p where p.step = p_step and p.at >= p_from and p.at < p_to
		      union all select r.switch_id, r.port, m.at, r.seconds + coalesce(r.head, 0), r.counted, r.sampled, coalesce(r.head, 0), coalesce(r.head, 0), 0,
				r.begin_low, r.begin_high, r.end_low, r.end_high
		      from live_minutes(p_live) m
		      cross join lateral jsonb_to_recordset(m.ports) as r(switch_id bigint, port text, seconds double precision, head double precision, counted bigint, sampled bigint,
				begin_low double precision, begin_high double precision, end_low double precision, end_high double precision)) t
		where p_switch is null or (t.switch_id = p_switch and t.port = p_port)
		group by t.switch_id, t.port) y) x;
end
$$;

-- Finds the first part of a drill path that does not exist and never did: its kind, its name, and the command that lists the existing ones.
-- It is called when nothing was seen. Null: every part is known. Ports and nodes are told to operators only. Small tables come first: each
-- look uses an index, and a partition is read only where no other table knows the part.
create function drill_unknown(p_switch bigint, p_port text, p_tenants bigint[], p_vlan integer, p_a text, p_b text)
returns table (kind text, name text, list text) stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_end text;
begin
	if not (is_operator() or coalesce(p_tenants <@ array[current_tenant()], true)) then
		return;
	end if;
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

-- ==== triggers, views, rights ====

grant execute on function link_spread(integer,timestamptz,timestamptz,bigint,text,jsonb) to portald;
grant execute on function traffic_cut(integer,timestamptz) to peregrine_flowd;
grant execute on function live_minutes(jsonb) to portald;
grant execute on function port_scale(integer,timestamptz,timestamptz,bigint,text,jsonb) to portald;
grant execute on function drill_unknown(bigint,text,bigint[],integer,text,text) to portald;
