-- What peregrined reads of switches: endpoints, readings, ports, links, places of NICs, planned wiring, beacons.
--
-- Functions named X_put take all rows of one conclusion, change only rows that differ (and `seen` at most every p_seen_s), and return how many
-- events they wrote; the caller notifies. Times in microseconds. A switch in use can neither move to another fabric nor leave management. A
-- change of a fabric's VLAN range takes no foreign VLAN silently, and leaves out no number that a network has.

-- ==== shape ====

-- The switches that share one VLAN space, and the numbers that are ours in it: nothing else is ever created, deleted or assigned.
create table fabric (
	id bigint generated always as identity primary key,
	name text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	vlan_low integer not null check (vlan_low between 2 and 4094),
	vlan_high integer not null check (vlan_high between 2 and 4094),
	parking_vlan integer not null check (parking_vlan between 2 and 4094),  -- of a free port; carried by no uplink
	quarantine_s integer not null default 600 check (quarantine_s between 0 and 86400),  -- before a returned VLAN ID is used again
	repair text not null default 'repair' check (repair in ('repair', 'report')),  -- what a foreign change of what is ours gets
	version bigint not null default 1,
	created_at timestamptz not null default now(),
	-- Two free ports in one VLAN hear each other. With as many parking VLANs (from parking_vlan on) as a switch has ports, no two do.
	parking_count integer not null default 1 check (parking_count between 1 and 1024),
	constraint fabric_vlans_in_order check (vlan_low <= vlan_high and parking_vlan not between vlan_low and vlan_high),
	constraint fabric_parking_is_apart check (parking_vlan + parking_count - 1 < vlan_low or parking_vlan > vlan_high),
	constraint fabric_parking_ends check (parking_vlan + parking_count - 1 <= 4094)
);

-- How a switch (cable.sql) is managed. Without a row here nobody speaks to it: its ports only give addresses.
create table switch_endpoint (
	switch_id bigint primary key references switch on delete cascade,
	fabric_id bigint not null references fabric,
	role text not null default 'leaf' check (role in ('leaf', 'spine')),
	family text not null default '' check (length(family) <= 23),  -- '' = by sysObjectID
	address inet not null unique,
	ports jsonb not null default '{}',        -- snmp, cli, netconf, ovsdb: where not the usual port
	credentials jsonb not null default '{}',  -- snmp_user, snmp_auth, snmp_priv, snmp_insecure, ssh_user, ssh_insecure, host_key, host_key_any: what is no secret
	secrets_sealed bytea,                     -- JSON sealed to peregrined: snmp_community, snmp_write_community, snmp_auth_secret, snmp_priv_secret, ssh_password, ssh_enable
	secrets_next bytea,                       -- rotation.sql: those to come, not proven yet
	credentials_next jsonb,
	secrets_former bytea,                     -- those before, while a rotation keeps them
	credentials_former jsonb,
	returned_at timestamptz,                  -- since when the former ones are in use again: the switch refused those that had been proven
	managed boolean not null default true,    -- false: read, never write
	poll_s integer not null default 30 check (poll_s between 1 and 86400),
	version bigint not null default 1,
	created_at timestamptz not null default now()
);
create index switch_endpoint_fabric on switch_endpoint (fabric_id);

-- What a switch said of itself when it was last read.
create table switch_observed (
	switch_id bigint primary key references switch on delete cascade,
	family text not null,
	object_id text not null,
	text text not null,
	system text not null,
	chassis text not null,
	uptime_ms bigint not null,
	vlan_changes bigint not null default 0,
	vlans integer[] not null default '{}',
	requests bigint not null default 0,    -- of the last full reading
	odd bigint not null default 0,
	odd_text text not null default '',
	reachable boolean not null,
	problem jsonb,
	read_at timestamptz,                   -- the last full reading
	asked_at timestamptz not null          -- the last attempt
);

-- One port as last read. Its wanted side is `port` (cable.sql) for identity and `attachment` (network.sql) for VLANs.
create table port_observed (
	switch_id bigint not null references switch on delete cascade,
	name text not null,
	if_index bigint not null,
	base_port bigint not null default 0,   -- an unsigned number of 32 bits, as every number that an agent fills in
	alias text not null default '',
	mac macaddr,
	admin_up boolean not null,
	up boolean not null,
	speed_bps bigint not null default 0,
	lag text not null default '',          -- name of the aggregate it belongs to
	is_lag boolean not null default false,
	stp text not null default 'unknown',
	kind text not null default 'unknown' check (kind in ('unknown', 'edge', 'uplink')),
	trunk boolean,                         -- null = its VLANs were not read
	native_vlan integer,
	tagged_vlans text not null default '', -- '100-103,200'
	seen_at timestamptz not null,
	primary key (switch_id, name)
);
create index port_observed_mac on port_observed (mac);

-- A cable between two switch ports; a < b by (switch, port), so that there is one row per cable.
create table link (
	id bigint generated always as identity primary key,
	a_switch bigint not null references switch on delete cascade,
	a_port text not null,
	b_switch bigint not null references switch on delete cascade,
	b_port text not null,
	state text not null check (state in ('confirmed', 'claimed', 'conflict', 'gone')),  -- claimed: one end says so
	certainty integer not null check (certainty between 0 and 100),
	evidence jsonb not null default '{}',
	since timestamptz not null,
	seen_at timestamptz not null,
	unique (a_switch, a_port, b_switch, b_port)
);
create index link_b on link (b_switch);

-- Where a MAC is plugged in, as concluded from all sightings: LLDP of the node, FDB of edge ports, option 82, the agent's inventory.
create table nic_location (
	mac macaddr primary key,
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	certainty integer not null check (certainty between 0 and 100),
	sources text[] not null,               -- 'fdb', 'lldp', 'agent', 'option82'; 'earlier': silent, but its port kept its link
	vlan integer,                          -- that the FDB shows it in
	since timestamptz not null,
	seen_at timestamptz not null
);
create index nic_location_port on nic_location (switch_id, port);

-- The cabling as it was planned; what was found is compared with it.
create table wiring (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	node_id bigint references node on delete cascade,
	nic text,                              -- name of the node's NIC; null = any of them
	peer_switch_id bigint references switch on delete cascade,
	peer_port text,
	primary key (switch_id, port),
	constraint wiring_has_one_end check ((node_id is null) <> (peer_switch_id is null))
);
create index wiring_node on wiring (node_id);

-- LEDs of switches that blink until they are told to end: written before one is told to begin, so that whoever is peregrined then ends it.
create table beacon (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	ends_at timestamptz not null,
	tries integer not null default 0,      -- to end it, that failed
	primary key (switch_id, port)
);

-- ==== functions ====

-- The ports of whole switches; a port that a switch does not have any more goes. One without a link keeps its kind, also over a restart of peregrined.
create function port_observed_put(p_switches bigint[], p_rows jsonb, p_seen_s integer)
returns integer language plpgsql set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	v_events integer;
begin
	create temporary table if not exists incoming_port (like port_observed) on commit delete rows;
	truncate incoming_port;
	insert into incoming_port
	select x.switch_id, x.name, x.if_index, x.base_port, x.alias, x.mac, x.admin_up, x.up, x.speed_bps, x.lag, x.is_lag, x.stp,
	       case when x.kind = 'unknown' and not x.up then coalesce(o.kind, 'unknown') else x.kind end, x.trunk,
	       x.native_vlan, coalesce(x.tagged_vlans, ''), now()
	from jsonb_to_recordset(p_rows) as x (switch_id bigint, name text, if_index bigint, base_port bigint, alias text, mac macaddr, admin_up boolean,
		up boolean, speed_bps bigint, lag text, is_lag boolean, stp text, kind text, trunk boolean, native_vlan integer, tagged_vlans text)
	join switch s on s.id = x.switch_id left join port_observed o on o.switch_id = x.switch_id and o.name = x.name;
	with told as (
		select event_told(case when n.up then 'port.up' else 'port.down' end, 'port', s.name || ':' || n.name, null,
				 case when n.up then 'it has a link' else 'it lost its link' end, jsonb_build_object('kind', n.kind))
		from incoming_port n join port_observed o on o.switch_id = n.switch_id and o.name = n.name join switch s on s.id = n.switch_id
		where n.up <> o.up)
	select count(*) into v_events from told;
	delete from port_observed o where o.switch_id = any (p_switches)
		and not exists (select from incoming_port n where n.switch_id = o.switch_id and n.name = o.name);
	insert into port_observed as o select distinct on (switch_id, name) * from incoming_port order by switch_id, name
	on conflict (switch_id, name) do update set if_index = excluded.if_index, base_port = excluded.base_port, alias = excluded.alias,
		mac = excluded.mac, admin_up = excluded.admin_up, up = excluded.up, speed_bps = excluded.speed_bps, lag = excluded.lag,
		is_lag = excluded.is_lag, stp = excluded.stp, kind = excluded.kind, trunk = coalesce(excluded.trunk, o.trunk),
		native_vlan = case when excluded.trunk is null then o.native_vlan else excluded.native_vlan end,
		tagged_vlans = case when excluded.trunk is null then o.tagged_vlans else excluded.tagged_vlans end, seen_at = excluded.seen_at
	where o.seen_at < now() - make_interval(secs => p_seen_s)
	   or (o.if_index, o.base_port, o.alias, o.mac, o.admin_up, o.up, o.speed_bps, o.lag, o.is_lag, o.stp, o.kind, o.trunk, o.native_vlan, o.tagged_vlans)
	      is distinct from
	      (excluded.if_index, excluded.base_port, excluded.alias, excluded.mac, excluded.admin_up, excluded.up, excluded.speed_bps, excluded.lag,
	       excluded.is_lag, excluded.stp, excluded.kind, excluded.trunk, excluded.native_vlan, excluded.tagged_vlans);
	return v_events;
end
$$;

-- All cables between the switches that were asked (and may be silent); one that neither end tells of any more is gone, and forgotten after a month.
create function link_put(p_switches bigint[], p_rows jsonb, p_seen_s integer)
returns integer language plpgsql set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	r record;
	v_events integer := 0;
begin
	for r in
		select x.*, l.id, l.state as was, l.seen_at as seen, l.certainty as was_certainty, l.evidence as was_evidence,
		       a.name || ':' || x.a_port as one, b.name || ':' || x.b_port as other
		from jsonb_to_recordset(p_rows) as x (a_switch bigint, a_port text, b_switch bigint, b_port text, state text, certainty integer, evidence jsonb)
		join switch a on a.id = x.a_switch join switch b on b.id = x.b_switch
		left join link l on l.a_switch = x.a_switch and l.a_port = x.a_port and l.b_switch = x.b_switch and l.b_port = x.b_port
		order by x.a_switch, x.a_port, x.b_switch, x.b_port
	loop
		continue when r.was = r.state and r.was_certainty = r.certainty and r.was_evidence = r.evidence
			  and r.seen >= now() - make_interval(secs => p_seen_s);
		insert into link (a_switch, a_port, b_switch, b_port, state, certainty, evidence, since, seen_at)
		values (r.a_switch, r.a_port, r.b_switch, r.b_port, r.state, r.certainty, r.evidence, now(), now())
		on conflict (a_switch, a_port, b_switch, b_port) do update set state = excluded.state, certainty = excluded.certainty,
			evidence = excluded.evidence, seen_at = now(), since = case when link.state = excluded.state then link.since else now() end;
		continue when r.was = r.state;
		perform event_told(case when r.was is null or r.was = 'gone' then 'link.up' else 'link.changed' end, 'link',
				  r.one || ' ' || r.other, null, format('%s - %s is %s', r.one, r.other, r.state),
				  jsonb_build_object('state', r.state, 'certainty', r.certainty, 'evidence', r.evidence));
		v_events := v_events + 1;
	end loop;
	for r in
		update link l set state = 'gone', since = now() from switch a, switch b
		where l.state <> 'gone' and a.id = l.a_switch and b.id = l.b_switch and l.a_switch = any (p_switches) and l.b_switch = any (p_switches)
		and not exists (select from jsonb_to_recordset(p_rows) as x (a_switch bigint, a_port text, b_switch bigint, b_port text)
				where x.a_switch = l.a_switch and x.a_port = l.a_port and x.b_switch = l.b_switch and x.b_port = l.b_port)
		returning a.name || ':' || l.a_port as one, b.name || ':' || l.b_port as other
	loop
		perform event_told('link.gone', 'link', r.one || ' ' || r.other, null, format('%s - %s is gone', r.one, r.other));
		v_events := v_events + 1;
	end loop;
	delete from link where state = 'gone' and since < now() - interval '30 days';
	return v_events;
end
$$;

-- Where MACs are. One of a NIC of ours that moved is an event; a MAC that nobody knows and nobody saw for a day is forgotten.
create function nic_location_put(p_rows jsonb, p_seen_s integer)
returns integer language plpgsql set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	v_events integer;
begin
	create temporary table if not exists incoming_place (mac macaddr, switch_id bigint, port text, certainty integer, sources text[], vlan integer, seen_at timestamptz)
		on commit delete rows;
	truncate incoming_place;
	insert into incoming_place
	select distinct on (x.mac) x.mac, x.switch_id, x.port, x.certainty, array(select jsonb_array_elements_text(x.sources)), x.vlan,
	       coalesce(to_timestamp(x.seen_us / 1e6), now())
	from jsonb_to_recordset(p_rows) as x (mac macaddr, switch_id bigint, port text, certainty integer, sources jsonb, vlan integer, seen_us bigint)
	join switch s on s.id = x.switch_id order by x.mac;
	with told as (
		select event_told(case when o.mac is null then 'nic.located' else 'nic.moved' end, 'node', d.name, d.tenant_id,
				 case when o.mac is null then format('%s (%s) is at %s:%s', x.name, n.mac, s.name, n.port)
				      else format('%s (%s) moved from %s:%s to %s:%s', x.name, n.mac, f.name, o.port, s.name, n.port) end,
				 jsonb_build_object('mac', n.mac, 'switch', s.name, 'port', n.port, 'certainty', n.certainty, 'sources', n.sources))
		from incoming_place n join switch s on s.id = n.switch_id join nic x on x.mac = n.mac join node d on d.id = x.node_id
		left join nic_location o on o.mac = n.mac left join switch f on f.id = o.switch_id
		where o.mac is null or (o.switch_id, o.port) is distinct from (n.switch_id, n.port))
	select count(*) into v_events from told;
	insert into nic_location as o (mac, switch_id, port, certainty, sources, vlan, since, seen_at)
	select mac, switch_id, port, certainty, sources, vlan, now(), seen_at from incoming_place order by mac
	on conflict (mac) do update set switch_id = excluded.switch_id, port = excluded.port, certainty = excluded.certainty, sources = excluded.sources,
		vlan = coalesce(excluded.vlan, o.vlan), seen_at = greatest(o.seen_at, excluded.seen_at),
		since = case when o.switch_id = excluded.switch_id and o.port = excluded.port then o.since else now() end
	where o.seen_at < excluded.seen_at - make_interval(secs => p_seen_s)
	   or (o.switch_id, o.port, o.certainty, o.sources, o.vlan)
	      is distinct from (excluded.switch_id, excluded.port, excluded.certainty, excluded.sources, coalesce(excluded.vlan, o.vlan));
	delete from nic_location o where o.seen_at < now() - interval '1 day' and not exists (select from nic x where x.mac = o.mac)
		and not exists (select from incoming_place n where n.mac = o.mac);
	return v_events;
end
$$;

create function fabric_put(p_name text, p_spec jsonb, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_old fabric;
	v_new fabric;
begin
	if not is_operator() then
		raise exception 'only an operator may change fabrics' using errcode = 'HA403';
	end if;
	select * into v_old from fabric where name = p_name for update;
	if v_old.id is null and not (p_spec ? 'vlan_low' and p_spec ? 'vlan_high' and p_spec ? 'parking_vlan') then
		raise exception 'a new fabric needs vlan_low, vlan_high and parking_vlan' using errcode = 'HA422',
			hint = 'our VLANs in the fabric, and the VLAN of a free port';
	end if;
	-- Free ports of one switch do not meet either: each is in a parking VLAN of its own, as far as there are any. Many by default.
	insert into fabric (name, parking_count, vlan_low, vlan_high, parking_vlan, quarantine_s, repair)
	values (p_name, coalesce((p_spec ->> 'parking_count')::integer, v_old.parking_count, case when p_spec ?& '{parking_vlan,vlan_low}' then
			least(64, case when (p_spec ->> 'parking_vlan')::integer < (p_spec ->> 'vlan_low')::integer then (p_spec ->> 'vlan_low')::integer else 4095 end
				  - (p_spec ->> 'parking_vlan')::integer) end, 1), coalesce((p_spec ->> 'vlan_low')::integer, v_old.vlan_low),
		coalesce((p_spec ->> 'vlan_high')::integer, v_old.vlan_high), coalesce((p_spec ->> 'parking_vlan')::integer, v_old.parking_vlan),
		coalesce((p_spec ->> 'quarantine_s')::integer, v_old.quarantine_s, 600), coalesce(p_spec ->> 'repair', v_old.repair, 'repair'))
	on conflict (name) do update set vlan_low = excluded.vlan_low, vlan_high = excluded.vlan_high, parking_vlan = excluded.parking_vlan,
		parking_count = excluded.parking_count, quarantine_s = excluded.quarantine_s, repair = excluded.repair, version = fabric.version + 1
	returning * into v_new;
	if v_old.id is not null then
		perform fabric_range_check(v_old, v_new, coalesce((p_spec ->> 'take')::boolean, false));
	end if;
	perform event_add(p_actor, case when v_old.id is null then 'fabric.created' else 'fabric.changed' end, 'fabric', p_name, null,
			  case when v_old.id is null then 'fabric created' else 'fabric changed' end,
			  jsonb_build_object('before', case when v_old.id is not null then to_jsonb(v_old) - 'id' end, 'after', to_jsonb(v_new) - 'id'));
	perform pg_notify('fabric', '');
	perform pg_notify('network', '');
	return v_old.id is null;
exception when check_violation then
	raise exception 'the VLANs of fabric % are not valid', p_name using errcode = 'HA422',
		hint = 'vlan_low <= vlan_high, both 2..4094, and the parking VLANs outside of them';
end
$$;

create function fabric_delete(p_name text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
	v_switch text;
	v_before jsonb;
begin
	if not is_operator() then
		raise exception 'only an operator may change fabrics' using errcode = 'HA403';
	end if;
	select id into v_id from fabric where name = p_name for update;
	if not found then
		raise exception 'fabric % does not exist', p_name using errcode = 'HA404', hint = 'haasctl fabric list shows the fabrics';
	end if;
	select s.name into v_switch from switch_endpoint e join switch s on s.id = e.switch_id where e.fabric_id = v_id order by s.name limit 1;
	if found then
		raise exception 'switch % belongs to fabric %', v_switch, p_name using errcode = 'HA409', hint = 'release its switches first: haasctl switch release';
	end if;
	delete from fabric f where id = v_id returning to_jsonb(f) - 'id' into v_before;
	perform event_add(p_actor, 'fabric.deleted', 'fabric', p_name, null, 'fabric deleted', jsonb_build_object('before', v_before));
	perform pg_notify('fabric', '');
exception when foreign_key_violation then
	raise exception 'fabric % has networks', p_name using errcode = 'HA409', hint = 'delete its networks first';
end
$$;

-- What events say of a switch's management: never a secret.
create function switch_facts(p_endpoint switch_endpoint) returns jsonb stable language sql set search_path = haas, pg_temp as $$
	select to_jsonb(p_endpoint) - '{switch_id,fabric_id,secrets_sealed}'::text[]
	       || jsonb_build_object('fabric', (select name from fabric where id = p_endpoint.fabric_id), 'secrets', p_endpoint.secrets_sealed is not null)
	where p_endpoint.switch_id is not null
$$;

-- Says how a switch is managed; an unknown switch is declared. Members of p_spec: fabric, role, family, address, ports{}, credentials{},
-- secrets_sealed (hex), managed, poll_s, force. Missing members stay as they are; secrets belong together and are replaced as a whole. They are
-- sealed for one switch: with another address, port or credential (a host key is one) they have to be given again. Refused
-- while a port of the switch is in use, unless `force` says that its ports may stay as they are. Other secrets end a rotation: what it had, was for
-- the endpoint before.
create function switch_manage(p_name text, p_spec jsonb, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
	v_fabric bigint;
	e switch_endpoint%rowtype;
	v_new switch_endpoint%rowtype;
	v_other text;
	v_ports text[];
begin
	if not is_operator() then
		raise exception 'only an operator may manage switches' using errcode = 'HA403';
	end if;
	insert into switch (name) values (p_name) on conflict (name) do nothing;
	select id into v_id from switch where name = p_name for update;
	select * into e from switch_endpoint where switch_id = v_id;
	if p_spec ? 'fabric' then
		select id into v_fabric from fabric where name = p_spec ->> 'fabric';
		if not found then
			raise exception 'fabric % does not exist', p_spec ->> 'fabric' using errcode = 'HA404', hint = 'haasctl fabric list shows the fabrics';
		end if;
	elsif e.switch_id is null then
		if (select count(*) from fabric) <> 1 then
			raise exception 'switch % needs a fabric', p_name using errcode = 'HA422', hint = 'haasctl fabric list shows the fabrics';
		end if;
		select id into v_fabric from fabric;
	end if;
	if e.switch_id is null and not p_spec ? 'address' then
		raise exception 'switch % needs a management address', p_name using errcode = 'HA422';
	end if;
	select s.name into v_other from switch_endpoint x join switch s on s.id = x.switch_id
	where x.address = (p_spec ->> 'address')::inet and x.switch_id <> v_id;
	if found then
		raise exception '% is the address of switch %', p_spec ->> 'address', v_other using errcode = 'HA409';
	end if;
	if e.switch_id is not null and not coalesce((p_spec ->> 'force')::boolean, false)
	   and (v_fabric <> e.fabric_id or (e.managed and not (p_spec ->> 'managed')::boolean)) then
		v_ports := switch_ports_in_use(v_id);
		if v_ports is not null then
			raise exception 'switch % is in use: %', p_name, array_to_string(v_ports[1:4], ', ')
				|| case when cardinality(v_ports) > 4 then format(' and %s more', cardinality(v_ports) - 4) else '' end using errcode = 'HA409',
				hint = case when v_fabric <> e.fabric_id then 'its networks would be cut in two, one in each fabric' else 'peregrined would no longer configure its ports' end
				|| ': release its nodes (haasctl pdci release, pdci replace), detach the rest (haasctl network detach); --force if that is meant';
		end if;
	end if;
	if e.secrets_sealed is not null and not p_spec ? 'secrets_sealed'
	   and (coalesce((p_spec ->> 'address')::inet, e.address), coalesce(p_spec -> 'ports', e.ports), coalesce(p_spec -> 'credentials', e.credentials))
	       is distinct from (e.address, e.ports, e.credentials) then
		raise exception 'the secrets of switch % are for its present address, ports and credentials', p_name using errcode = 'HA422',
			hint = 'give them again: --secrets FILE';
	end if;
	insert into switch_endpoint as x (switch_id, fabric_id, role, family, address, ports, credentials, secrets_sealed, managed, poll_s)
	values (v_id, coalesce(v_fabric, e.fabric_id), coalesce(p_spec ->> 'role', e.role, 'leaf'), coalesce(p_spec ->> 'family', e.family, ''),
		coalesce((p_spec ->> 'address')::inet, e.address), coalesce(p_spec -> 'ports', e.ports, '{}'),
		coalesce(p_spec -> 'credentials', e.credentials, '{}'), coalesce(decode(p_spec ->> 'secrets_sealed', 'hex'), e.secrets_sealed),
		coalesce((p_spec ->> 'managed')::boolean, e.managed, true), coalesce((p_spec ->> 'poll_s')::integer, e.poll_s, 30))
	on conflict (switch_id) do update set fabric_id = excluded.fabric_id, role = excluded.role, family = excluded.family, address = excluded.address,
		ports = excluded.ports, credentials = excluded.credentials, secrets_sealed = excluded.secrets_sealed, managed = excluded.managed,
		poll_s = excluded.poll_s, version = x.version + 1
	returning * into v_new;
	if (select (x.address, x.ports, x.credentials, x.secrets_sealed) is distinct from (e.address, e.ports, e.credentials, e.secrets_sealed)
	    from switch_endpoint x where x.switch_id = v_id) then
		perform switch_rotation_void(v_id, 'its management changed', p_actor);
	end if;
	perform event_add(p_actor, case when e.switch_id is null then 'switch.managed' else 'switch.changed' end, 'switch', p_name, null,
			  case when e.switch_id is null then 'managed from now on' else 'management changed' end,
			  jsonb_build_object('before', switch_facts(e), 'after', switch_facts(v_new), 'secrets_given', p_spec ? 'secrets_sealed'));
	perform pg_notify('fabric', '');
	perform pg_notify('network', '');
	return e.switch_id is null;
end
$$;

-- The first key that a switch shows where the operator takes any: it is the only one from now on. Its secrets are for it. No password was sent yet.
create function switch_host_key_keep(p_switch bigint, p_key text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_name text;
begin
	if p_key !~ '^SHA256:[A-Za-z0-9+/]{43}$' then
		raise exception '% is not a host key', p_key using errcode = 'HA422';
	end if;
	update switch_endpoint e set credentials = e.credentials || jsonb_build_object('host_key', p_key),
		credentials_next = e.credentials_next || jsonb_build_object('host_key', p_key),
		credentials_former = e.credentials_former || jsonb_build_object('host_key', p_key), version = e.version + 1
	from switch s where s.id = e.switch_id and e.switch_id = p_switch
	and coalesce(e.credentials ->> 'host_key', '') = '' and (e.credentials ->> 'host_key_any')::boolean returning s.name into v_name;
	if found then
		perform event_add('peregrined', 'switch.host_key', 'switch', v_name, null, format('its SSH host key is %s from now on: compare it with its console', p_key),
				  jsonb_build_object('host_key', p_key));
	end if;
	perform pg_notify('fabric', '');
end
$$;

create function wiring_rows(p_rows jsonb)
returns table (row_number integer, switch text, port text, node text, nic text, peer_switch text, peer_port text)
language sql immutable set search_path = haas, pg_temp as $$
	select coalesce(x."row", x.n::integer), x.switch, x.port, nullif(x.node, ''), nullif(x.nic, ''), nullif(x.peer_switch, ''), nullif(x.peer_port, '')
	from rows from (jsonb_to_recordset(p_rows) as ("row" integer, switch text, port text, node text, nic text, peer_switch text, peer_port text))
	     with ordinality as x ("row", switch, port, node, nic, peer_switch, peer_port, n)
$$;

-- Planned cables: rows {row, switch, port, node, nic, peer_switch, peer_port}. p_replace: what is not in it goes. Returns {"rows", "errors": [{"row","column","message"}]};
-- with errors or p_dry_run nothing is written.
create function wiring_import(p_rows jsonb, p_replace boolean, p_dry_run boolean, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_errors jsonb;
	v_count integer;
begin
	if not is_operator() then
		raise exception 'only an operator may change the plan of cables' using errcode = 'HA403';
	end if;
	select coalesce(jsonb_agg(jsonb_build_object('row', e.row_number, 'column', e.col, 'message', e.message) order by e.row_number, e.col), '[]') into v_errors from (
		select row_number, 'switch' as col, format('switch %s is not declared', switch) as message from wiring_rows(p_rows) i
		where not exists (select from switch s where s.name = i.switch)
		union all select row_number, 'port', 'is needed' from wiring_rows(p_rows) where coalesce(port, '') = ''
		union all select row_number, 'node', format('node %s does not exist', node) from wiring_rows(p_rows) i
		where node is not null and not exists (select from node n where n.name = i.node)
		union all select row_number, 'peer_switch', format('switch %s is not declared', peer_switch) from wiring_rows(p_rows) i
		where peer_switch is not null and not exists (select from switch s where s.name = i.peer_switch)
		union all select row_number, 'node', 'either a node or another switch is at the other end' from wiring_rows(p_rows)
		where (node is null) = (peer_switch is null)
		union all select row_number, 'peer_port', 'is needed with peer_switch' from wiring_rows(p_rows) where peer_switch is not null and peer_port is null
		union all select max(row_number), 'port', format('%s:%s is there twice', switch, port) from wiring_rows(p_rows) group by switch, port having count(*) > 1
		union all select max(row_number), 'nic', format('node %s:%s is there twice', node, nic) from wiring_rows(p_rows) where nic is not null
		group by node, nic having count(*) > 1) e;
	select count(*) into v_count from wiring_rows(p_rows);
	if jsonb_array_length(v_errors) > 0 or p_dry_run then
		return jsonb_build_object('rows', v_count, 'errors', v_errors);
	end if;
	if p_replace then
		delete from wiring;
	end if;
	insert into wiring (switch_id, port, node_id, nic, peer_switch_id, peer_port)
	select s.id, i.port, n.id, i.nic, p.id, i.peer_port from wiring_rows(p_rows) i join switch s on s.name = i.switch left join node n on n.name = i.node
	left join switch p on p.name = i.peer_switch order by s.id, i.port
	on conflict (switch_id, port) do update set node_id = excluded.node_id, nic = excluded.nic, peer_switch_id = excluded.peer_switch_id,
		peer_port = excluded.peer_port;
	perform event_add(p_actor, 'wiring.placed', 'site', '', null, format('%s planned cables%s', v_count, case when p_replace then ', the only ones' else '' end));
	perform pg_notify('fabric', '');
	return jsonb_build_object('rows', v_count, 'errors', v_errors);
end
$$;

create function wiring_delete(p_switch text, p_port text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not is_operator() then
		raise exception 'only an operator may change the plan of cables' using errcode = 'HA403';
	end if;
	delete from wiring w using switch s where s.id = w.switch_id and s.name = p_switch and w.port = p_port;
	if not found then
		raise exception 'port % of switch % has no planned cable', p_port, p_switch using errcode = 'HA404', hint = 'haasctl wiring list shows the plan';
	end if;
	perform event_add(p_actor, 'wiring.deleted', 'port', p_switch || ':' || p_port, null, 'its planned cable was removed');
	perform pg_notify('fabric', '');
end
$$;

-- Moves the networks of a tenant's NIC to its planned port and frees its old port. The NIC must be found at the planned port: a MAC alone
-- can belong to anybody.
create function node_follow(p_mac macaddr)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node node%rowtype;
	r record;
begin
	select d.* into v_node from nic c join node d on d.id = c.node_id join node_place p on p.node_id = d.id and p.place = 'tenant'
	join nic_location l on l.mac = c.mac and l.certainty >= 50
	join wiring w on w.node_id = d.id and w.nic = c.name and (w.switch_id, w.port) = (l.switch_id, l.port)
	where c.mac = p_mac and exists (select from port_block b where b.mac = c.mac and b.kind = 'moved' and (b.switch_id, b.port) <> (l.switch_id, l.port));
	if not found or exists (select from node_ports(v_node.id) where conflict is not null) then
		return;
	end if;
	for r in select b.switch_id, b.port from port_block b where b.mac = p_mac and b.kind = 'moved' order by 1, 2 loop
		perform port_networks_apply(r.switch_id, r.port, '{}', '{}', 'peregrined');
	end loop;
	perform node_network_apply(v_node.id, 'tenant', 'peregrined');
exception when sqlstate 'HA404' or sqlstate 'HA409' or sqlstate 'HA422' then   -- it stays where it is let in now; the block holds
	perform event_add('peregrined', 'node.not_followed', 'node', v_node.name, v_node.tenant_id, sqlerrm, jsonb_build_object('mac', p_mac));
end
$$;

create function node_follow_wiring()
returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if tg_op <> 'DELETE' then
		perform node_follow(c.mac) from nic c where c.node_id = new.node_id and c.name = new.nic;
	else   -- the plan of where it was goes last
		perform node_follow(c.mac) from nic c where c.node_id = old.node_id and c.name = old.nic;
	end if;
	return null;
end
$$;

create function node_follow_block()
returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform node_follow(new.mac);
	return null;
end
$$;

-- Is there anything to set on a switch for this node? What it was given counts also when no switch is managed any more.
create function node_is_switched(p_node bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select exists (select from switch_endpoint where managed) or exists (select from port_intent where node_id = p_node)
$$;

create function fabric_range_check(p_old fabric, p_new fabric, p_take boolean)
returns void language plpgsql stable set search_path = haas, pg_temp as $$
declare
	v_text text;
begin
	select string_agg(v.vlan || coalesce(' (' || n.name || ')', ''), ', ' order by v.vlan) into v_text
	from network_vlan v left join network n on n.id = v.network_id
	where v.fabric_id = p_new.id and v.vlan not between p_new.vlan_low and p_new.vlan_high;
	if v_text is not null then
		raise exception 'fabric % has VLANs in use that the new range leaves out: %', p_new.name, v_text using errcode = 'HA409',
			hint = 'delete these networks first, or choose a range that includes them; a returned VLAN stays in quarantine for a while';
	end if;
	if p_take then
		return;
	end if;
	select string_agg(vlan || ' (' || switches || ')', ', ' order by vlan) into v_text from (
		select v.vlan, string_agg(s.name, ' ' order by s.name collate natural_order) as switches
		from switch_endpoint e join switch s on s.id = e.switch_id join switch_observed o on o.switch_id = e.switch_id cross join lateral unnest(o.vlans) as v(vlan)
		where e.fabric_id = p_new.id
		  and (v.vlan between p_new.vlan_low and p_new.vlan_high or v.vlan between p_new.parking_vlan and p_new.parking_vlan + p_new.parking_count - 1)
		  and v.vlan not between p_old.vlan_low and p_old.vlan_high
		  and v.vlan not between p_old.parking_vlan and p_old.parking_vlan + p_old.parking_count - 1
		group by v.vlan order by v.vlan limit 8) x;
	if v_text is not null then
		raise exception 'the new range of fabric % includes VLANs in use, which would be taken off their ports: %', p_new.name, v_text using errcode = 'HA409',
			hint = 'choose a range without them, or confirm with --take';
	end if;
end
$$;

-- Alerts of two fabrics that share VLAN numbers and a cable or a switch. Each fabric gives its numbers out by itself. Their networks are
-- then kept apart only because a cable to another fabric carries none of our VLANs.
create function fabric_overlaps()
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	with used as (select id, name, int4range(vlan_low, vlan_high, '[]') as vlans from fabric
		      union all select id, name, int4range(parking_vlan, parking_vlan + parking_count - 1, '[]') from fabric),
	     pair as (select a.id as a, b.id as b, a.name as a_name, b.name as b_name,
			     string_agg(lower(a.vlans * b.vlans) || case when upper(a.vlans * b.vlans) - 1 > lower(a.vlans * b.vlans) then '-' || upper(a.vlans * b.vlans) - 1 else '' end,
					', ' order by lower(a.vlans * b.vlans)) as vlans
		      from used a join used b on b.id > a.id and a.vlans && b.vlans group by 1, 2, 3, 4)
	select coalesce(jsonb_agg(jsonb_build_object('key', format('fabric.numbers_meet:%s:%s', p.a_name, p.b_name), 'kind', 'fabric.numbers_meet', 'severity', 'warning',
		'subject_kind', 'fabric', 'subject', p.a_name, 'message', format('fabrics %s and %s both use VLANs %s, and %s', p.a_name, p.b_name, p.vlans, w.way),
		'hint', 'give each fabric a separate range: haasctl fabric create NAME --vlans') order by p.a, p.b), '[]')
	from pair p cross join lateral (
		select x.way from (
			select 1 as rank, format('%s:%s leads to %s:%s', s.name, l.a_port, t.name, l.b_port) as way
			from link l join switch_endpoint e on e.switch_id = l.a_switch join switch_endpoint f on f.switch_id = l.b_switch
			join switch s on s.id = l.a_switch join switch t on t.id = l.b_switch
			where l.state <> 'gone' and (e.fabric_id, f.fabric_id) in ((p.a, p.b), (p.b, p.a))
			union all
			select 2, format('%s:%s is planned to lead to %s', s.name, w.port, t.name)
			from wiring w join switch_endpoint e on e.switch_id = w.switch_id join switch_endpoint f on f.switch_id = w.peer_switch_id
			join switch s on s.id = w.switch_id join switch t on t.id = w.peer_switch_id
			where (e.fabric_id, f.fabric_id) in ((p.a, p.b), (p.b, p.a))
			union all
			select 3, format('%s and %s are the same switch', s.name, t.name)
			from switch_endpoint e join switch_observed o on o.switch_id = e.switch_id join switch s on s.id = e.switch_id
			join switch_observed q on lower(q.chassis) = lower(o.chassis) and q.switch_id <> o.switch_id join switch_endpoint f on f.switch_id = q.switch_id
			join switch t on t.id = f.switch_id
			where o.chassis <> '' and e.fabric_id = p.a and f.fabric_id = p.b) x
		order by x.rank, x.way limit 1) w
$$;

-- ==== triggers, views, rights ====
create trigger wiring_follow after insert or update or delete on wiring for each row execute function node_follow_wiring();
create trigger nic_binding_follow after insert or delete or update of switch_id, port on nic_location for each row execute function nic_binding_follow();
create trigger capture_holds_release before delete on switch_endpoint for each row execute function capture_holds_switch('switch_id');
create trigger capture_holds_managed before update of managed on switch_endpoint for each row when (old.managed and not new.managed)
	execute function capture_holds_switch('switch_id');

-- Every switch that is declared; the second half is null for those that nobody speaks to.
create view switch_view with (security_invoker = true) as
select s.id, s.name, s.ports, host(s.base) as base, s.port_low, s.port_high, s.moved, s.swapped, s.created_at,
       f.name as fabric, e.role, e.family as family_wanted, host(e.address) as address, e.ports as service_ports, e.credentials, e.managed, e.poll_s, e.version,
       o.family, o.object_id, o.text, o.system, o.chassis, o.uptime_ms, o.reachable, o.problem, o.read_at, o.asked_at, o.requests, o.odd, o.odd_text,
       coalesce(cardinality(o.vlans), 0) as vlans, coalesce(c.ports, 0) as port_count, coalesce(c.up, 0) as ports_up, coalesce(c.uplinks, 0) as uplinks,
       coalesce(c.edges, 0) as edges
from switch s
left join switch_endpoint e on e.switch_id = s.id
left join fabric f on f.id = e.fabric_id
left join switch_observed o on o.switch_id = s.id
left join lateral (select count(*) as ports, count(*) filter (where p.up) as up, count(*) filter (where p.kind = 'uplink') as uplinks,
			  count(*) filter (where p.kind = 'edge') as edges
		   from port_observed p where p.switch_id = s.id and e.switch_id is not null) c on true;

create view link_view with (security_invoker = true) as
select l.id, f.name as fabric, a.name as a_switch, l.a_port, b.name as b_switch, l.b_port, l.state, l.certainty, l.evidence ->> 'by' as evidence,
       coalesce((l.evidence ->> 'lag')::boolean, false) as lag, (l.evidence ->> 'members')::integer as members, l.since, l.seen_at
from link l join switch a on a.id = l.a_switch join switch b on b.id = l.b_switch
left join switch_endpoint e on e.switch_id = l.a_switch left join fabric f on f.id = e.fabric_id;

-- Where each MAC is, and whose it is.
create view nic_view with (security_invoker = true) as
select l.mac, n.name as node, x.name as nic, s.name as switch, l.port, l.certainty, l.sources, l.vlan, l.since, l.seen_at, p.kind, p.up, p.speed_bps, p.alias,
       n.tenant_id
from nic_location l join switch s on s.id = l.switch_id left join port_observed p on p.switch_id = l.switch_id and p.name = l.port
left join nic x on x.mac = l.mac left join node n on n.id = x.node_id;

grant select on fabric to bampid, portald, peregrined, peregrine_flowd;
grant select (address, created_at, credentials, fabric_id, family, managed, poll_s, ports, role, switch_id, version) on switch_endpoint to portald;
grant select on switch_endpoint to peregrined;
grant select (address, fabric_id, family, managed, role, switch_id) on switch_endpoint to peregrine_flowd;
grant select on switch_observed to bampid, portald, peregrine_flowd;
grant insert, select, update, delete on switch_observed to peregrined;
grant select on port_observed to bampid, portald, peregrine_flowd;
grant insert, select, update, delete on port_observed to peregrined;
grant select on link to bampid, portald, peregrine_flowd;
grant insert, select, update, delete on link to peregrined;
grant select on nic_location to bampi_bootd, bampid, portald, peregrine_flowd;
grant insert, select, update, delete on nic_location to peregrined;
grant select on wiring to bampid, portald, peregrined;
grant select on switch_view to portald;
grant select on link_view to portald;
grant select on nic_view to portald;
grant insert, select, update, delete on beacon to peregrined;
grant execute on function port_observed_put(bigint[],jsonb,integer) to peregrined;
grant execute on function link_put(bigint[],jsonb,integer) to peregrined;
grant execute on function nic_location_put(jsonb,integer) to peregrined;
grant execute on function fabric_put(text,jsonb,text) to portald;
grant execute on function fabric_delete(text,text) to portald;
grant execute on function switch_manage(text,jsonb,text) to portald;
grant execute on function switch_host_key_keep(bigint,text) to peregrined;
grant execute on function wiring_import(jsonb,boolean,boolean,text) to portald;
grant execute on function wiring_delete(text,text,text) to portald;
grant execute on function fabric_overlaps() to peregrined;
