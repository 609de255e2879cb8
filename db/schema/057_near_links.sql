-- network_path looks at the links near its two ends, not at all of the fabric's: that took a second in a fabric of 1,000 switches.

create index link_b on link (b_switch);

-- Cables that begin fewer than p_hops cables away from one of the switches, and those between switches that these reach; null = they are more than are worth looking up one by one.
create function near_links(p_from bigint[], p_hops integer)
returns bigint[] stable language plpgsql set search_path = haas, pg_temp as $$
declare
	v_seen bigint[] := p_from;
	v_front bigint[] := p_from;
	v_links bigint[] := '{}';
	r record;
begin
	for i in 1 .. p_hops loop
		select coalesce(array_agg(distinct x.id), '{}') as links, coalesce(array_agg(distinct x.far) filter (where x.far <> all (v_seen)), '{}') as far into r
		from (select l.id, l.b_switch as far from link l where l.a_switch = any (v_front) union all select l.id, l.a_switch from link l where l.b_switch = any (v_front)) x;
		v_links := v_links || r.links; v_seen := v_seen || r.far; v_front := r.far;
		if cardinality(v_links) > 600 then
			return null;
		end if;
	end loop;
	return v_links || array(select l.id from link l where l.a_switch = any (v_seen) and l.b_switch = any (v_seen) and l.id <> all (v_links));
end
$$;

-- As in 043_switch_health; p_links: these alone, null = all.
drop function vlan_links(bigint, integer);
create function vlan_links(p_fabric bigint, p_vlan integer, p_links bigint[] default null)
returns table (link_id bigint, a bigint, b bigint, faults text[]) stable language plpgsql set search_path = haas, pg_temp
	set enable_nestloop = off set plan_cache_mode = force_custom_plan as $$ -- of what is made here no sizes are known
#variable_conflict use_column
begin
	perform set_config('enable_nestloop', (p_links is not null)::text, true); -- a few are looked up
	return query with links as materialized (
		select l.* from link l left join switch_endpoint ea on ea.switch_id = l.a_switch left join switch_endpoint eb on eb.switch_id = l.b_switch
		left join port_observed oa on oa.switch_id = l.a_switch and oa.name = l.a_port left join port_observed ob on ob.switch_id = l.b_switch and ob.name = l.b_port
		where (p_links is null or l.id = any (p_links)) and (ea.fabric_id = p_fabric or eb.fabric_id = p_fabric) and coalesce(oa.lag, '') = '' and coalesce(ob.lag, '') = ''
	), ports as materialized (
		select e.id, e.turned, s.name || ':' || e.port as name, o.name is not null as there, o.up, u.port is null as changing,
		       case when u.applied_at > o.seen_at or o.trunk is null then false else o.native_vlan is not distinct from p_vlan end as native,
		       case when u.applied_at > o.seen_at or o.trunk is null then u.tagged when o.trunk then o.tagged_vlans end as list
		from (select id, false as turned, a_switch as switch_id, a_port as port from links union all select id, true, b_switch, b_port from links) e
		join switch s on s.id = e.switch_id left join port_observed o on o.switch_id = e.switch_id and o.name = e.port
		left join uplink_applied u on u.switch_id = e.switch_id and u.port = e.port
	), lists as materialized (
		select x.list from (select distinct list from ports where list is not null) x where vlan_listed(x.list, p_vlan)
	), said as materialized (
		select p.id, array_agg(p.name || ' ' || case when not p.there then 'is not there any more' when not p.up then 'has no link'
			when not p.native and i.list is null then 'does not carry VLAN ' || p_vlan || case when p.changing then ', and is being changed' else '' end end order by p.turned) as faults
		from ports p left join lists i on i.list = p.list group by p.id
	)
	select l.id, l.a_switch, l.b_switch,
	       array_remove(case l.state when 'gone' then 'the link is gone' when 'conflict' then 'its two ends name different links' end || x.faults, null)
	from links l join said x on x.id = l.id;
end
$$;

-- Is a switch cut off from another one? True when all that a VLAN reaches from it is few links and none leads there; false = who knows.
create function vlan_cut_off(p_fabric bigint, p_vlan integer, p_from bigint, p_to bigint)
returns boolean stable language plpgsql set search_path = haas, pg_temp as $$
declare
	v_seen bigint[] := array[p_from];
	v_front bigint[] := array[p_from];
	v_links bigint[];
	v_looked integer := 0;
begin
	while v_front <> '{}' loop
		v_links := near_links(v_front, 1);
		v_looked := v_looked + coalesce(cardinality(v_links), 600);
		if v_looked > 200 then
			return false;
		end if;
		select coalesce(array_agg(distinct x.far), '{}') into v_front from vlan_links(p_fabric, p_vlan, v_links) l, lateral (values (l.a), (l.b)) x (far)
		where l.faults = '{}' and x.far <> all (v_seen);
		v_seen := v_seen || v_front;
		if p_to = any (v_seen) then
			return false;
		end if;
	end loop;
	return true;
end
$$;

-- As in 043_switch_health. First with what is near the ends: a way of at most twice so many links, and one, as are looked at from each is all there, and so are those that it is compared with.
create or replace function vlan_ways(p_fabric bigint, p_vlan integer, p_from bigint, p_to bigint[])
returns jsonb stable language plpgsql set search_path = haas, pg_temp as $$
declare
	v_ways jsonb := '{}';
	v_whole boolean;
	v_hops integer;
	v_near bigint[];
	v_to bigint[] := p_to;
	v record;
begin
	foreach v_whole in array case when is_operator() then array[true, false] else array[true] end loop
		foreach v_hops in array array[1, 2, null] loop
			exit when v_to = '{}';
			v_near := case when v_hops is not null then near_links(p_from || v_to, v_hops) end;
			continue when v_hops is not null and v_near is null;
			if v_hops is null and v_whole then
				v_to := array(select t from unnest(v_to) t where not vlan_cut_off(p_fabric, p_vlan, t, p_from) and not vlan_cut_off(p_fabric, p_vlan, p_from, t));
				exit when v_to = '{}';
			end if;
			select array_agg(l.link_id) as id, array_agg(l.a) as a, array_agg(l.b) as b, array_agg(cardinality(l.faults)) as count, jsonb_object_agg(l.link_id, l.faults) filter (where l.faults <> '{}') as faults
			into v from vlan_links(p_fabric, p_vlan, v_near) l;
			continue when v.id is null;
			v_ways := v_ways || (select coalesce(jsonb_object_agg(x.far, x.links), '{}') from (
				select w.far, jsonb_agg(path_link(l, w.turned, array(select jsonb_array_elements_text(v.faults -> l.id::text))) order by w.place) as links
				from fabric_ways(v.id, v.a, v.b, v.count, p_from, v_to, v_whole) w join link l on l.id = w.link_id group by w.far
				having v_hops is null or count(*) <= 2 * v_hops + 1) x);
			v_to := array(select t from unnest(v_to) t where not v_ways ? t::text);
		end loop;
		v_to := array(select t from unnest(p_to) t where not v_ways ? t::text);
	end loop;
	return v_ways;
end
$$;

grant execute on function near_links(bigint[], integer), vlan_links(bigint, integer, bigint[]), vlan_cut_off(bigint, integer, bigint, bigint) to portald;
