-- The fabric as one picture: switches in tiers, cables with what they carry, where nodes are, each tenant's tree.
--
-- All rows are made in sets. network_path asks for one VLAN between two nodes; here hundreds of VLANs meet thousands of links, so each distinct list of
-- VLANs is read once. Loads are those of the last minute that somebody told: counters of interfaces, else samples.

-- ==== shape ====

-- ==== functions ====

-- Links that carry a VLAN of a tenant's network: it is applied at both ends, and both have a link. p_tenant null: of every tenant.
create function tenant_links(p_tenant bigint)
returns table (link_id bigint, tenant_id bigint, network_id bigint, vlan integer) stable language plpgsql set search_path = haas, pg_temp
	set enable_nestloop = off set plan_cache_mode = force_custom_plan as $$ -- of what is made here no sizes are known
#variable_conflict use_column
begin
	return query with used as materialized (
		select v.fabric_id, v.vlan, n.id as network_id, n.tenant_id from network_vlan v join network n on n.id = v.network_id
		where v.state = 'used' and n.kind = 'tenant' and (p_tenant is null or n.tenant_id = p_tenant)
	), ends as materialized (
		select l.id, e.turned, p.fabric_id, case when u.applied_at > o.seen_at or o.trunk is null then null else o.native_vlan end as native,
		       coalesce(case when u.applied_at > o.seen_at or o.trunk is null then u.tagged when o.trunk then o.tagged_vlans end, '') as list
		from link l cross join lateral (values (false, l.a_switch, l.a_port), (true, l.b_switch, l.b_port)) e (turned, switch_id, port)
		join switch_endpoint p on p.switch_id = e.switch_id join port_observed o on o.switch_id = e.switch_id and o.name = e.port
		left join uplink_applied u on u.switch_id = e.switch_id and u.port = e.port
		where l.state not in ('gone', 'conflict') and o.up and o.lag = ''
	), lists as materialized (
		select x.fabric_id, x.list, v as vlan from (select distinct fabric_id, list from ends where list <> '') x cross join lateral vlan_numbers(x.list) v
	), carried as materialized (
		select e.id, e.turned, u.fabric_id, u.vlan, u.network_id, u.tenant_id from ends e join lists x on x.fabric_id = e.fabric_id and x.list = e.list
		join used u on u.fabric_id = x.fabric_id and u.vlan = x.vlan
		union select e.id, e.turned, u.fabric_id, u.vlan, u.network_id, u.tenant_id from ends e join used u on u.fabric_id = e.fabric_id and u.vlan = e.native
	)
	select a.id, a.tenant_id, a.network_id, a.vlan from carried a join carried b on b.id = a.id and b.fabric_id = a.fabric_id and b.vlan = a.vlan and b.turned
	where not a.turned;
end
$$;

-- What left and what entered ports in the last minute that somebody told, by the port or the aggregate that it belongs to. Of one tenant: its own traffic, by
-- samples alone. `span`: the half of the 95 % interval.
create function port_loads(p_tenant bigint)
returns table (switch_id bigint, port text, way text, bytes double precision, span double precision, seconds double precision, source text, at timestamptz)
stable language plpgsql set search_path = haas, pg_temp set enable_nestloop = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
	return query with minute as materialized (
		select b.at, max(extract(epoch from b.to_at - b.from_at))::double precision as seconds, max(b.to_at) as until from traffic_bucket b
		where b.step = 60 and b.at > now() - interval '5 minutes' and b.at <= now() group by b.at having max(b.to_at) > min(b.from_at) order by b.at desc limit 1
	), counted as materialized (
		select distinct on (y.switch_id, y.port) y.switch_id, y.port, y.at, y.in_bytes, y.out_bytes, y.seconds
		from (select c.switch_id, coalesce(p.port, c.port) as port, c.at, c.in_bytes, c.out_bytes, c.seconds from traffic_60_counter c
		      left join counter_port p on p.switch_id = c.switch_id and p.counted = lower(c.port) where c.at > now() - interval '3 minutes' and c.at <= now()
		      union all select t.switch_id, t.port, t.at + interval '1 minute', t.in_bytes, t.out_bytes, t.seconds from traffic_60_port t
		      where t.at > now() - interval '4 minutes' and t.at <= now()) y
		where p_tenant is null and y.seconds > 0 order by y.switch_id, y.port, y.at desc
	), told as (
		select c.switch_id, c.port, w.way, w.bytes::double precision as bytes, 0::double precision as square, c.seconds, 'counters' as source, c.at
		from counted c cross join lateral (values ('out', c.out_bytes), ('in', c.in_bytes)) w (way, bytes) where w.bytes is not null
		union all
		select s.switch_id, s.port, s.direction, sum(s.bytes)::double precision, sum(s.square), m.seconds, 'samples', m.until
		from minute m join traffic_60_share s on s.at = m.at where p_tenant is null or s.tenant_id = p_tenant group by s.switch_id, s.port, s.direction, m.seconds, m.until
	), whole as (
		select t.switch_id, t.port, t.way, t.bytes, t.square, t.seconds, t.source, t.at from told t
		union all
		select t.switch_id, o.lag, t.way, sum(t.bytes), sum(t.square), max(t.seconds), t.source, min(t.at) from told t
		join port_observed o on o.switch_id = t.switch_id and o.name = t.port and o.lag <> '' group by t.switch_id, o.lag, t.way, t.source
	)
	select distinct on (x.switch_id, x.port, x.way) x.switch_id, x.port, x.way, x.bytes, 1.959964 * sqrt(x.square), x.seconds, x.source, x.at
	from whole x where x.seconds > 0 order by x.switch_id, x.port, x.way, x.source, x.bytes desc; -- counters first; an aggregate's own before its members' sum
end
$$;

-- One load as it is told; null: nobody told it.
create function load_told(p_bytes double precision, p_span double precision, p_seconds double precision, p_speed bigint, p_source text, p_at timestamptz)
returns json immutable language sql as $$
	select case when p_bytes is not null and p_seconds > 0 then json_build_object('bits_per_second', round(p_bytes * 8 / p_seconds)::bigint,
		'low', round(greatest(0, p_bytes - p_span) * 8 / p_seconds)::bigint, 'high', round((p_bytes + p_span) * 8 / p_seconds)::bigint,
		'percent', round((p_bytes * 800 / p_seconds / nullif(p_speed, 0))::numeric, 1), 'by', p_source, 'at', p_at) end
$$;

-- The whole picture of a fabric (null: of all), or what of it is one tenant's: the links of its tree, its nodes and their switches. A tenant is told of
-- its own alone, and of its own traffic there.
create function topology(p_fabric text, p_tenant text)
returns json stable language plpgsql security definer set search_path = haas, pg_temp set enable_nestloop = off set plan_cache_mode = force_custom_plan as $$
declare
	v_own boolean := not is_operator();
	v_tenant bigint;
	v_fabric bigint;
begin
	if v_own or p_tenant is not null then
		v_tenant := case when p_tenant is null then current_tenant() else (select id from tenant where name = p_tenant) end;
		if v_tenant is null or not in_scope(v_tenant) then
			raise exception 'tenant % does not exist', coalesce(p_tenant, 'of this scope') using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
		end if;
	end if;
	if p_fabric is not null then
		v_fabric := coalesce((select id from fabric where name = p_fabric), 0);
		if v_fabric = 0 and not v_own then
			raise exception 'fabric % does not exist', p_fabric using errcode = 'HA404', hint = 'haasctl fabric list shows the fabrics';
		end if;
	end if;
	return (with tree as materialized (select * from tenant_links(v_tenant)),
	loads as materialized (select * from port_loads(case when v_own then v_tenant end)),
	links as materialized (
		select l.id, l.a_switch, l.a_port, l.b_switch, l.b_port, l.state, coalesce((l.evidence ->> 'members')::integer, 1) as members, coalesce(pa.fabric_id, pb.fabric_id) as fabric_id,
		       coalesce(oa.up and ob.up, false) as up, nullif(least(nullif(oa.speed_bps, 0), nullif(ob.speed_bps, 0)), 0) as speed
		from link l left join switch_endpoint pa on pa.switch_id = l.a_switch left join switch_endpoint pb on pb.switch_id = l.b_switch
		left join port_observed oa on oa.switch_id = l.a_switch and oa.name = l.a_port left join port_observed ob on ob.switch_id = l.b_switch and ob.name = l.b_port
		where l.state <> 'gone' and coalesce(oa.lag, '') = '' and coalesce(ob.lag, '') = '' and (v_fabric is null or v_fabric in (pa.fabric_id, pb.fabric_id))
		and (v_tenant is null or exists (select from tree t where t.link_id = l.id))
	), nics as materialized (
		select n.name as node, n.rack, n.tenant_id, c.name as nic, coalesce(l.switch_id, w.switch_id) as switch_id, coalesce(l.port, w.port) as port, l.mac is not null as found
		from nic c join node n on n.id = c.node_id left join nic_location l on l.mac = c.mac and l.certainty >= 50
		left join (select distinct on (node_id, nic) node_id, nic, switch_id, port from wiring where node_id is not null and nic is not null order by node_id, nic, switch_id, port) w
			on w.node_id = n.id and w.nic = c.name
		left join switch_endpoint e on e.switch_id = coalesce(l.switch_id, w.switch_id)
		where coalesce(l.switch_id, w.switch_id) is not null and (v_tenant is null or n.tenant_id = v_tenant) and (v_fabric is null or e.fabric_id = v_fabric)
	), racks as materialized (
		select x.switch_id, mode() within group (order by x.rack) filter (where x.rack <> '') as rack, count(distinct x.node) as nodes from nics x group by x.switch_id
	), shown as materialized (
		select s.id, s.name, e.fabric_id, e.role, o.reachable, o.switch_id is not null as read from switch s join switch_endpoint e on e.switch_id = s.id
		left join switch_observed o on o.switch_id = s.id
		where (v_fabric is null or e.fabric_id = v_fabric) and (v_tenant is null or s.id in (select a_switch from links union select b_switch from links union select switch_id from nics))
	), near as materialized ( -- whoever looks: a tier is the fabric's, not a tree's
		select l.b_switch as id from link l join switch_endpoint e on e.switch_id = l.a_switch and e.role = 'leaf' where l.state <> 'gone'
		union select l.a_switch from link l join switch_endpoint e on e.switch_id = l.b_switch and e.role = 'leaf' where l.state <> 'gone'
	)
	select json_build_object('at', now(), 'fabric', p_fabric, 'tenant', (select name from tenant where id = v_tenant),
		'switches', coalesce((select json_agg(json_build_object('name', s.name, 'fabric', f.name, 'role', s.role,
			'tier', case when s.role = 'leaf' then 0 when s.id in (select id from near) then 1 else 2 end,
			'rack', r.rack, 'nodes', coalesce(r.nodes, 0), 'state', case when not s.read then 'new' when s.reachable then 'reachable' else 'silent' end)
			order by s.name collate natural_order) from shown s join fabric f on f.id = s.fabric_id left join racks r on r.switch_id = s.id), '[]'),
		'links', coalesce((select json_agg(json_build_object('id', l.id, 'fabric', f.name, 'a_switch', a.name, 'a_port', l.a_port, 'b_switch', b.name, 'b_port', l.b_port,
			'state', l.state, 'up', l.up, 'members', l.members, 'speed_bps', l.speed,
			'forward', coalesce(load_told(ao.bytes, ao.span, ao.seconds, l.speed, ao.source, ao.at), load_told(bi.bytes, bi.span, bi.seconds, l.speed, bi.source, bi.at)),
			'back', coalesce(load_told(bo.bytes, bo.span, bo.seconds, l.speed, bo.source, bo.at), load_told(ai.bytes, ai.span, ai.seconds, l.speed, ai.source, ai.at)))
			order by a.name collate natural_order, l.a_port collate natural_order, b.name collate natural_order, l.b_port collate natural_order)
			from links l join switch a on a.id = l.a_switch join switch b on b.id = l.b_switch left join fabric f on f.id = l.fabric_id
			left join loads ao on ao.switch_id = l.a_switch and ao.port = l.a_port and ao.way = 'out' left join loads bo on bo.switch_id = l.b_switch and bo.port = l.b_port and bo.way = 'out'
			left join loads ai on ai.switch_id = l.a_switch and ai.port = l.a_port and ai.way = 'in' left join loads bi on bi.switch_id = l.b_switch and bi.port = l.b_port and bi.way = 'in'), '[]'),
		'nodes', coalesce((select json_agg(json_build_object('node', x.node, 'nic', x.nic, 'switch', s.name, 'port', x.port, 'found', x.found, 'tenant', t.name,
			'up', coalesce(o.up, false), 'speed_bps', nullif(o.speed_bps, 0),
			'forward_bps', round(i.bytes * 8 / i.seconds)::bigint, 'back_bps', round(u.bytes * 8 / u.seconds)::bigint)
			order by x.switch_id, x.port)
			from nics x join switch s on s.id = x.switch_id left join tenant t on t.id = x.tenant_id
			left join port_observed o on o.switch_id = x.switch_id and o.name = x.port
			left join loads i on i.switch_id = x.switch_id and i.port = x.port and i.way = 'in' left join loads u on u.switch_id = x.switch_id and u.port = x.port and u.way = 'out'), '[]'),
		'trees', coalesce((select json_agg(json_build_object('tenant', y.name, 'networks', y.networks, 'links', y.links) order by y.name)
			from (select t.name, (select jsonb_agg(distinct n.name) from tree x join network n on n.id = x.network_id where x.tenant_id = t.id) as networks,
				     (select jsonb_agg(distinct x.link_id) from tree x join links l on l.id = x.link_id where x.tenant_id = t.id) as links
			      from tenant t where t.id in (select tenant_id from tree)) y where y.links is not null), '[]')));
end
$$;

-- The counters of a port in steps of one length: what they said of each, least, mean and most. The interfaces' own by SNMP, else those that came with
-- samples. Operators alone: they are of all tenants.
create function port_series(p_switch text, p_port text, p_to timestamptz, p_window interval, p_points integer)
returns jsonb stable language plpgsql security definer set search_path = haas, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
	v_switch bigint := (select id from switch where name = p_switch);
	v_step integer;
	v_width integer;
	v_from timestamptz;
	v_to timestamptz;
	v_snmp boolean;
begin
	if v_switch is null or not is_operator() then
		raise exception 'switch % does not exist', p_switch using errcode = 'HA404', hint = 'haasctl switch list shows the switches';
	elsif not exists (select from port_observed where switch_id = v_switch and name = p_port) then
		raise exception 'switch % has no port %', p_switch, p_port using errcode = 'HA404', hint = format('haasctl switch show %s shows its ports', p_switch);
	end if;
	v_step := coalesce((select min(r.step) from traffic_retention r where p_to - p_window >= now() - r.keep), 3600);
	v_width := greatest(v_step, ceil(extract(epoch from p_window) / p_points / v_step)::integer * v_step);
	v_to := to_timestamp(ceil(extract(epoch from p_to) / v_width) * v_width);
	v_from := v_to - make_interval(secs => ceil(extract(epoch from p_window) / v_width) * v_width);
	v_snmp := v_step = 60 and exists (select from traffic_60_counter where switch_id = v_switch and port = any (counter_names(v_switch, p_port)) and at > v_from and at <= v_to);
	return (with told as (
		select c.at, c.seconds, c.in_bytes, c.out_bytes, c.in_errors, c.out_errors, c.in_discards, c.out_discards from traffic_60_counter c
		where v_snmp and c.switch_id = v_switch and c.port = any (counter_names(v_switch, p_port)) and c.at > v_from and c.at <= v_to
		union all select t.at + make_interval(secs => v_step), t.seconds, t.in_bytes, t.out_bytes, t.in_errors, t.out_errors, t.in_discards, t.out_discards from traffic_port t
		where not v_snmp and t.step = v_step and t.switch_id = v_switch and t.port = p_port and t.at >= v_from and t.at < v_to
	), steps as (
		select ceil(extract(epoch from t.at - v_from) / v_width)::integer - 1 as k, t.seconds, t.in_bytes * 8 / t.seconds as i, t.out_bytes * 8 / t.seconds as o, t.in_bytes, t.out_bytes,
		       coalesce(t.in_errors, 0) + coalesce(t.out_errors, 0) as errors, coalesce(t.in_discards, 0) + coalesce(t.out_discards, 0) as discards
		from told t where t.seconds > 0
	), grouped as (
		select s.k, round(min(s.i))::bigint as i_low, round(sum(s.in_bytes) * 8 / sum(s.seconds) filter (where s.in_bytes is not null))::bigint as i_mean, round(max(s.i))::bigint as i_high,
		       round(min(s.o))::bigint as o_low, round(sum(s.out_bytes) * 8 / sum(s.seconds) filter (where s.out_bytes is not null))::bigint as o_mean, round(max(s.o))::bigint as o_high,
		       sum(s.errors)::bigint as errors, sum(s.discards)::bigint as discards from steps s group by s.k
	)
	select jsonb_build_object('switch', p_switch, 'port', p_port, 'from', v_from, 'to', v_to, 'step_s', v_width, 'source', case when not exists (select from told) then null when v_snmp then 'snmp' else 'sflow' end,
		'speed_bps', (select nullif(speed_bps, 0) from port_observed where switch_id = v_switch and name = p_port),
		'out', jsonb_build_object('low', jsonb_agg(g.o_low order by n.k), 'mean', jsonb_agg(g.o_mean order by n.k), 'high', jsonb_agg(g.o_high order by n.k)),
		'in', jsonb_build_object('low', jsonb_agg(g.i_low order by n.k), 'mean', jsonb_agg(g.i_mean order by n.k), 'high', jsonb_agg(g.i_high order by n.k)),
		'errors', jsonb_agg(g.errors order by n.k), 'discards', jsonb_agg(g.discards order by n.k))
	from generate_series(0, (extract(epoch from v_to - v_from) / v_width)::integer - 1) n (k) left join grouped g on g.k = n.k);
end
$$;

-- ==== triggers, views, rights ====

grant execute on function topology(text,text) to portald;
grant execute on function port_series(text,text,timestamptz,interval,integer) to portald;
