-- Networks of tenants and of the system, which ports belong to them, and the changes that make it so.

-- Free ports of one switch in one VLAN meet; with as many numbers as it has ports (from parking_vlan on; no uplink carries them) none does.
alter table fabric add parking_count integer not null default 1 check (parking_count between 1 and 1024),
	add constraint fabric_parking_is_apart check (parking_vlan + parking_count - 1 < vlan_low or parking_vlan > vlan_high),
	add constraint fabric_parking_ends check (parking_vlan + parking_count - 1 <= 4094);

create table network (
	id bigint generated always as identity primary key,
	name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	kind text not null default 'tenant' check (kind in ('tenant', 'provisioning', 'bmc', 'quarantine')),
	tenant_id bigint references tenant,
	pdci_id bigint,                        -- references pdci (015_pdci)
	prefix cidr check (family(prefix) = 4),
	wanted text not null default 'present' check (wanted in ('present', 'absent')),
	version bigint not null default 1,
	created_at timestamptz not null default now(),
	constraint system_network_has_no_tenant check ((kind = 'tenant') = (tenant_id is not null))
);
create unique index network_name on network (coalesce(tenant_id, 0), name);
alter table network enable row level security;
create policy network_portald on network to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
create policy network_daemon on network to peregrined using (true) with check (true);
create policy network_bampid on network for select to bampid using (true);
grant select on network to portald, bampid;
grant select, update, delete on network to peregrined;

-- The VLAN of a network in a fabric. A returned number rests until `until` and until no switch shows a member of it.
create table network_vlan (
	fabric_id bigint not null references fabric,
	vlan integer not null check (vlan between 2 and 4094),
	network_id bigint references network on delete set null,  -- null while it rests
	state text not null check (state in ('used', 'quarantine')),
	since timestamptz not null default now(),
	until timestamptz,
	primary key (fabric_id, vlan),
	constraint used_vlan_has_network check ((state = 'used') = (network_id is not null)),
	constraint resting_vlan_has_end check ((state = 'quarantine') = (until is not null))
);
create unique index network_vlan_network on network_vlan (fabric_id, network_id);
grant select on network_vlan to portald, bampid;
grant select, insert, update, delete on network_vlan to peregrined;

-- Whose VLAN a number was and when: a late sample or a question about last week finds the tenant of then.
create table vlan_history (
	fabric_id bigint not null,
	vlan integer not null,
	network_id bigint not null,
	network text not null,
	tenant_id bigint,
	valid_from timestamptz not null,
	valid_to timestamptz
);
create index vlan_history_vlan on vlan_history (fabric_id, vlan, valid_from);
grant select on vlan_history to peregrined;
grant insert, update on vlan_history to peregrined;

-- A port's membership in a network, wanted. What is on the switch is applied_vlans of port_intent, what was last seen port_observed.
create table attachment (
	id bigint generated always as identity primary key,
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	network_id bigint not null references network,
	mode text not null check (mode in ('access', 'native', 'tagged')),
	created_at timestamptz not null default now(),
	unique (switch_id, port, network_id)
);
create unique index attachment_one_untagged on attachment (switch_id, port) where mode in ('access', 'native');
create index attachment_network on attachment (network_id);
grant select on attachment to portald, bampid, peregrined;

-- One row per port that is ours to configure: which intent it has and which one the switch was shown to have.
create table port_intent (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	wanted_version bigint not null default 1,   -- grows with every change of its attachments
	applied_version bigint not null default 0,  -- = wanted_version: read back and equal
	applied_trunk boolean,
	applied_native integer,
	applied_tagged text not null default '',
	applied_at timestamptz,
	problem jsonb,                              -- why it is not applied yet
	primary key (switch_id, port)
);
create index port_intent_open on port_intent (switch_id) where applied_version <> wanted_version;
grant select on port_intent to portald, bampid;
grant select, insert, update, delete on port_intent to peregrined;

-- One pass over several switches, all or nothing: create everywhere -> edge ports -> delete. A claim like a deployment's: whoever stalled cannot act after a take-over.
create table change_batch (
	id bigint generated always as identity primary key,
	fabric_id bigint not null references fabric,
	reason text not null,                  -- 'intent', 'drift', 'operator'
	state text not null check (state in ('creating', 'attaching', 'deleting', 'verifying', 'done', 'undoing', 'undone', 'failed')),
	owner text not null,                   -- of the fabric's claim then, and its generation
	generation bigint not null default 1,
	problem jsonb,
	created_at timestamptz not null default now(),
	ended_at timestamptz
);
grant select on change_batch to portald, bampid;
grant select, insert, update on change_batch to peregrined;

-- One edit for one switch, with its undo. Written before it is sent: after kill -9 what may have been sent is read back first.
create table change (
	id bigint generated always as identity primary key,
	batch_id bigint not null references change_batch on delete cascade,
	switch_id bigint not null references switch on delete cascade,
	phase integer not null,                -- 1 create, 2 cut, 3 attach, 4 trim and delete
	edit jsonb not null,                   -- kind, vlan, vlan_name, port, before, after
	state text not null check (state in ('planned', 'sent', 'taken', 'applied', 'refused', 'undone', 'unknown')),
	problem jsonb,
	sent_at timestamptz,
	ended_at timestamptz
);
create index change_of_batch on change (batch_id, phase, id);
create index change_of_switch on change (switch_id, id);
grant select on change to portald, bampid;
grant select, insert, update on change to peregrined;

-- Who works on the switches of a fabric. One at a time, and whoever stalled cannot act after a take-over: what it writes says `where generation = $n`, and nothing is
-- sent to a switch unless such a write was committed less than the claim's time ago.
create table fabric_claim (
	fabric_id bigint primary key references fabric on delete cascade,
	owner text not null,
	generation bigint not null default 1,
	until timestamptz not null
);
grant select on fabric_claim to portald, bampid;
grant select, insert, update, delete on fabric_claim to peregrined;

-- The networks that a node's NICs are meant for while a tenant has it, and where the node is meant to be now. What its ports carry follows from both.
create table node_network (
	node_id bigint not null references node on delete cascade,
	nic text not null check (length(nic) between 1 and 15),
	network_id bigint not null references network on delete cascade,
	mode text not null check (mode in ('access', 'native', 'tagged')),
	primary key (node_id, nic, network_id)
);
create unique index node_network_one_untagged on node_network (node_id, nic) where mode in ('access', 'native');
grant select on node_network to portald, bampid, peregrined;

create table node_place (
	node_id bigint primary key references node on delete cascade,
	place text not null default 'parking' check (place in ('parking', 'provisioning', 'tenant'))
);
grant select on node_place to portald, bampid, peregrined;

-- --- networks ---------------------------------------------------------------------------------------------------------------------------

-- A tenant makes networks of its own; system networks are the operator's. The VLAN comes later, from peregrined, when the first port needs it.
create function network_create(p_name text, p_kind text, p_tenant text, p_prefix cidr, p_pdci bigint, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint;
	v_id bigint;
begin
	if p_tenant is not null then
		select id into v_tenant from tenant where name = p_tenant;
		if not found or not in_scope(v_tenant) then
			raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404';
		end if;
	end if;
	if not in_scope(v_tenant) then
		raise exception 'only an operator may make a network of the system' using errcode = 'HA403';
	end if;
	if (p_kind = 'tenant') <> (v_tenant is not null) then
		raise exception 'a network of kind % % a tenant', p_kind, case when p_kind = 'tenant' then 'needs' else 'cannot have' end using errcode = 'HA422';
	end if;
	insert into network (name, kind, tenant_id, prefix, pdci_id) values (p_name, p_kind, v_tenant, p_prefix, p_pdci) returning id into v_id;
	perform event_add(p_actor, 'network.created', 'network', p_name, v_tenant, format('%s network', p_kind), jsonb_build_object('network', v_id));
	perform pg_notify('network', '');
	return v_id;
exception when unique_violation then
	raise exception 'network % exists already', p_name using errcode = 'HA409';
end
$$;
grant execute on function network_create(text, text, text, cidr, bigint, text) to portald, bampid;

-- Wanted absent; the row goes when its VLAN is on no switch any more.
create function network_delete(p_network bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n network%rowtype;
	v_port text;
begin
	select * into n from network where id = p_network for no key update;
	if not found or not in_scope(n.tenant_id) then
		raise exception 'network % does not exist', p_network using errcode = 'HA404', hint = 'haasctl network list';
	end if;
	select format('%s:%s', s.name, a.port) into v_port from attachment a join switch s on s.id = a.switch_id where a.network_id = p_network
	order by s.name, a.port limit 1;
	if v_port is not null then
		raise exception 'network % is in use at port %', n.name, v_port using errcode = 'HA409', hint = 'detach its ports first';
	end if;
	select d.name into v_port from node_network x join node d on d.id = x.node_id where x.network_id = p_network order by d.name limit 1;
	if v_port is not null then
		raise exception 'network % is meant for node %', n.name, v_port using errcode = 'HA409', hint = 'take the node out of it first';
	end if;
	if n.wanted = 'absent' then
		return;
	end if;
	update network set wanted = 'absent', version = version + 1 where id = p_network;
	perform event_add(p_actor, 'network.deleted', 'network', n.name, n.tenant_id, 'deletion asked for', jsonb_build_object('network', n.id));
	perform pg_notify('network', '');
end
$$;
grant execute on function network_delete(bigint, text) to portald, bampid;

-- --- ports ------------------------------------------------------------------------------------------------------------------------------

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

-- The one door to a port's membership: the whole of it, p_networks and p_modes side by side, none = parked. Two who want to change the same port come one after the
-- other. Returns whether anything changed. Callers have asked whether the caller may; here is what holds for everybody.
create function port_networks_apply(p_switch bigint, p_port text, p_networks bigint[], p_modes text[], p_actor text)
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
	select d.name as node, n.name into v_bad from unnest(p_networks) x join network n on n.id = x join node d on d.id = port_node(p_switch, p_port)
	where n.kind = 'tenant' and d.tenant_id is distinct from n.tenant_id limit 1;
	if found then
		raise exception 'node % behind port %:% does not belong to the tenant of network %', v_bad.node, v_switch, p_port, v_bad.name
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

-- One more network at a port, or another mode for it.
create function attachment_put(p_switch text, p_port text, p_network bigint, p_mode text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
	v_networks bigint[];
	v_modes text[];
begin
	perform from port_intent where switch_id = v_switch and port = p_port for no key update;
	select coalesce(array_agg(network_id order by id), '{}'), coalesce(array_agg(mode order by id), '{}') into v_networks, v_modes
	from attachment where switch_id = v_switch and port = p_port and network_id <> p_network;
	return port_networks_apply(v_switch, p_port, v_networks || p_network, v_modes || p_mode, p_actor);
end
$$;
grant execute on function attachment_put(text, text, bigint, text, text) to portald;

-- One network less; the last one leaves the port parked.
create function attachment_remove(p_switch text, p_port text, p_network bigint, p_actor text)
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
	return port_networks_apply(v_switch, p_port, v_networks, v_modes, p_actor);
end
$$;
grant execute on function attachment_remove(text, text, bigint, text) to portald;

-- Free and ours: everything off it but the parking VLAN.
create function port_park(p_switch text, p_port text, p_actor text)
returns boolean language sql security definer set search_path = haas, pg_temp as
$$ select port_networks_apply(switch_id_of(p_switch), p_port, '{}', '{}', p_actor) $$;
grant execute on function port_park(text, text, text) to portald;

-- Not ours any more: whatever is on the port stays and is never touched again.
create function port_release(p_switch text, p_port text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
begin
	perform from port_intent where switch_id = v_switch and port = p_port for no key update;
	if exists (select from attachment where switch_id = v_switch and port = p_port) then
		raise exception 'port %:% is in a network', p_switch, p_port using errcode = 'HA409', hint = 'detach it first';
	end if;
	delete from port_intent where switch_id = v_switch and port = p_port;
	if not found then
		raise exception 'port %:% is not ours', p_switch, p_port using errcode = 'HA404';
	end if;
	perform event_add(p_actor, 'port.released', 'port', p_switch || ':' || p_port, null, 'left as it is from now on', '{}');
	perform pg_notify('network', '');
end
$$;
grant execute on function port_release(text, text, text) to portald;

-- --- nodes ------------------------------------------------------------------------------------------------------------------------------

-- Behind which ports a node's NICs are: the plan (wiring), else what was found. `conflict`: both are known and differ, so nothing may be concluded.
create function node_ports(p_node bigint)
returns table (nic text, boot boolean, switch_id bigint, port text, conflict text)
stable language sql security definer set search_path = haas, pg_temp as $$
	select c.name, c.boot, coalesce(w.switch_id, l.switch_id), coalesce(w.port, l.port),
	       case when w.switch_id is not null and l.switch_id is not null and (w.switch_id, w.port) <> (l.switch_id, l.port)
		    then format('%s was found at %s:%s and planned at %s:%s', c.name, ls.name, l.port, ws.name, w.port) end
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
$$;
grant execute on function node_ports(bigint) to portald, bampid;

-- Makes a node's ports what its place says. {"ports": how many, "changed": how many, "missing": [NICs whose port nobody knows]}; a site without switches has none.
create function node_network_apply(p_node bigint, p_place text, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node node%rowtype;
	v_provisioning bigint;
	v_ports integer := 0;
	v_changed integer := 0;
	v_missing jsonb := '[]';
	v_networks bigint[];
	v_modes text[];
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
	for r in select * from node_ports(p_node) order by switch_id, port, boot desc loop   -- in one order, so that two never wait for each other
		if r.conflict is not null and p_place <> 'parking' then   -- what it was given by the plan can always be taken back
			raise exception 'node %: %', v_node.name, r.conflict using errcode = 'HA409', hint = 'put the cable right or correct the wiring plan';
		elsif r.switch_id is null then
			v_missing := v_missing || to_jsonb(r.nic);
			continue;
		end if;
		v_networks := '{}';
		v_modes := '{}';
		if p_place = 'provisioning' and r.boot then
			v_networks := array[v_provisioning];
			v_modes := array['access'];
		elsif p_place = 'tenant' then
			select coalesce(array_agg(x.network_id order by x.network_id), '{}'), coalesce(array_agg(x.mode order by x.network_id), '{}')
			into v_networks, v_modes from node_network x
			where x.node_id = p_node and (x.nic = r.nic or (r.nic = 'any' and x.nic = (select c.name from nic c where c.node_id = p_node and c.boot)));
		end if;
		v_ports := v_ports + 1;
		v_changed := v_changed + port_networks_apply(r.switch_id, r.port, v_networks, v_modes, p_actor)::integer;
	end loop;
	return jsonb_build_object('ports', v_ports, 'changed', v_changed, 'missing', v_missing);
end
$$;

-- bampid's steps: isolate = 'provisioning', attach = 'tenant', detach = 'parking'. Answers at once; node_network_state says when it is so.
create function node_network_set(p_node bigint, p_place text, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if p_place not in ('parking', 'provisioning', 'tenant') then
		raise exception 'place % does not exist', p_place using errcode = 'HA422';
	end if;
	return node_network_apply(p_node, p_place, p_actor);
end
$$;
grant execute on function node_network_set(bigint, text, text) to bampid;

-- The networks of a node's NICs while its tenant has it, the whole of them: [{"nic", "network": id, "mode"}]. A node that is at its tenant already changes at once.
create function node_networks_set(p_node bigint, p_networks jsonb, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node node%rowtype;
	v_bad record;
begin
	select * into v_node from node where id = p_node for no key update;
	if not found or not in_scope(v_node.tenant_id) then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	end if;
	for v_bad in
		select x.nic, x.network, x.mode, n.name, n.kind, n.tenant_id, n.wanted, exists (select from nic c where c.node_id = p_node and c.name = x.nic) as known
		from jsonb_to_recordset(p_networks) as x (nic text, network bigint, mode text) left join network n on n.id = x.network
	loop
		if not v_bad.known then
			raise exception 'node % has no NIC %', v_node.name, coalesce(v_bad.nic, 'without a name') using errcode = 'HA404';
		elsif v_bad.name is null or v_bad.wanted <> 'present' or v_bad.kind <> 'tenant' or v_bad.tenant_id is distinct from v_node.tenant_id then
			raise exception 'network % does not exist for the tenant of node %', coalesce(v_bad.name, v_bad.network::text), v_node.name using errcode = 'HA404';
		end if;
	end loop;
	delete from node_network where node_id = p_node;
	insert into node_network (node_id, nic, network_id, mode)
	select p_node, x.nic, x.network, coalesce(x.mode, 'access') from jsonb_to_recordset(p_networks) as x (nic text, network bigint, mode text);
	if exists (select from node_place where node_id = p_node and place = 'tenant') then
		return node_network_apply(p_node, 'tenant', p_actor);
	end if;
	return jsonb_build_object('ports', 0, 'changed', 0, 'missing', '[]'::jsonb);
exception when unique_violation then
	raise exception 'a NIC of node % has a network twice, or two untagged ones', v_node.name using errcode = 'HA422';
end
$$;
grant execute on function node_networks_set(bigint, jsonb, text) to portald, bampid;

-- Are all ports of a node what they are wanted to be? `problem`: of the first that is not; null while nothing went wrong.
create function node_network_state(p_node bigint)
returns table (place text, ports integer, open integer, problem jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select place from node_place where node_id = p_node), 'parking'), count(i.*)::integer,
	       (count(*) filter (where i.applied_version <> i.wanted_version))::integer,
	       (array_agg(i.problem order by i.switch_id, i.port) filter (where i.applied_version <> i.wanted_version and i.problem is not null))[1]
	from node_ports(p_node) p join port_intent i on i.switch_id = p.switch_id and i.port = p.port
$$;
grant execute on function node_network_state(bigint) to portald, bampid;
