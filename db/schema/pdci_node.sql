-- The nodes of a PDCI: chosen, allocated, replaced, released.
--
-- A PDCI counts a node as gone when its ports were read back without its networks, and as its own while the tenant uses it.

-- ==== shape ====

-- Its nodes. The row stays when the node is gone, so that the tenant can read what it had.
create table pdci_node (
	pdci_id bigint not null references pdci on delete cascade,
	node text not null,
	node_id bigint references node on delete set null,
	group_index integer not null,
	class text not null,
	address inet,
	deployment_id bigint references deployment on delete set null,  -- the newest that the PDCI asked for
	released_at timestamptz,
	slot integer not null default 0,       -- its place in the PDCI, from which its addresses follow; a replacement takes the same slot
	replaces text,                         -- the node that it took the place of
	replaced_by text,
	replace_asked_at timestamptz,
	replace_actor text,
	refused text,                          -- the last answer to its release
	primary key (pdci_id, node)
);
create unique index pdci_node_once on pdci_node (node_id) where released_at is null;
create index pdci_node_replace on pdci_node (pdci_id) where replace_asked_at is not null and replaced_by is null;
alter table pdci_node enable row level security;

-- ==== functions ====

-- Takes the nodes that alloc_policy chose, all or none: [{"group": index, "node": id}]; pdci_node_equip gives each its networks, and their
-- deployments are queued. HA409: one of them is taken meanwhile, or its networks would get no numbers; choose again.
create function pdci_allocate(p_pdci bigint, p_generation bigint, p_nodes jsonb, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	p pdci%rowtype;
	v_tenant text;
	v_group jsonb;
	v_index integer;
	v_names text[];
	v_at integer := 0;
	v_short text;
	r record;
begin
	select * into p from pdci where id = p_pdci and generation = p_generation and wanted = 'present' for update;
	if not found then
		raise exception 'PDCI % was taken over', p_pdci using errcode = 'HA412';
	end if;
	select name into v_tenant from tenant where id = p.tenant_id;
	perform set_config('haas.scope', 'operator', true);   -- this transaction acts for the tenant, on nodes that are nobody's yet
	perform from node n where n.id in (select (x ->> 'node')::bigint from jsonb_array_elements(p_nodes) x) order by n.id for no key update;
	for v_group, v_index in select e, (i - 1)::integer from jsonb_array_elements(p.request -> 'groups') with ordinality as g (e, i) loop
		select array_agg(n.name order by n.name collate natural_order) into v_names
		from jsonb_array_elements(p_nodes) x join node n on n.id = (x ->> 'node')::bigint where (x ->> 'group')::integer = v_index;
		continue when v_names is null;
		for r in select d.*, n.id as node_id from deployment_create('install', v_names, v_group ->> 'image', v_tenant, coalesce(p.request -> 'params', '{}'), p_actor, p_counted => true) d
			 left join node n on n.name = d.node order by n.name loop
			if r.refused is not null then
				raise exception 'node % can no longer be had: %', r.node, r.refused using errcode = 'HA409';
			end if;
			perform pdci_node_equip(p, v_group, v_index, r.node_id, r.deployment_id, v_at, null, p_actor);
			v_at := v_at + 1;
		end loop;
	end loop;
	select s.why into v_short from vlan_short(p.id, p.request, 0) s
	where s.fabric_id in (select node_fabrics(m.node_id) from pdci_node m where m.pdci_id = p.id and m.released_at is null) limit 1;
	if found then   -- somebody was faster
		raise exception '%', v_short using errcode = 'HA409';
	end if;
	update pdci set state = 'building', problem = null, version = version + 1 where id = p.id;
	perform event_add(p_actor, 'pdci.allocated', 'pdci', p.name, p.tenant_id,
			  (select format('%s: %s', count_text(count(*), 'node'), string_agg(x.node, ', ' order by x.node collate natural_order)) from pdci_node x where x.pdci_id = p.id),
			  jsonb_build_object('pdci', p.id));
end
$$;

-- Releases a PDCI's nodes, as far as it goes. An install is cancelled first. A node that a cancel left dirty is erased too. A node that nobody
-- may touch (broken, held) is taken off every network and leaves dirty. No node is gone before its ports were read back. A failed release
-- waits for a person, and a refusal is told once. Called again until all are free; then the PDCI's networks go and it is released. Returns the
-- nodes that are still there, and what each waits for.
create function pdci_release_nodes(p_pdci bigint, p_generation bigint, p_actor text)
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
		node := r.name;
		if r.tenant_id <> p.tenant_id or (r.tenant_id is null and r.state in ('reserved', 'active')) then   -- somebody else's by now, or the operator's own
			update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node = r.name;
			continue;
		elsif r.deployment is null and r.state in ('free', 'broken', 'held') then
			perform pdci_node_park(r.id);
			waits_for := pdci_node_holds(p.id, r.id);
			if waits_for is null then
				update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node = r.name;
				if r.tenant_id is not null then
					update node n set tenant_id = null, version = version + 1, updated_at = now() where n.id = r.id;
				end if;
				continue;
			end if;
			v_left := v_left + 1;
			return next;
			continue;
		end if;
		v_left := v_left + 1;
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
			if v_failed.state = 'failed' and v_failed.plan = 'release' and r.state = 'scrubbing' then
				waits_for := format('deployment %s (release), which failed: %s; haasctl deployment retry %1$s, or without it: haasctl node break %3$s',
						    v_failed.id, coalesce(v_failed.problem ->> 'message', 'no reason is known'), r.name);
				return next;
				continue;
			end if;
			begin   -- asked again each time, told when it is another answer
				for x in select * from deployment_create('release', array[r.name], null, null, '{}', p_actor) loop
					waits_for := coalesce(x.refused, format('deployment %s (release)', x.deployment_id));
					update pdci_node m set deployment_id = coalesce(x.deployment_id, m.deployment_id), refused = x.refused
					where m.pdci_id = p.id and m.node = r.name;
					if x.refused = r.refused then
						raise exception using errcode = 'HA001', message = 'told before';
					end if;
				end loop;
			exception when sqlstate 'HA001' then
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
		perform event_add(p_actor, 'pdci.released', 'pdci', p.name, p.tenant_id, 'all its nodes are returned', jsonb_build_object('pdci', p.id));
	end if;
end
$$;

-- pdci_release_nodes, and the networks to the PDCI's volumes, which end with its nodes.
create function pdci_release_step(p_pdci bigint, p_generation bigint, p_actor text)
returns table (node text, waits_for text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
begin
	if exists (select from pdci p where p.id = p_pdci and p.generation = p_generation and p.wanted = 'absent') then
		return query select '', format('volume %s to be detached (storage %s)', v.name, s.name)
		from volume v join storage s on s.id = v.storage_id
		where v.served_pdci_id = p_pdci and s.seen_at > now() - interval '10 minutes' order by v.name;
		if found then
			return;
		end if;
		perform storage_network_end(p_pdci, n.storage_id, p_actor) from network n where n.pdci_id = p_pdci and n.storage_id is not null and n.wanted = 'present';
	end if;
	return query select * from pdci_release_nodes(p_pdci, p_generation, p_actor);
end
$$;

-- Gives a node that was just taken its bonds, networks, addresses, its way to the volumes, and its row in the PDCI.
create function pdci_node_equip(p pdci, p_group jsonb, p_index integer, p_node bigint, p_deployment bigint, p_slot integer, p_replaces text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	c node%rowtype;
	v_boot text;
	v_nics jsonb;
	v_networks jsonb;
	v_own inet;
begin
	select * into c from node where id = p_node;
	delete from node_bond where node_id = p_node;
	insert into node_bond (node_id, name, nic)
	select p_node, b.e ->> 'name', m.nic from jsonb_array_elements(coalesce(p_group -> 'bonds', '[]')) as b (e), jsonb_array_elements_text(b.e -> 'nics') as m (nic);
	-- NICs of the group, else the first network untagged on the NIC that it boots from, or its bond, and the others tagged there
	select coalesce((select b.name from node_bond b where b.node_id = p_node and b.nic = x.name), x.name) into v_boot from nic x where x.node_id = p_node and x.boot order by x.name limit 1;
	v_nics := coalesce(p_group -> 'nics',
			   (select jsonb_agg(jsonb_build_object('nic', v_boot, 'network', w.e ->> 'name',
								'mode', case when jsonb_array_length(p.request -> 'networks') = 1 then 'access'
									     when w.i = 1 then 'native' else 'tagged' end))
			    from jsonb_array_elements(p.request -> 'networks') with ordinality as w (e, i) where v_boot is not null), '[]');
	select coalesce(jsonb_agg(jsonb_build_object('nic', x ->> 'nic', 'network', n.id, 'mode', coalesce(x ->> 'mode', 'access'), 'address', pdci_sheet_address(p.id, p_slot, n.id)::text)), '[]')
	into v_networks from jsonb_array_elements(v_nics) x join network n on n.pdci_id = p.id and n.name = x ->> 'network';
	-- the way to its volumes: tagged, where it boots from
	select v_networks || coalesce(jsonb_agg(jsonb_build_object('nic', v_boot, 'network', n.id, 'mode', 'tagged', 'address', network_address(n.prefix, p_slot)::text)), '[]')
	into v_networks from network n where n.pdci_id = p.id and n.storage_id is not null and n.wanted = 'present' and v_boot is not null;
	perform node_networks_set(p_node, v_networks, p_actor);
	v_own := pdci_place_tell(p.id, p_node, p_deployment, p_slot, '{}');
	insert into pdci_node (pdci_id, node, node_id, group_index, class, address, deployment_id, slot, replaces)
	values (p.id, c.name, c.id, p_index, c.class, v_own, p_deployment, p_slot, p_replaces)
	on conflict (pdci_id, node) do update set node_id = excluded.node_id, group_index = excluded.group_index, class = excluded.class, address = excluded.address,
		deployment_id = excluded.deployment_id, slot = excluded.slot, replaces = excluded.replaces,   -- mended, it is back
		released_at = null, replaced_by = null, replace_asked_at = null, replace_actor = null;
end
$$;

-- Another node for this one, in the same networks and with the same addresses. Asked again it stays as it is. bampid does it, step by step.
create function pdci_replace(p_pdci bigint, p_node text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	p pdci%rowtype;
	m pdci_node%rowtype;
begin
	select * into p from pdci where id = p_pdci for update;
	if not found or not in_scope(p.tenant_id) then
		raise exception 'PDCI % does not exist', p_pdci using errcode = 'HA404', hint = 'haasctl pdci list';
	end if;
	select * into m from pdci_node x where x.pdci_id = p.id and x.node = p_node;
	if not found then
		raise exception 'PDCI % has no node %', p.name, p_node using errcode = 'HA404', hint = 'haasctl pdci show ' || p.name;
	elsif p.wanted <> 'present' then
		raise exception 'PDCI % is being released', p.name using errcode = 'HA409';
	elsif m.replace_asked_at is not null then
		return;
	elsif m.released_at is not null then
		raise exception 'PDCI % has node % no more', p.name, p_node using errcode = 'HA409', hint = 'haasctl pdci show ' || p.name;
	end if;
	if p_actor <> 'bampid' then
		perform pdci_locked(p);
	end if;
	update pdci_node x set replace_asked_at = now(), replace_actor = p_actor where x.pdci_id = p.id and x.node = p_node;
	update pdci set state = 'building', problem = null, due_at = now(), claim_owner = null, claim_until = null, generation = generation + 1, version = version + 1 where id = p.id;
	perform event_add(p_actor, 'pdci.replace', 'pdci', p.name, p.tenant_id, format('replacement of node %s asked for', p_node), jsonb_build_object('pdci', p.id, 'node', p_node));
	perform pg_notify('deployment', '');
end
$$;

-- bampid's word that a node of a PDCI with an automatic spare is broken.
create function pdci_replace_broken(p_pdci bigint, p_generation bigint, p_node text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform set_config('haas.scope', 'operator', true);
	perform pdci_replace(p.id, p_node, 'bampid') from pdci p where p.id = p_pdci and p.generation = p_generation;
end
$$;

-- Nodes that alloc_policy chose take the vacant places of their group, the first asked for first: [{"group", "node"}]. HA409: one can no longer be had; choose again.
create function pdci_replace_take(p_pdci bigint, p_generation bigint, p_nodes jsonb, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	p pdci%rowtype;
	m pdci_node%rowtype;
	v_tenant text;
	v_pick record;
	v_group jsonb;
	r record;
begin
	select * into p from pdci where id = p_pdci and generation = p_generation and wanted = 'present' for update;
	if not found then
		raise exception 'PDCI % was taken over', p_pdci using errcode = 'HA412';
	end if;
	select name into v_tenant from tenant where id = p.tenant_id;
	perform set_config('haas.scope', 'operator', true);
	perform from node n where n.id in (select (x ->> 'node')::bigint from jsonb_array_elements(p_nodes) x) order by n.id for no key update;
	for v_pick in select n.id, n.name, (x ->> 'group')::integer as at from jsonb_array_elements(p_nodes) x join node n on n.id = (x ->> 'node')::bigint order by 3, 2 loop
		select * into m from pdci_node x where x.pdci_id = p.id and x.group_index = v_pick.at and x.released_at is not null and x.replace_asked_at is not null
			and x.replaced_by is null order by x.replace_asked_at, x.node limit 1;
		continue when not found;
		v_group := p.request -> 'groups' -> v_pick.at;
		for r in select * from deployment_create('install', array[v_pick.name], v_group ->> 'image', v_tenant, coalesce(p.request -> 'params', '{}'), p_actor, p_counted => true) loop
			if r.refused is not null then
				raise exception 'node % can no longer be had: %', r.node, r.refused using errcode = 'HA409';
			end if;
			update pdci_node x set replaced_by = v_pick.name where x.pdci_id = p.id and x.node = m.node;
			perform pdci_node_equip(p, v_group, v_pick.at, v_pick.id, r.deployment_id, m.slot, m.node, p_actor);
			perform event_add(p_actor, 'pdci.replaced', 'pdci', p.name, p.tenant_id, format('node %s takes the place of %s', v_pick.name, m.node),
					  jsonb_build_object('pdci', p.id, 'node', v_pick.name, 'replaces', m.node));
		end loop;
	end loop;
	update pdci set state = 'building', problem = null, version = version + 1 where id = p.id;
end
$$;

-- Takes the nodes to be replaced out, as far as it goes: off every network first, then erased. A node that nobody may touch (broken, held) is
-- only taken off and leaves dirty. A node that left its tenant by another way is waited for too; a node that nobody had yet is not erased
-- again. Called again until each is out. Returns them all; waits_for null: it is out, and a new one may come at once with its addresses.
create function pdci_replace_nodes(p_pdci bigint, p_generation bigint, p_actor text)
returns table (node text, group_index integer, waits_for text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	p pdci%rowtype;
	r record;
	x record;
	v_failed record;
	v_held text;
begin
	select * into p from pdci where id = p_pdci and generation = p_generation and wanted = 'present' for update;
	if not found then
		raise exception 'PDCI % was taken over', p_pdci using errcode = 'HA412';
	end if;
	perform set_config('haas.scope', 'operator', true);
	perform from node n join pdci_node m on m.node_id = n.id where m.pdci_id = p.id and m.replace_asked_at is not null and m.replaced_by is null order by n.id for no key update of n;
	for r in
		select m.node as name, m.group_index as at, m.released_at, n.id, n.state, n.tenant_id, d.id as deployment, d.plan, d.state as deployment_state
		from pdci_node m left join node n on n.id = m.node_id left join deployment d on d.node_id = n.id and d.due_at is not null
		where m.pdci_id = p.id and m.replace_asked_at is not null and m.replaced_by is null order by m.node
	loop
		node := r.name;
		group_index := r.at;
		waits_for := null;
		if r.released_at is not null then
			return next;
			continue;
		elsif r.id is null or r.tenant_id <> p.tenant_id or (r.tenant_id is null and r.state in ('reserved', 'active')) then   -- gone, or somebody else's by now
			update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node = r.name;
			return next;
			continue;
		end if;
		if r.deployment is not null and r.plan <> 'release' then
			if r.deployment_state <> 'cancelling' then
				perform deployment_request(r.deployment, 'cancel', p_actor);
			end if;
			waits_for := format('deployment %s (%s) to be cancelled', r.deployment, r.plan);
		elsif r.deployment is null and r.state in ('free', 'broken', 'held') then
			perform pdci_node_park(r.id);
		elsif r.deployment is null and r.state = 'scrubbing' then   -- a release that failed is a person's to look at; it may be off its networks all the same
			select d.id, coalesce(d.problem ->> 'message', 'no reason is known') as why into v_failed from deployment d where d.node_id = r.id order by d.id desc limit 1;
			v_held := pdci_node_holds(p.id, r.id);
			waits_for := case when v_held is not null then
				format('%s; deployment %s (release) failed: %s; haasctl deployment retry %2$s, or without it: haasctl node break %4$s', v_held, v_failed.id, v_failed.why, r.name) end;
		elsif r.deployment is null then
			perform deployment_request(d.id, 'clear', p_actor) from deployment d
			where d.node_id = r.id and d.state = 'failed' and d.plan <> 'release' and not exists (select from deployment y where y.node_id = r.id and y.id > d.id);
			-- what was never handed over may be nobody's by now: it is still dirty, and erased as ours
			for x in select * from deployment_create('release', array[r.name], null, null, '{}', p_actor) loop
				waits_for := x.refused;
				update pdci_node m set deployment_id = coalesce(x.deployment_id, m.deployment_id) where m.pdci_id = p.id and m.node = r.name;
			end loop;
			delete from node_network where node_id = r.id;
		end if;
		waits_for := coalesce(waits_for, pdci_node_holds(p.id, r.id));
		if waits_for is null then
			update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node = r.name;
			if r.state in ('broken', 'held') and r.tenant_id is not null then
				update node n set tenant_id = null, version = version + 1, updated_at = now() where n.id = r.id;
			end if;
			perform event_add(p_actor, 'pdci.vacant', 'pdci', p.name, p.tenant_id, format('node %s was taken out', r.name), jsonb_build_object('pdci', p.id, 'node', r.name));
		end if;
		return next;
	end loop;
end
$$;

create function pdci_replace_step(p_pdci bigint, p_generation bigint, p_actor text)
returns table (node text, group_index integer, waits_for text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
begin
	if exists (select from pdci p where p.id = p_pdci and p.generation = p_generation and p.wanted = 'present') then
		return query select distinct on (m.node) m.node, m.group_index, format('volume %s to be closed to node %s (storage %s)', v.name, m.node, s.name)
		from pdci_node m join volume v on v.served_pdci_id = m.pdci_id join storage s on s.id = v.storage_id
		where m.pdci_id = p_pdci and m.replace_asked_at is not null and m.replaced_by is null and m.released_at is null
		      and v.served @> jsonb_build_array(jsonb_build_object('node', m.node)) and s.seen_at > now() - interval '10 minutes'
		order by m.node, v.name;
		if found then
			return;
		end if;
	end if;
	return query select * from pdci_replace_nodes(p_pdci, p_generation, p_actor);
end
$$;

create function pdci_packages_check() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform packages_check(new.request -> 'params', new.tenant_id);
	return new;
end
$$;

-- Returns what a leaving node still has of its PDCI; null = its ports were read back without its networks. Only then may another node get
-- its address.
create function pdci_node_holds(p_pdci bigint, p_node bigint)
returns text stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_name text := (select name from node where id = p_node);
	v_place node_place%rowtype;
	v_open integer;
begin
	select * into v_place from node_place where node_id = p_node;
	select count(*) into v_open
	from (select q.switch_id, q.port from node_ports(p_node) q union select g.switch_id, g.port from port_intent g where g.node_id = p_node) x
	join port_intent i on i.switch_id = x.switch_id and i.port = x.port and coalesce(i.node_id, p_node) = p_node
	where i.applied_version <> i.wanted_version
	   or exists (select from attachment a join network n on n.id = a.network_id where a.switch_id = i.switch_id and a.port = i.port and n.pdci_id = p_pdci);
	if v_open > 0 then
		return format('%s of node %s to be off its networks%s', count_text(v_open, 'port'), v_name, ': ' || (v_place.problem ->> 'message'));
	elsif v_place.place = 'tenant' and node_is_switched(p_node) then
		return format('node %s to be off its networks%s', v_name, ': ' || (v_place.problem ->> 'message'));
	end if;
	return null;
end
$$;

-- Takes a node that nobody works on off every network; asked again each time, as long as something speaks against it.
create function pdci_node_park(p_node bigint)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	delete from node_network where node_id = p_node;
	if exists (select from node_place where node_id = p_node and (place <> 'parking' or problem is not null)) then
		perform node_place_ask(p_node, 'parking');
	end if;
end
$$;

-- Lists the networks of its PDCI that somebody took a node out of; null = none.
create function pdci_node_lacks(p_pdci bigint, p_node bigint)
returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select string_agg(n.name, ', ' order by n.name collate natural_order)
	from pdci p join pdci_node m on m.pdci_id = p.id and m.node_id = p_node and m.released_at is null and m.replace_asked_at is null
	cross join lateral (select p.request -> 'groups' -> m.group_index as e) g
	join network n on n.pdci_id = p.id and n.wanted = 'present'
	where p.id = p_pdci and p.wanted = 'present'
	  and (n.storage_id is not null or not coalesce(g.e ? 'nics', false) or exists (select from jsonb_array_elements(g.e -> 'nics') x where x ->> 'network' = n.name))
	  and not exists (select from node_network w where w.node_id = p_node and w.network_id = n.id)
$$;

create function pdci_node_changed() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	update pdci p set due_at = now() from pdci_node m
	where m.node_id = new.id and m.released_at is null and p.id = m.pdci_id and p.wanted = 'present' and (p.due_at is null or p.claim_until is not null)
	  and not exists (select from pdci_node x where x.pdci_id = p.id and x.replace_asked_at is not null and x.replaced_by is null);
	if found then
		perform pg_notify('deployment', '');
	end if;
	return null;
end
$$;

-- A network that waits for a number where the node is plugged in; null = none does.
create function node_number_fault(p_node bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_build_object('code', 'conflict', 'message', format('network %s has no VLAN in fabric %s%s', n.name, f.name,
			case when exists (select from alert a where a.key = 'network.vlan_short:' || f.name and a.cleared_at is null) then ': none is free' else ' yet' end),
		'hint', 'delete a network to free its VLAN; or let the operator widen the range: haasctl fabric create ' || f.name || ' --vlans')
	from port_intent i join attachment a on a.switch_id = i.switch_id and a.port = i.port join network n on n.id = a.network_id
	join switch_endpoint e on e.switch_id = i.switch_id join fabric f on f.id = e.fabric_id
	where i.node_id = p_node and i.applied_version <> i.wanted_version
	  and not exists (select from network_vlan v where v.fabric_id = e.fabric_id and v.network_id = n.id)
	order by n.name limit 1
$$;

-- Returns the problem of a PDCI's node, or a note about the work on it; null = none. A problem of a switch may name other tenants, so it is
-- for operators.
create function pdci_node_fault(p_pdci bigint, p_node bigint)
returns jsonb stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	p pdci%rowtype;
	n node%rowtype;
	d deployment%rowtype;
	s record;
	v_fault jsonb;
	v_lacks text;
begin
	select * into p from pdci where id = p_pdci;
	select * into n from node where id = p_node;
	if n.id is null or not in_scope(p.tenant_id) then
		return null;
	end if;
	select * into d from deployment where node_id = p_node order by id desc limit 1;
	if p.wanted = 'present' and (n.state not in ('reserved', 'active') or n.tenant_id is distinct from p.tenant_id) then
		return jsonb_strip_nulls(jsonb_build_object('code', 'conflict', 'message',
			case when n.state in ('broken', 'held') then format('it is %s%s', n.state, case when n.reason <> '' and is_operator() then ': ' || n.reason else '' end)
			     else format('it is %s: it was taken out of this PDCI', n.state) end,
			'detail', case when n.state in ('broken', 'held') and is_operator() and n.state_actor <> '' then format('by %s', n.state_actor) end,
			'since', case when n.state in ('broken', 'held') then n.state_since end,
			'hint', case when not exists (select from pdci_node m where m.pdci_id = p_pdci and m.node_id = p_node and m.replace_asked_at is not null)
				then format('haasctl pdci replace %s %s replaces the node', p.name, n.name) end));
	elsif d.problem is not null and d.state not in ('done', 'cleared') and (is_operator() or d.tenant_id is not distinct from p.tenant_id) then
		return d.problem;
	elsif p.wanted <> 'present' then
		return null;
	end if;
	select * into s from node_network_state(p_node);
	if n.state <> 'active' then   -- at work: only what it waits for
		v_fault := case when s.open > 0 then s.problem end;
	else
		v_fault := coalesce(case when s.place = 'tenant' then (select l.problem from node_place l where l.node_id = p_node) end,
				    case when s.open > 0 then coalesce(s.problem, jsonb_build_object('code', 'timeout', 'message', format('ports not yet as wanted: %s of %s', s.open, s.ports),
										   'hint', 'haasctl node networks ' || n.name)) end,
				    node_network_fault(p_node));
	end if;
	if v_fault is not null and not is_operator() then
		v_fault := coalesce(node_number_fault(p_node), jsonb_build_object('code', 'conflict', 'message', 'not all of its ports are in its networks',
			'hint', 'the operator finds the cause: haasctl node networks ' || n.name));
	end if;
	v_lacks := pdci_node_lacks(p_pdci, p_node);
	return coalesce(v_fault, case when v_lacks is not null then
		jsonb_build_object('code', 'conflict', 'message', format('it was taken off network %s', v_lacks), 'hint', format('haasctl node networks %s NIC=NETWORK puts it back', n.name)) end);
end
$$;

-- ==== triggers, views, rights ====

create policy pdci_node_portald on pdci_node for select to portald using (exists (select from pdci p where p.id = pdci_id and in_scope(p.tenant_id)));
create policy pdci_node_daemon on pdci_node to bampid using (true) with check (true);

grant select on pdci_node to bampid, portald;
grant execute on function pdci_allocate(bigint,bigint,jsonb,text) to bampid;
grant execute on function pdci_release_step(bigint,bigint,text) to bampid;
grant execute on function pdci_replace(bigint,text,text) to portald;
grant execute on function pdci_replace_broken(bigint,bigint,text) to bampid;
grant execute on function pdci_replace_take(bigint,bigint,jsonb,text) to bampid;
grant execute on function pdci_replace_step(bigint,bigint,text) to bampid;
grant execute on function pdci_node_fault(bigint,bigint) to portald;
