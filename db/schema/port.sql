-- What a port is meant to carry (port_intent), whose it is, why it is blocked; node_ports; port_networks_apply is the one door.
--
-- A port remembers the node it was given to, until the switch was read without that node's networks. A port is one node's: no other NIC found
-- there is let into a network, and none comes to it while a tenant's OS may still run behind it.

-- ==== shape ====

-- One row per port that is ours to configure: which intent it has and which one the switch was shown to have.
create table port_intent (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	wanted_version bigint not null default 1,   -- grows with every change of its attachments
	applied_version bigint not null default 0,  -- = wanted_version: read back and equal
	applied_trunk boolean,
	applied_native integer,
	applied_tagged text not null default '',
	applied_apart boolean not null default false,  -- it hears no other such port of its switch
	applied_at timestamptz,
	problem jsonb,                              -- why it is not applied yet
	bond text not null default '',              -- ports of one switch with the same word are one aggregate; '' = none of ours
	node_id bigint references node on delete set null,  -- whose networks the port carries, or may still carry, until it was read back without any
	primary key (switch_id, port)
);
create index port_intent_open on port_intent (switch_id) where applied_version <> wanted_version;
create index port_intent_node on port_intent (node_id) where node_id is not null;

-- A blocked port: it is parked like a free port, and its attachments do not count. The block ends when the port gets another intent,
-- because its author has decided anew.
create table port_block (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	kind text not null check (kind in ('moved', 'foreign')),  -- its NIC is plugged in elsewhere; a NIC of another tenant is plugged in here
	mac macaddr not null,                                     -- that NIC
	wanted_version bigint not null,                           -- of port_intent
	message text not null,
	since timestamptz not null default now(),
	primary key (switch_id, port)
);

-- Ports that led to a switch which is not known any more: whoever is heard there is behind it. Planned for a node, such a port is its.
create table port_former (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	peer text not null,
	since timestamptz not null default now(),
	primary key (switch_id, port)
);

-- ==== functions ====

-- Who is behind a port, by the plan or as found; null = nobody that we know.
create function port_node(p_switch bigint, p_port text)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select node_id from (
		select w.node_id, 2 as rank from wiring w where w.switch_id = p_switch and w.port = p_port and w.node_id is not null
		union all
		select n.node_id, 1 from nic_location l join nic n on n.mac = l.mac
		where l.switch_id = p_switch and l.port = p_port and l.certainty >= 50) x
	order by rank, node_id limit 1
$$;

-- The one door to a port's membership: the whole of it, p_networks and p_modes side by side, none = parked. Two callers for one port come one
-- after the other. Returns whether anything changed. The caller has asked whether it may; here stand the rules for everybody: a network for
-- BMCs goes with no other, a BMC's port into no other, a tenant's node not among BMCs. The port of a tenant's node is in no system network,
-- except for its install and its erase.
create function port_networks_apply(p_switch bigint, p_port text, p_networks bigint[], p_modes text[], p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_before jsonb;
	v_tenant bigint;
	v_switch text;
	v_text text;
	v_bad record;
	v_new boolean;
begin
	select s.name into v_switch from switch s join switch_endpoint e on e.switch_id = s.id where s.id = p_switch and e.managed;
	if not found then
		raise exception 'switch % is not managed', coalesce((select name from switch where id = p_switch), p_switch::text)
			using errcode = 'HA409', hint = 'haasctl switch show shows its address and state';
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
			using errcode = 'HA409', hint = 'haasctl nic locate shows the NIC behind the port';
	end if;
	select count(*) filter (where n.kind = 'bmc') as bmc, count(*) filter (where n.kind <> 'bmc') as other, min(n.name) filter (where n.kind = 'bmc') as name into v_bad
	from unnest(p_networks) x join network n on n.id = x;
	if v_bad.bmc > 0 and cardinality(p_networks) > 1 then
		raise exception 'network % is for BMCs and cannot share port %:% with another', v_bad.name, v_switch, p_port using errcode = 'HA422';
	end if;
	v_text := case when v_bad.other > 0 then port_bmc(p_switch, p_port) end;
	if v_text is not null then
		raise exception 'port %:% is for a BMC: %', v_switch, p_port, v_text using errcode = 'HA409',
			hint = 'if it is not: haasctl network detach, haasctl wiring';
	end if;
	select d.name as node, n.name into v_bad from unnest(p_networks) x join network n on n.id = x join node d on d.id = port_node(p_switch, p_port)
	where d.tenant_id is not null and n.kind = 'bmc' and port_bmc(p_switch, p_port) is null limit 1;
	if found then
		raise exception 'node % behind port %:% belongs to a tenant: not in network %', v_bad.node, v_switch, p_port, v_bad.name
			using errcode = 'HA409', hint = 'haasctl nic locate shows the NIC behind the port';
	end if;
	select d.name as node, n.name into v_bad from unnest(p_networks) x join network n on n.id = x
	join node d on d.id in (port_node(p_switch, p_port), (select i.node_id from port_intent i where i.switch_id = p_switch and i.port = p_port))
	left join node_place l on l.node_id = d.id
	where d.tenant_id is not null and (n.kind = 'quarantine' or (n.kind = 'provisioning' and l.place = 'tenant')) limit 1;
	if found then
		raise exception 'node % behind port %:% belongs to a tenant: not in network %', v_bad.node, v_switch, p_port, v_bad.name
			using errcode = 'HA409', hint = 'haasctl nic locate shows the NIC behind the port';
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
	v_tenant := (select max(n.tenant_id) from network n where n.id = any (p_networks));
	-- A tenant that reads it learns no name of another's network.
	select jsonb_agg(format('%s %s', a.mode, case when v_tenant is null or v_tenant = n.tenant_id then n.name else 'another''s' end) order by a.mode, n.name) into v_before
	from attachment a join network n on n.id = a.network_id where a.switch_id = p_switch and a.port = p_port;
	delete from attachment where switch_id = p_switch and port = p_port;
	insert into attachment (switch_id, port, network_id, mode) select p_switch, p_port, x.n, x.m from unnest(p_networks, p_modes) as x (n, m);
	if not v_new then
		update port_intent set wanted_version = wanted_version + 1, problem = null where switch_id = p_switch and port = p_port;
	end if;
	select coalesce(string_agg(format('%s %s', x.m, n.name), ', ' order by x.m, n.name), 'parked') into v_text
	from unnest(p_networks, p_modes) as x (n_id, m) join network n on n.id = x.n_id;
	perform event_add(p_actor, 'port.wanted', 'port', v_switch || ':' || p_port,
			  v_tenant, v_text,
			  jsonb_build_object('switch', v_switch, 'port', p_port, 'networks', to_jsonb(p_networks), 'before', coalesce(v_before, '[]')));
	perform pg_notify('network', '');
	return true;
end
$$;

create function switch_id_of(p_switch text)
returns bigint stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
begin
	if not is_operator() then
		raise exception 'only an operator may change ports' using errcode = 'HA403';
	end if;
	select id into v_id from switch where name = p_switch;
	if not found then
		raise exception 'switch % does not exist', p_switch using errcode = 'HA404', hint = 'haasctl switch list';
	end if;
	return v_id;
end
$$;

create function port_park(p_switch text, p_port text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
begin
	perform port_is_there(v_switch, p_switch, p_port);
	return port_networks_ask(v_switch, p_port, '{}', '{}', p_actor);
end
$$;

-- The port is not ours any more: its VLANs stay as they are and are never touched again. Refused while the node that had the port may still be in
-- the networks it was given.
create function port_release(p_switch text, p_port text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
begin
	perform from port_intent where switch_id = v_switch and port = p_port for no key update;
	if exists (select from attachment where switch_id = v_switch and port = p_port) then
		raise exception 'port %:% is in a network', p_switch, p_port using errcode = 'HA409', hint = 'detach it first';
	end if;
	if exists (select from port_intent where switch_id = v_switch and port = p_port and node_id is not null) then   -- it may still carry what the node had
		raise exception 'port %:% was not yet read without the networks of node %', p_switch, p_port,
			(select d.name from port_intent i join node d on d.id = i.node_id where i.switch_id = v_switch and i.port = p_port)
			using errcode = 'HA409', hint = 'haasctl switch diff ' || p_switch;
	end if;
	delete from port_intent where switch_id = v_switch and port = p_port;
	if not found then
		raise exception 'port %:% is not ours', p_switch, p_port using errcode = 'HA404';
	end if;
	perform event_add(p_actor, 'port.released', 'port', p_switch || ':' || p_port, null, 'no longer managed, left unchanged', '{}');
	perform pg_notify('network', '');
end
$$;

-- All that are blocked now; what is not told any more is free again. Returns how many events were written.
create function port_block_put(p_rows jsonb)
returns integer language plpgsql set search_path = haas, pg_temp as $$
declare
	r record;
	v_events integer := 0;
begin
	for r in
		delete from port_block b using switch s where s.id = b.switch_id
		and not exists (select from jsonb_to_recordset(p_rows) as x (switch_id bigint, port text, kind text, mac macaddr, version bigint)
				where (x.switch_id, x.port, x.kind, x.mac, x.version) = (b.switch_id, b.port, b.kind, b.mac, b.wanted_version))
		returning s.name || ':' || b.port as subject
	loop
		perform event_told('port.unblocked', 'port', r.subject, null, 'it is managed again', '{}');
		v_events := v_events + 1;
	end loop;
	for r in
		insert into port_block (switch_id, port, kind, mac, wanted_version, message)
		select x.switch_id, x.port, x.kind, x.mac, x.version, x.message
		from jsonb_to_recordset(p_rows) as x (switch_id bigint, port text, kind text, mac macaddr, version bigint, message text)
		join switch s on s.id = x.switch_id on conflict (switch_id, port) do nothing
		returning switch_id, port, kind, mac, message
	loop
		perform event_told('port.blocked', 'port', (select name from switch where id = r.switch_id) || ':' || r.port, null, r.message,
				  jsonb_build_object('kind', r.kind, 'mac', r.mac));
		v_events := v_events + 1;
	end loop;
	if v_events > 0 then
		perform pg_notify('network', '');
	end if;
	return v_events;
end
$$;

-- Why a port is a BMC's and nobody else's; null = it is none. By the plan (NIC "bmc" of a node), by its network, or by a MAC there that
-- has the address of a BMC from us: its lease, or the operator's reservation. What an agent read from its BMC is no proof: a tenant names any MAC there.
create function port_bmc(p_switch bigint, p_port text)
returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce(
		(select format('the BMC of node %s is planned there', d.name) from wiring w join node d on d.id = w.node_id
		 where w.switch_id = p_switch and w.port = p_port and w.nic = 'bmc'),
		(select format('it is in network %s, which is for BMCs', n.name) from attachment a join network n on n.id = a.network_id
		 where a.switch_id = p_switch and a.port = p_port and n.kind = 'bmc' order by n.name limit 1),
		(select format('the BMC of node %s was found there', d.name) from nic_location l
		 join lateral (select e.address from lease e where e.mac = l.mac and e.state = 'bound' union select v.address from reservation v where v.mac = l.mac) x on true
		 join bmc b on b.address = x.address join node d on d.id = b.node_id
		 where l.switch_id = p_switch and l.port = p_port and l.certainty >= 50 and not exists (select from nic c where c.mac = l.mac) order by d.name limit 1))
$$;

-- The ports of a node, with how each is known: planned, found, or given. In one of our aggregates a port is still itself, and a NIC found behind
-- the aggregate is at its planned port. So is a NIC at a port that is planned for its node too: a node whose bond is up when the aggregate
-- ends sends under one MAC by every port. A NIC that was only found is not where a switch was, nor where other nodes are heard. PL/pgSQL:
-- the plan is made once a session; as a function in SQL every calling statement would plan it anew (2 ms).
create function node_ports(p_node bigint)
returns table (nic text, boot boolean, switch_id bigint, port text, carrier text, conflict text)
stable language plpgsql security definer set search_path = haas, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
	return query
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
	left join switch_aggregate ours on ours.switch_id = p.switch_id and ours.name = o.lag and p.port = any (ours.members);
end
$$;

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

create function port_given_back() returns trigger language plpgsql set search_path = haas, pg_temp as $$
begin
	if not exists (select from attachment a where a.switch_id = new.switch_id and a.port = new.port) then
		new.node_id := null;
	end if;
	return new;
end
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
			hint = case when r.place = 'tenant' then format('take it off: haasctl node networks %1$s; or stop the node: haasctl node power off %1$s', r.node)
				    else coalesce(format('haasctl deployment cancel %s', r.deployment), format('haasctl node show %s', r.node)) end;
	end if;
	return port_networks_apply(p_switch, p_port, p_networks, p_modes, p_actor);
end
$$;

-- Before a switch is not managed any more. With p_force its ports stay as they are and are forgotten: an event says so, and their nodes do.
create function switch_let_go(p_switch bigint, p_name text, p_actor text, p_force boolean)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_ports text[];
	v_text text;
begin
	v_ports := switch_ports_in_use(p_switch);
	v_text := array_to_string(v_ports[1:4], ', ') || case when cardinality(v_ports) > 4 then format(' and %s more', cardinality(v_ports) - 4) else '' end;
	if v_ports is not null and not p_force then
		raise exception 'switch % is in use: %', p_name, v_text using errcode = 'HA409',
			hint = 'release its nodes (haasctl pdci release, pdci replace), detach the rest (haasctl network detach); --force if it is gone for good';
	elsif v_ports is not null then
		perform event_add(p_actor, 'switch.abandoned', 'switch', p_name, null, 'released with its ports: ' || v_text, jsonb_build_object('ports', to_jsonb(v_ports)));
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
	perform switch_rotation_void(v_id, 'the switch is no longer managed', p_actor);
	delete from switch_endpoint where switch_id = v_id;
	delete from switch_observed where switch_id = v_id;
	delete from port_observed where switch_id = v_id;
	delete from link where a_switch = v_id or b_switch = v_id;
	delete from nic_location where switch_id = v_id;
	perform event_add(p_actor, 'switch.released', 'switch', p_name, null, 'no longer managed');
	perform pg_notify('fabric', '');
	perform pg_notify('network', '');
end
$$;

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

-- Whose a port is: of the node that it was given to, else of one that was found there and has, or may still run, what a tenant left. null = nobody's.
create function port_holder(p_switch bigint, p_port text)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select i.node_id from port_intent i where i.switch_id = p_switch and i.port = p_port),
			(select d.id from nic_location l join nic c on c.mac = l.mac join node d on d.id = c.node_id
			 where l.switch_id = p_switch and l.certainty >= 50 and (d.tenant_id is not null or d.dirty)
			   and (l.port = p_port or l.port = (select nullif(o.lag, '') from port_observed o where o.switch_id = p_switch and o.name = p_port))
			 order by d.state <> 'active', d.tenant_id is null, d.id limit 1))
$$;

-- Looks at all nodes that a port was given to or that were found there. A node that may run a tenant's OS is in its tenant's networks only.
-- A node that is known to be off runs no OS. A node whose place is the provisioning network is there to be installed or erased.
create function attachment_one_node() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_network network%rowtype;
	r record;
begin
	select * into v_network from network where id = new.network_id;
	select d.name, d.tenant_id, s.name as switch into r
	from node d join switch s on s.id = new.switch_id left join node_place p on p.node_id = d.id left join bmc b on b.node_id = d.id
	where d.id in (select i.node_id from port_intent i where i.switch_id = new.switch_id and i.port = new.port
		       union all
		       select c.node_id from nic_location l join nic c on c.mac = l.mac
		       where l.switch_id = new.switch_id and l.certainty >= 50
			 and (l.port = new.port or l.port = (select nullif(o.lag, '') from port_observed o where o.switch_id = new.switch_id and o.name = new.port)))
	  and (d.tenant_id is not null or (d.dirty and coalesce(b.observed_power, 'unknown') <> 'off'))
	  and case v_network.kind when 'bmc' then false   -- port_bmc asks
				  when 'tenant' then d.tenant_id is distinct from v_network.tenant_id
				  when 'provisioning' then coalesce(p.place, 'parking') <> 'provisioning'
				  else d.tenant_id is not null end
	order by d.name limit 1;
	if found then
		raise exception 'port %:% belongs to node %, which % may use: not in network %', r.switch, new.port, r.name,
			coalesce('tenant ' || (select t.name from tenant t where t.id = r.tenant_id), 'a tenant that had it'), v_network.name
			using errcode = 'HA409', hint = format('haasctl nic locate; correct the wiring plan, or release node %1$s first (haasctl node delete %1$s, if it is gone)', r.name);
	end if;
	return new;
end
$$;

-- What is on its ports that somebody needs; null = nothing.
create function switch_ports_in_use(p_switch bigint)
returns text[] stable language sql security definer set search_path = haas, pg_temp as $$
	select array_agg(x.text order by x.port) from (
		select i.port, format('%s (node %s%s)', i.port, d.name, ' of PDCI ' || p.name) as text
		from port_intent i join node d on d.id = i.node_id left join pdci_node m on m.node_id = d.id and m.released_at is null left join pdci p on p.id = m.pdci_id
		where i.switch_id = p_switch
		union all
		select a.port, format('%s (network %s)', a.port, string_agg(n.name, ', ' order by n.name collate natural_order))
		from attachment a join network n on n.id = a.network_id
		where a.switch_id = p_switch and not exists (select from port_intent i where i.switch_id = a.switch_id and i.port = a.port and i.node_id is not null)
		group by a.port) x;
$$;

-- A person's word on a port of a switch that was read and shows no such port is a slip.
create function port_is_there(p_switch bigint, p_name text, p_port text)
returns void stable language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if exists (select from switch_observed o where o.switch_id = p_switch and o.read_at is not null)
	   and exists (select from port_observed o where o.switch_id = p_switch)
	   and not exists (select from port_observed o where o.switch_id = p_switch and o.name = p_port) then
		raise exception 'switch % shows no port %', p_name, p_port using errcode = 'HA404', hint = format('haasctl switch ports %s lists its ports', p_name);
	end if;
end
$$;

-- ==== triggers, views, rights ====
create trigger port_block_follow after insert on port_block for each row when (new.kind = 'moved') execute function node_follow_block();
create trigger port_binding_follow after insert or delete or update of applied_trunk, applied_native, applied_tagged on port_intent
	for each row execute function port_binding_follow();
create trigger port_given_back before update of applied_version on port_intent for each row
	when (new.node_id is not null and new.applied_version = new.wanted_version) execute function port_given_back();

grant select on port_intent to bampid, portald;
grant insert, select, update, delete on port_intent to peregrined;
grant select on port_block to bampid, portald;
grant insert, select, update, delete on port_block to peregrined;
grant select on port_former to portald, peregrined;
grant execute on function port_park(text,text,text) to portald;
grant execute on function port_release(text,text,text) to portald;
grant execute on function port_block_put(jsonb) to peregrined;
grant execute on function port_bmc(bigint,text) to bampid, portald;
grant execute on function node_ports(bigint) to bampid, portald, peregrined;
grant execute on function switch_release(text,text,boolean) to portald;
grant execute on function switch_delete(text,text,boolean) to portald;
grant execute on function port_holder(bigint,text) to bampid, portald, peregrined;
