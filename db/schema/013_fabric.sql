-- Switches that peregrined speaks to, what it found there, and which cable goes where.
do $$
begin
	if not exists (select from pg_roles where rolname = 'peregrined') then
		create role peregrined login;
	end if;
	alter role peregrined set search_path = haas;
	grant usage on schema haas to peregrined;
end
$$;
grant execute on function is_operator(), current_tenant(), in_scope(bigint), event_add(text, text, text, text, bigint, text, jsonb) to peregrined;
create policy tenant_peregrined on tenant for select to peregrined using (true);
create policy node_peregrined on node for select to peregrined using (true);
grant select on tenant, node, nic, switch, port, sighting, node_inventory to peregrined;
grant select, insert, update on daemon_key to peregrined;

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
	constraint fabric_vlans_in_order check (vlan_low <= vlan_high and parking_vlan not between vlan_low and vlan_high)
);
grant select, insert, update, delete on fabric to portald;
grant select on fabric to peregrined, bampid;

-- How a switch (008_cable) is managed. Without a row here nobody speaks to it: its ports only give addresses.
create table switch_endpoint (
	switch_id bigint primary key references switch on delete cascade,
	fabric_id bigint not null references fabric,
	role text not null default 'leaf' check (role in ('leaf', 'spine')),
	family text not null default '' check (length(family) <= 23),  -- '' = by sysObjectID
	address inet not null unique,
	ports jsonb not null default '{}',        -- snmp, cli, netconf, ovsdb: where not the usual port
	credentials jsonb not null default '{}',  -- snmp_user, snmp_auth, snmp_priv, ssh_user, host_key, host_key_any: what is no secret
	secrets_sealed bytea,                     -- JSON sealed to peregrined: snmp_community, snmp_write_community, snmp_auth_secret, snmp_priv_secret, ssh_password, ssh_enable
	managed boolean not null default true,    -- false: read, never write
	poll_s integer not null default 30 check (poll_s between 1 and 86400),
	version bigint not null default 1,
	created_at timestamptz not null default now()
);
create index switch_endpoint_fabric on switch_endpoint (fabric_id);
grant select (switch_id, fabric_id, role, family, address, ports, credentials, managed, poll_s, version, created_at) on switch_endpoint to portald;
grant select on switch_endpoint to peregrined;

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
	requests integer not null default 0,   -- of the last full reading
	odd integer not null default 0,
	odd_text text not null default '',
	reachable boolean not null,
	problem jsonb,
	read_at timestamptz,                   -- the last full reading
	asked_at timestamptz not null          -- the last attempt
);
grant select on switch_observed to portald, bampid;
grant select, insert, update, delete on switch_observed to peregrined;

-- One port as last read. Its wanted side is `port` (008_cable) for identity and `attachment` (014_network) for VLANs.
create table port_observed (
	switch_id bigint not null references switch on delete cascade,
	name text not null,
	if_index bigint not null,
	base_port integer not null default 0,
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
grant select on port_observed to portald, bampid;
grant select, insert, update, delete on port_observed to peregrined;

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
grant select on link to portald, bampid;
grant select, insert, update, delete on link to peregrined;

-- Where a MAC is plugged in, as concluded from all sightings: LLDP of the node, FDB of edge ports, option 82, the agent's inventory.
create table nic_location (
	mac macaddr primary key,
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	certainty integer not null check (certainty between 0 and 100),
	sources text[] not null,               -- 'fdb', 'lldp', 'agent', 'option82'
	vlan integer,                          -- that the FDB shows it in
	since timestamptz not null,
	seen_at timestamptz not null
);
create index nic_location_port on nic_location (switch_id, port);
grant select on nic_location to portald, bampid, bampi_bootd;
grant select, insert, update, delete on nic_location to peregrined;

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
grant select, insert, update, delete on wiring to portald;
grant select on wiring to peregrined, bampid;

-- Something that a person should look at, while it lasts. `key` is what makes it the same alert again.
create table alert (
	id bigint generated always as identity primary key,
	key text not null,
	kind text not null check (kind ~ '^[a-z_]+\.[a-z_]+$'),
	severity text not null check (severity in ('info', 'warning', 'critical')),
	subject_kind text not null,
	subject text not null,
	tenant_id bigint references tenant,
	message text not null,
	detail jsonb not null default '{}',    -- hint: what to do next; suspects
	raised_at timestamptz not null default now(),
	seen_at timestamptz not null default now(),
	cleared_at timestamptz,
	acknowledged_by text,
	acknowledged_at timestamptz
);
create unique index alert_open on alert (key) where cleared_at is null;
create index alert_subject on alert (subject_kind, subject);
alter table alert enable row level security;
create policy alert_portald on alert to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
create policy alert_daemon on alert to peregrined using (true) with check (true);
grant select, update (acknowledged_by, acknowledged_at) on alert to portald;
grant select, insert, update, delete on alert to peregrined;
