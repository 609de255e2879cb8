-- Aggregates (LACP) that we make for the bonds of nodes, where a switch can be told to.

-- What peregrined knows of a switch by its family and the way in which it is changed.
create table switch_ability (
	switch_id bigint primary key references switch on delete cascade,
	aggregates boolean not null default false   -- we make aggregates there; else the operator does
);
grant select on switch_ability to portald, bampid, peregrined;
grant insert, update, delete on switch_ability to peregrined;

-- The aggregate that a port shall be in: those of one switch with the same word, and no others. '' = a port of its own, or in what its operator made.
alter table port_intent add column bond text not null default '';

-- Aggregates that we made: written before the switch is told, so that after kill -9 it is known whose one is. A row stays when it is gone again; its name may be taken anew.
create table switch_aggregate (
	switch_id bigint not null references switch on delete cascade,
	name text not null,                 -- as the switch shows it
	bond text not null,                 -- port_intent.bond of its members then
	members text[] not null,
	made_at timestamptz not null default now(),
	primary key (switch_id, name)
);
grant select on switch_aggregate to portald, bampid, peregrined;
grant insert, update, delete on switch_aggregate to peregrined;

create function port_bond_set(p_switch bigint, p_port text, p_bond text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	update port_intent set bond = coalesce(p_bond, ''), wanted_version = wanted_version + 1, problem = null
	where switch_id = p_switch and port = p_port and bond <> coalesce(p_bond, '');
	if found then
		perform pg_notify('network', '');
	end if;
	return found;
end
$$;

-- As before; in an aggregate of ours a port is still itself, and what was found behind one is where it was planned. So is a NIC at a port that is planned for
-- its node, too, and was in one aggregate with its own: a node whose bond is up when that is unmade sends under one MAC by every port of it.
create or replace function node_ports(p_node bigint)
returns table (nic text, boot boolean, switch_id bigint, port text, carrier text, conflict text)
stable language sql security definer set search_path = haas, pg_temp as $$
	select p.nic, p.boot, p.switch_id, p.port, case when ours.name is null then coalesce(nullif(o.lag, ''), p.port) else p.port end, p.conflict
	from (
		select c.name as nic, c.boot, coalesce(w.switch_id, l.switch_id) as switch_id, coalesce(w.port, l.port) as port,
		       case when w.switch_id is not null and l.switch_id is not null and (w.switch_id, w.port) <> (l.switch_id, l.port)
				 and not exists (select from port_observed x where x.switch_id = w.switch_id and x.name = w.port and x.switch_id = l.switch_id
						 and (x.lag = l.port or x.lag = (select y.lag from port_observed y where y.switch_id = l.switch_id and y.name = l.port and y.lag <> '')))
				 and not exists (select from switch_aggregate g where g.switch_id = l.switch_id and g.name = l.port and g.switch_id = w.switch_id and w.port = any (g.members))
				 and not (exists (select from switch_aggregate g where g.switch_id = l.switch_id and g.switch_id = w.switch_id and l.port = any (g.members) and w.port = any (g.members))
					  and exists (select from wiring v where v.node_id = p_node and v.switch_id = l.switch_id and v.port = l.port))
			    then format('%s was found at %s:%s and planned at %s:%s', c.name, ls.name, l.port, ws.name, w.port) end as conflict
		from nic c
		left join lateral (select * from wiring w where w.node_id = p_node and w.nic = c.name order by w.switch_id, w.port limit 1) w on true
		left join lateral (select * from nic_location l where l.mac = c.mac and l.certainty >= 50) l on true
		left join switch ws on ws.id = w.switch_id left join switch ls on ls.id = l.switch_id
		where c.node_id = p_node
		union all
		-- a cable that was planned for any of its NICs, when that tells nothing about which: counts for a node without a cable of its own
		select 'any', true, w.switch_id, w.port, null
		from wiring w
		where w.node_id = p_node and w.nic is null
		  and not exists (select from nic c join nic_location l on l.mac = c.mac and l.certainty >= 50
				  where c.node_id = p_node and (l.switch_id, l.port) = (w.switch_id, w.port))
		  and not exists (select from wiring o where o.node_id = p_node and o.nic is not null and (o.switch_id, o.port) = (w.switch_id, w.port))
	) p left join port_observed o on o.switch_id = p.switch_id and o.name = p.port
	left join switch_aggregate ours on ours.switch_id = p.switch_id and ours.name = o.lag and p.port = any (ours.members)
$$;

-- As before; ports that are off aggregates are fine where the switch makes one of them.
create or replace function node_bond_fault(p_node bigint, out message text, out hint text)
stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	for r in
		select b.name, count(*) as members, count(p.switch_id) as known, count(distinct p.switch_id) as switches, count(distinct p.carrier) as carriers,
		       bool_or(p.carrier = p.port and not coalesce(o.is_lag, false)) as loose,
		       bool_and(coalesce(a.aggregates, false) and p.carrier = p.port and not coalesce(o.is_lag, false)) and count(*) <= 8 as made,
		       bool_and(exists (select from wiring w where w.node_id = p_node and w.nic = b.nic)) as planned,
		       string_agg(s.name || ':' || p.port, ', ' order by s.name, p.port) as ports
		from node_bond b left join node_ports(p_node) p on p.nic = b.nic left join switch s on s.id = p.switch_id
		left join port_observed o on o.switch_id = p.switch_id and o.name = p.port
		left join switch_ability a on a.switch_id = p.switch_id
		where b.node_id = p_node group by b.name order by b.name
	loop
		if r.known < r.members then
			message := format('nobody knows all ports of %s', r.name);
			hint := 'plan its cables: haasctl wiring';
		elsif r.switches > 1 then
			message := format('%s ends at two switches (%s), and a bond over switches (MLAG) is not offered', r.name, r.ports);
			hint := 'put its cables into one switch';
		elsif r.made and not r.planned then
			message := format('the cables of %s (%s) are not planned', r.name, r.ports);
			hint := 'haasctl wiring: behind an aggregate nobody can tell them apart';
		elsif (r.carriers > 1 or r.loose) and not r.made then
			message := format('the ports of %s (%s) are not one aggregate of the switch', r.name, r.ports);
			hint := 'the operator makes it, with LACP and its fallback: docs/switches.md';
		end if;
		exit when message is not null;
	end loop;
	if message is null then
		select format('%s share the aggregate %s of switch %s and are no bond', string_agg(p.nic, ', ' order by p.nic), p.carrier, s.name), 'ask for a bond of them'
		into message, hint from node_ports(p_node) p join switch s on s.id = p.switch_id left join node_bond b on b.node_id = p_node and b.nic = p.nic
		group by s.name, p.switch_id, p.carrier having count(*) > 1 and (count(distinct b.name) <> 1 or count(b.name) < count(*)) limit 1;
	end if;
end
$$;

-- As before; ports of a bond that are in no aggregate are to be in one as long as they are the tenant's.
create or replace function node_network_apply(p_node bigint, p_place text, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node node%rowtype;
	v_provisioning bigint;
	v_ports integer := 0;
	v_changed integer := 0;
	v_missing jsonb := '[]';
	v_networks bigint[];
	v_modes text[];
	v_fault record;
	r record;
begin
	select * into v_node from node where id = p_node for no key update;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	end if;
	insert into node_place as p (node_id, place) values (p_node, p_place) on conflict (node_id) do update set place = excluded.place
	where p.place <> excluded.place;
	if not exists (select from switch_endpoint where managed) then
		return jsonb_build_object('ports', 0, 'changed', 0, 'missing', v_missing);
	end if;
	if p_place = 'provisioning' then
		select id into v_provisioning from network where kind = 'provisioning' and wanted = 'present' order by id limit 1;
		if not found then
			raise exception 'there is no provisioning network' using errcode = 'HA409', hint = 'haasctl network create --kind provisioning';
		end if;
	end if;
	if p_place = 'tenant' then
		select * into v_fault from node_bond_fault(p_node);
		if v_fault.message is not null then
			raise exception 'node %: %', v_node.name, v_fault.message using errcode = 'HA409', hint = v_fault.hint;
		end if;
	end if;
	for r in select p.*, bool_or(p.boot) over (partition by p.switch_id, p.carrier) as boots, row_number() over (partition by p.switch_id, p.port order by p.boot desc, p.nic) as again
		 from node_ports(p_node) p order by p.switch_id, p.port, p.boot desc loop   -- in one order, so that two never wait for each other
		if r.conflict is not null and p_place <> 'parking' then   -- what it was given by the plan can always be taken back
			raise exception 'node %: %', v_node.name, r.conflict using errcode = 'HA409', hint = 'put the cable right or correct the wiring plan';
		elsif r.switch_id is null then
			v_missing := v_missing || to_jsonb(r.nic);
			continue;
		elsif port_bmc(r.switch_id, r.port) is not null and p_place = 'parking' then   -- never given, so there is nothing to take back
			continue;
		elsif r.again > 1 then   -- two members found behind one aggregate
			continue;
		end if;
		v_networks := '{}';
		v_modes := '{}';
		if p_place = 'provisioning' and r.boots then
			v_networks := array[v_provisioning];
			v_modes := array['access'];
		elsif p_place = 'tenant' then
			select coalesce(array_agg(x.network_id order by x.network_id), '{}'), coalesce(array_agg(x.mode order by x.network_id), '{}')
			into v_networks, v_modes from node_network x
			where x.node_id = p_node and (x.nic = r.nic or x.nic = (select b.name from node_bond b where b.node_id = p_node and b.nic = r.nic)
						      or (r.nic = 'any' and x.nic = (select c.name from nic c where c.node_id = p_node and c.boot)));
		end if;
		v_ports := v_ports + 1;
		v_changed := v_changed + greatest(port_networks_apply(r.switch_id, r.port, v_networks, v_modes, p_actor)::integer,
			-- an aggregate that is there is the operator's
			port_bond_set(r.switch_id, r.port, case when p_place = 'tenant' and r.carrier = r.port
				and not exists (select from port_observed o where o.switch_id = r.switch_id and o.name = r.port and o.is_lag) then
				(select format('%s/%s', v_node.name, b.name) from node_bond b where b.node_id = p_node and b.nic = r.nic) end)::integer);
	end loop;
	return jsonb_build_object('ports', v_ports, 'changed', v_changed, 'missing', v_missing);
end
$$;

-- As before; where the switch makes the aggregate, the ports are in none and their cables planned.
create or replace function node_fits(p_node bigint, p_class text, p_request jsonb)
returns text stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_group jsonb;
	v_fits text := '';
	v_fit text;
	v_nets boolean := jsonb_array_length(coalesce(p_request -> 'networks', '[]')) > 0;
	v_switched boolean := exists (select from switch_endpoint where managed);
begin
	for v_group in select e from jsonb_array_elements(p_request -> 'groups') with ordinality as g (e, i) order by i loop
		v_fit := '-';
		if coalesce(v_group ->> 'class', '') in ('', p_class) and (v_nets or v_group ? 'bonds') then
			with bonds as (
				select m.nic, b.e ->> 'name' as bond from jsonb_array_elements(coalesce(v_group -> 'bonds', '[]')) as b (e), jsonb_array_elements_text(b.e -> 'nics') as m (nic)
			), uses as (
				select nic, bond from bonds
				union
				select x ->> 'nic', null from jsonb_array_elements(coalesce(v_group -> 'nics', '[]')) x where not exists (select from bonds b where b.bond = x ->> 'nic')
				union
				select c.name, null from nic c where c.node_id = p_node and c.boot and not v_group ? 'nics' and not exists (select from bonds b where b.nic = c.name)
			), ports as (
				select u.nic, u.bond, q.switch_id, q.port, q.carrier, coalesce(o.is_lag, false) as is_lag,
				       coalesce(a.aggregates, false) as makes, exists (select from wiring w where w.node_id = p_node and w.nic = u.nic) as planned
				from uses u left join node_ports(p_node) q on q.nic = u.nic left join port_observed o on o.switch_id = q.switch_id and o.name = q.port
				left join switch_ability a on a.switch_id = q.switch_id
			), of_bond as (
				select bond, count(*) as members, count(switch_id) as known, count(distinct switch_id) as switches, count(distinct carrier) as carriers,
				       bool_or(carrier = port and not is_lag) as loose,
				       bool_and(makes and carrier = port and not is_lag) and count(*) <= 8 as made, bool_and(planned) as planned from ports where bond is not null group by bond
			)
			select case when exists (select from uses u where not exists (select from nic c where c.node_id = p_node and c.name = u.nic)) then 'n'
				    when not v_switched then '-'
				    when exists (select from of_bond where known < members or (made and not planned)) then 'p'
				    when exists (select from of_bond where switches > 1) then 's'
				    when exists (select from of_bond where (carriers > 1 or loose) and not made) then 'a'
				    when exists (select from node_ports(p_node) q where (q.switch_id, q.carrier) in (select u.switch_id, u.carrier from ports u)
						 group by q.switch_id, q.carrier having count(*) > 1 and not exists (select from ports u where u.switch_id = q.switch_id and u.carrier = q.carrier
							group by u.bond having u.bond is not null and count(*) = (select count(*) from node_ports(p_node) z
								where z.switch_id = q.switch_id and z.carrier = q.carrier))) then 'b'
				    else '-' end into v_fit;
		end if;
		v_fits := v_fits || v_fit;
	end loop;
	return v_fits;
end
$$;
