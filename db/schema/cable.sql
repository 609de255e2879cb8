-- Switches and ports as DHCP option 82 names them, the rules that read option 82, sightings of MACs, circuits that no rule reads.
--
-- A port is `switch:name`, both as the rules of circuit_rule read them from option 82.

-- ==== shape ====

-- A switch whose ports give addresses by a pattern: the port with number n (read from its name by `ports`) gives base + n.
create table switch (
	id bigint generated always as identity primary key,
	name text not null unique check (name ~ '^[ -~]{1,63}$' and name !~ '["\\/]'),
	ports text not null default '{port}' check (length(ports) between 1 and 63),
	base inet check (family(base) = 4 and masklen(base) = 32),
	port_low integer not null default 1 check (port_low >= 0),
	port_high integer not null default 1024,
	-- what a node gets whose cable was moved to this switch, or whose new NIC is on the port of the old one
	moved text not null default 'answer' check (moved in ('answer', 'silence')),
	swapped text not null default 'answer' check (swapped in ('answer', 'silence')),
	created_at timestamptz not null default now(),
	constraint switch_ports_in_order check (port_low <= port_high and port_high <= 65535)
);

-- One port: the node that is meant to be behind it, the address that whoever is behind it gets.
create table port (
	switch_id bigint not null references switch on delete cascade,
	name text not null check (name ~ '^[ -~]{1,63}$' and name !~ '["\\]'),
	node_id bigint references node on delete set null,
	address inet check (family(address) = 4 and masklen(address) = 32),
	created_at timestamptz not null default now(),
	primary key (switch_id, name),
	constraint port_address_key unique (address)
);
create index port_node on port (node_id);

-- How to read option 82 of some relays: a family that the programs know, changed by what is not empty here (common/net/circuit_rule.h).
create table circuit_rule (
	id bigint generated always as identity primary key,
	name text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	relay cidr check (family(relay) = 4),   -- giaddr; null = any
	family text not null default '' check (length(family) <= 63),
	circuit text not null default '' check (length(circuit) <= 600),
	remote text not null default '' check (length(remote) <= 600),
	switch text not null default '' check (length(switch) <= 63),
	port text not null default '' check (length(port) <= 63),
	port_offset integer not null default 0 check (port_offset between -65535 and 65535),
	created_at timestamptz not null default now()
);

-- Where a NIC was last seen, and with which UUID (option 97, bytes in the smaller of its two orders). Written by bampi-bootd for NICs of nodes.
create table sighting (
	mac macaddr primary key,
	node_id bigint not null references node on delete cascade,
	switch text not null,
	port text not null,
	uuid uuid,
	since timestamptz not null,
	seen_at timestamptz not null
);
create index sighting_node on sighting (node_id);
create index sighting_port on sighting (switch, port);

-- Option 82 that no rule reads, as it came: samples to learn a rule from.
create table circuit_unknown (
	id bigint generated always as identity primary key,
	relay inet not null,
	circuit bytea not null check (length(circuit) <= 255),
	remote bytea not null check (length(remote) <= 255),
	mac macaddr not null,   -- of the last client behind it
	seen bigint not null default 1,
	first_at timestamptz not null default now(),
	last_at timestamptz not null default now(),
	unique (relay, circuit, remote)
);

-- ==== functions ====

-- What bampi-bootd saw; times in seconds. A later row stands against an earlier one. A node for which no NIC was declared is known by its port or its
-- UUID, and the first MAC seen there becomes its NIC: only the first, so nobody behind that port can add more.
create function sighting_put(p_mac macaddr[], p_node bigint[], p_switch text[], p_port text[], p_uuid uuid[], p_since bigint[], p_seen bigint[])
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_nic record;
	v_made integer := 0;
begin
	insert into sighting as s (mac, node_id, switch, port, uuid, since, seen_at)
	select w.mac, w.node_id, w.switch, w.port, w.uuid, to_timestamp(w.since), to_timestamp(w.seen)
	from unnest(p_mac, p_node, p_switch, p_port, p_uuid, p_since, p_seen) as w (mac, node_id, switch, port, uuid, since, seen)
	join node n on n.id = w.node_id   -- deleted meanwhile
	order by w.mac
	on conflict (mac) do update set node_id = excluded.node_id, switch = excluded.switch, port = excluded.port, uuid = excluded.uuid,
		since = excluded.since, seen_at = excluded.seen_at
	where s.seen_at <= excluded.seen_at;
	for v_nic in
		select distinct on (w.node_id) w.mac, w.node_id, w.switch, w.port, n.name as node, n.tenant_id
		from unnest(p_mac, p_node, p_switch, p_port) as w (mac, node_id, switch, port) join node n on n.id = w.node_id
		where not exists (select from nic x where x.node_id = w.node_id)
	loop
		insert into nic (mac, node_id, name, boot) values (v_nic.mac, v_nic.node_id, 'eth0', true) on conflict do nothing;
		continue when not found;
		v_made := v_made + 1;
		perform event_add('bampi-bootd', 'identity.adopted', 'node', v_nic.node, v_nic.tenant_id,
				  format('its first NIC is %s%s', v_nic.mac, case when v_nic.port <> '' then format(', at port %s of switch %s', v_nic.port, v_nic.switch) else '' end),
				  jsonb_build_object('mac', v_nic.mac, 'switch', v_nic.switch, 'port', v_nic.port));
	end loop;
	if v_made > 0 then
		perform pg_notify('inventory', '');
	end if;
	return v_made;
end
$$;

-- Samples are for learning, and whoever can send a packet can make one: 64 of a relay, 4096 in all. Circuits seen more than twice stay longest: a
-- machine that boots asks again and again, a flood of made-up circuits does not. Rows that another server is writing or removing are left to
-- the next call. Returns how many had to go.
create function circuit_unknown_put(p_relay inet[], p_circuit text[], p_remote text[], p_mac macaddr[], p_seen bigint[])
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_relay integer;
	v_all integer;
begin
	insert into circuit_unknown as u (relay, circuit, remote, mac, seen)
	select w.relay, decode(w.circuit, 'hex'), decode(w.remote, 'hex'), w.mac, w.seen
	from unnest(p_relay, p_circuit, p_remote, p_mac, p_seen) as w (relay, circuit, remote, mac, seen)
	order by w.relay, w.circuit, w.remote   -- two servers lock them in the same order
	on conflict (relay, circuit, remote) do update set mac = excluded.mac, seen = u.seen + excluded.seen, last_at = now();
	delete from circuit_unknown where id = any (array(select id from circuit_unknown where id in (
		select x.id from (select u.id, row_number() over (partition by u.relay order by u.seen > 2 desc, u.last_at desc, u.id desc) as n
				  from circuit_unknown u where u.relay = any (p_relay)) x where x.n > 64) order by id for update skip locked));
	get diagnostics v_relay = row_count;
	delete from circuit_unknown where id = any (array(select id from circuit_unknown where id in (
		select u.id from circuit_unknown u order by u.seen > 2 desc, u.last_at desc, u.id desc offset 4096) order by id for update skip locked));
	get diagnostics v_all = row_count;
	return v_relay + v_all;
end
$$;

-- ==== triggers, views, rights ====
create trigger capture_holds_switch before delete on switch for each row execute function capture_holds_switch('id');

grant select on switch to bampi_bootd, bampid, peregrined, peregrine_flowd;
grant insert, select, update on switch to portald;
grant select on port to bampi_bootd, bampid, peregrined;
grant insert, select, update, delete on port to portald;
grant select on circuit_rule to bampi_bootd, bampid;
grant insert, select, update, delete on circuit_rule to portald;
grant select on sighting to bampi_bootd, bampid, portald, peregrined;
grant select, delete on circuit_unknown to portald;
grant execute on function sighting_put(macaddr[],bigint[],text[],text[],uuid[],bigint[],bigint[]) to bampi_bootd;
grant execute on function circuit_unknown_put(inet[],text[],text[],macaddr[],bigint[]) to bampi_bootd;
