-- Ports remember the node that they were given to, until they were read without what it was given. Nothing takes a port, or its switch, from a node that needs it.

-- Whose networks the port carries, or may still carry: set with its networks, cleared when it was read back without any.
alter table port_intent add node_id bigint references node on delete set null;
create index port_intent_node on port_intent (node_id) where node_id is not null;
update port_intent i set node_id = x.node_id
from (select distinct on (q.switch_id, q.port) q.switch_id, q.port, p.node_id from node_place p cross join lateral node_ports(p.node_id) q
      where exists (select from attachment a join network n on n.id = a.network_id
		    where a.switch_id = q.switch_id and a.port = q.port
			  and (n.kind = 'provisioning' or exists (select from node_network w where w.node_id = p.node_id and w.network_id = n.id)))
      order by q.switch_id, q.port, p.place = 'parking', p.node_id) x
where i.switch_id = x.switch_id and i.port = x.port;

create function port_given_back() returns trigger language plpgsql set search_path = haas, pg_temp as $$
begin
	if not exists (select from attachment a where a.switch_id = new.switch_id and a.port = new.port) then
		new.node_id := null;
	end if;
	return new;
end
$$;
create trigger port_given_back before update of applied_version on port_intent for each row
	when (new.node_id is not null and new.applied_version = new.wanted_version) execute function port_given_back();

-- Ports that led to a switch which is not known any more: whoever is heard there is behind it. Planned for a node, such a port is its.
create table port_former (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	peer text not null,
	since timestamptz not null default now(),
	primary key (switch_id, port)
);
grant select on port_former to portald, peregrined;

-- Is there anything to set on a switch for this node? What it was given counts also when no switch is managed any more.
create function node_is_switched(p_node bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select exists (select from switch_endpoint where managed) or exists (select from port_intent where node_id = p_node)
$$;

-- Why a NIC that was found at a port may not be behind it alone; null = it may.
create function port_found_doubt(p_node bigint, p_nic text, p_switch bigint, p_port text)
returns text stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_peer text;
	v_other text;
	v_port text := (select name from switch where id = p_switch) || ':' || p_port;
begin
	select peer into v_peer from port_former where switch_id = p_switch and port = p_port;
	if found then
		return format('%s was found at %s, which led to switch %s', p_nic, v_port, v_peer);
	end if;
	select d.name into v_other from nic_location l join nic c on c.mac = l.mac join node d on d.id = c.node_id
	where l.switch_id = p_switch and l.port = p_port and l.certainty >= 50 and d.id <> p_node order by d.name limit 1;
	if found then
		return format('%s was found at %s, and so was node %s', p_nic, v_port, v_other);
	end if;
	return null;
end
$$;

-- As before; a NIC that was only found is not where a switch was, nor where other nodes are heard.
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
			    then format('%s was found at %s:%s and planned at %s:%s', c.name, ls.name, l.port, ws.name, w.port)
			    -- found only: not where a switch was, nor where others are heard, too: there is something between them and the port
			    when w.switch_id is null and l.switch_id is not null then port_found_doubt(p_node, c.name, l.switch_id, l.port) end as conflict
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

-- As before; the port of a tenant's node is in no network of the system, but for its install and its erase.
create or replace function port_networks_apply(p_switch bigint, p_port text, p_networks bigint[], p_modes text[], p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch text;
	v_text text;
	v_bad record;
	v_new boolean;
begin
	select s.name into v_switch from switch s join switch_endpoint e on e.switch_id = s.id where s.id = p_switch and e.managed;
	if not found then
		raise exception 'switch % is not managed', coalesce((select name from switch where id = p_switch), p_switch::text)
			using errcode = 'HA409', hint = 'haasctl switch show says how it is reached';
	end if;
	if exists (select from link where state = 'confirmed' and ((a_switch = p_switch and a_port = p_port) or (b_switch = p_switch and b_port = p_port)))
	   or exists (select from wiring where switch_id = p_switch and port = p_port and peer_switch_id is not null) then
		raise exception 'port %:% leads to another switch', v_switch, p_port using errcode = 'HA409', hint = 'haasctl fabric show';
	end if;
	if cardinality(p_networks) > 1 and 'access' = any (p_modes) then
		raise exception 'port %:% cannot be an access port of one network and carry another', v_switch, p_port
			using errcode = 'HA422', hint = 'use mode native for the untagged one';
	end if;
	if (select count(*) from unnest(p_modes) m where m in ('access', 'native')) > 1 then
		raise exception 'port %:% cannot have two untagged networks', v_switch, p_port using errcode = 'HA422';
	end if;
	if (select count(distinct x) from unnest(p_networks) x) <> cardinality(p_networks) then
		raise exception 'port %:% cannot have a network twice', v_switch, p_port using errcode = 'HA422';
	end if;
	select x.id, n.name into v_bad from unnest(p_networks) as x (id) left join network n on n.id = x.id where n.id is null or n.wanted <> 'present' limit 1;
	if found then
		raise exception 'network % does not exist', coalesce(v_bad.name, v_bad.id::text) using errcode = 'HA404';
	end if;
	select d.name as node, n.name into v_bad from unnest(p_networks) x join network n on n.id = x
	join node d on d.id in (port_node(p_switch, p_port), (select i.node_id from port_intent i where i.switch_id = p_switch and i.port = p_port))
	where n.kind = 'tenant' and d.tenant_id is distinct from n.tenant_id limit 1;
	if found then
		raise exception 'node % behind port %:% does not belong to the tenant of network %', v_bad.node, v_switch, p_port, v_bad.name
			using errcode = 'HA409', hint = 'haasctl nic locate shows what is behind the port';
	end if;
	select count(*) filter (where n.kind = 'bmc') as bmc, count(*) filter (where n.kind <> 'bmc') as other, min(n.name) filter (where n.kind = 'bmc') as name into v_bad
	from unnest(p_networks) x join network n on n.id = x;
	if v_bad.bmc > 0 and cardinality(p_networks) > 1 then
		raise exception 'network % is for BMCs and goes with no other on port %:%', v_bad.name, v_switch, p_port using errcode = 'HA422';
	end if;
	v_text := case when v_bad.other > 0 then port_bmc(p_switch, p_port) end;
	if v_text is not null then
		raise exception 'port %:% is for a BMC: %', v_switch, p_port, v_text using errcode = 'HA409',
			hint = 'if that is not so: haasctl network detach, haasctl wiring';
	end if;
	select d.name as node, n.name into v_bad from unnest(p_networks) x join network n on n.id = x join node d on d.id = port_node(p_switch, p_port)
	where d.tenant_id is not null and n.kind = 'bmc' and port_bmc(p_switch, p_port) is null limit 1;
	if found then
		raise exception 'node % behind port %:% belongs to a tenant: not in network %', v_bad.node, v_switch, p_port, v_bad.name
			using errcode = 'HA409', hint = 'haasctl nic locate shows what is behind the port';
	end if;
	select d.name as node, n.name into v_bad from unnest(p_networks) x join network n on n.id = x
	join node d on d.id in (port_node(p_switch, p_port), (select i.node_id from port_intent i where i.switch_id = p_switch and i.port = p_port))
	left join node_place l on l.node_id = d.id
	where d.tenant_id is not null and (n.kind = 'quarantine' or (n.kind = 'provisioning' and l.place = 'tenant')) limit 1;
	if found then
		raise exception 'node % behind port %:% belongs to a tenant: not in network %', v_bad.node, v_switch, p_port, v_bad.name
			using errcode = 'HA409', hint = 'haasctl nic locate shows what is behind the port';
	end if;
	insert into port_intent (switch_id, port, wanted_version) values (p_switch, p_port, 1) on conflict (switch_id, port) do nothing;
	v_new := found;
	perform from port_intent where switch_id = p_switch and port = p_port for no key update;
	if not v_new and not exists (
		(select a.network_id, a.mode from attachment a where a.switch_id = p_switch and a.port = p_port
		 except select * from unnest(p_networks, p_modes))
		union all
		(select * from unnest(p_networks, p_modes)
		 except select a.network_id, a.mode from attachment a where a.switch_id = p_switch and a.port = p_port)) then
		return false;
	end if;
	delete from attachment where switch_id = p_switch and port = p_port;
	insert into attachment (switch_id, port, network_id, mode) select p_switch, p_port, x.n, x.m from unnest(p_networks, p_modes) as x (n, m);
	if not v_new then
		update port_intent set wanted_version = wanted_version + 1, problem = null where switch_id = p_switch and port = p_port;
	end if;
	select coalesce(string_agg(format('%s %s', x.m, n.name), ', ' order by x.m, n.name), 'parked') into v_text
	from unnest(p_networks, p_modes) as x (n_id, m) join network n on n.id = x.n_id;
	perform event_add(p_actor, 'port.wanted', 'port', v_switch || ':' || p_port,
			  (select max(n.tenant_id) from network n where n.id = any (p_networks)), v_text,
			  jsonb_build_object('switch', v_switch, 'port', p_port, 'networks', to_jsonb(p_networks)));
	perform pg_notify('network', '');
	return true;
end
$$;

-- As before; what a node was given is taken back where it was given, and no other node gets it until that was read.
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
	v_was text;
	r record;
begin
	select * into v_node from node where id = p_node for no key update;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	end if;
	select place into v_was from node_place where node_id = p_node;
	insert into node_place as p (node_id, place) values (p_node, p_place) on conflict (node_id) do update set place = excluded.place
	where p.place <> excluded.place;
	if not node_is_switched(p_node) then
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
	for r in select x.*, i.node_id as holder, h.name as holder_name, s.name as switch, exists (select from wiring w where w.switch_id = x.switch_id and w.port = x.port and w.node_id = p_node) as planned
		 from (select p.*, bool_or(p.boot) over (partition by p.switch_id, p.carrier) as boots, row_number() over (partition by p.switch_id, p.port order by p.boot desc, p.nic) as again,
			      false as left_over
		       from node_ports(p_node) p
		       union all   -- what it was given when its cable was known there: it goes when the node goes, whatever is known now
		       select null, false, g.switch_id, g.port, g.port, null, false, 1, true from port_intent g
		       where g.node_id = p_node and not exists (select from node_ports(p_node) q where q.switch_id = g.switch_id and q.port = g.port)) x
		 left join port_intent i on i.switch_id = x.switch_id and i.port = x.port left join node h on h.id = i.node_id left join switch s on s.id = x.switch_id
		 order by x.switch_id, x.port, x.boot desc loop   -- in one order, so that two never wait for each other
		if r.conflict is not null and p_place <> 'parking' then   -- what it was given by the plan can always be taken back
			raise exception 'node %: %', v_node.name, r.conflict using errcode = 'HA409', hint = 'put the cable right or correct the wiring plan';
		elsif r.left_over and p_place = 'tenant' and v_was = 'tenant' then   -- a plan that changes takes nothing from a node in use
			continue;
		elsif r.holder <> p_node and p_place = 'parking' then   -- never given
			continue;
		elsif r.holder <> p_node then
			raise exception 'node %: port %:% carries what node % was given', v_node.name, r.switch, r.port, r.holder_name
				using errcode = 'HA409', hint = format('correct the wiring plan, or release node %s first; haasctl nic locate tells who is there', r.holder_name);
		elsif r.conflict is not null and not r.planned and r.holder is null then   -- never given either
			continue;
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
		if cardinality(v_networks) > 0 then
			update port_intent set node_id = p_node where switch_id = r.switch_id and port = r.port and node_id is distinct from p_node;
		end if;
	end loop;
	return jsonb_build_object('ports', v_ports, 'changed', v_changed, 'missing', v_missing);
end
$$;

-- As before; a node's ports are also those that still carry what it was given.
create or replace function node_network_state(p_node bigint)
returns table (place text, ports integer, open integer, problem jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select place from node_place where node_id = p_node), 'parking'), count(i.*)::integer,
	       (count(*) filter (where i.applied_version <> i.wanted_version))::integer,
	       (array_agg(i.problem order by i.switch_id, i.port) filter (where i.applied_version <> i.wanted_version and i.problem is not null))[1]
	from (select q.switch_id, q.port from node_ports(p_node) q union select g.switch_id, g.port from port_intent g where g.node_id = p_node) p
	join port_intent i on i.switch_id = p.switch_id and i.port = p.port and coalesce(i.node_id, p_node) = p_node
$$;

-- As before; a node that was given a port waits for it, also where no switch is managed any more.
create or replace function node_place_facts(p_node bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case when node_is_switched(p_node) then (
		select jsonb_build_array(s.place, s.ports, s.open, (select count(*) from node_network w where w.node_id = p_node),
					 (select w.problem from node_place w where w.node_id = p_node), s.problem,
					 (select coalesce(jsonb_object_agg(w.network_id, node_network_vlan(p_node, w.nic, w.network_id)), '{}')
					  from node_network w where w.node_id = p_node and w.mode = 'tagged'))
		from node_network_state(p_node) s) end
$$;

-- What a node in use lacks of what its NICs are meant for, though its ports are as they were asked to be; null = nothing.
create function node_network_fault(p_node bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_build_object('code', 'conflict', 'message', x.message, 'hint', x.hint) from (
		select 1 as rank, format('port %s:%s is parked: %s', s.name, b.port, b.message) as message, 'haasctl alert list' as hint
		from port_intent i join port_block b on b.switch_id = i.switch_id and b.port = i.port and b.wanted_version = i.wanted_version join switch s on s.id = i.switch_id
		where i.node_id = p_node
		union all
		select 2, format('network %s of %s is at none of its ports', n.name, w.nic), 'haasctl nic locate; haasctl wiring'
		from node_network w join network n on n.id = w.network_id and n.wanted = 'present' join node_place l on l.node_id = w.node_id and l.place = 'tenant'
		where w.node_id = p_node and exists (select from switch_endpoint where managed)
		  and not exists (select from attachment a join port_intent i on i.switch_id = a.switch_id and i.port = a.port where a.network_id = w.network_id and i.node_id = p_node)
	) x order by x.rank, x.message limit 1
$$;
grant execute on function node_network_fault(bigint) to portald, bampid;

-- --- a person's word on a port -------------------------------------------------------------------------------------------------------------

-- As port_networks_apply; what a node at work was given stays, whatever comes beside it.
create function port_networks_ask(p_switch bigint, p_port text, p_networks bigint[], p_modes text[], p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	select s.name as switch, d.name as node, n.name as network, l.place, c.id as deployment, p.name as pdci into r
	from port_intent i join switch s on s.id = i.switch_id join node d on d.id = i.node_id join node_place l on l.node_id = d.id and l.place <> 'parking'
	join attachment a on a.switch_id = i.switch_id and a.port = i.port join network n on n.id = a.network_id
	left join deployment c on c.node_id = d.id and c.due_at is not null
	left join pdci_node m on m.node_id = d.id and m.released_at is null left join pdci p on p.id = m.pdci_id
	where i.switch_id = p_switch and i.port = p_port
	  and (l.place = 'provisioning' or exists (select from node_network w where w.node_id = d.id and w.network_id = n.id))
	  and not exists (select from unnest(p_networks, p_modes) x (id, mode) where x.id = a.network_id and (x.mode = 'tagged') = (a.mode = 'tagged'))
	order by n.name limit 1;
	if found then
		raise exception 'port %:% carries network % for node %, which is %', r.switch, p_port, r.network, r.node,
			case when r.place = 'tenant' then 'in use' || coalesce(' in PDCI ' || r.pdci, '') else 'being installed or erased' end
			using errcode = 'HA409',
			hint = case when r.place = 'tenant' then format('haasctl node networks %1$s takes it off there; haasctl node power off %1$s stops the node', r.node)
				    else coalesce(format('haasctl deployment cancel %s', r.deployment), format('haasctl node show %s', r.node)) end;
	end if;
	return port_networks_apply(p_switch, p_port, p_networks, p_modes, p_actor);
end
$$;

-- As before, each by way of that.
create or replace function attachment_put(p_switch text, p_port text, p_network bigint, p_mode text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
	v_networks bigint[];
	v_modes text[];
	v_node text;
begin
	perform from port_intent where switch_id = v_switch and port = p_port for no key update;
	select d.name into v_node from node d, network n where d.id = port_node(v_switch, p_port) and n.id = p_network and n.kind = 'provisioning' and d.state = 'active';
	if found then
		raise exception 'node % behind port %:% is in use by its tenant: not in a provisioning network', v_node, p_switch, p_port
			using errcode = 'HA409', hint = 'haasctl nic locate shows what is behind the port';
	end if;
	select coalesce(array_agg(network_id order by id), '{}'), coalesce(array_agg(mode order by id), '{}') into v_networks, v_modes
	from attachment where switch_id = v_switch and port = p_port and network_id <> p_network;
	return port_networks_ask(v_switch, p_port, v_networks || p_network, v_modes || p_mode, p_actor);
end
$$;

create or replace function attachment_remove(p_switch text, p_port text, p_network bigint, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
	v_networks bigint[];
	v_modes text[];
begin
	perform from port_intent where switch_id = v_switch and port = p_port for no key update;
	if not exists (select from attachment where switch_id = v_switch and port = p_port and network_id = p_network) then
		raise exception 'port %:% is not in that network', p_switch, p_port using errcode = 'HA404';
	end if;
	select coalesce(array_agg(network_id order by id), '{}'), coalesce(array_agg(mode order by id), '{}') into v_networks, v_modes
	from attachment where switch_id = v_switch and port = p_port and network_id <> p_network;
	return port_networks_ask(v_switch, p_port, v_networks, v_modes, p_actor);
end
$$;

create or replace function port_park(p_switch text, p_port text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
	v_changed boolean := port_networks_ask(v_switch, p_port, '{}', '{}', p_actor);
begin
	delete from kept_uplink where switch_id = v_switch and port = p_port;
	if found and not v_changed then
		update port_intent set wanted_version = wanted_version + 1, problem = null where switch_id = v_switch and port = p_port;
		perform pg_notify('network', '');
		return true;
	end if;
	return v_changed;
end
$$;

-- As before; not while the node that had it may still be in what it was given.
create or replace function port_release(p_switch text, p_port text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
begin
	perform from port_intent where switch_id = v_switch and port = p_port for no key update;
	if exists (select from attachment where switch_id = v_switch and port = p_port) then
		raise exception 'port %:% is in a network', p_switch, p_port using errcode = 'HA409', hint = 'detach it first';
	end if;
	if exists (select from port_intent where switch_id = v_switch and port = p_port and node_id is not null) then   -- it may still carry what the node had
		raise exception 'port %:% was not yet read without what node % was given', p_switch, p_port,
			(select d.name from port_intent i join node d on d.id = i.node_id where i.switch_id = v_switch and i.port = p_port)
			using errcode = 'HA409', hint = 'haasctl switch diff ' || p_switch;
	end if;
	delete from port_intent where switch_id = v_switch and port = p_port;
	if not found then
		raise exception 'port %:% is not ours', p_switch, p_port using errcode = 'HA404';
	end if;
	perform event_add(p_actor, 'port.released', 'port', p_switch || ':' || p_port, null, 'left as it is from now on', '{}');
	perform pg_notify('network', '');
end
$$;

-- --- a switch that goes ----------------------------------------------------------------------------------------------------------------------

-- Before it is not spoken to any more. With p_force what is on its ports stays as it is and is forgotten: said in an event, and by its nodes.
create function switch_let_go(p_switch bigint, p_name text, p_actor text, p_force boolean)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_ports text[];
	v_text text;
begin
	select array_agg(x.text order by x.port) into v_ports from (
		select i.port, format('%s (node %s%s)', i.port, d.name, ' of PDCI ' || p.name) as text
		from port_intent i join node d on d.id = i.node_id left join pdci_node m on m.node_id = d.id and m.released_at is null left join pdci p on p.id = m.pdci_id
		where i.switch_id = p_switch
		union all
		select a.port, format('%s (network %s)', a.port, string_agg(n.name, ', ' order by n.name))
		from attachment a join network n on n.id = a.network_id
		where a.switch_id = p_switch and not exists (select from port_intent i where i.switch_id = a.switch_id and i.port = a.port and i.node_id is not null)
		group by a.port) x;
	v_text := array_to_string(v_ports[1:4], ', ') || case when cardinality(v_ports) > 4 then format(' and %s more', cardinality(v_ports) - 4) else '' end;
	if v_ports is not null and not p_force then
		raise exception 'switch % is in use: %', p_name, v_text using errcode = 'HA409',
			hint = 'release its nodes (haasctl pdci release, pdci replace), detach the rest (haasctl network detach); --force if it is gone for good';
	elsif v_ports is not null then
		perform event_add(p_actor, 'switch.abandoned', 'switch', p_name, null, 'given up with what is on its ports: ' || v_text, jsonb_build_object('ports', to_jsonb(v_ports)));
	end if;
	delete from port_intent i where i.switch_id = p_switch   -- not ours: known again, it is not parked under whoever is there
		and (i.node_id is not null or exists (select from attachment a where a.switch_id = i.switch_id and a.port = i.port));
	delete from attachment where switch_id = p_switch;
	insert into port_former (switch_id, port, peer)
	select case when l.a_switch = p_switch then l.b_switch else l.a_switch end, case when l.a_switch = p_switch then l.b_port else l.a_port end, p_name
	from link l where p_switch in (l.a_switch, l.b_switch) and l.a_switch <> l.b_switch
	on conflict (switch_id, port) do update set peer = excluded.peer, since = now();
end
$$;

-- As before; not while anything of its ports is in use.
drop function switch_release(text, text);
create function switch_release(p_name text, p_actor text, p_force boolean default false)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
begin
	if not is_operator() then
		raise exception 'only an operator may manage switches' using errcode = 'HA403';
	end if;
	select e.switch_id into v_id from switch_endpoint e join switch s on s.id = e.switch_id where s.name = p_name for update of e;
	if not found then
		raise exception 'switch % is not managed', p_name using errcode = 'HA404', hint = 'haasctl switch list shows the switches';
	end if;
	perform switch_let_go(v_id, p_name, p_actor, p_force);
	delete from switch_endpoint where switch_id = v_id;
	delete from switch_observed where switch_id = v_id;
	delete from port_observed where switch_id = v_id;
	delete from link where a_switch = v_id or b_switch = v_id;
	delete from nic_location where switch_id = v_id;
	perform event_add(p_actor, 'switch.released', 'switch', p_name, null, 'not managed any more');
	perform pg_notify('fabric', '');
	perform pg_notify('network', '');
end
$$;
grant execute on function switch_release(text, text, boolean) to portald;

-- Forgotten with its ports and its part of the plan.
create function switch_delete(p_name text, p_actor text, p_force boolean default false)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
begin
	if not is_operator() then
		raise exception 'only an operator may delete switches' using errcode = 'HA403';
	end if;
	select id into v_id from switch where name = p_name for update;
	if not found then
		raise exception 'switch % is not declared', p_name using errcode = 'HA404', hint = 'haasctl switch list shows the switches';
	end if;
	perform switch_let_go(v_id, p_name, p_actor, p_force);
	delete from switch where id = v_id;
	perform event_add(p_actor, 'switch.deleted', 'switch', p_name, null, 'switch deleted');
	perform pg_notify('address', '');
	perform pg_notify('fabric', '');
	perform pg_notify('network', '');
	return true;
end
$$;
grant execute on function switch_delete(text, text, boolean) to portald;
revoke delete on switch from portald;

-- --- a release that failed -------------------------------------------------------------------------------------------------------------------

alter table pdci_node add refused text;   -- what its release was answered last

-- As before; a failed release waits for a person, and a refusal is told once.
create or replace function pdci_release_nodes(p_pdci bigint, p_generation bigint, p_actor text)
returns table (node text, waits_for text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	p pdci%rowtype;
	r record;
	x record;
	v_network network%rowtype;
	v_left integer := 0;
	v_failed record;
begin
	select * into p from pdci where id = p_pdci and generation = p_generation and wanted = 'absent' for update;
	if not found then
		raise exception 'PDCI % was taken over', p_pdci using errcode = 'HA412';
	end if;
	perform set_config('haas.scope', 'operator', true);
	perform from node n join pdci_node m on m.node_id = n.id where m.pdci_id = p.id and m.released_at is null order by n.id for no key update of n;
	for r in
		select m.node as name, m.refused, n.id, n.state, n.dirty, n.tenant_id, d.id as deployment, d.plan, d.state as deployment_state
		from pdci_node m join node n on n.id = m.node_id
		left join deployment d on d.node_id = n.id and d.due_at is not null
		where m.pdci_id = p.id and m.released_at is null order by n.id
	loop
		if (r.state = 'free' and r.deployment is null) or r.tenant_id <> p.tenant_id then
			delete from node_network where node_id = r.id;
			update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node = r.name;
			continue;
		end if;
		v_left := v_left + 1;
		node := r.name;
		if r.deployment is not null and r.plan <> 'release' and r.deployment_state <> 'cancelling' then
			perform deployment_request(r.deployment, 'cancel', p_actor);
			waits_for := format('deployment %s (%s) to be cancelled', r.deployment, r.plan);
		elsif r.deployment is not null then
			waits_for := format('deployment %s (%s)', r.deployment, r.plan);
		else
			waits_for := null;
			-- a failed install leaves its node reserved: put away, it can be erased. A failed release is a person's to look at.
			perform deployment_request(d.id, 'clear', p_actor) from deployment d
			where d.node_id = r.id and d.state = 'failed' and d.plan <> 'release' and not exists (select from deployment y where y.node_id = r.id and y.id > d.id);
			select d.id, d.state, d.plan, d.problem into v_failed from deployment d where d.node_id = r.id order by d.id desc limit 1;
			if v_failed.state = 'failed' and v_failed.plan = 'release' then
				waits_for := format('deployment %s (release), which failed: %s; haasctl deployment retry %1$s', v_failed.id, coalesce(v_failed.problem ->> 'message', 'no reason is known'));
				return next;
				continue;
			end if;
			begin   -- asked again each time, told when it is another answer
				for x in select * from deployment_create('release', array[r.name], null, null, '{}', p_actor) loop
					waits_for := coalesce(x.refused, format('deployment %s (release)', x.deployment_id));
					update pdci_node m set deployment_id = coalesce(x.deployment_id, m.deployment_id), refused = x.refused
					where m.pdci_id = p.id and m.node = r.name;
					if x.refused = r.refused then
						raise exception using errcode = 'HA000', message = 'told before';
					end if;
				end loop;
			exception when sqlstate 'HA000' then
				waits_for := r.refused;
			end;
		end if;
		return next;
	end loop;
	update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node_id is null and m.released_at is null;
	if v_left > 0 then
		return;
	end if;
	for v_network in select * from network where pdci_id = p.id and wanted = 'present' order by id loop
		if exists (select from attachment a where a.network_id = v_network.id) or exists (select from node_network w where w.network_id = v_network.id) then
			node := '';
			waits_for := format('network %s to be empty', v_network.name);
			return next;
			v_left := v_left + 1;
		elsif exists (select from network_vlan x where x.network_id = v_network.id) then
			perform network_delete(v_network.id, p_actor);
		else   -- it never had a number, so no switch knows of it: its name is free at once
			delete from network where id = v_network.id;
			perform event_add(p_actor, 'network.deleted', 'network', v_network.name, v_network.tenant_id, 'returned with its PDCI',
					  jsonb_build_object('network', v_network.id, 'pdci', p.id));
		end if;
	end loop;
	if v_left = 0 then
		update pdci set state = 'released', problem = null, ended_at = now(), due_at = null, claim_owner = null, claim_until = null, version = version + 1 where id = p.id;
		perform event_add(p_actor, 'pdci.released', 'pdci', p.name, p.tenant_id, 'all of it is back', jsonb_build_object('pdci', p.id));
	end if;
end
$$;
