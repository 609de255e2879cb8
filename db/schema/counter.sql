-- Counters of SNMP by the minute, the numbers of ports, the health of switches, and the way between two nodes.
--
-- Samples name a port by its ifIndex. Some command lines and data models do not tell it (port_observed.if_index is 0); then port_number keeps what
-- the switch's SNMP agent said at its last look. SNMP names a port as its agent does, perhaps not as the command line: one number is one
-- port. network_path reads the links near its two ends: all links of 1,000 switches took a second.

-- ==== shape ====

-- Counts of a switch's interfaces between two looks of peregrined (peregrine/control/health). A row is a difference, corrected for wraps of
-- 32 bits. An interval in which the agent or a counter restarted (sysUpTime, ifCounterDiscontinuityTime) has no row, or a null. An idle
-- port without a link has no row. Partitions, retention and names are those of the minutes of traffic_port. COPY does not work with row
-- policies: a reader with a part of the rights reads port_counter.
create table traffic_60_counter (
	at timestamptz not null,               -- end of the interval: when the later answer came
	switch_id bigint not null,
	port text not null,
	seconds double precision not null,     -- its length by the switch's own clock
	in_bytes bigint,                       -- null where this counter is not there, or began anew
	out_bytes bigint,
	in_packets bigint,                     -- unicast, multicast and broadcast
	out_packets bigint,
	in_errors bigint,
	out_errors bigint,
	in_discards bigint,
	out_discards bigint,
	speed_bps bigint not null default 0,   -- 0 = unknown
	up boolean not null
) partition by range (at);
-- Unique: what is sent again, because nobody heard of its commit, is not there twice.
create unique index traffic_60_counter_port on traffic_60_counter (switch_id, port, at);
create index traffic_60_counter_at on traffic_60_counter (at);

-- The last look at each switch. Documents are what one table of its MIBs says, whole; null = it does not have it, or was not asked yet.
create table switch_health (
	switch_id bigint primary key references switch on delete cascade,
	asked_at timestamptz not null,
	heard_at timestamptz,                  -- when it answered last
	response_ms integer,                   -- of the first question of the last look that was answered, waiting excluded
	problem jsonb,                         -- why the last look failed
	counters_at timestamptz,               -- the last interval of its counters
	stp jsonb,                             -- {running, version, bridge, root, .., ports: [{port, state, role, transitions}]} (BRIDGE-MIB)
	lags jsonb,                            -- [{lag, partner, members: [{port, bundled, actor, partner}]}] (IEEE8023-LAG-MIB)
	sensors jsonb                          -- [{name, text, port, value, unit, status}] (ENTITY-SENSOR-MIB)
);

create table port_number (
	switch_id bigint not null references switch on delete cascade,
	port text not null,                    -- in lower case: a command line may spell it otherwise than ifName
	if_index bigint not null check (if_index > 0),
	name text not null default '',         -- as the switch spells it
	primary key (switch_id, port)
);

-- ==== functions ====

-- Is the number in a list like '100-103,200'?
create function vlan_listed(p_text text, p_vlan integer)
returns boolean immutable strict language sql as $$
	select exists (select from unnest(string_to_array(nullif(p_text, ''), ',')) x
		       where p_vlan between split_part(x, '-', 1)::integer and coalesce(nullif(split_part(x, '-', 2), ''), split_part(x, '-', 1))::integer)
$$;

-- Finds the ways from one switch to others: fewest links first, then fewest faults. Only links without a fault count; with p_whole false,
-- all cables do. A tree has one way. The arrays hold links (vlan_links). Rows are in the order of each way; `turned`: the way passes the
-- link from end b to end a. No row: there is no way.
create function fabric_ways(p_links bigint[], p_a bigint[], p_b bigint[], p_faults integer[], p_from bigint, p_to bigint[], p_whole boolean)
returns table (far bigint, place integer, link_id bigint, turned boolean) stable language plpgsql set search_path = haas, pg_temp
	set enable_nestloop = off as $$ -- the arrays' sizes are not known to the planner
#variable_conflict use_column
declare
	v_far bigint[] := array[p_from]; -- what was reached, and how
	v_near bigint[] := array[null];
	v_link bigint[] := array[null];
	v_turned boolean[] := array[null];
	v_front bigint[] := array[p_from];
	v_faults integer[] := array[0]; -- on the way to the front
	v_at integer;
	v_hops integer := 0;
	v_to bigint;
	r record;
begin
	while v_front <> '{}' and not v_far @> p_to and v_hops < 16 loop
		v_hops := v_hops + 1;
		select coalesce(array_agg(y.far), '{}') as far, array_agg(y.near) as near, array_agg(y.id) as link, array_agg(y.turned) as turned, array_agg(y.faults) as faults into r
		from (select distinct on (x.far) x.far, x.near, x.id, x.turned, f.faults + x.faults as faults
		      from (select l.id, l.a as near, l.b as far, false as turned, l.faults from unnest(p_links, p_a, p_b, p_faults) l (id, a, b, faults)
			    union all select l.id, l.b, l.a, true, l.faults from unnest(p_links, p_a, p_b, p_faults) l (id, a, b, faults)) x
		      join unnest(v_front, v_faults) f (at, faults) on f.at = x.near
		      where not exists (select from unnest(v_far) k where k = x.far) and (not p_whole or x.faults = 0)
		      order by x.far, f.faults + x.faults, x.id) y;
		v_front := r.far; v_faults := r.faults;
		v_far := v_far || r.far; v_near := v_near || r.near; v_link := v_link || r.link; v_turned := v_turned || r.turned;
	end loop;
	foreach v_to in array p_to loop
		v_at := array_position(v_far, v_to);
		place := 0; -- from its end
		while v_link[v_at] is not null loop
			far := v_to; link_id := v_link[v_at]; turned := v_turned[v_at];
			return next;
			place := place - 1;
			v_at := array_position(v_far, v_near[v_at]);
		end loop;
	end loop;
end
$$;

-- One link of a way as it is drawn; its first end is the one that is nearer to where it begins.
create function path_link(l link, p_turned boolean, p_faults text[])
returns jsonb stable language plpgsql set search_path = haas, pg_temp as $$
begin
	return (select jsonb_build_object(
		'kind', 'link', 'a', case when p_turned then e.b else e.a end, 'b', case when p_turned then e.a else e.b end,
		'state', l.state, 'certainty', l.certainty, 'up', coalesce(pa.up and pb.up, false), 'speed_bps', nullif(least(nullif(pa.speed_bps, 0), nullif(pb.speed_bps, 0)), 0),
		'members', (select coalesce(jsonb_agg(jsonb_build_object('a', case when p_turned then m.b_port else m.a_port end, 'b', case when p_turned then m.a_port else m.b_port end,
									 'state', m.state, 'up', m.a_up and m.b_up) order by m.a_port), '[]')
			    from (select c.a_port, x.up as a_up, c.b_port, y.up as b_up, c.state from link c join port_observed x on x.switch_id = c.a_switch and x.name = c.a_port
				  join port_observed y on y.switch_id = c.b_switch and y.name = c.b_port
				  where c.a_switch = l.a_switch and c.b_switch = l.b_switch and x.lag = l.a_port and y.lag = l.b_port
				  union all select c.b_port, x.up, c.a_port, y.up, c.state from link c join port_observed x on x.switch_id = c.b_switch and x.name = c.b_port
				  join port_observed y on y.switch_id = c.a_switch and y.name = c.a_port
				  where c.b_switch = l.a_switch and c.a_switch = l.b_switch and x.lag = l.a_port and y.lag = l.b_port) m),
		'faults', to_jsonb(p_faults))
	from (select jsonb_build_object('switch', sa.name, 'port', l.a_port) as a, jsonb_build_object('switch', sb.name, 'port', l.b_port) as b
	      from switch sa, switch sb where sa.id = l.a_switch and sb.id = l.b_switch) e
	left join port_observed pa on pa.switch_id = l.a_switch and pa.name = l.a_port
	left join port_observed pb on pb.switch_id = l.b_switch and pb.name = l.b_port);
end
$$;

-- Where a node's NICs, or a bond of them, meet the networks of its tenant: a row per network and place.
create function node_joins(p_node bigint)
returns table (network_id bigint, switch_id bigint, port text, nics text[], drawn jsonb) stable language plpgsql set search_path = haas, pg_temp as $$
#variable_conflict use_column
begin
	return query select a.network_id, p.switch_id, p.carrier, array_agg(distinct p.nic),
	       jsonb_build_object('kind', 'cable', 'a', jsonb_build_object('node', min(d.name), 'nics', jsonb_agg(distinct p.nic)),
				  'b', jsonb_build_object('switch', min(s.name), 'port', p.carrier), 'mode', min(a.mode),
				  'state', case when bool_or(p.conflict is not null) then 'conflict' when bool_and(l.mac is not null) then 'found' else 'planned' end,
				  'certainty', coalesce(min(l.certainty), 0), 'up', coalesce(bool_or(o.up), false), 'speed_bps', nullif(max(c.speed_bps), 0),
				  'members', case when bool_or(p.carrier <> p.port) then jsonb_agg(distinct jsonb_build_object('b', p.port, 'up', coalesce(o.up, false))) else '[]' end,
				  'faults', to_jsonb(array_remove(array[
					min(case when p.conflict is null then null when is_operator() then p.conflict else 'its cable was found elsewhere than planned' end),
					min((select s.name || ':' || p.port || ' is parked' || case when is_operator() then ': ' || b.message else '' end
					     from port_block b where b.switch_id = p.switch_id and b.port = p.port)),
					case when not coalesce(bool_or(o.up), false) then min(s.name) || ':' || p.carrier || ' has no link' end,
					case when not coalesce(bool_and(i.applied_version = i.wanted_version), false)
					     then min(s.name) || ':' || p.carrier || ' is not set up yet'
						  || case when is_operator() then coalesce(': ' || min(i.problem ->> 'message'), '') else '' end end], null)))
	from node d cross join lateral node_ports(d.id) p join switch s on s.id = p.switch_id
	join attachment a on a.switch_id = p.switch_id and a.port in (p.port, p.carrier)
	left join port_intent i on i.switch_id = a.switch_id and i.port = a.port
	left join port_observed o on o.switch_id = p.switch_id and o.name = p.port
	left join port_observed c on c.switch_id = p.switch_id and c.name = p.carrier
	left join nic x on x.node_id = d.id and x.name = p.nic left join nic_location l on l.mac = x.mac and l.switch_id = p.switch_id and l.port in (p.port, p.carrier)
	where d.id = p_node group by a.network_id, p.switch_id, p.carrier;
end
$$;

-- The cable of a node as it is passed at the far end of a way.
create function path_turned(p_hop jsonb)
returns jsonb immutable language sql as $$
	select p_hop || jsonb_build_object('a', p_hop -> 'b', 'b', p_hop -> 'a',
		'members', (select coalesce(jsonb_agg(m - 'b' || jsonb_build_object('a', m -> 'b')), '[]') from jsonb_array_elements(p_hop -> 'members') m))
$$;

-- Whose answers are old: switches of a way that do not answer.
create function path_notes(p_hops jsonb)
returns jsonb stable language plpgsql set search_path = haas, pg_temp as $$
begin
	return (select coalesce(jsonb_agg(s.name || ' does not answer: drawn from its last reading' order by s.name), '[]')
	from switch s join switch_observed o on o.switch_id = s.id
	where not o.reachable and s.name in (select e ->> 'switch' from jsonb_array_elements(p_hops) h, lateral (values (h -> 'a'), (h -> 'b')) v (e)));
end
$$;

-- The ways of a VLAN from one switch to others, drawn: {"SWITCH": [link]}. Where the VLAN is cut a tenant sees no links: those that are there are
-- not of its tree. The links near the ends are read first: most ways are short, and a whole fabric is read only when no way was found there.
create function vlan_ways(p_fabric bigint, p_vlan integer, p_from bigint, p_to bigint[])
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

-- The way of one network between two places; p_links: that between their switches, null = there is none.
create function network_way(p_network network, p_vlan integer, p_a jsonb, p_from bigint, p_b jsonb, p_to bigint, p_links jsonb)
returns jsonb stable language plpgsql set search_path = haas, pg_temp as $$
declare
	v_fabric bigint := (select fabric_id from switch_endpoint where switch_id = p_from);
	v_links jsonb := '[]';
	v_hops jsonb;
	v_problem text;
begin
	if p_vlan is null then
		v_problem := format('network %s has no VLAN there yet', p_network.name);
	elsif v_fabric is distinct from (select fabric_id from switch_endpoint where switch_id = p_to) then
		v_problem := format('%s and %s are in different fabrics, and no VLAN joins fabrics', p_a #>> '{b,switch}', p_b #>> '{b,switch}');
	elsif p_from <> p_to and p_links is null then
		v_problem := format('cut between %s and %s', p_a #>> '{b,switch}', p_b #>> '{b,switch}') || case when is_operator() then ': no cable leads there' else '' end;
	elsif p_from <> p_to then
		v_links := p_links;
	end if;
	v_hops := jsonb_build_array(p_a) || v_links || jsonb_build_array(path_turned(p_b));
	if v_problem is null then
		select format('cut at %s - %s: %s', coalesce(h #>> '{a,node}', (h #>> '{a,switch}') || ':' || (h #>> '{a,port}')),
			      coalesce(h #>> '{b,node}', (h #>> '{b,switch}') || ':' || (h #>> '{b,port}')), h #>> '{faults,0}')
		into v_problem from jsonb_array_elements(v_hops) with ordinality x (h, n) where h -> 'faults' <> '[]' order by n limit 1;
	end if;
	return jsonb_build_object('network', p_network.name, 'fabric', (select name from fabric where id = v_fabric), 'vlan', p_vlan,
		'vni', (select vni from vni_binding where network_id = p_network.id and valid_to is null limit 1),
		'state', case when v_problem is null then 'whole' else 'cut' end, 'problem', v_problem, 'hops', v_hops, 'notes', path_notes(v_hops));
end
$$;

-- All ways between two nodes of a tenant, in each network that they share, from each place of the one to each of the other. A tenant is told of nothing that is not its own.
create function network_path(p_tenant text, p_a text, p_b text, p_network text)
returns jsonb stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint := (select id from tenant where name = p_tenant);
	v_nodes bigint[];
	v_name text;
	v_paths jsonb;
	v_searches bigint;
	v_most constant bigint := 8; -- VLANs, each about a second in a fabric of 1,000 switches: portald's reads wait behind them
begin
	if v_tenant is null or not in_scope(v_tenant) then
		raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
	elsif p_a = p_b then
		raise exception 'both ends are the same node' using errcode = 'HA422', hint = 'name two nodes of the tenant';
	end if;
	foreach v_name in array array[p_a, p_b] loop
		v_nodes := v_nodes || (select id from node where name = v_name and tenant_id = v_tenant);
		if v_nodes[array_upper(v_nodes, 1)] is null then
			raise exception 'tenant % has no node %', p_tenant, v_name using errcode = 'HA404', hint = 'haasctl node list --tenant shows its nodes';
		end if;
	end loop;
	if p_network is not null and not exists (select from network n where n.tenant_id = v_tenant and n.name = p_network) then
		raise exception 'tenant % has no network %', p_tenant, p_network using errcode = 'HA404', hint = 'haasctl network list shows the networks';
	end if;
	with pairs as materialized (
		select n, n.name, a.switch_id as a_switch, a.port as a_port, a.drawn as a_drawn, b.switch_id as b_switch, b.port as b_port, b.drawn as b_drawn, ea.fabric_id as fabric, v.vlan,
		       a.switch_id <> b.switch_id and ea.fabric_id = eb.fabric_id and v.vlan is not null as searched
		from (select x.* from node_joins(v_nodes[1]) x) a join (select x.* from node_joins(v_nodes[2]) x) b using (network_id)
		join network n on n.id = network_id
		left join switch_endpoint ea on ea.switch_id = a.switch_id left join switch_endpoint eb on eb.switch_id = b.switch_id
		left join network_vlan v on v.fabric_id = ea.fabric_id and v.network_id = n.id and v.state = 'used'
		where n.tenant_id = v_tenant and (p_network is null or n.name = p_network)
	), searches as materialized (
		select fabric, vlan, a_switch, array_agg(distinct b_switch) as b_switches from pairs where searched group by fabric, vlan, a_switch
	), ways as materialized (
		select s.vlan, s.a_switch, vlan_ways(s.fabric, s.vlan, s.a_switch, s.b_switches) as ways from searches s where (select count(distinct (fabric, vlan)) from searches) <= v_most
	)
	select (select count(distinct (fabric, vlan)) from searches),
	       jsonb_agg(network_way(p.n, p.vlan, p.a_drawn, p.a_switch, p.b_drawn, p.b_switch, w.ways -> p.b_switch::text) order by p.name, p.a_switch, p.a_port, p.b_switch, p.b_port)
	into v_searches, v_paths from pairs p left join ways w on p.searched and w.vlan = p.vlan and w.a_switch = p.a_switch;
	if v_searches > v_most then
		raise exception 'nodes % and % share too many networks to follow all of them', p_a, p_b
			using errcode = 'HA422', hint = 'name the network', detail = format('%s VLANs, %s at most', v_searches, v_most);
	end if;
	if v_paths is null then
		raise exception 'nodes % and % share no network of %', p_a, p_b, p_tenant using errcode = 'HA409', hint = 'haasctl network show says which nodes and ports are in it',
			detail = (select string_agg(format('%s is in %s', d.name, coalesce((select string_agg(distinct n.name, ', ') from node_joins(d.id) j join network n on n.id = j.network_id
									      where n.tenant_id = v_tenant), 'none of its networks')), '; ' order by d.name = p_b)
				  from node d where d.id = any (v_nodes));
	end if;
	return jsonb_build_object('tenant', p_tenant, 'a', p_a, 'b', p_b, 'paths', v_paths);
end
$$;

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

-- The switch's port numbers and names as of now, [{port, if_index}], of a switch whose own reading has none. A name with two numbers is left out:
-- nobody knows which is the port's. Rows of other switches stay. Returns how many rows changed.
create function port_number_put(p_switch bigint, p_rows jsonb)
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_gone integer;
	v_count integer;
	v_rows jsonb;
begin
	if not exists (select from port_observed where switch_id = p_switch and if_index = 0) then
		-- It is read another way now, or has none: nothing of then is left.
		delete from port_number where switch_id = p_switch;
		get diagnostics v_gone = row_count;
		return v_gone;
	end if;
	select jsonb_object_agg(y.port, jsonb_build_object('if_index', y.if_index, 'name', y.name)) into v_rows
	from (select lower(x.port) as port, min(x.if_index) as if_index, min(x.port) as name from jsonb_to_recordset(p_rows) as x (port text, if_index bigint)
	      where x.if_index > 0 group by lower(x.port) having min(x.if_index) = max(x.if_index)) y;
	v_rows := coalesce(v_rows, '{}');
	delete from port_number n where n.switch_id = p_switch and not v_rows ? n.port;
	get diagnostics v_gone = row_count;
	insert into port_number as n (switch_id, port, if_index, name)
	select p_switch, x.key, (x.value ->> 'if_index')::bigint, x.value ->> 'name' from jsonb_each(v_rows) x order by x.key
	on conflict (switch_id, port) do update set if_index = excluded.if_index, name = excluded.name where (n.if_index, n.name) <> (excluded.if_index, excluded.name);
	get diagnostics v_count = row_count;
	return v_gone + v_count;
end
$$;

-- What the counters of a port of ours are called, ours among them.
create function counter_names(p_switch bigint, p_port text)
returns text[] stable language sql security definer set search_path = haas, pg_temp as $$
	select array(select p_port union select n.name from port_observed p join port_number m on m.switch_id = p.switch_id and m.port = lower(p.name)
		     join port_number n on n.switch_id = m.switch_id and n.if_index = m.if_index
		     where p.switch_id = p_switch and p.name = p_port and p.if_index = 0 and n.name <> '')
$$;

-- ==== triggers, views, rights ====

-- Of all tenants: the operators'.
create view port_counter with (security_barrier = true) as select * from traffic_60_counter where (select is_operator());

-- Ports by the number that their samples name; 0 = nobody told it.
create view port_index as
select p.switch_id, p.name, p.lag, coalesce(nullif(p.if_index, 0), n.if_index, 0) as if_index, p.kind, p.speed_bps
from port_observed p left join port_number n on p.if_index = 0 and n.switch_id = p.switch_id and n.port = lower(p.name);

-- And whose they are, by their name in lower case, where that is known.
create view counter_port as
select n.switch_id, n.port as counted, p.name as port from port_number n join port_number m on m.switch_id = n.switch_id and m.if_index = n.if_index
join port_observed p on p.if_index = 0 and p.switch_id = m.switch_id and lower(p.name) = m.port;

-- Errors at ports in the last hour, by our port names: from SNMP's counters, or from sFlow's where a switch has no others. For operators.
create view port_errors with (security_barrier = true) as
select c.switch_id, coalesce(p.port, c.port) as port, 'snmp' as source, c.in_errors, c.out_errors, c.in_discards, c.out_discards, c.in_packets, c.out_packets, c.seconds
from (select switch_id, port, sum(in_errors)::bigint as in_errors, sum(out_errors)::bigint as out_errors, sum(in_discards)::bigint as in_discards,
	     sum(out_discards)::bigint as out_discards, sum(in_packets)::bigint as in_packets, sum(out_packets)::bigint as out_packets, sum(seconds) as seconds
      from traffic_60_counter where at > now() - interval '1 hour' and (select is_operator()) group by switch_id, port) c
left join counter_port p on p.switch_id = c.switch_id and p.counted = lower(c.port)
union all
select switch_id, port, 'sflow', sum(in_errors)::bigint, sum(out_errors)::bigint, sum(in_discards)::bigint, sum(out_discards)::bigint, sum(in_packets)::bigint, sum(out_packets)::bigint,
       sum(seconds)
from traffic_port p where step = 60 and at > now() - interval '1 hour' and (select is_operator())
	and not exists (select from traffic_60_counter c where c.switch_id = p.switch_id and c.at > now() - interval '1 hour')
group by switch_id, port;

grant insert, select on traffic_60_counter to peregrined;
grant select on traffic_60_counter to peregrine_flowd;
grant select on port_counter to portald;
grant select on switch_health to portald;
grant insert, select, update, delete on switch_health to peregrined;
grant select on port_errors to portald;
grant select on port_number to portald, peregrined, peregrine_flowd;
grant select on port_index to portald, peregrine_flowd;
grant select on counter_port to portald, peregrine_flowd;
grant execute on function network_path(text,text,text,text) to portald;
grant execute on function port_number_put(bigint,jsonb) to peregrined;
grant execute on function counter_names(bigint,text) to portald;
