-- Whether a request can be met: node by node, network numbers, room for volumes. pdci_try answers before anything is written.
--
-- A request is tried by pdci_create itself, taken back. Nodes whose ports would not do are not chosen. All free nodes are judged at once: nothing
-- reads all cables for each node (2,000 nodes of two NICs: 2 s).

-- ==== shape ====

-- ==== functions ====

-- The reason why a node's bonds cannot be, as its switches show them; null = no reason. Ports outside an aggregate are fine where the switch lets
-- us make one of them.
create function node_bond_fault(p_node bigint, out message text, out hint text)
stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	for r in
		select b.name, count(*) as members, count(p.switch_id) as known, count(distinct p.switch_id) as switches, count(distinct p.carrier) as carriers,
		       bool_or(p.carrier = p.port and not coalesce(o.is_lag, false)) as loose,
		       bool_and(coalesce(a.aggregates, false) and p.carrier = p.port and not coalesce(o.is_lag, false)) and count(*) <= 8 as made,
		       bool_and(exists (select from wiring w where w.node_id = p_node and w.nic = b.nic)) as planned,
		       string_agg(s.name || ':' || p.port, ', ' order by s.name collate natural_order, p.port collate natural_order) as ports
		from node_bond b left join node_ports(p_node) p on p.nic = b.nic left join switch s on s.id = p.switch_id
		left join port_observed o on o.switch_id = p.switch_id and o.name = p.port
		left join switch_ability a on a.switch_id = p.switch_id
		where b.node_id = p_node group by b.name order by b.name
	loop
		if r.known < r.members then
			message := format('not all ports of %s are known', r.name);
			hint := 'plan its cables: haasctl wiring set';
		elsif r.switches > 1 then
			message := format('%s ends at two switches (%s), and a bond over switches (MLAG) is not offered', r.name, r.ports);
			hint := 'put its cables into one switch';
		elsif r.made and not r.planned then
			message := format('the cables of %s (%s) are not planned', r.name, r.ports);
			hint := 'plan them: haasctl wiring set; behind an aggregate they cannot be distinguished';
		elsif (r.carriers > 1 or r.loose) and not r.made then
			message := format('the ports of %s (%s) are not one aggregate of the switch', r.name, r.ports);
			hint := 'the operator makes it, with LACP and its fallback: docs/switches.md';
		end if;
		exit when message is not null;
	end loop;
	if message is null then
		select format('%s share the aggregate %s of switch %s but are not a bond', string_agg(p.nic, ', ' order by p.nic), p.carrier, s.name), 'ask for a bond of them'
		into message, hint from node_ports(p_node) p join switch s on s.id = p.switch_id left join node_bond b on b.node_id = p_node and b.nic = p.nic
		group by s.name, p.switch_id, p.carrier having count(*) > 1 and (count(distinct b.name) <> 1 or count(b.name) < count(*)) limit 1;
	end if;
end
$$;

-- Can a node's NICs be as the groups of a request ask? One letter per group, in order: - yes; n: NICs are missing; p: the ports of a bond are
-- unknown; s: a bond ends at two switches; a: its ports are not one aggregate; b: it uses a port of an aggregate that is not asked for as a
-- bond. Where the switch lets us make the aggregate, its ports must be in none, and their cables planned.
create function node_fits(p_node bigint, p_class text, p_request jsonb)
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
-- One plan for all: a plan per call costs more than the call.
alter function node_fits(bigint, text, jsonb) set plan_cache_mode = force_generic_plan;

-- What a node in use lacks of what its NICs are meant for, though its ports are as they were asked to be; null = nothing.
create function node_network_fault(p_node bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_build_object('code', 'conflict', 'message', x.message, 'hint', x.hint) from (
		select 1 as rank, format('port %s:%s is parked: %s', s.name, b.port, b.message) as message, 'haasctl alert list' as hint
		from port_intent i join port_block b on b.switch_id = i.switch_id and b.port = i.port and b.wanted_version = i.wanted_version join switch s on s.id = i.switch_id
		where i.node_id = p_node
		union all
		select 2, format('network %s of %s is at none of its ports', n.name, w.nic), 'haasctl nic locate; haasctl wiring list'
		from node_network w join network n on n.id = w.network_id and n.wanted = 'present' join node_place l on l.node_id = w.node_id and l.place = 'tenant'
		where w.node_id = p_node and exists (select from switch_endpoint where managed)
		  and not exists (select from attachment a join port_intent i on i.switch_id = a.switch_id and i.port = a.port where a.network_id = w.network_id and i.node_id = p_node)
	) x order by x.rank, x.message limit 1
$$;

-- The storage with the most room, and the largest volume that it would take. No row: none accepts volumes.
create function storage_room(p_name text, p_storage bigint)
returns table (id bigint, name text, bytes bigint) stable language sql security definer set search_path = haas, pg_temp as $$
	select s.id, s.name, greatest(x.room, 0) / 4096 * 4096 from storage s cross join lateral (select coalesce(s.capacity_bytes, s.total_bytes, 0) - storage_used(s.id) as room) x
	where s.accepts and (p_storage is null or s.id = p_storage) and (p_name is null or s.name = p_name)
	order by x.room desc, s.id limit 1
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

create function node_fabrics(p_node bigint)
returns setof bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select distinct e.fabric_id from node_ports(p_node) q join switch_endpoint e on e.switch_id = q.switch_id
$$;

-- Counts the VLAN numbers that a fabric can still give, as number_policy does. Numbers in use, at rest, or on a switch without an owner do
-- not count. Numbers that a switch cannot carry do count: only peregrined knows those. Networks that nodes or ports wait for, and that have
-- no number yet, are subtracted. p_but: a PDCI whose own networks are not subtracted.
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

-- Lists the fabrics with too few VLAN numbers for the networks of a PDCI, or of a request and p_more further ones. A network without a NIC
-- needs no number. Nodes of these fabrics are not chosen: the PDCI waits and says so before anything is installed. Numbers come back by
-- themselves, as nodes do.
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
			return format('port %s still carries a network of node %s', r.at, r.holder);
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
				return format('port %s belongs to node %s', r.at, v_text);
			end if;
		end if;
	end loop;
	return null;
end
$$;

-- Runs the parts of pdci_create and takes all of them back, so it refuses what pdci_create would refuse. A lack of room is told in the
-- answer instead, so that the other volumes are judged too: {"volumes": [{"name", "size_bytes", "possible", "storage", "largest_bytes",
-- "why"}], "links": networks to storages}.
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
		v_id := pdci_create(p_tenant, p_name, p_request - 'networks' - 'volumes', p_actor, -pg_backend_pid());
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

-- What can be rented: the classes that have free nodes, or nodes of the caller's tenant. [{"class", "free", "nics", "hardware"}]: how many could be had at
-- most (what a request asks of cables and disks comes on top), the NICs that all of them have, and the hardware of one of them. Names of nodes and
-- other tenants are in none of it.
create function classes_offered(p_tenant bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	with free as (
		select n.id, n.class from node n
		where n.state = 'free' and not n.dirty
		  and not exists (select from deployment d where d.node_id = n.id and d.due_at is not null)
		  and not exists (select from pdci_node m where m.node_id = n.id and m.released_at is null)
		  and exists (select from bmc b where b.node_id = n.id) and exists (select from nic x where x.node_id = n.id and x.boot)
		  and (exists (select from node_inventory i where i.node_id = n.id) or exists (select from bmc b where b.node_id = n.id and b.observed_at is not null)
		       or exists (select from deployment d where d.node_id = n.id and d.state = 'done'))
		  and (health_effect(n.id, 'no_allocation')).label is null
	), counted as (
		select c.class, count(f.id) as free from (select class from free union select n.class from node n where n.tenant_id = p_tenant) c
		left join free f on f.class = c.class group by c.class
	)
	select coalesce(jsonb_agg(jsonb_build_object('class', c.class, 'free', c.free, 'nics', coalesce((
			select jsonb_agg(x.name order by x.name collate natural_order) from (
				select q.name from free f join nic q on q.node_id = f.id where f.class = c.class group by q.name having count(*) = c.free) x), '[]'),
		'hardware', (select jsonb_build_object('product', concat_ws(' ', i.data ->> 'vendor', i.data ->> 'product'), 'cpu', i.data #>> '{cpu,model}',
				'memory_bytes', i.data -> 'memory_bytes',
				'gpus', (select coalesce(jsonb_agg(g -> 'model'), '[]') from jsonb_array_elements(coalesce(i.data -> 'gpus', '[]')) g),
				'disks', (select coalesce(jsonb_agg(jsonb_build_object('size_bytes', d -> 'size_bytes', 'rotational', coalesce(d -> 'rotational' = 'true', false))), '[]')
					  from jsonb_array_elements(coalesce(i.data -> 'disks', '[]')) d
					  where coalesce(d -> 'removable' <> 'true', true) and coalesce(d -> 'read_only' <> 'true', true)))
			     from free f join node_inventory i on i.node_id = f.id where f.class = c.class order by f.id limit 1)) order by c.class collate natural_order), '[]')
	from counted c
$$;

-- The same for the tenant whose scope it is; an operator names one.
create function classes_offered_to(p_tenant text)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select classes_offered(coalesce(current_tenant(), (select t.id from tenant t where t.name = p_tenant and in_scope(t.id))))
$$;

-- ==== triggers, views, rights ====

grant execute on function node_fits(bigint,text,jsonb) to bampid;
grant execute on function node_network_fault(bigint) to bampid;
grant execute on function node_fabrics(bigint) to bampid;
grant execute on function vlan_short(bigint,jsonb,integer) to bampid;
grant execute on function node_port_fault(bigint) to bampid;
grant execute on function pdci_try(text,text,jsonb,text) to portald;
grant execute on function classes_offered_to(text) to portald;
