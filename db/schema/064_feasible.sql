-- Whether a PDCI could be had is asked of what makes it: pdci_create itself, taken back; and nodes whose ports or whose fabric's numbers would not do are not chosen.

-- --- room for volumes -----------------------------------------------------------------------------------------------------------------------

-- The storage with the most room, and the largest volume that it would take. No row: none accepts volumes.
create function storage_room(p_name text, p_storage bigint)
returns table (id bigint, name text, bytes bigint) stable language sql security definer set search_path = haas, pg_temp as $$
	select s.id, s.name, greatest(x.room, 0) / 4096 * 4096 from storage s cross join lateral (select coalesce(s.capacity_bytes, s.total_bytes, 0) - storage_used(s.id) as room) x
	where s.accepts and (p_storage is null or s.id = p_storage) and (p_name is null or s.name = p_name)
	order by x.room desc, s.id limit 1
$$;

-- As before; what does not fit is told the largest that would.
create or replace function volume_create(p_tenant text, p_spec jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint;
	a archive%rowtype;
	v_size bigint := (p_spec ->> 'size_bytes')::bigint;
	v_name text := p_spec ->> 'name';
	v_room record;
	v_storage bigint;
	v_id bigint;
begin
	select id into v_tenant from tenant where name = p_tenant;
	if p_tenant is null and not is_operator() then
		v_tenant := current_tenant();
	end if;
	if v_tenant is null or not in_scope(v_tenant) then
		raise exception 'tenant % does not exist', coalesce(p_tenant, '(none)') using errcode = 'HA404', hint = 'a volume belongs to a tenant';
	end if;
	if p_spec ? 'archive' then
		select * into a from archive where id = (p_spec ->> 'archive')::bigint for share;
		if not found or not (a.tenant_id = v_tenant or is_operator() or granted('archive', a.id, v_tenant)) then
			raise exception 'archive % does not exist', p_spec ->> 'archive' using errcode = 'HA404', hint = 'haasctl archive list shows the archives';
		elsif a.state <> 'ready' or a.wanted = 'absent' then
			raise exception 'archive % is %', a.name, case a.wanted when 'absent' then 'being deleted' else a.state end
				using errcode = 'HA409', hint = 'haasctl archive list shows when it is ready';
		end if;
		v_size := coalesce(v_size, a.size_bytes);
		if v_size < a.size_bytes then
			raise exception 'archive % needs a volume of % bytes', a.name, a.size_bytes using errcode = 'HA422';
		end if;
	elsif v_size is null then
		raise exception 'a volume needs a size or an archive' using errcode = 'HA422';
	end if;
	-- all storages are locked in order: what is free is told once
	perform from storage order by id for no key update;
	select * into v_room from storage_room(p_spec ->> 'storage', a.storage_id);
	if v_size > coalesce(v_room.bytes, 0) then
		raise exception 'there is no room for a volume of % bytes%', v_size,
			coalesce((select ' on storage ' || s.name from storage s where s.id = a.storage_id or s.name = p_spec ->> 'storage' limit 1), '')
			using errcode = 'HA409', constraint = 'room',
			hint = case when v_room.bytes > 0 then format('the largest that fits has %s bytes (storage %s); or delete what is not needed', v_room.bytes, v_room.name)
				    else 'delete what is not needed, or add storage: haasctl storage list' end;
	end if;
	v_storage := v_room.id;
	begin
		insert into volume (tenant_id, name, storage_id, size_bytes, archive_id, keep, actor)
		values (v_tenant, v_name, v_storage, v_size, a.id, coalesce((p_spec ->> 'keep')::boolean, true), p_actor) returning id into v_id;
	exception when unique_violation then
		raise exception 'volume % exists already', v_name using errcode = 'HA409', hint = 'haasctl volume show ' || v_name;
	end;
	perform event_add(p_actor, 'volume.created', 'volume', v_name, v_tenant, case when a.id is null then 'asked for' else 'to be restored of archive ' || a.name end,
			  jsonb_build_object('volume', v_id, 'size_bytes', v_size, 'archive', a.name));
	if p_spec ? 'pdci' then
		perform volume_attach(v_id, (p_spec ->> 'pdci')::bigint, p_actor);
	end if;
	perform pg_notify('volume', '');
	return v_id;
end
$$;

-- One of request.volumes for a PDCI: {"name", "size_bytes" | "archive", "keep"}, a new one, or {"volume": NAME} that is there already.
create function pdci_volume_add(p pdci, p_volume jsonb)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
begin
	if p_volume ? 'volume' then
		select id into v_id from volume v where v.tenant_id = p.tenant_id and v.name = p_volume ->> 'volume' and v.wanted = 'present';
		if not found then
			raise exception 'volume % does not exist', p_volume ->> 'volume' using errcode = 'HA404', hint = 'haasctl volume list shows the volumes';
		end if;
		perform volume_attach(v_id, p.id, p.actor);
		return v_id;
	end if;
	if p_volume ? 'archive' then
		p_volume := p_volume || jsonb_build_object('archive', (
			select a.id from archive a where (a.tenant_id = p.tenant_id or granted('archive', a.id, p.tenant_id)) and a.wanted = 'present'
			and a.name = p_volume ->> 'archive' order by a.tenant_id = p.tenant_id desc, a.id desc limit 1), 'wanted', p_volume ->> 'archive');
		if p_volume ->> 'archive' is null then
			raise exception 'archive % does not exist', p_volume ->> 'wanted' using errcode = 'HA404', hint = 'haasctl archive list shows the archives';
		end if;
	end if;
	return volume_create((select name from tenant where id = p.tenant_id), p_volume || jsonb_build_object('pdci', p.id), p.actor);
end
$$;
create or replace function pdci_volumes() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform pdci_volume_add(new, e) from jsonb_array_elements(coalesce(new.request -> 'volumes', '[]')) with ordinality as v (e, i) order by i;
	return null;
end
$$;

-- --- numbers for networks -------------------------------------------------------------------------------------------------------------------

create function node_fabrics(p_node bigint)
returns setof bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select distinct e.fabric_id from node_ports(p_node) q join switch_endpoint e on e.switch_id = q.switch_id
$$;

-- What a fabric can still give, as number_policy counts, but for numbers that a switch cannot carry (only peregrined knows those): not what is used, rests, or is on a switch and nobody's; less what is spoken for by networks that nodes, or
-- ports, are meant for and that have no number yet. p_but: a PDCI whose own do not count.
create function fabric_numbers(p_but bigint)
returns table (fabric_id bigint, name text, free integer, resting integer) stable language sql security definer set search_path = haas, pg_temp as $$
	select f.id, f.name,
	       (select count(*) from (select generate_series(greatest(f.vlan_low, 2), f.vlan_high)
				      except (select x.vlan from network_vlan x where x.fabric_id = f.id
					      union all select unnest(o.vlans) from switch_endpoint e join switch_observed o on o.switch_id = e.switch_id where e.fabric_id = f.id)) v)::integer
	       - (select count(*) from network n
		  where n.wanted = 'present' and n.pdci_id is distinct from p_but and not exists (select from network_vlan x where x.fabric_id = f.id and x.network_id = n.id)
		    and (exists (select from attachment a join switch_endpoint e on e.switch_id = a.switch_id where a.network_id = n.id and e.fabric_id = f.id)
			 or exists (select from node_network w left join node_place l on l.node_id = w.node_id
				    where w.network_id = n.id and l.place is distinct from 'tenant' and f.id in (select node_fabrics(w.node_id)))))::integer,
	       (select count(*) from network_vlan x where x.fabric_id = f.id and x.state = 'quarantine')::integer
	from fabric f where exists (select from switch_endpoint e where e.fabric_id = f.id and e.managed)
$$;

-- Fabrics that have too few numbers for the networks of a PDCI, or of a request and so many more; a network that no NIC is in needs none. Nodes there are not chosen, so
-- that a PDCI waits, and says for what, before anything of it is installed: numbers come back by themselves, as nodes do.
create function vlan_short(p_pdci bigint, p_request jsonb, p_more integer)
returns table (fabric_id bigint, why text) stable language sql security definer set search_path = haas, pg_temp as $$
	with used as (
		select distinct w.e ->> 'name' as name from jsonb_array_elements(coalesce(p_request -> 'networks', '[]')) as w (e), jsonb_array_elements(p_request -> 'groups') as g (e)
		where not g.e ? 'nics' or exists (select from jsonb_array_elements(g.e -> 'nics') x where x ->> 'network' = w.e ->> 'name')
	), needs as (
		select f.*, case when p_pdci is null then (select count(*) from used) + coalesce(p_more, 0)
				 else (select count(*) from network n where n.pdci_id = p_pdci and n.wanted = 'present' and (n.storage_id is not null or n.name in (select name from used))
				       and not exists (select from network_vlan x where x.fabric_id = f.fabric_id and x.network_id = n.id)) end as needed
		from fabric_numbers(p_pdci) f
	)
	select fabric_id, format('%s of %s VLAN numbers free in fabric %s%s', greatest(free, 0), needed, name, case when resting > 0 then format(' (%s rest)', resting) else '' end)
	from needs where needed > 0 and free < needed
$$;
grant execute on function vlan_short(bigint, jsonb, integer), node_fabrics(bigint) to bampid;

-- --- ports of nodes -------------------------------------------------------------------------------------------------------------------------

-- What node_network_apply would refuse for the ports of a free node that is to be installed; null = nothing. Ports that nobody knows yet are found while it boots.
create function node_port_fault(p_node bigint)
returns text stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
	v_text text;
begin
	if not node_is_switched(p_node) then
		return null;
	elsif not exists (select from network where kind = 'provisioning' and wanted = 'present') then
		return 'there is no provisioning network';
	end if;
	for r in
		select q.*, s.name || ':' || q.port as at, h.name as holder, coalesce(e.managed, false) as managed,
		       exists (select from link l where l.state = 'confirmed' and ((l.a_switch = q.switch_id and l.a_port = q.port) or (l.b_switch = q.switch_id and l.b_port = q.port)))
		       or exists (select from wiring w where w.switch_id = q.switch_id and w.port = q.port and w.peer_switch_id is not null) as leads,
		       -- else nobody but this node has to do with it, and nothing further is asked
		       q.carrier <> q.port or exists (select from attachment a where a.switch_id = q.switch_id and a.port = q.port)
		       or exists (select from wiring w where w.switch_id = q.switch_id and w.port = q.port and w.nic = 'bmc')
		       or exists (select from nic_location l where l.switch_id = q.switch_id and l.port = q.port
				  and not exists (select from nic c where c.mac = l.mac and c.node_id = p_node)) as shared
		from node_ports(p_node) q left join switch s on s.id = q.switch_id left join switch_endpoint e on e.switch_id = q.switch_id
		left join node h on h.id = (select i.node_id from port_intent i where i.switch_id = q.switch_id and i.port = q.port) and h.id <> p_node
		order by q.switch_id, q.port, q.boot desc
	loop
		if r.conflict is not null then
			return r.conflict;
		elsif r.holder is not null then
			return format('port %s carries what node %s was given', r.at, r.holder);
		elsif r.switch_id is null then
			continue;
		elsif not r.managed then
			return format('port %s is not of a managed switch', r.at);
		elsif r.leads then
			return format('port %s leads to another switch', r.at);
		elsif r.boot and r.shared then
			v_text := port_bmc(r.switch_id, r.port);
			if v_text is not null then
				return format('port %s is for a BMC: %s', r.at, v_text);
			end if;
			select d.name into v_text from node d where d.id = port_holder(r.switch_id, r.port) and d.id <> p_node and d.tenant_id is not null;
			if found then
				return format('port %s is node %s''s', r.at, v_text);
			end if;
		end if;
	end loop;
	return null;
end
$$;
grant execute on function node_port_fault(bigint) to bampid;

-- As before; also not when its networks would not get numbers.
create or replace function pdci_allocate(p_pdci bigint, p_generation bigint, p_nodes jsonb, p_actor text)
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
		select array_agg(n.name order by n.name) into v_names
		from jsonb_array_elements(p_nodes) x join node n on n.id = (x ->> 'node')::bigint where (x ->> 'group')::integer = v_index;
		continue when v_names is null;
		for r in select d.*, n.id as node_id from deployment_create('install', v_names, v_group ->> 'image', v_tenant, coalesce(p.request -> 'params', '{}'), p_actor) d
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
			  (select format('%s nodes: %s', count(*), string_agg(x.node, ', ' order by x.node)) from pdci_node x where x.pdci_id = p.id),
			  jsonb_build_object('pdci', p.id));
end
$$;

-- --- asked before it is asked for -----------------------------------------------------------------------------------------------------------

-- pdci_create, part by part, and all of it taken back: it refuses what that would refuse. Only what there is no room for is told instead, so that the rest is, too:
-- {"volumes": [{"name", "size_bytes", "possible", "storage", "largest_bytes", "why"}], "links": networks to storages}.
create function pdci_try(p_tenant text, p_name text, p_request jsonb, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	p pdci%rowtype;
	v_id bigint;
	v_volume bigint;
	v_volumes jsonb := '[]';
	v_links integer;
	v_constraint text;
	v_message text;
	v_room record;
	a archive%rowtype;
	r jsonb;
begin
	begin
		v_id := pdci_create(p_tenant, p_name, p_request - 'networks' - 'volumes', p_actor);
		select * into p from pdci where id = v_id;
		for r in select e from jsonb_array_elements(coalesce(p_request -> 'volumes', '[]')) with ordinality as v (e, i) order by i loop
			begin
				v_volume := pdci_volume_add(p, r);
				v_volumes := v_volumes || (select jsonb_build_object('name', v.name, 'size_bytes', v.size_bytes, 'possible', true, 'storage', s.name)
							   from volume v join storage s on s.id = v.storage_id where v.id = v_volume);
			exception when sqlstate 'HA409' then
				get stacked diagnostics v_constraint = constraint_name, v_message = message_text;
				if v_constraint is distinct from 'room' then
					raise;
				end if;
				select * into a from archive x where (x.tenant_id = p.tenant_id or granted('archive', x.id, p.tenant_id)) and x.wanted = 'present' and x.name = r ->> 'archive'
				order by x.tenant_id = p.tenant_id desc, x.id desc limit 1;
				select * into v_room from storage_room(r ->> 'storage', a.storage_id);
				v_volumes := v_volumes || jsonb_build_object('name', r ->> 'name', 'size_bytes', coalesce((r ->> 'size_bytes')::bigint, a.size_bytes), 'possible', false,
					'storage', v_room.name, 'largest_bytes', coalesce(v_room.bytes, 0), 'why', v_message);
			end;
		end loop;
		select count(*) into v_links from network n where n.pdci_id = p.id;
		for r in select e from jsonb_array_elements(coalesce(p_request -> 'networks', '[]')) with ordinality as w (e, i) order by i loop
			perform network_create(r ->> 'name', 'tenant', (select name from tenant where id = p.tenant_id), (r ->> 'prefix')::cidr, p.id, p_actor);
		end loop;
		raise exception 'only tried' using errcode = 'HA001';
	exception when sqlstate 'HA001' then   -- taken back (HA000 would be all of class HA)
		null;
	end;
	return jsonb_build_object('volumes', v_volumes, 'links', v_links);
end
$$;
grant execute on function pdci_try(text, text, jsonb, text) to portald;
