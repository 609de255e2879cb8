-- Networks, their VLAN numbers, attachments of ports, and where a node is meant to be (node_place, node_network).
--
-- Functions by names (network_find, node_networks_put) run with the rights of the caller: row policies decide which rows can be found.

-- ==== shape ====

create table network (
	id bigint generated always as identity primary key,
	name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	kind text not null default 'tenant' check (kind in ('tenant', 'provisioning', 'bmc', 'quarantine')),
	tenant_id bigint references tenant,
	pdci_id bigint,                        -- references pdci (pdci.sql)
	prefix cidr check (family(prefix) = 4),
	wanted text not null default 'present' check (wanted in ('present', 'absent')),
	version bigint not null default 1,
	created_at timestamptz not null default now(),
	storage_id bigint,                     -- references storage (volume.sql)
	storage_up_at timestamptz,             -- observed: the storage has its address there and listens
	storage_problem jsonb,                 -- why it does not
	constraint system_network_has_no_tenant check ((kind = 'tenant') = (tenant_id is not null))
);
create unique index network_name on network (coalesce(tenant_id, 0), name);
create unique index network_storage on network (storage_id, pdci_id) where storage_id is not null and wanted = 'present';
alter table network enable row level security;

-- The VLAN of a network in a fabric. A returned number rests until `until` and until no switch shows a member of it.
create table network_vlan (
	fabric_id bigint not null references fabric,
	vlan integer not null check (vlan between 2 and 4094),
	network_id bigint references network on delete set null,  -- null while it rests
	state text not null check (state in ('used', 'quarantine')),
	since timestamptz not null default now(),
	until timestamptz,
	waits bigint[] not null default '{}',  -- switches that may still start with a port in it: the number rests for them, whatever `until` says
	primary key (fabric_id, vlan),
	constraint used_vlan_has_network check ((state = 'used') = (network_id is not null)),
	constraint resting_vlan_has_end check ((state = 'quarantine') = (until is not null)),
	constraint used_vlan_waits_for_nobody check (state = 'quarantine' or waits = '{}')
);
create unique index network_vlan_network on network_vlan (fabric_id, network_id);

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

-- The networks that a node's NICs are meant for while a tenant has it, and where the node is meant to be now. What its ports carry follows from both.
create table node_network (
	node_id bigint not null references node on delete cascade,
	nic text not null check (length(nic) between 1 and 15),
	network_id bigint not null references network on delete cascade,
	mode text not null check (mode in ('access', 'native', 'tagged')),
	address inet,  -- of the node there, by its place in the PDCI
	primary key (node_id, nic, network_id)
);
create unique index node_network_one_untagged on node_network (node_id, nic) where mode in ('access', 'native');

create table node_place (
	node_id bigint primary key references node on delete cascade,
	place text not null default 'parking' check (place in ('parking', 'provisioning', 'tenant')),
	problem jsonb  -- why the place could not be asked for
);

-- ==== functions ====

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
	perform event_add(p_actor, 'network.created', 'network', p_name, v_tenant, format('%s network', p_kind),
			  jsonb_build_object('network', v_id, 'after', jsonb_build_object('kind', p_kind, 'prefix', p_prefix, 'pdci', p_pdci)));
	perform pg_notify('network', '');
	return v_id;
exception when unique_violation then
	raise exception 'network % exists already', p_name using errcode = 'HA409';
end
$$;

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
	perform event_add(p_actor, 'network.deleted', 'network', n.name, n.tenant_id, 'deletion asked for',
			  jsonb_build_object('network', n.id, 'before', to_jsonb(n) - 'id'));
	perform pg_notify('network', '');
end
$$;

-- One more network at a port, or another mode for it. The port must exist. The port of a node that its tenant uses does not join nodes that are
-- being installed.
create function attachment_put(p_switch text, p_port text, p_network bigint, p_mode text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
	v_networks bigint[];
	v_modes text[];
	v_node text;
begin
	perform port_is_there(v_switch, p_switch, p_port);
	perform from port_intent where switch_id = v_switch and port = p_port for no key update;
	select d.name into v_node from node d, network n where d.id = port_node(v_switch, p_port) and n.id = p_network and n.kind = 'provisioning' and d.state = 'active';
	if found then
		raise exception 'node % behind port %:% is in use by its tenant: not in a provisioning network', v_node, p_switch, p_port
			using errcode = 'HA409', hint = 'haasctl nic locate shows the NIC behind the port';
	end if;
	select coalesce(array_agg(network_id order by id), '{}'), coalesce(array_agg(mode order by id), '{}') into v_networks, v_modes
	from attachment where switch_id = v_switch and port = p_port and network_id <> p_network;
	return port_networks_ask(v_switch, p_port, v_networks || p_network, v_modes || p_mode, p_actor);
end
$$;

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
	return port_networks_ask(v_switch, p_port, v_networks, v_modes, p_actor);
end
$$;

-- Makes a node's ports what its place says. {"ports": how many, "changed": how many, "missing": [NICs whose port nobody knows]}; a site without
-- switches has none. Members of a bond carry the bond's networks, and the ports of one aggregate are always alike. Ports of a bond are in an
-- aggregate as long as they are the tenant's. A port given to a node is taken back at that port, and no other node gets it until the
-- switch was read. A NIC found at an unmanaged switch (a node on a bench) does not keep the node's other ports in their networks when all
-- are to be parked.
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
		elsif p_place = 'parking' and r.holder is null and r.switch_id is not null
		      and not exists (select from switch_endpoint e where e.switch_id = r.switch_id and e.managed) then   -- on a bench: nothing of ours is there
			continue;
		elsif r.holder <> p_node then
			raise exception 'node %: port %:% still carries a network of node %', v_node.name, r.switch, r.port, r.holder_name
				using errcode = 'HA409', hint = format('correct the wiring plan, or release node %s first; haasctl nic locate shows the node behind the port', r.holder_name);
		elsif r.conflict is not null and not r.planned and r.holder is null then   -- never given either
			continue;
		elsif r.switch_id is null then
			v_missing := v_missing || to_jsonb(r.nic);
			continue;
		elsif p_place = 'parking' and r.holder is null and port_bmc(r.switch_id, r.port) is not null then   -- never given, so there is nothing to take back
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

-- Are all ports of a node as they are wanted to be? Ports that still carry a network the node was given count too. `problem`: of the first port
-- that is not, or that waits for a VLAN number; null while nothing went wrong.
create function node_network_state(p_node bigint)
returns table (place text, ports integer, open integer, problem jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select place from node_place where node_id = p_node), 'parking'), count(i.*)::integer,
	       (count(*) filter (where i.applied_version <> i.wanted_version))::integer,
	       coalesce((array_agg(i.problem order by i.switch_id, i.port) filter (where i.applied_version <> i.wanted_version and i.problem is not null))[1],
			case when count(*) filter (where i.applied_version <> i.wanted_version) > 0 then node_number_fault(p_node) end)
	from (select q.switch_id, q.port from node_ports(p_node) q union select g.switch_id, g.port from port_intent g where g.node_id = p_node) p
	join port_intent i on i.switch_id = p.switch_id and i.port = p.port and coalesce(i.node_id, p_node) = p_node
$$;

-- The n-th usable address of a network, counted from the end of the first eighth: what is before it is the tenant's own to give out.
create function network_address(p_prefix cidr, p_index integer)
returns inet immutable language sql as $$
	select set_masklen(a, masklen(p_prefix))
	from (select set_masklen(host(network(p_prefix))::inet, 32) + (1 << (29 - masklen(p_prefix))) + p_index as a where masklen(p_prefix) <= 29) x
	where a < set_masklen(host(broadcast(p_prefix))::inet, 32)
$$;

-- As node_network_set; what speaks against it is kept as a problem of that node alone, so that one wrong cable stops no batch.
create function node_place_ask(p_node bigint, p_place text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_message text;
	v_hint text;
begin
	begin
		perform node_network_set(p_node, p_place, 'bampid');
		update node_place set problem = null where node_id = p_node;
	exception when sqlstate 'HA409' or sqlstate 'HA404' or sqlstate 'HA422' then
		get stacked diagnostics v_message = message_text, v_hint = pg_exception_hint;
		insert into node_place (node_id, problem) values (p_node, jsonb_build_object('message', v_message, 'hint', v_hint))
		on conflict (node_id) do update set problem = excluded.problem;
	end;
end
$$;

-- place; ports: known ports of the node; open: ports that are not applied yet; networks: how many the node is meant for; refused: the
-- problem of asking; problem: of a port; vlans: {"network id": VLAN} of the tagged networks that have a number. Null: no switch is ours to
-- configure. A node that was given a port waits for the port, even where no switch is managed any more.
create function node_place_facts(p_node bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case when node_is_switched(p_node) then (
		select jsonb_build_object('place', s.place, 'ports', s.ports, 'open', s.open,
					  'networks', (select count(*) from node_network w where w.node_id = p_node),
					  'refused', (select w.problem from node_place w where w.node_id = p_node), 'problem', s.problem,
					  'vlans', (select coalesce(jsonb_object_agg(w.network_id, node_network_vlan(p_node, w.nic, w.network_id)), '{}')
					  from node_network w where w.node_id = p_node and w.mode = 'tagged'))
		from node_network_state(p_node) s) end
$$;

-- The same for networks.
create function network_find(p_key text, p_tenant text)
returns bigint stable language plpgsql set search_path = haas as $$
declare
	v_id bigint;
	v_count bigint;
begin
	select count(*), min(n.id) into v_count, v_id
	from network n left join tenant t on t.id = n.tenant_id
	where case when p_key ~ '^[1-9][0-9]{0,17}$' then n.id = p_key::bigint else n.name = p_key end and (p_tenant is null or t.name = p_tenant);
	if v_id is null then
		raise exception 'network % does not exist', p_key using errcode = 'HA404', hint = 'haasctl network list shows the networks';
	elsif v_count > 1 then
		raise exception '% networks have the name %', v_count, p_key using errcode = 'HA409', hint = 'name the owner: tenant=NAME (haasctl: --tenant), or use its id';
	end if;
	return v_id;
end
$$;

-- network_delete of what was read (If-Match).
create function network_remove(p_key text, p_tenant text, p_version bigint, p_actor text)
returns bigint language plpgsql set search_path = haas as $$
declare
	v_id bigint := network_find(p_key, p_tenant);
begin
	if not exists (select from network where id = v_id and version = p_version) then
		raise exception 'network % was changed meanwhile', p_key using errcode = 'HA412', hint = 'read it again and repeat';
	end if;
	perform network_delete(v_id, p_actor);
	return v_id;
end
$$;

-- node_networks_set by names: of the node, and of networks of the tenant that has it. [{"nic", "network", "mode"}]. The node's PDCI decides whose
-- networks they are.
create function node_networks_put(p_node text, p_networks jsonb, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node node%rowtype;
	v_missing text;
	v_networks jsonb;
	v_result jsonb;
	v_pdci pdci%rowtype;
begin
	select * into v_node from node where name = p_node;
	if not found or not in_scope(v_node.tenant_id) then
		raise exception 'node % does not exist', p_node using errcode = 'HA404', hint = 'haasctl node list shows the nodes';
	end if;
	if v_node.tenant_id is null then
		raise exception 'node % belongs to no tenant', p_node using errcode = 'HA409', hint = 'networks can only be given to nodes of a tenant';
	end if;
	select x.network into v_missing from jsonb_to_recordset(p_networks) as x (network text)
	where not exists (select from network n where n.tenant_id = v_node.tenant_id and n.name = x.network and n.wanted = 'present') limit 1;
	if found then
		raise exception 'network % does not exist for the tenant of node %', v_missing, p_node using errcode = 'HA404', hint = 'haasctl network list shows the networks';
	end if;
	select coalesce(jsonb_agg(jsonb_build_object('nic', x.nic, 'network', n.id, 'mode', coalesce(x.mode, 'access'))), '[]') into v_networks
	from jsonb_to_recordset(p_networks) as x (nic text, network text, mode text) join network n on n.tenant_id = v_node.tenant_id and n.name = x.network;
	v_result := node_networks_set(v_node.id, v_networks, p_actor);
	select * into v_pdci from pdci where id = node_pdci(v_node.id);
	if found then
		perform event_add(p_actor, 'pdci.networks', 'pdci', v_pdci.name, v_pdci.tenant_id,
				  coalesce(format('node %s was taken off network ', p_node) || pdci_node_lacks(v_pdci.id, v_node.id),
					   format('networks of node %s were set', p_node)),
				  jsonb_build_object('pdci', v_pdci.id, 'node', p_node, 'networks', p_networks));
	end if;
	return v_result;
end
$$;

-- The number that a network has where a NIC, or bond, of a node is plugged in; null = none yet, or none of our switches is there.
create function node_network_vlan(p_node bigint, p_nic text, p_network bigint)
returns integer stable language sql security definer set search_path = haas, pg_temp as $$
	select v.vlan from node_ports(p_node) q join switch_endpoint e on e.switch_id = q.switch_id join network_vlan v on v.fabric_id = e.fabric_id and v.network_id = p_network
	where q.nic in (p_nic, 'any') or exists (select from node_bond b where b.node_id = p_node and b.nic = q.nic and b.name = p_nic)
	order by q.switch_id limit 1
$$;

-- Sets all networks of a node's NICs while its tenant has it: [{"nic", "network": id, "mode"}]. A node that is at its tenant changes at once. `nic`
-- may be a bond; a NIC in a bond has no networks of its own. An address stays with its NIC and network, unless p_networks says another.
create function node_networks_replace(p_node bigint, p_networks jsonb, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node node%rowtype;
	v_bad record;
	v_had jsonb;
begin
	select * into v_node from node where id = p_node for no key update;
	if not found or not in_scope(v_node.tenant_id) then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	end if;
	for v_bad in
		select x.nic, x.network, x.mode, n.name, n.kind, n.tenant_id, n.wanted,
		       exists (select from nic c where c.node_id = p_node and c.name = x.nic) or exists (select from node_bond b where b.node_id = p_node and b.name = x.nic) as known,
		       (select b.name from node_bond b where b.node_id = p_node and b.nic = x.nic) as bond
		from jsonb_to_recordset(p_networks) as x (nic text, network bigint, mode text) left join network n on n.id = x.network
	loop
		if not v_bad.known then
			raise exception 'node % has no NIC %', v_node.name, coalesce(v_bad.nic, 'without a name') using errcode = 'HA404';
		elsif v_bad.bond is not null then
			raise exception 'NIC % of node % is in bond %: attach networks to the bond', v_bad.nic, v_node.name, v_bad.bond using errcode = 'HA409';
		elsif v_bad.name is null or v_bad.wanted <> 'present' or v_bad.kind <> 'tenant' or v_bad.tenant_id is distinct from v_node.tenant_id then
			raise exception 'network % does not exist for the tenant of node %', coalesce(v_bad.name, v_bad.network::text), v_node.name using errcode = 'HA404';
		end if;
	end loop;
	select coalesce(jsonb_agg(jsonb_build_object('nic', nic, 'network', network_id, 'address', address)), '[]') into v_had
	from node_network where node_id = p_node and address is not null;
	delete from node_network where node_id = p_node;
	insert into node_network (node_id, nic, network_id, mode, address)
	select p_node, x.nic, x.network, coalesce(x.mode, 'access'), coalesce(x.address, (select h.address from jsonb_to_recordset(v_had) as h (nic text, network bigint, address inet)
		where h.nic = x.nic and h.network = x.network limit 1))
	from jsonb_to_recordset(p_networks) as x (nic text, network bigint, mode text, address inet);
	perform pg_notify('network', '');   -- tagged ones get their number at once: the OS is told of it before its ports are
	if exists (select from node_place where node_id = p_node and place = 'tenant') then
		return node_network_apply(p_node, 'tenant', p_actor);
	end if;
	return jsonb_build_object('ports', 0, 'changed', 0, 'missing', '[]'::jsonb);
exception when unique_violation then
	raise exception 'a NIC of node % has a network twice, or two untagged ones', v_node.name using errcode = 'HA422';
end
$$;

create function node_networks_set(p_node bigint, p_networks jsonb, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_all jsonb;
begin
	with rows as (
		select x.nic, x.network, x.mode, x.address from jsonb_to_recordset(p_networks) as x (nic text, network bigint, mode text, address inet)
		union all
		select w.nic, w.network_id, w.mode, w.address from node_network w join network n on n.id = w.network_id
		where w.node_id = p_node and n.storage_id is not null and n.wanted = 'present'
		      and exists (select from pdci_node m where m.pdci_id = n.pdci_id and m.node_id = p_node and m.released_at is null)
		      and not exists (select from jsonb_to_recordset(p_networks) as x (network bigint) where x.network = w.network_id)
	), counted as (
		select r.*, exists (select from rows o join network n on n.id = o.network where o.nic = r.nic and n.storage_id is not null) as shared from rows r
	)
	select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('nic', nic, 'network', network, 'address', address::text,
		'mode', case when shared and coalesce(mode, 'access') = 'access' then 'native' else mode end))), '[]') into v_all from counted;
	return node_networks_replace(p_node, v_all, p_actor);
end
$$;

-- ==== triggers, views, rights ====
create trigger network_prefix_is_free before insert or update of prefix on network for each row when (new.prefix is not null) execute function network_prefix_is_free();
create trigger attachment_one_node before insert on attachment for each row execute function attachment_one_node();

create policy network_portald on network to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
create policy network_daemon on network to peregrined using (true) with check (true);
create policy network_bampid on network for select to bampid using (true);
create policy network_flowd on network for select to peregrine_flowd using (true);

grant select on network to bampid, portald, peregrine_flowd;
grant select, update, delete on network to peregrined;
grant select on network_vlan to bampid, portald, peregrine_flowd;
grant insert, select, update, delete on network_vlan to peregrined;
grant select on attachment to bampid, portald, peregrined;
grant select on node_network to bampid, portald, peregrined;
grant select on node_place to bampid, portald, peregrined;
grant execute on function network_create(text,text,text,cidr,bigint,text) to bampid, portald;
grant execute on function network_delete(bigint,text) to bampid, portald;
grant execute on function attachment_put(text,text,bigint,text,text) to portald;
grant execute on function attachment_remove(text,text,bigint,text) to portald;
grant execute on function node_network_set(bigint,text,text) to bampid;
grant execute on function node_network_state(bigint) to bampid;
grant execute on function node_place_ask(bigint,text) to bampid;
grant execute on function node_place_facts(bigint) to bampid;
grant execute on function network_find(text,text) to portald;
grant execute on function network_remove(text,text,bigint,text) to portald;
grant execute on function node_networks_put(text,jsonb,text) to portald;
grant execute on function node_network_vlan(bigint,text,bigint) to bampid;
grant execute on function node_networks_set(bigint,jsonb,text) to bampid;
