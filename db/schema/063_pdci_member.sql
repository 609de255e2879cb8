-- A node that leaves its tenant leaves its networks; a PDCI counts a node as gone when its ports were read back so, and as its own while it is in use by its tenant.

-- Which PDCI has this node; null = none.
create function node_pdci(p_node bigint)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select m.pdci_id from pdci_node m where m.node_id = p_node and m.released_at is null
$$;
grant execute on function node_pdci(bigint) to portald, bampid;

create or replace view allocatable_node with (security_invoker = true) as
select n.id, n.name, n.class, n.rack, n.unit, n.firmware, n.arch
from node n
where n.state = 'free' and not n.dirty and (health_effect(n.id, 'no_allocation')).label is null and node_pdci(n.id) is null;

-- --- a node that leaves its tenant --------------------------------------------------------------------------------------------------------------

-- However it leaves (a release, a repair, a cancel, a place that another took): what it was in is not its any more, and its ports are parked at once, whether or not its OS
-- still runs. A plan that works on it says itself when it leaves the provisioning network.
create function node_left() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	delete from node_network where node_id = new.id;
	if exists (select from node_place p where p.node_id = new.id and p.place <> 'parking'
		   and (p.place = 'tenant' or not exists (select from deployment d where d.node_id = new.id and d.due_at is not null))) then
		perform node_place_ask(new.id, 'parking');
	end if;
	return null;
end
$$;
create trigger node_left after update of state, tenant_id on node for each row
	when (new.tenant_id is null and (old.tenant_id is not null or (new.state is distinct from old.state and new.state in ('discovered', 'free', 'broken'))))
	execute function node_left();

-- What a node still has of a PDCI that is to do without it; null = its ports were read back without. Its address is another's only then.
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
		return format('%s ports of node %s to be off its networks%s', v_open, v_name, ': ' || (v_place.problem ->> 'message'));
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

-- As before; a node that nobody may touch (broken, held) is taken off every network and leaves dirty, and none is gone before its ports were read back.
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
		perform event_add(p_actor, 'pdci.released', 'pdci', p.name, p.tenant_id, 'all of it is back', jsonb_build_object('pdci', p.id));
	end if;
end
$$;

-- As before; who left its tenant by another way is waited for, too, and a node that nobody had yet is not erased again.
create or replace function pdci_replace_nodes(p_pdci bigint, p_generation bigint, p_actor text)
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
			perform event_add(p_actor, 'pdci.vacant', 'pdci', p.name, p.tenant_id, format('node %s is out', r.name), jsonb_build_object('pdci', p.id, 'node', r.name));
		end if;
		return next;
	end loop;
end
$$;

-- --- a person's word on a node of a PDCI ---------------------------------------------------------------------------------------------------------

-- As deployment_create, for people: what takes a node out of a PDCI, or gives one that a PDCI still has to somebody else, is the PDCI's to do. An operator may insist.
create function deployment_ask(p_plan text, p_nodes text[], p_image text, p_tenant text, p_params jsonb, p_actor text, p_force boolean default false)
returns table (node text, deployment_id bigint, job_id bigint, refused text, hint text)
language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	v_refused boolean := false;
	r record;
begin
	perform node_lock(p_nodes);
	for r in select n.name as node, p.id, p.name, p.tenant_id from node n join pdci_node m on m.node_id = n.id and m.released_at is null join pdci p on p.id = m.pdci_id
		 where n.name = any (p_nodes)
		   and ((p_plan = 'install' and (in_scope(p.tenant_id) or n.state = 'free')) or (p_plan = 'release' and in_scope(p.tenant_id) and p.wanted = 'present' and m.replace_asked_at is null))
		   and not exists (select from deployment d where d.node_id = n.id and d.due_at is not null)   -- busy: said as ever
		 order by n.name loop
		if p_force and is_operator() then
			perform event_add(p_actor, 'pdci.overridden', 'pdci', r.name, r.tenant_id, format('%s of its node %s, asked for by hand', p_plan, r.node),
					  jsonb_build_object('pdci', r.id, 'node', r.node, 'plan', p_plan));
			continue;
		end if;
		v_refused := true;
		node := r.node; deployment_id := null; job_id := null;
		if in_scope(r.tenant_id) then
			refused := format('node %s belongs to PDCI %s', r.node, r.name);
			hint := format('haasctl pdci replace %1$s %2$s takes another in its place, haasctl pdci release %1$s gives all of it back%3$s', r.name, r.node,
				       case when is_operator() then '; or say --force, and the PDCI goes without it' else '' end);
		else
			refused := format('node %s is not given out yet', r.node);
			hint := 'choose another node';
		end if;
		perform event_add(p_actor, 'deployment.refused', 'node', r.node, case when in_scope(r.tenant_id) then r.tenant_id else current_tenant() end, refused, jsonb_build_object('plan', p_plan));
		return next;
	end loop;
	if not v_refused then
		return query select * from deployment_create(p_plan, p_nodes, p_image, p_tenant, p_params, p_actor, p_force);
	end if;
end
$$;
grant execute on function deployment_ask(text, text[], text, text, jsonb, text, boolean) to portald;
revoke execute on function deployment_create(text, text[], text, text, jsonb, text, boolean) from portald;

-- Networks of its PDCI that a node was to be in and is meant for no more, by somebody's word; null = none.
create function pdci_node_lacks(p_pdci bigint, p_node bigint)
returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select string_agg(n.name, ', ' order by n.name)
	from pdci p join pdci_node m on m.pdci_id = p.id and m.node_id = p_node and m.released_at is null and m.replace_asked_at is null
	cross join lateral (select p.request -> 'groups' -> m.group_index as e) g
	join network n on n.pdci_id = p.id and n.wanted = 'present'
	where p.id = p_pdci and p.wanted = 'present'
	  and (n.storage_id is not null or not coalesce(g.e ? 'nics', false) or exists (select from jsonb_array_elements(g.e -> 'nics') x where x ->> 'network' = n.name))
	  and not exists (select from node_network w where w.node_id = p_node and w.network_id = n.id)
$$;
grant execute on function pdci_node_lacks(bigint, bigint) to portald;

-- As before; its PDCI says so.
create or replace function node_networks_put(p_node text, p_networks jsonb, p_actor text)
returns jsonb language plpgsql set search_path = haas as $$
declare
	v_node node%rowtype;
	v_missing text;
	v_networks jsonb;
	v_result jsonb;
	v_pdci pdci%rowtype;
begin
	select * into v_node from node where name = p_node;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404', hint = 'haasctl node list shows the nodes';
	end if;
	if v_node.tenant_id is null then
		raise exception 'node % belongs to no tenant', p_node using errcode = 'HA409', hint = 'networks are for the nodes of a tenant';
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

-- --- what is wrong with a node of a PDCI -----------------------------------------------------------------------------------------------------------

-- Somebody looks at a PDCI when one of its nodes changes, whoever did it: what is being looked at now is looked at again. One with a place to fill is looked at each second, and
-- whoever does it holds the PDCI before its nodes: not waited for here.
drop trigger pdci_node_broke on node;
drop function pdci_node_broke();
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
create trigger pdci_node_changed after update of state, tenant_id on node for each row
	when (new.state is distinct from old.state or new.tenant_id is distinct from old.tenant_id) execute function pdci_node_changed();

-- A network that waits for a number where the node is plugged in; null = none does.
create function node_number_fault(p_node bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_build_object('code', 'conflict', 'message', format('network %s has no VLAN in fabric %s%s', n.name, f.name,
			case when exists (select from alert a where a.key = 'network.vlan_short:' || f.name and a.cleared_at is null) then ': none is free' else ' yet' end),
		'hint', 'a network that is deleted gives its VLAN back; the operator has more: haasctl fabric create ' || f.name || ' --vlans')
	from port_intent i join attachment a on a.switch_id = i.switch_id and a.port = i.port join network n on n.id = a.network_id
	join switch_endpoint e on e.switch_id = i.switch_id join fabric f on f.id = e.fabric_id
	where i.node_id = p_node and i.applied_version <> i.wanted_version
	  and not exists (select from network_vlan v where v.fabric_id = e.fabric_id and v.network_id = n.id)
	order by n.name limit 1
$$;

-- As before; a port that waits for a number says so.
create or replace function node_network_state(p_node bigint)
returns table (place text, ports integer, open integer, problem jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select place from node_place where node_id = p_node), 'parking'), count(i.*)::integer,
	       (count(*) filter (where i.applied_version <> i.wanted_version))::integer,
	       coalesce((array_agg(i.problem order by i.switch_id, i.port) filter (where i.applied_version <> i.wanted_version and i.problem is not null))[1],
			case when count(*) filter (where i.applied_version <> i.wanted_version) > 0 then node_number_fault(p_node) end)
	from (select q.switch_id, q.port from node_ports(p_node) q union select g.switch_id, g.port from port_intent g where g.node_id = p_node) p
	join port_intent i on i.switch_id = p.switch_id and i.port = p.port and coalesce(i.node_id, p_node) = p_node
$$;

-- What is wrong with a node that a PDCI has, or is said of what is done with it; null = nothing. What went wrong on a switch may name others: for operators.
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
		return jsonb_build_object('code', 'conflict', 'message',
			case when n.state in ('broken', 'held') then format('it is %s', n.state)
			     else format('it is %s: it was taken out of this PDCI', n.state) end,
			'hint', format('haasctl pdci replace %s %s takes another in its place', p.name, n.name));
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
				    case when s.open > 0 then coalesce(s.problem, jsonb_build_object('code', 'timeout', 'message', format('%s of its %s ports are not yet as they should be', s.open, s.ports),
										   'hint', 'haasctl node networks ' || n.name)) end,
				    node_network_fault(p_node));
	end if;
	if v_fault is not null and not is_operator() then
		v_fault := coalesce(node_number_fault(p_node), jsonb_build_object('code', 'conflict', 'message', 'not all of its ports are in its networks',
			'hint', 'the operator sees why: haasctl node networks ' || n.name));
	end if;
	v_lacks := pdci_node_lacks(p_pdci, p_node);
	return coalesce(v_fault, case when v_lacks is not null then
		jsonb_build_object('code', 'conflict', 'message', format('it was taken off network %s', v_lacks), 'hint', format('haasctl node networks %s NIC=NETWORK puts it back', n.name)) end);
end
$$;
grant execute on function pdci_node_fault(bigint, bigint) to portald;
