-- PDCIs whose nodes have several NICs: bonds (LACP), tagged networks with addresses, which NIC carries what; ports of BMCs; a node of a PDCI replaced by another.

-- NICs of a node that its tenant uses as one, by LACP (IEEE 802.1AX). Networks are meant for the bond, by its name, in node_network.nic. The aggregate on the switch is the
-- operator's, or is there; the switch shows it (port_observed.lag), and what its members are wanted to be is set where it lives, on the aggregate.
create table node_bond (
	node_id bigint not null references node on delete cascade,
	name text not null check (name ~ '^[a-z][a-z0-9_-]{0,14}$'),
	nic text not null check (length(nic) between 1 and 15),
	primary key (node_id, nic)
);
create index node_bond_name on node_bond (node_id, name);
grant select on node_bond to portald, bampid, peregrined;

alter table node_network add column address inet;   -- that the node has there, by its place in the PDCI

-- A bond is its tenant's idea: it goes with the tenant.
create function node_bond_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	delete from node_bond where node_id = new.id;
	return null;
end
$$;
create trigger node_bond_follow after update of tenant_id on node for each row
	when (old.tenant_id is not null and new.tenant_id is distinct from old.tenant_id) execute function node_bond_follow();

-- --- ports of BMCs ----------------------------------------------------------------------------------------------------------------------------

create index node_inventory_bmc on node_inventory (lower(data #>> '{bmc,mac}'));

-- Why a port is a BMC's and nobody else's; null = it is none. By the plan (NIC "bmc" of a node), by its network, or by a MAC there that agents read from a BMC.
create function port_bmc(p_switch bigint, p_port text)
returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce(
		(select format('the BMC of node %s is planned there', d.name) from wiring w join node d on d.id = w.node_id
		 where w.switch_id = p_switch and w.port = p_port and w.nic = 'bmc'),
		(select format('it is in network %s, which is for BMCs', n.name) from attachment a join network n on n.id = a.network_id
		 where a.switch_id = p_switch and a.port = p_port and n.kind = 'bmc' order by n.name limit 1),
		(select format('the BMC of node %s was found there', d.name) from nic_location l join node_inventory i on lower(i.data #>> '{bmc,mac}') = l.mac::text
		 join node d on d.id = i.node_id
		 where l.switch_id = p_switch and l.port = p_port and l.certainty >= 50 and not exists (select from nic c where c.mac = l.mac) order by d.name limit 1))
$$;
grant execute on function port_bmc(bigint, text) to portald, bampid;

-- As before; networks for BMCs go with no other, a BMC's port into no other, and a tenant's node not among BMCs.
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
	select d.name as node, n.name into v_bad from unnest(p_networks) x join network n on n.id = x join node d on d.id = port_node(p_switch, p_port)
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

-- As before; a node that its tenant uses is not put among those that are being installed.
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
	return port_networks_apply(v_switch, p_port, v_networks || p_network, v_modes || p_mode, p_actor);
end
$$;

-- --- ports of nodes with bonds ----------------------------------------------------------------------------------------------------------------

-- As before; `carrier` is the aggregate that the switch shows the port to be a member of, else the port itself: found behind the aggregate is where it was planned.
drop function node_ports(bigint);
create function node_ports(p_node bigint)
returns table (nic text, boot boolean, switch_id bigint, port text, carrier text, conflict text)
stable language sql security definer set search_path = haas, pg_temp as $$
	select p.nic, p.boot, p.switch_id, p.port, coalesce(nullif(o.lag, ''), p.port), p.conflict
	from (
		select c.name as nic, c.boot, coalesce(w.switch_id, l.switch_id) as switch_id, coalesce(w.port, l.port) as port,
		       case when w.switch_id is not null and l.switch_id is not null and (w.switch_id, w.port) <> (l.switch_id, l.port)
				 and not exists (select from port_observed x where x.switch_id = w.switch_id and x.name = w.port and x.switch_id = l.switch_id
						 and (x.lag = l.port or x.lag = (select y.lag from port_observed y where y.switch_id = l.switch_id and y.name = l.port and y.lag <> '')))
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
$$;
grant execute on function node_ports(bigint) to portald, bampid, peregrined;

-- What speaks against a node's bonds as its switches show them; null = nothing does.
create function node_bond_fault(p_node bigint, out message text, out hint text)
stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	for r in
		select b.name, count(*) as members, count(p.switch_id) as known, count(distinct p.switch_id) as switches, count(distinct p.carrier) as carriers,
		       bool_or(p.carrier = p.port and not coalesce(o.is_lag, false)) as loose, string_agg(s.name || ':' || p.port, ', ' order by s.name, p.port) as ports
		from node_bond b left join node_ports(p_node) p on p.nic = b.nic left join switch s on s.id = p.switch_id
		left join port_observed o on o.switch_id = p.switch_id and o.name = p.port
		where b.node_id = p_node group by b.name order by b.name
	loop
		if r.known < r.members then
			message := format('nobody knows all ports of %s', r.name);
			hint := 'plan its cables: haasctl wiring';
		elsif r.switches > 1 then
			message := format('%s ends at two switches (%s), and a bond over switches (MLAG) is not offered', r.name, r.ports);
			hint := 'put its cables into one switch';
		elsif r.carriers > 1 or r.loose then
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

-- As before; members of a bond carry what is meant for it, and the ports of one aggregate are always alike.
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
		v_changed := v_changed + port_networks_apply(r.switch_id, r.port, v_networks, v_modes, p_actor)::integer;
	end loop;
	return jsonb_build_object('ports', v_ports, 'changed', v_changed, 'missing', v_missing);
end
$$;

-- As before; `nic` may be a bond, and a NIC in a bond has no networks of its own. An address stays with its NIC and network, unless p_networks says another.
create or replace function node_networks_set(p_node bigint, p_networks jsonb, p_actor text)
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
			raise exception 'NIC % of node % is in %: networks go there', v_bad.nic, v_node.name, v_bad.bond using errcode = 'HA409';
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

-- The number that a network has where a NIC, or bond, of a node is plugged in; null = none yet, or none of our switches is there.
create function node_network_vlan(p_node bigint, p_nic text, p_network bigint)
returns integer stable language sql security definer set search_path = haas, pg_temp as $$
	select v.vlan from node_ports(p_node) q join switch_endpoint e on e.switch_id = q.switch_id join network_vlan v on v.fabric_id = e.fabric_id and v.network_id = p_network
	where q.nic in (p_nic, 'any') or exists (select from node_bond b where b.node_id = p_node and b.nic = q.nic and b.name = p_nic)
	order by q.switch_id limit 1
$$;
grant execute on function node_network_vlan(bigint, text, bigint) to portald, bampid;

-- As before, and behind it: {"network id": VLAN} of the tagged ones, as far as they have a number.
create or replace function node_place_facts(p_node bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case when exists (select from switch_endpoint where managed) then (
		select jsonb_build_array(s.place, s.ports, s.open, (select count(*) from node_network w where w.node_id = p_node),
					 (select w.problem from node_place w where w.node_id = p_node), s.problem,
					 (select coalesce(jsonb_object_agg(w.network_id, node_network_vlan(p_node, w.nic, w.network_id)), '{}')
					  from node_network w where w.node_id = p_node and w.mode = 'tagged'))
		from node_network_state(p_node) s) end
$$;

-- --- which nodes a request can have -------------------------------------------------------------------------------------------------------------

-- Can a node's NICs be what the groups of a request ask for? A letter per group, in order: - yes; n: it has not all the NICs; p: nobody knows the ports of a bond; s: a bond ends at
-- two switches; a: its ports are not one aggregate; b: it uses a port of an aggregate that is not asked for as a bond.
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
				select u.nic, u.bond, q.switch_id, q.port, q.carrier, coalesce(o.is_lag, false) as is_lag
				from uses u left join node_ports(p_node) q on q.nic = u.nic left join port_observed o on o.switch_id = q.switch_id and o.name = q.port
			), of_bond as (
				select bond, count(*) as members, count(switch_id) as known, count(distinct switch_id) as switches, count(distinct carrier) as carriers,
				       bool_or(carrier = port and not is_lag) as loose from ports where bond is not null group by bond
			)
			select case when exists (select from uses u where not exists (select from nic c where c.node_id = p_node and c.name = u.nic)) then 'n'
				    when not v_switched then '-'
				    when exists (select from of_bond where known < members) then 'p'
				    when exists (select from of_bond where switches > 1) then 's'
				    when exists (select from of_bond where carriers > 1 or loose) then 'a'
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
grant execute on function node_fits(bigint, text, jsonb) to bampid;

-- --- nodes of a PDCI ----------------------------------------------------------------------------------------------------------------------------

-- `slot`: its place in the PDCI, which its addresses follow from; whoever replaces it has the same.
alter table pdci_node add column slot integer not null default 0,
	add column replaces text,              -- the node that it took the place of
	add column replaced_by text,
	add column replace_asked_at timestamptz,
	add column replace_actor text;
update pdci_node m set slot = x.slot from (select pdci_id, node, row_number() over (partition by pdci_id order by group_index, node) - 1 as slot from pdci_node) x
where x.pdci_id = m.pdci_id and x.node = m.node;
create index pdci_node_replace on pdci_node (pdci_id) where replace_asked_at is not null and replaced_by is null;

-- Gives a node that was just taken its bonds, networks, addresses and its row in the PDCI.
create function pdci_node_equip(p pdci, p_group jsonb, p_index integer, p_node bigint, p_deployment bigint, p_slot integer, p_replaces text, p_actor text)
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

-- As before, with all that pdci_node_equip gives.
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
	update pdci set state = 'building', problem = null, version = version + 1 where id = p.id;
	perform event_add(p_actor, 'pdci.allocated', 'pdci', p.name, p.tenant_id,
			  (select format('%s nodes: %s', count(*), string_agg(x.node, ', ' order by x.node)) from pdci_node x where x.pdci_id = p.id),
			  jsonb_build_object('pdci', p.id));
end
$$;

-- --- one node for another -----------------------------------------------------------------------------------------------------------------------

-- Somebody looks at a ready PDCI when one of its nodes breaks or is taken from it.
create function pdci_node_broke() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	update pdci p set due_at = least(coalesce(p.due_at, now()), now()) from pdci_node m
	where m.node_id = new.id and m.released_at is null and p.id = m.pdci_id and p.wanted = 'present';
	perform pg_notify('deployment', '');
	return null;
end
$$;
create trigger pdci_node_broke after update of state on node for each row
	when (new.state is distinct from old.state and new.state in ('broken', 'held') and new.tenant_id is not null) execute function pdci_node_broke();

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
	update pdci_node x set replace_asked_at = now(), replace_actor = p_actor where x.pdci_id = p.id and x.node = p_node;
	update pdci set state = 'building', problem = null, due_at = now(), claim_owner = null, claim_until = null, generation = generation + 1, version = version + 1 where id = p.id;
	perform event_add(p_actor, 'pdci.replace', 'pdci', p.name, p.tenant_id, format('another node for %s asked for', p_node), jsonb_build_object('pdci', p.id, 'node', p_node));
	perform pg_notify('deployment', '');
end
$$;
grant execute on function pdci_replace(bigint, text, text) to portald, bampid;

-- Takes the nodes to be replaced out, as far as it goes: off every network first, then erased; one that nobody may touch (broken, held) is only taken off and leaves its
-- tenant dirty. Called again until each is out. Returns them all; waits_for null: it is out, another may come, at once with its addresses.
create function pdci_replace_step(p_pdci bigint, p_generation bigint, p_actor text)
returns table (node text, group_index integer, waits_for text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	p pdci%rowtype;
	r record;
	x record;
	v_open integer;
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
		elsif r.id is null or r.tenant_id is distinct from p.tenant_id then
			update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node = r.name;
			return next;
			continue;
		end if;
		if r.deployment is not null and r.plan <> 'release' then
			if r.deployment_state <> 'cancelling' then
				perform deployment_request(r.deployment, 'cancel', p_actor);
			end if;
			waits_for := format('deployment %s (%s) to be cancelled', r.deployment, r.plan);
		elsif r.deployment is null and r.state in ('broken', 'held') then
			delete from node_network where node_id = r.id;
			perform node_place_ask(r.id, 'parking');
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
		if waits_for is null then   -- its address is another's only when it cannot be heard any more
			select count(*) filter (where i.applied_version <> i.wanted_version or exists (select from attachment a join network n on n.id = a.network_id
				where a.switch_id = i.switch_id and a.port = i.port and n.pdci_id = p.id)) into v_open
			from node_ports(r.id) q join port_intent i on i.switch_id = q.switch_id and i.port = q.port;
			if v_open > 0 then
				waits_for := format('%s ports of node %s to be off its networks', v_open, r.name);
			end if;
		end if;
		if waits_for is null then
			update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node = r.name;
			if r.state in ('broken', 'held') then
				update node n set tenant_id = null, version = version + 1, updated_at = now() where n.id = r.id;
			end if;
			perform event_add(p_actor, 'pdci.vacant', 'pdci', p.name, p.tenant_id, format('node %s is out', r.name), jsonb_build_object('pdci', p.id, 'node', r.name));
		end if;
		return next;
	end loop;
end
$$;
grant execute on function pdci_replace_step(bigint, bigint, text) to bampid;

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
		for r in select * from deployment_create('install', array[v_pick.name], v_group ->> 'image', v_tenant, coalesce(p.request -> 'params', '{}'), p_actor) loop
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
grant execute on function pdci_replace_take(bigint, bigint, jsonb, text) to bampid;
