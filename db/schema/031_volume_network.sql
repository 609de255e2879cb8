-- Volumes and the nodes that they are open to: nobody but them, from when they may until they may no more.

-- As before; a node that is replaced is taken off nothing while a volume is still open to it, so that whoever comes with its addresses finds no session of its. A storage
-- that has been silent for ten minutes is not waited for.
alter function pdci_replace_step(bigint, bigint, text) rename to pdci_replace_nodes;
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
grant execute on function pdci_replace_step(bigint, bigint, text) to bampid;
revoke execute on function pdci_replace_nodes(bigint, bigint, text) from bampid;

-- --- the way to a storage -------------------------------------------------------------------------------------------------------------------------

-- Where a storage is plugged in, and the addresses of its networks. Each PDCI that has volumes there gets a network of its own (network.storage_id), in which its nodes and the
-- storage's port are tagged members and nobody else; so two PDCIs never share one, whatever prefixes their tenants use. Without a port the site routes the storage's portal.
alter table storage add column switch_id bigint references switch, add column port text, add column prefix cidr,
	add constraint port_of_storage_is_whole check ((switch_id is null) = (port is null) and (port is null or prefix is not null));
create unique index storage_port on storage (switch_id, port) where port is not null;
create index storage_switch on storage (switch_id);
alter table network add column storage_id bigint references storage,
	add column storage_up_at timestamptz,          -- observed: the storage has its address there and listens
	add column storage_problem jsonb;              -- why it does not
create unique index network_storage on network (storage_id, pdci_id) where storage_id is not null and wanted = 'present';

-- The storage's own address there is the first, that of a node follows from its place in the PDCI.
create function storage_address(p_prefix cidr) returns text immutable language sql as $$ select host(host(network(p_prefix))::inet + 1) $$;
create function storage_portal(p_prefix cidr, p_portal text) returns text immutable language sql as $$ select haas.storage_address(p_prefix) || ':' || substring(p_portal from '[0-9]+$') $$;
grant execute on function storage_address(cidr), storage_portal(cidr, text) to portald;

-- A tenant's own network may not have addresses of a storage: a node has both.
create function network_prefix_is_free() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.storage_id is null and exists (select from storage s where s.prefix && new.prefix) then
		raise exception 'prefix % overlaps addresses that lead to a storage', new.prefix using errcode = 'HA422', hint = 'choose another';
	end if;
	return new;
end
$$;
create trigger network_prefix_is_free before insert or update of prefix on network for each row when (new.prefix is not null) execute function network_prefix_is_free();

-- The storage's port carries all its networks, tagged, beside what an operator put there.
create function storage_port_apply(p_storage bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	s storage%rowtype;
	v_networks bigint[];
	v_modes text[];
begin
	select * into s from storage where id = p_storage for no key update;
	if s.port is null then
		return;
	end if;
	perform from port_intent where switch_id = s.switch_id and port = s.port for no key update;
	select coalesce(array_agg(x.id order by x.id), '{}'), coalesce(array_agg(case when x.mode = 'access' and count_all > 1 then 'native' else x.mode end order by x.id), '{}')
	into v_networks, v_modes from (select y.*, count(*) over () as count_all from (
		select a.network_id as id, a.mode from attachment a join network n on n.id = a.network_id
		where a.switch_id = s.switch_id and a.port = s.port and n.storage_id is null
		union all
		select n.id, 'tagged' from network n where n.storage_id = s.id and n.wanted = 'present') y) x;
	perform port_networks_apply(s.switch_id, s.port, v_networks, v_modes, p_actor);
end
$$;

create or replace function storage_put(p_name text, p_spec jsonb, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v storage%rowtype;
	v_switch bigint;
	v_node text;
	v_new boolean := not exists (select from storage where name = p_name);
begin
	if not is_operator() then
		raise exception 'only an operator may change storages' using errcode = 'HA403';
	elsif v_new and p_spec ->> 'portal' is null then
		raise exception 'a storage needs a portal' using errcode = 'HA422', hint = 'ADDRESS:PORT where nodes reach it';
	elsif p_spec ? 'login' and not exists (select from pg_roles r where r.rolname = p_spec ->> 'login' and pg_has_role(r.oid, 'bampi_stored', 'member')) then
		raise exception 'role % is not in bampi_stored', p_spec ->> 'login' using errcode = 'HA422', hint = 'create role NAME login in role bampi_stored';
	end if;
	select * into v from storage where name = p_name for no key update;
	if coalesce(p_spec ->> 'port', '') <> '' then
		if p_spec ->> 'port' !~ '^[^:]+:.+$' then
			raise exception 'a port is SWITCH:PORT' using errcode = 'HA422';
		end if;
		v_switch := switch_id_of(split_part(p_spec ->> 'port', ':', 1));
		select d.name into v_node from node d where d.id = port_node(v_switch, substr(p_spec ->> 'port', position(':' in p_spec ->> 'port') + 1));
		if found then
			raise exception 'node % is behind port %', v_node, p_spec ->> 'port' using errcode = 'HA409', hint = 'haasctl nic locate shows what is behind the port';
		end if;
	end if;
	if (p_spec ? 'port' or p_spec ? 'prefix') and exists (select from network n where n.storage_id = v.id)
	   and (p_spec ? 'prefix' and (p_spec ->> 'prefix')::cidr is distinct from v.prefix
		or p_spec ? 'port' and (nullif(p_spec ->> 'port', '') is distinct from (select w.name from switch w where w.id = v.switch_id) || ':' || v.port)) then
		raise exception 'nodes reach storage % at its port', p_name using errcode = 'HA409', hint = 'detach its volumes first: haasctl volume list';
	elsif coalesce(p_spec ->> 'port', '') <> '' and p_spec ->> 'prefix' is null and v.prefix is null then
		raise exception 'a storage at a port of ours needs a prefix' using errcode = 'HA422', hint = 'of which each PDCI is given a part, such as 100.96.0.0/16; no network of a tenant may overlap it';
	elsif p_spec ->> 'prefix' is not null and (masklen((p_spec ->> 'prefix')::cidr) > 28 or family((p_spec ->> 'prefix')::cidr) <> 4) then
		raise exception 'the prefix of a storage is IPv4 and /28 or larger' using errcode = 'HA422';
	elsif exists (select from storage x where x.name <> p_name and x.prefix && (p_spec ->> 'prefix')::cidr)
	      or exists (select from network n where n.storage_id is distinct from v.id and n.prefix && (p_spec ->> 'prefix')::cidr)
	      or exists (select from subnet n where n.prefix && (p_spec ->> 'prefix')::cidr) then
		raise exception 'prefix % is in use by another storage, a network or a subnet', p_spec ->> 'prefix' using errcode = 'HA409', hint = 'choose another';
	end if;
	insert into storage (name, portal, login) select p_name, p_spec ->> 'portal', coalesce(p_spec ->> 'login', 'bampi_stored') where v_new;
	update storage s set portal = coalesce(p_spec ->> 'portal', s.portal), accepts = coalesce((p_spec ->> 'accepts')::boolean, s.accepts),
		capacity_bytes = case when p_spec ? 'capacity_bytes' then (p_spec ->> 'capacity_bytes')::bigint else s.capacity_bytes end,
		login = coalesce(p_spec ->> 'login', s.login), iqn = coalesce(p_spec ->> 'iqn', s.iqn), version = s.version + 1
	where s.name = p_name;
	if p_spec ? 'prefix' then
		update storage set prefix = (p_spec ->> 'prefix')::cidr where name = p_name;
	end if;
	if p_spec ? 'port' then
		update storage x set switch_id = v_switch, port = case when v_switch is not null then substr(p_spec ->> 'port', position(':' in p_spec ->> 'port') + 1) end
		where x.name = p_name returning * into v;
		perform storage_port_apply(v.id, p_actor);   -- refused where the port cannot be ours
	end if;
	perform event_add(p_actor, 'storage.put', 'storage', p_name, null, case when v_new then 'storage added' else 'storage changed' end, p_spec);
	perform pg_notify('volume', '');
	return v_new;
end
$$;


-- As before, but nobody takes away the way to a volume: networks of storages stay where they are. A NIC that carries several has none in mode access.
alter function node_networks_set(bigint, jsonb, text) rename to node_networks_replace;
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
grant execute on function node_networks_set(bigint, jsonb, text) to portald, bampid;
revoke execute on function node_networks_replace(bigint, jsonb, text) from portald, bampid;

-- The network of a PDCI at a storage, made when its first volume there is attached; nodes that it has by then become members at once.
create function storage_network_begin(p_pdci bigint, p_storage bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	s storage%rowtype;
	p pdci%rowtype;
	v_scope text := coalesce(current_setting('haas.scope', true), '');
	v_places integer;
	v_length integer := 28;
	v_prefix cidr;
	v_network bigint;
	v_name text;
	r record;
begin
	select * into s from storage where id = p_storage for no key update;
	if s.port is null or exists (select from network n where n.storage_id = s.id and n.pdci_id = p_pdci and n.wanted = 'present') then
		return;
	end if;
	select * into p from pdci where id = p_pdci;
	select greatest((select sum((g ->> 'count')::integer) from jsonb_array_elements(p.request -> 'groups') g), (select max(m.slot) + 1 from pdci_node m where m.pdci_id = p_pdci), 1) into v_places;
	while v_length > masklen(s.prefix) and network_address(set_masklen(s.prefix, v_length)::cidr, v_places - 1) is null loop
		v_length := v_length - 1;
	end loop;
	select set_masklen((network(s.prefix)::inet + i * (1::bigint << (32 - v_length))), v_length)::cidr as part into v_prefix
	from generate_series(0, (1::bigint << (v_length - masklen(s.prefix))) - 1) i
	where not exists (select from network n where n.storage_id = s.id
			  and n.prefix && set_masklen((network(s.prefix)::inet + i * (1::bigint << (32 - v_length))), v_length)::cidr)
	order by i limit 1;
	if v_prefix is null or network_address(v_prefix, v_places - 1) is null then
		raise exception 'storage % has no addresses left for % nodes in %', s.name, v_places, s.prefix using errcode = 'HA409', hint = 'haasctl storage set --prefix, or another storage';
	end if;
	-- The one of before may not be off all switches yet.
	select x.name into v_name from generate_series(1, 10000) i, format('volumes-%s-%s%s', p_pdci, s.id, case when i > 1 then '-' || i else '' end) as x(name)
	where not exists (select from network n where n.name = x.name) order by i limit 1;
	insert into network (name, kind, tenant_id, prefix, pdci_id, storage_id)
	values (v_name, 'tenant', p.tenant_id, v_prefix, p_pdci, s.id) returning id into v_network;
	perform event_add(p_actor, 'network.created', 'network', v_name, p.tenant_id, 'to volumes on storage ' || s.name,
			  jsonb_build_object('network', v_network, 'pdci', p_pdci, 'storage', s.name));
	perform set_config('haas.scope', 'operator', true);
	for r in select m.node_id, m.slot, coalesce((select b.name from node_bond b where b.node_id = x.node_id and b.nic = x.name), x.name) as nic
		 from pdci_node m join lateral (select * from nic c where c.node_id = m.node_id and c.boot order by c.name limit 1) x on true
		 where m.pdci_id = p_pdci and m.released_at is null order by m.node_id loop
		perform node_networks_set(r.node_id, (select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('nic', w.nic, 'network', w.network_id, 'mode', w.mode,
			'address', w.address::text))), '[]') from node_network w where w.node_id = r.node_id)
			|| jsonb_build_object('nic', r.nic, 'network', v_network, 'mode', 'tagged', 'address', network_address(v_prefix, r.slot)::text), p_actor);
	end loop;
	perform storage_port_apply(s.id, p_actor);
	perform set_config('haas.scope', v_scope, true);
	perform pg_notify('network', '');
end
$$;

-- And its end: when the last volume is detached and closed, or the PDCI goes. What its nodes' ports carry is taken off with them in the latter case.
create function storage_network_end(p_pdci bigint, p_storage bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n network%rowtype;
	v_scope text := coalesce(current_setting('haas.scope', true), '');
	r record;
begin
	select * into n from network x where x.storage_id = p_storage and x.pdci_id = p_pdci and x.wanted = 'present' for no key update;
	if not found then
		return;
	end if;
	perform set_config('haas.scope', 'operator', true);
	update network set wanted = 'absent', version = version + 1 where id = n.id;
	for r in select distinct w.node_id from node_network w where w.network_id = n.id order by 1 loop
		perform node_networks_replace(r.node_id, (select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('nic', w.nic, 'network', w.network_id, 'address', w.address::text,
			'mode', case when w.mode = 'native' and not exists (select from node_network o where o.node_id = w.node_id and o.nic = w.nic and o.network_id not in (w.network_id, n.id))
				     then 'access' else w.mode end))), '[]') from node_network w where w.node_id = r.node_id and w.network_id <> n.id), p_actor);
		-- an install that has not told its OS yet is not to wait for a number
		update deployment d set params = jsonb_set(d.params, '{addresses}', (select coalesce(jsonb_agg(a), '[]') from jsonb_array_elements(d.params -> 'addresses') a
			where (a ->> 'network')::bigint is distinct from n.id))
		where d.node_id = r.node_id and d.due_at is not null and jsonb_typeof(d.params -> 'addresses') = 'array';
	end loop;
	begin
		perform storage_port_apply(p_storage, p_actor);
	exception when sqlstate 'HA409' or sqlstate 'HA404' or sqlstate 'HA422' then   -- the port is no longer ours to set: nothing may wait for it
		delete from attachment a where a.network_id = n.id;
		perform event_add(p_actor, 'storage.port_left', 'storage', (select s.name from storage s where s.id = p_storage), null, sqlerrm, jsonb_build_object('network', n.id));
	end;
	if not exists (select from network_vlan v where v.network_id = n.id) then   -- no switch ever knew of it
		delete from network where id = n.id and not exists (select from attachment a where a.network_id = n.id);
	end if;
	perform event_add(p_actor, 'network.deleted', 'network', n.name, n.tenant_id, 'no volume is left there', jsonb_build_object('network', n.id, 'pdci', p_pdci));
	perform set_config('haas.scope', v_scope, true);
	perform pg_notify('network', '');
end
$$;

create function volume_network_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_gone bigint;
begin
	if new.pdci_id is not null and new.pdci_id is distinct from old.pdci_id then
		perform storage_network_begin(new.pdci_id, new.storage_id, new.actor);
	end if;
	for v_gone in
		select distinct x from unnest(array[old.pdci_id, old.served_pdci_id]) x where x is not null and x is distinct from new.pdci_id and x is distinct from new.served_pdci_id
		and not exists (select from volume v where v.storage_id = new.storage_id and x in (v.pdci_id, v.served_pdci_id))
		and exists (select from pdci p where p.id = x and p.wanted = 'present')
	loop
		perform storage_network_end(v_gone, new.storage_id, new.actor);
	end loop;
	return null;
end
$$;
create trigger volume_network_follow after update of pdci_id, served_pdci_id on volume for each row
	when (new.pdci_id is distinct from old.pdci_id or new.served_pdci_id is distinct from old.served_pdci_id) execute function volume_network_follow();

-- As before; its nodes' way to their volumes ends with those.
create or replace function pdci_release_step(p_pdci bigint, p_generation bigint, p_actor text)
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

-- As before, and where it reaches volumes from.
create or replace function pdci_node_equip(p pdci, p_group jsonb, p_index integer, p_node bigint, p_deployment bigint, p_slot integer, p_replaces text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	c node%rowtype;
	v_boot text;
	v_nics jsonb;
	v_networks jsonb;
	v_addresses jsonb;
	v_bonds jsonb;
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
	select coalesce(jsonb_agg(jsonb_build_object('nic', x ->> 'nic', 'network', n.id, 'mode', coalesce(x ->> 'mode', 'access'), 'address', network_address(n.prefix, p_slot)::text)), '[]')
	into v_networks from jsonb_array_elements(v_nics) x join network n on n.pdci_id = p.id and n.name = x ->> 'network';
	-- the way to its volumes: tagged, where it boots from
	select v_networks || coalesce(jsonb_agg(jsonb_build_object('nic', v_boot, 'network', n.id, 'mode', 'tagged', 'address', network_address(n.prefix, p_slot)::text)), '[]')
	into v_networks from network n where n.pdci_id = p.id and n.storage_id is not null and n.wanted = 'present' and v_boot is not null;
	perform node_networks_set(p_node, v_networks, p_actor);
	-- what the OS is told: untagged networks with a prefix give an address; tagged ones an interface of their own, with its number as soon as there is one
	select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('mac', b.mac::text, 'bond', case when b.mac is null then w.nic end, 'network', case when w.mode = 'tagged' then w.network_id end,
							       'address', coalesce(w.address::text, 'none'))) order by w.nic, w.mode = 'tagged', w.network_id),
	       min(host(w.address)::inet) filter (where w.mode <> 'tagged')
	into v_addresses, v_own
	from node_network w left join nic b on b.node_id = p_node and b.name = w.nic
	where w.node_id = p_node and (w.address is not null or w.mode = 'tagged');
	select jsonb_agg(jsonb_build_object('name', x.name, 'macs', x.macs) order by x.name) into v_bonds
	from (select b.name, jsonb_agg(n.mac::text order by n.name) as macs from node_bond b join nic n on n.node_id = b.node_id and n.name = b.nic where b.node_id = p_node group by b.name) x;
	update deployment d set params = d.params || jsonb_strip_nulls(jsonb_build_object('hostname', coalesce(d.params ->> 'hostname', c.name), 'addresses', v_addresses, 'bonds', v_bonds))
	where d.id = p_deployment;
	insert into pdci_node (pdci_id, node, node_id, group_index, class, address, deployment_id, slot, replaces)
	values (p.id, c.name, c.id, p_index, c.class, v_own, p_deployment, p_slot, p_replaces)
	on conflict (pdci_id, node) do update set node_id = excluded.node_id, group_index = excluded.group_index, class = excluded.class, address = excluded.address,
		deployment_id = excluded.deployment_id, slot = excluded.slot, replaces = excluded.replaces,   -- mended, it is back
		released_at = null, replaced_by = null, replace_asked_at = null, replace_actor = null;
end
$$;

-- --- what a storage does for it ------------------------------------------------------------------------------------------------------------------

-- Which addresses it is to have, with which numbers. An interface that is in no row is not to be there.
create function storage_network_work(p_storage bigint)
returns table (id bigint, name text, vlan integer, address text, length integer, portal text, up boolean, problem jsonb) stable language sql security definer set search_path = haas, pg_temp as $$
	select n.id, n.name, v.vlan, storage_address(n.prefix), masklen(n.prefix), storage_portal(n.prefix, s.portal), n.storage_up_at is not null, n.storage_problem
	from network n join storage s on s.id = n.storage_id join switch_endpoint e on e.switch_id = s.switch_id
	join network_vlan v on v.fabric_id = e.fabric_id and v.network_id = n.id
	where n.storage_id = p_storage and s.login = session_user and n.wanted = 'present' order by n.id
$$;
grant execute on function storage_network_work(bigint) to bampi_stored;

-- What came of it: [{"network", "up", "problem"}]. Only what differs is written.
create function storage_network_tell(p_storage bigint, p_generation bigint, p_rows jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	perform from storage where id = p_storage and generation = p_generation and login = session_user for share;
	if not found then
		return;
	end if;
	for r in update network n set storage_up_at = case when x.up then coalesce(n.storage_up_at, now()) end, storage_problem = nullif(x.problem, 'null'), version = n.version + 1
		 from jsonb_to_recordset(p_rows) as x (network bigint, up boolean, problem jsonb)
		 where n.id = x.network and n.storage_id = p_storage and ((n.storage_up_at is not null) <> x.up or n.storage_problem is distinct from nullif(x.problem, 'null'))
		 returning n.id, n.name, n.tenant_id, x.up, x.problem loop
		perform event_add('bampi-stored', case when r.up then 'network.storage_up' else 'network.storage_down' end, 'network', r.name, r.tenant_id,
				  coalesce(r.problem ->> 'message', 'the storage listens there'), jsonb_build_object('network', r.id, 'problem', r.problem));
	end loop;
end
$$;
grant execute on function storage_network_tell(bigint, bigint, jsonb) to bampi_stored;

-- As before; null, not an empty list, where there is none: then it is closed. Where the storage has networks of its own a node is let in by its address there, and only when the storage is there too.
create or replace function volume_work(p_storage bigint)
returns table (id bigint, name text, tenant text, state text, absent boolean, size_bytes bigint, kept_bytes bigint, archive_id bigint,
	       archive_bytes bigint, archive_digest text, pdci_id bigint, served_pdci_id bigint, initiators jsonb, secret_sealed bytea, secret_number bigint, served jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select v.id, v.name, t.name, v.state, v.wanted = 'absent', v.size_bytes, v.kept_bytes, v.archive_id, a.size_bytes, a.digest, v.pdci_id, v.served_pdci_id,
	       case when v.wanted = 'present' and v.state = 'ready' and v.kept_bytes = v.size_bytes and p.wanted = 'present'
			 and (n.id is null or n.storage_up_at is not null)
			 and not exists (select from archive x where x.volume_id = v.id and x.state = 'archiving') then
			(select jsonb_agg(jsonb_build_object('node', m.node, 'address', case when n.id is null then host(m.address) else
				(select host(w.address) from node_network w where w.node_id = m.node_id and w.network_id = n.id) end) order by m.node)
			 from pdci_node m where m.pdci_id = p.id and m.released_at is null and m.replace_asked_at is null
			       -- its OS was told the secret and starts when its ports are its tenant's: before the PDCI is ready
			       and (p.ready_at is not null or exists (select from node_place x where x.node_id = m.node_id and x.place = 'tenant'))) end,
	       v.secret_sealed, v.secret_number, v.served
	from volume v join storage s on s.id = v.storage_id join tenant t on t.id = v.tenant_id
	left join archive a on a.id = v.archive_id left join pdci p on p.id = v.pdci_id
	left join network n on n.pdci_id = v.pdci_id and n.storage_id = v.storage_id and n.wanted = 'present'
	where v.storage_id = p_storage and s.login = session_user and v.state <> 'deleted' order by v.id
$$;

create or replace view volume_view with (security_invoker = true) as
select v.id, v.name, 'shared' as kind, v.tenant_id, t.name as tenant, v.pdci_id, p.name as pdci, v.size_bytes, null::text as node, s.name as storage,
       case when v.state = 'deleted' then 'deleted' when v.wanted = 'absent' then case when v.served_pdci_id is not null then 'detaching' else 'deleting' end
	    when v.state = 'creating' and v.archive_id is not null then 'restoring' when v.state in ('creating', 'failed') then v.state
	    when v.served_pdci_id is not null and v.pdci_id is distinct from v.served_pdci_id then 'detaching'
	    when v.served_pdci_id is not null then 'attached'
	    when exists (select from archive a where a.volume_id = v.id and a.state = 'archiving') then 'archiving'
	    when v.kept_bytes <> v.size_bytes then 'growing'
	    when v.pdci_id is not null then 'attaching' else 'detached' end as state,
       v.keep, v.done_bytes, v.problem, v.served, v.secret_number, v.archive_id, (select a.name from archive a where a.id = v.archive_id) as archive,
       s.iqn || ':volume.' || v.id as target, coalesce((select storage_portal(n.prefix, s.portal) from network n
	where n.pdci_id = v.pdci_id and n.storage_id = v.storage_id and n.wanted = 'present'), s.portal) as portal, v.actor, v.version, v.created_at, v.ready_at, v.ended_at, null::jsonb as disk
from volume v join tenant t on t.id = v.tenant_id join storage s on s.id = v.storage_id left join pdci p on p.id = v.pdci_id
union all
select null, l.node || '/' || l.disk, 'local', l.tenant_id, t.name, l.pdci_id, p.name, l.size_bytes, l.node, null, 'attached', false, null, null, null, null, null, null, null, null,
       null, null, null, null, null, jsonb_build_object('model', l.model, 'serial', l.serial, 'bus', l.bus)
from local_disk l join tenant t on t.id = l.tenant_id join pdci p on p.id = l.pdci_id;

-- --- what an installed OS is told of its volumes -----------------------------------------------------------------------------------------------

-- The secret of a volume, sealed by its storage to the key of the agent that is about to write it into a node's OS; worth nothing to anybody else, nor to the agent of the next boot.
create table volume_login (
	volume_id bigint not null references volume on delete cascade,
	node_id bigint not null references node on delete cascade,
	agent_key text not null check (agent_key ~ '^[0-9a-f]{64}$'),
	secret_number bigint not null,
	sealed bytea not null check (length(sealed) <= 2048),
	primary key (volume_id, node_id)
);
create index volume_login_node on volume_login (node_id);
alter table volume_login enable row level security;   -- by the functions here only

-- The key of the agent that a node has now; null: none, or one that tells no key.
create function agent_seal_key(p_node bigint) returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select substring(o.detail from '; seal ([0-9a-f]{64})$') from boot_intent i join boot_observation o on o.node_id = i.node_id and o.kind = 'agent' and o.token = i.token
	where i.node_id = p_node and i.target = 'agent'
$$;

-- Of a node that is being installed for a PDCI with volumes: {"initiator", "volumes": [{"volume", "storage", "heard", "target", "portal", "user", "sealed"}]}; null: there is nothing to
-- tell, or no agent that could be told.
create function node_volume_facts(p_node bigint) returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case when count(*) > 0 and k.key is not null then jsonb_build_object('initiator', min(s.iqn) || ':node.' || m.node,
		'volumes', jsonb_agg(jsonb_build_object('volume', v.name, 'storage', s.name, 'heard', coalesce(s.seen_at > now() - interval '10 minutes', false),
			'target', s.iqn || ':volume.' || v.id, 'user', format('v%s-%s', v.id, v.secret_number),
			'portal', coalesce((select storage_portal(n.prefix, s.portal) from network n where n.pdci_id = v.pdci_id and n.storage_id = s.id and n.wanted = 'present'), s.portal),
			'sealed', (select encode(l.sealed, 'hex') from volume_login l where l.volume_id = v.id and l.node_id = p_node and l.agent_key = k.key and l.secret_number = v.secret_number))
			order by v.id)) end
	from pdci_node m join volume v on v.pdci_id = m.pdci_id and v.wanted = 'present' join storage s on s.id = v.storage_id cross join (select agent_seal_key(p_node) as key) k
	where m.node_id = p_node and m.released_at is null group by m.node, k.key
$$;
grant execute on function node_volume_facts(bigint) to bampid;

-- For whom a storage is to seal. No secret_sealed: the volume has no secret that anybody knows yet; it is to make one (volume_secret_make).
create function volume_login_work(p_storage bigint)
returns table (volume bigint, node bigint, agent_key text, secret_sealed bytea, secret_number bigint) stable language sql security definer set search_path = haas, pg_temp as $$
	select v.id, m.node_id, k.key, v.secret_sealed, v.secret_number
	from volume v join storage s on s.id = v.storage_id join pdci_node m on m.pdci_id = v.pdci_id and m.released_at is null and m.replace_asked_at is null
	join deployment d on d.node_id = m.node_id and d.due_at is not null and d.plan in ('install', 'reinstall') and d.state <> 'cancelling'
	cross join lateral (select agent_seal_key(m.node_id) as key) k
	where v.storage_id = p_storage and s.login = session_user and v.wanted = 'present' and k.key is not null
	      and not exists (select from volume_login l where l.volume_id = v.id and l.node_id = m.node_id and l.agent_key = k.key and l.secret_number = v.secret_number)
	order by v.id, m.node_id limit 256
$$;
grant execute on function volume_login_work(bigint) to bampi_stored;

-- The secret of a volume that has none, of whom its tenant has not asked for one: known to the nodes that are installed, and to nobody else.
create function volume_secret_make(p_storage bigint, p_generation bigint, p_rows jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	perform from storage where id = p_storage and generation = p_generation and login = session_user for share;
	if not found then
		return;
	end if;
	for r in update volume v set secret_sealed = decode(x.sealed, 'hex'), secret_number = v.secret_number + 1, version = v.version + 1
		 from jsonb_to_recordset(p_rows) as x (volume bigint, number bigint, sealed text)
		 where v.id = x.volume and v.storage_id = p_storage and v.secret_sealed is null and v.secret_number = x.number and v.pdci_id is not null
		 returning v.id, v.name, v.tenant_id loop
		perform event_add('bampi-stored', 'volume.secret', 'volume', r.name, r.tenant_id, 'made for the nodes that are installed', jsonb_build_object('volume', r.id));
	end loop;
end
$$;
grant execute on function volume_secret_make(bigint, bigint, jsonb) to bampi_stored;

create function volume_login_put(p_storage bigint, p_generation bigint, p_rows jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform from storage where id = p_storage and generation = p_generation and login = session_user for share;
	if not found then
		return;
	end if;
	perform deployment_touch(array(select d.id from deployment d where d.due_at is not null and d.node_id in (select x.node from jsonb_to_recordset(p_rows) as x (node bigint))));
	insert into volume_login (volume_id, node_id, agent_key, secret_number, sealed)
	select v.id, n.id, x.key, x.number, decode(x.sealed, 'hex') from jsonb_to_recordset(p_rows) as x (volume bigint, node bigint, key text, number bigint, sealed text)
	join volume v on v.id = x.volume and v.storage_id = p_storage and v.secret_number = x.number join node n on n.id = x.node
	order by v.id, n.id on conflict (volume_id, node_id) do update set agent_key = excluded.agent_key, secret_number = excluded.secret_number, sealed = excluded.sealed;
	perform pg_notify('deployment', '');
end
$$;
grant execute on function volume_login_put(bigint, bigint, jsonb) to bampi_stored;
