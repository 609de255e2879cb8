-- Nodes, their NICs, drives and BMCs. node_transition is the one door to a node's state, node_transition_rule its table of cells.
--
-- Lock order, in every function of the schema, so that nobody waits for another in a ring:
--
--   bmc, node_health, health_label, node, deployment, agent_task, then the rest; the rows of one table by their key, ids ascending
--
-- No lock is stronger than the change needs. `for no key update` lets the foreign keys of new rows (boot_observation, sel_entry, node_health)
-- read a node or a deployment that another transaction is changing; `for update` is for rows that will be deleted. An array of a sub-select,
-- `= any (array(select .. order by id for ..))`, is read to its end before the first row is changed: its order is the order of the locks.
-- A transaction that holds a node keeps new deployments away from it. Two rings are left: a node deleted while its first observation is
-- written, and two sheets that claim one another's MACs. The programs repeat those (common/db). tests/unit/lock_order_test.c holds the order.

-- ==== shape ====

create type node_state as enum ('discovered', 'free', 'reserved', 'active', 'scrubbing', 'broken', 'held');

create type node_event as enum ('accept', 'inspect', 'reserve', 'activate', 'reinstall', 'release', 'scrubbed', 'abandon',
				'hold', 'unhold', 'break', 'repair');

create table node (
	id bigint generated always as identity primary key,
	name text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	class text not null default '' check (length(class) <= 63),
	rack text not null default '' check (length(rack) <= 63),
	unit integer check (unit between 1 and 100),
	firmware text not null default 'bios' check (firmware in ('bios', 'uefi')),
	arch text not null default 'x86_64' check (arch in ('x86_64', 'arm64')),
	-- What the network may start on it: anything; what the site's key has signed; and its TPM has to prove that nothing else runs.
	secure_boot text not null default 'off' check (secure_boot in ('off', 'signed', 'attested')),
	serial text not null default '',
	uuid uuid,
	state node_state not null default 'discovered',
	-- held a tenant's data and has no successful scrub since: sticky, cleared only by the event 'scrubbed'
	dirty boolean not null default false,
	tenant_id bigint references tenant,
	reason text not null default '',    -- the person's word for the state that it is in: why it is broken or held
	state_actor text not null default '',  -- who brought it into the state, and when
	state_since timestamptz not null default now(),
	version bigint not null default 1,  -- the ETag
	created_at timestamptz not null default now(),
	updated_at timestamptz not null default now(),
	constraint secure_boot_is_of_uefi check (secure_boot = 'off' or firmware = 'uefi'),
	constraint secure_boot_is_of_x86_64 check (secure_boot = 'off' or arch = 'x86_64'), -- no other signed image is made
	constraint dirty_node_is_not_free check (not (state = 'free' and dirty)),
	constraint rented_node_has_tenant_or_operator check (state in ('reserved', 'active', 'scrubbing', 'held', 'broken') or tenant_id is null)
);
-- The pages of the list of nodes. When a newer ICU orders in another way, PostgreSQL says so: reindex it then.
create index node_natural on node (name collate natural_order);
create index node_state_class on node (state, class);
alter table node enable row level security;

create table nic (
	mac macaddr primary key,
	node_id bigint not null references node on delete cascade,
	name text not null check (length(name) between 1 and 15),
	boot boolean not null default false,
	unique (node_id, name)
);
create unique index nic_one_boot on nic (node_id) where boot;

create table node_inventory (
	node_id bigint primary key references node on delete cascade,
	data jsonb not null,
	deployment_id bigint,
	at timestamptz not null default now()
);

-- What the node's TPM proved when the agent ran on it last (bampi/control/attest). `key` and `pcr7` are believed the first time, and pinned.
create table node_attestation (
	node_id bigint primary key references node on delete cascade,
	attested boolean not null,
	why text not null default '',        -- not attested: why
	deployment_id bigint,
	key text not null default '' check (key ~ '^([0-9a-f]{128})?$'),    -- the chip's
	pcr7 text not null default '' check (pcr7 ~ '^([0-9a-f]{64})?$'),   -- the firmware's Secure Boot keys
	at timestamptz not null default now(),
	constraint not_attested_has_why check (attested = (why = ''))
);

create table drive (
	node_id bigint not null references node on delete cascade,
	serial text not null,
	name text not null default '',
	model text not null default '',
	kind text not null default '',
	size_bytes bigint not null check (size_bytes >= 0),
	verdict text not null default 'unknown' check (verdict in ('unknown', 'erased', 'failed', 'skipped')),
	method text not null default '',
	reason text not null default '',
	verdict_at timestamptz,
	primary key (node_id, serial)
);

create table bmc (
	node_id bigint primary key references node on delete cascade,
	driver text not null check (driver in ('ipmi', 'redfish', 'libvirt', 'sim')),
	address inet,
	port integer not null default 623 check (port between 1 and 65535),
	username text not null default '' check (length(username) <= 16),  -- IPMI 2.0 22.29: 16 bytes
	password_sealed bytea,
	-- While the password is exchanged (rotation.sql): the one to come, and the one before.
	password_next bytea,
	password_former bytea,
	password_at timestamptz,                 -- since when password_sealed is what it is
	cipher_suite integer not null default 17 check (cipher_suite between 0 and 19),
	insecure boolean not null default false, -- the operator's word: a session without a key, a digest or AES is better than none
	workarounds text[] not null default '{}',
	observed_power text not null default 'unknown' check (observed_power in ('unknown', 'on', 'off')),
	observed_at timestamptz,
	power_since timestamptz,                 -- since when observed_power is what it is
	problem jsonb,
	failing boolean not null default false,  -- it does not answer; a BMC that answers may have a problem too
	tls text not null default 'verify' check (tls in ('verify', 'unverified', 'off')),
	-- Of the BMC's public key: "sha256//" and the base64 of its SHA-256, as libcurl writes it; '' = the CA file decides.
	fingerprint text not null default '' check (fingerprint ~ '^(sha256//[A-Za-z0-9+/]{43}=)?$'),
	-- Of libvirt, in place of an address. Only ways that start no program: its ssh and ext take ?command=.
	uri text check (length(uri) between 1 and 127 and uri ~ '^(qemu:///|qemu\+unix:///|qemu\+tls://|test:///)[^?&% \\]*$'),
	unique (address, port),
	constraint bmc_weak_is_said check (insecure or driver <> 'ipmi' or cipher_suite in (3, 8, 12, 17)),
	constraint bmc_way_in check (case when driver = 'libvirt' then uri is not null and address is null
				    else address is not null and uri is null end)
);

-- Every (state, event) cell is written down; next = null is a refusal, logged. `dirties`: what the event does to node.dirty (null = nothing).
create table node_transition_rule (
	state node_state,
	event node_event,
	next node_state,
	dirties boolean,
	primary key (state, event)
);

insert into node_transition_rule (state, event, next, dirties)
select s, e, r.next::node_state, r.dirties
from unnest(enum_range(null::node_state)) s
cross join unnest(enum_range(null::node_event)) e
left join (values
	('discovered', 'accept',    'free',       null::boolean),
	('discovered', 'inspect',   'discovered', null),
	('discovered', 'release',   'scrubbing',  null),
	('discovered', 'hold',      'held',       null),
	('discovered', 'break',     'broken',     null),
	('free',       'inspect',   'free',       null),
	('free',       'reserve',   'reserved',   true),
	('free',       'hold',      'held',       null),
	('free',       'break',     'broken',     null),
	('reserved',   'activate',  'active',     null),
	('reserved',   'abandon',   'discovered', null),
	('reserved',   'hold',      'held',       null),
	('reserved',   'break',     'broken',     null),
	('active',     'reinstall', 'reserved',   null),
	('active',     'release',   'scrubbing',  null),
	('active',     'hold',      'held',       null),
	('active',     'break',     'broken',     null),
	('scrubbing',  'scrubbed',  'free',       false),
	('scrubbing',  'abandon',   'discovered', null),
	('scrubbing',  'hold',      'held',       null),
	('scrubbing',  'break',     'broken',     null),
	('broken',     'repair',    'discovered', null),
	('broken',     'hold',      'held',       null),
	('held',       'unhold',    'discovered', null),
	('held',       'break',     'broken',     null)
) r (state, event, next, dirties) on r.state = s::text and r.event = e::text;

-- ==== functions ====

-- The one door to a node's state. Returns the new state, or null when the event is refused; both leave an event. A node leaves its tenant when
-- it becomes free or discovered. The row lock is no stronger than the change needs, so that foreign keys to the node do not wait.
create function node_transition(p_node bigint, p_event node_event, p_actor text, p_detail jsonb default '{}')
returns node_state language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype;
	r node_transition_rule%rowtype;
begin
	select * into n from node where id = p_node for no key update;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	end if;
	select * into r from node_transition_rule where state = n.state and event = p_event;
	-- 'accept' is the operator's word that the disks hold nobody's data; it cannot overrule a sticky dirty.
	if r.next is null or (r.next = 'free' and n.dirty and r.dirties is distinct from false) then
		perform event_add(p_actor, 'node.refused', 'node', n.name, n.tenant_id,
				  format('%s refused in state %s%s', p_event, n.state, case when n.dirty then ' (dirty)' else '' end),
				  p_detail || jsonb_build_object('state', n.state, 'event', p_event));
		return null;
	end if;
	update node set state = r.next, dirty = coalesce(r.dirties, dirty), version = version + 1, updated_at = now(),
			reason = coalesce(p_detail ->> 'reason', case when r.next = n.state then n.reason end, ''),
			state_actor = case when r.next = n.state then n.state_actor else p_actor end,
			state_since = case when r.next = n.state then n.state_since else now() end,
			tenant_id = case when r.next in ('free', 'discovered') then null else tenant_id end
	where id = p_node;
	if r.next is distinct from n.state then
		perform event_add(p_actor, 'node.state', 'node', n.name, n.tenant_id, format('%s -> %s by %s', n.state, r.next, p_event),
				  p_detail || jsonb_build_object('from', n.state, 'to', r.next, 'event', p_event,
								 'dirty', coalesce(r.dirties, n.dirty)));
	end if;
	return r.next;
end
$$;

-- A person's events on a node by name (accept, hold, unhold, break, repair). Null = refused.
create function node_request(p_node text, p_event node_event, p_actor text, p_reason text)
returns node_state language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
begin
	if not is_operator() then
		raise exception 'only an operator may change the state of a node' using errcode = 'HA403';
	end if;
	if p_event not in ('accept', 'hold', 'unhold', 'break', 'repair') then
		raise exception 'event % cannot be fired by an operator', p_event using errcode = 'HA422';
	end if;
	select id into v_id from node where name = p_node;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404', hint = 'haasctl node list shows the nodes';
	end if;
	return node_transition(v_id, p_event, p_actor, jsonb_build_object('reason', p_reason));
end
$$;

-- What the event of a change holds of a node and of the way to its BMC; never a secret.
create function node_put_facts(p_node bigint)
returns jsonb language sql stable security definer set search_path = haas, pg_temp as $$
	select to_jsonb(n) - 'version' - 'updated_at' || jsonb_build_object('bmc', (
		select jsonb_build_object('driver', b.driver, 'address', host(b.address), 'uri', b.uri, 'port', b.port, 'username', b.username,
					  'cipher_suite', b.cipher_suite, 'insecure', b.insecure, 'workarounds', b.workarounds, 'tls', b.tls, 'fingerprint', b.fingerprint,
					  'password', b.password_sealed is not null)
		from bmc b where b.node_id = n.id))
	from node n where n.id = p_node
$$;

-- Creates or updates one node from a sheet row or an API body; the caller has validated types and sealed the password. Members of p_spec: name
-- class rack unit firmware secure_boot arch serial uuid nics[{name,mac,boot}] bmc{driver,address,port,username,password_sealed(hex),cipher_suite,insecure,
-- workarounds[],tls,fingerprint,uri}; the port's default is the driver's. Returns {"result": created|updated, "errors": [{"row","column","message"}]}.
-- With errors or p_dry_run nothing is written. The BMC is locked before the node (lock order).
-- A password is sealed for one way to one BMC: with another address, driver or certificate it has to be given again, so that nobody sends it elsewhere.
create function node_put(p_spec jsonb, p_dry_run boolean, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_name text := p_spec ->> 'name';
	v_bmc jsonb := p_spec -> 'bmc';
	v_id bigint;
	v_port integer;
	v_errors jsonb := '[]';
	v_result text := 'created';
	v_other text;
	v_nic jsonb;
	v_before jsonb;
	v_after jsonb;
begin
	if not is_operator() then
		raise exception 'only an operator may change nodes' using errcode = 'HA403';
	end if;
	perform node_put_lock(array[v_name]);
	select id into v_id from node where name = v_name;
	if found then
		v_result := 'updated';
	end if;
	for v_nic in select * from jsonb_array_elements(coalesce(p_spec -> 'nics', '[]')) loop
		select n.name into v_other from nic join node n on n.id = nic.node_id
		where nic.mac = (v_nic ->> 'mac')::macaddr and n.id is distinct from v_id;
		if found then
			v_errors := v_errors || jsonb_strip_nulls(jsonb_build_object('row', v_nic -> 'row', 'column', 'mac',
										 'message', format('%s belongs to node %s', v_nic ->> 'mac', v_other)));
		end if;
	end loop;
	if coalesce(p_spec ->> 'secure_boot', (select secure_boot from node where id = v_id), 'off') <> 'off'
	   and coalesce(p_spec ->> 'firmware', (select firmware from node where id = v_id), 'bios') <> 'uefi' then
		v_errors := v_errors || jsonb_build_object('column', 'secure_boot', 'message', 'needs firmware uefi');
	end if;
	if coalesce(p_spec ->> 'secure_boot', (select secure_boot from node where id = v_id), 'off') <> 'off'
	   and coalesce(p_spec ->> 'arch', (select arch from node where id = v_id), 'x86_64') <> 'x86_64' then
		v_errors := v_errors || jsonb_build_object('column', 'secure_boot', 'message', 'needs arch x86_64: no signed image is made for another');
	end if;
	if v_bmc is not null then
		v_port := case when v_bmc ->> 'driver' is distinct from 'redfish' then 623
			       when v_bmc ->> 'tls' = 'off' then 80 else 443 end;
		-- What belongs to another driver goes with it.
		v_bmc := v_bmc - case when v_bmc ->> 'driver' = 'libvirt' then 'address' else 'uri' end;
		if v_bmc ->> 'driver' = 'libvirt' and v_bmc ->> 'uri' is null then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_uri', 'message', 'needed by driver libvirt');
		elsif v_bmc ->> 'uri' !~ '^(qemu:///|qemu\+unix:///|qemu\+tls://|test:///)[^?&% \\]*$' then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_uri', 'message', format(
				'%s is not allowed: qemu:///system, qemu+unix:///system or qemu+tls://HOST/system, without parameters', v_bmc ->> 'uri'));
		elsif v_bmc ->> 'driver' is distinct from 'libvirt' and v_bmc ->> 'address' is null then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_address', 'message', 'needed by every driver but libvirt');
		end if;
		select n.name into v_other from bmc b join node n on n.id = b.node_id
		where b.address = (v_bmc ->> 'address')::inet and b.port = coalesce((v_bmc ->> 'port')::integer, v_port) and n.id is distinct from v_id;
		if found then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_address',
								   'message', format('%s is the BMC of node %s', v_bmc ->> 'address', v_other));
		end if;
		if coalesce(v_bmc ->> 'driver', 'ipmi') = 'ipmi' and (v_bmc ->> 'cipher_suite')::integer not in (3, 8, 12, 17)
		   and not coalesce((v_bmc ->> 'insecure')::boolean, false) then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_cipher_suite', 'message', format(
				'suite %s leaves out the key, the digest or AES: take 17 or 3, or say bmc_insecure true', v_bmc ->> 'cipher_suite'));
		end if;
		if not v_bmc ? 'password_sealed' and exists (
			select from bmc b where b.node_id = v_id and b.password_sealed is not null
			and (b.driver, host(b.address), b.uri, b.port, b.tls, b.fingerprint, b.insecure) is distinct from
			    (coalesce(v_bmc ->> 'driver', 'ipmi'), host((v_bmc ->> 'address')::inet), v_bmc ->> 'uri', coalesce((v_bmc ->> 'port')::integer, v_port),
			     coalesce(v_bmc ->> 'tls', 'verify'), coalesce(v_bmc ->> 'fingerprint', ''), coalesce((v_bmc ->> 'insecure')::boolean, false))) then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_password', 'message',
				'needed: the password that is kept is for the BMC''s present address, driver, certificate and protection');
		end if;
	end if;
	if jsonb_array_length(v_errors) > 0 or p_dry_run then
		return jsonb_build_object('result', v_result, 'errors', v_errors);
	end if;
	v_before := node_put_facts(v_id);
	insert into node (name, class, rack, unit, firmware, secure_boot, arch, serial, uuid)
	values (v_name, coalesce(p_spec ->> 'class', ''), coalesce(p_spec ->> 'rack', ''), (p_spec ->> 'unit')::integer,
		coalesce(p_spec ->> 'firmware', (select firmware from node where id = v_id), 'bios'), coalesce(p_spec ->> 'secure_boot', 'off'), coalesce(p_spec ->> 'arch', 'x86_64'), coalesce(p_spec ->> 'serial', ''),
		(p_spec ->> 'uuid')::uuid)
	on conflict (name) do update set
		class = case when p_spec ? 'class' then excluded.class else node.class end,
		rack = case when p_spec ? 'rack' then excluded.rack else node.rack end,
		unit = case when p_spec ? 'unit' then excluded.unit else node.unit end,
		firmware = case when p_spec ? 'firmware' then excluded.firmware else node.firmware end,
		secure_boot = case when p_spec ? 'secure_boot' then excluded.secure_boot else node.secure_boot end,
		arch = case when p_spec ? 'arch' then excluded.arch else node.arch end,
		serial = case when p_spec ? 'serial' then excluded.serial else node.serial end,
		uuid = case when p_spec ? 'uuid' then excluded.uuid else node.uuid end,
		version = node.version + 1, updated_at = now()
	returning id into v_id;
	if p_spec ? 'nics' then
		delete from nic where node_id = v_id;
		insert into nic (mac, node_id, name, boot)
		select (j ->> 'mac')::macaddr, v_id, j ->> 'name', coalesce((j ->> 'boot')::boolean, false) from jsonb_array_elements(p_spec -> 'nics') j;
	end if;
	if v_bmc is not null then
		insert into bmc (node_id, driver, address, uri, port, username, password_sealed, password_at, cipher_suite, insecure, workarounds, tls, fingerprint)
		values (v_id, coalesce(v_bmc ->> 'driver', 'ipmi'), (v_bmc ->> 'address')::inet, v_bmc ->> 'uri',
			coalesce((v_bmc ->> 'port')::integer, v_port),
			coalesce(v_bmc ->> 'username', ''), decode(v_bmc ->> 'password_sealed', 'hex'), case when v_bmc ? 'password_sealed' then now() end,
			coalesce((v_bmc ->> 'cipher_suite')::integer, 17), coalesce((v_bmc ->> 'insecure')::boolean, false),
			array(select jsonb_array_elements_text(coalesce(v_bmc -> 'workarounds', '[]'))),
			coalesce(v_bmc ->> 'tls', 'verify'), coalesce(v_bmc ->> 'fingerprint', ''))
		on conflict (node_id) do update set driver = excluded.driver, address = excluded.address, uri = excluded.uri, port = excluded.port,
			username = excluded.username, password_sealed = coalesce(excluded.password_sealed, bmc.password_sealed),
			password_next = case when excluded.password_sealed is null then bmc.password_next end,
			password_former = case when excluded.password_sealed is null then bmc.password_former end,
			password_at = case when excluded.password_sealed is null then bmc.password_at else now() end,
			cipher_suite = excluded.cipher_suite, insecure = excluded.insecure, workarounds = excluded.workarounds, tls = excluded.tls, fingerprint = excluded.fingerprint;
	end if;
	if v_bmc ? 'password_sealed' then
		update rotation r set state = case when r.state = 'both' then 'done' else 'failed' end, ended_at = now(), due_at = null, generation = generation + 1,
			problem = case when r.state <> 'both' then jsonb_build_object('message', 'another password was given meanwhile') end
		where r.node_id = v_id and r.ended_at is null;
	end if;
	v_after := node_put_facts(v_id);
	perform event_add(p_actor, 'node.' || v_result, 'node', v_name, null, 'node ' || v_result,
			  jsonb_build_object('before', v_before, 'after', v_after));
	perform pg_notify('inventory', '');
	return jsonb_build_object('result', v_result, 'errors', v_errors);
end
$$;

-- secure_boot=off is the operator's word that what was pinned counts no more: the board was changed, or the firmware's keys.
create function node_attestation_forget() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	delete from node_attestation where node_id = new.id;
	return null;
end
$$;

-- Removes a node that holds nobody's data and has no work under way. Null = done, else the reason. Its BMC and its health go with it, and are
-- locked first (lock order).
create function node_delete(p_node text, p_version bigint, p_actor text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may delete nodes' using errcode = 'HA403';
	end if;
	perform from bmc where node_id = (select id from node where name = p_node) for update;
	perform node_health_lock(array(select id from node where name = p_node));
	select * into n from node where name = p_node for update;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	elsif n.version <> p_version then
		raise exception 'node % was changed meanwhile', p_node using errcode = 'HA412', hint = 'read it again and repeat';
	elsif n.dirty or n.state not in ('discovered', 'free', 'broken') then
		return format('node %s is %s%s; release it first', n.name, n.state, case when n.dirty then ' and dirty' else '' end);
	end if;
	perform event_add(p_actor, 'node.deleted', 'node', n.name, null, 'node deleted', to_jsonb(n));
	delete from node where id = n.id;
	perform pg_notify('inventory', '');
	return null;
end
$$;

create function node_name_fill() returns trigger language plpgsql as $$
begin
	select name into strict new.node from node where id = new.node_id;
	return new;
end
$$;

create function node_lock(p_nodes bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	select from (select from node where id = any (p_nodes) order by id for no key update) x
$$;

create function node_lock(p_nodes text[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	select from (select from node where name = any (p_nodes) order by id for no key update) x
$$;

-- Before what a sheet says is written.
create function node_put_lock(p_nodes text[])
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform from bmc where node_id in (select id from node where name = any (p_nodes)) order by node_id for no key update;
	perform node_lock(p_nodes);
end
$$;

-- Which PDCI has this node; null = none.
create function node_pdci(p_node bigint)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select m.pdci_id from pdci_node m where m.node_id = p_node and m.released_at is null
$$;

-- A node leaves its tenant: by a release, a repair, a cancel, or because another tenant took its place. It leaves the tenant's networks,
-- and its ports are parked at once, whether its OS still runs or not. A plan that works on the node moves it to the provisioning network
-- itself.
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

-- ==== triggers, views, rights ====
create trigger health_drive_made after insert on drive for each row when (new.verdict = 'failed') execute function health_drive_changed();
create trigger health_drive_changed after update of verdict on drive for each row
	when ((new.verdict = 'failed') <> (old.verdict = 'failed')) execute function health_drive_changed();
create trigger health_drive_gone after delete on drive for each row when (old.verdict = 'failed') execute function health_drive_changed();
create trigger health_bmc_changed after update on bmc referencing old table as bmc_old new table as bmc_new
	for each statement execute function health_bmc_changed();
create trigger usage_follow after update of state, tenant_id on node for each row
	when (new.state is distinct from old.state or new.tenant_id is distinct from old.tenant_id) execute function usage_follow();
create trigger usage_end after delete on node for each row execute function usage_end();
create trigger node_bond_follow after update of tenant_id on node for each row
	when (old.tenant_id is not null and new.tenant_id is distinct from old.tenant_id) execute function node_bond_follow();
create trigger nic_binding_rename after insert or delete or update of mac, node_id on nic for each row execute function nic_binding_rename();
create trigger node_left after update of state, tenant_id on node for each row
	when (new.tenant_id is null and (old.tenant_id is not null or (new.state is distinct from old.state and new.state in ('discovered', 'free', 'broken'))))
	execute function node_left();
create trigger pdci_node_changed after update of state, tenant_id on node for each row
	when (new.state is distinct from old.state or new.tenant_id is distinct from old.tenant_id) execute function pdci_node_changed();

create trigger node_attestation_forget after update of secure_boot on node for each row
	when (new.secure_boot = 'off' and old.secure_boot <> 'off') execute function node_attestation_forget();

-- The rows that the API reads. security_invoker: the row policies of the reader apply, so a tenant sees only its own through the same view.
create view node_view with (security_invoker = true) as
select n.id, n.name, n.class, n.rack, n.unit, n.firmware, n.secure_boot, n.arch, n.serial, n.uuid, n.state, n.dirty, n.reason, n.state_actor, n.state_since, t.name as tenant, n.tenant_id,
       n.version, n.created_at, n.updated_at,
       b.driver as bmc_driver, host(b.address) as bmc_address, b.port as bmc_port, b.username as bmc_username,
       b.cipher_suite as bmc_cipher_suite, b.workarounds as bmc_workarounds, coalesce(b.observed_power, 'unknown') as power,
       b.observed_at as power_at, b.problem as bmc_problem,
       (select jsonb_agg(jsonb_build_object('name', x.name, 'mac', x.mac::text, 'boot', x.boot) order by x.name) from nic x where x.node_id = n.id) as nics,
       (select host(l.address) from lease l join nic x on x.mac = l.mac where x.node_id = n.id and l.state = 'bound' order by x.boot desc, l.expires_at desc limit 1) as address,
       d.id as deployment_id, d.plan, case when d.state in ('done', 'cancelled', 'cleared') then '' else d.step end as step,
       d.state as deployment_state, p.percent, p.text as progress, b.tls as bmc_tls, b.fingerprint as bmc_fingerprint, b.uri as bmc_uri, b.insecure as bmc_insecure,
       v.attested, v.why as attested_why, v.at as attested_at
from node n
left join tenant t on t.id = n.tenant_id
left join bmc b on b.node_id = n.id
left join node_attestation v on v.node_id = n.id
left join lateral (select * from deployment x where x.node_id = n.id order by x.id desc limit 1) d on true
left join progress p on p.deployment_id = d.id and d.due_at is not null and p.updated_at >= d.step_started_at;

create view allocatable_node with (security_invoker = true) as
select n.id, n.name, n.class, n.rack, n.unit, n.firmware, n.arch
from node n
where n.state = 'free' and not n.dirty and (health_effect(n.id, 'no_allocation')).label is null and node_pdci(n.id) is null;

create policy node_portald on node for select to portald using (in_scope(tenant_id));
create policy node_daemon on node for select to bampid, bampi_bootd using (true);
create policy node_peregrined on node for select to peregrined using (true);
create policy node_flowd on node for select to peregrine_flowd using (true);

grant select on node to bampi_bootd, bampid, portald, peregrined, peregrine_flowd;
grant select on nic to bampi_bootd, bampid, portald, peregrined, peregrine_flowd;
grant insert, select, update on node_inventory to bampid;
grant select on node_inventory to portald, peregrined;
grant insert, select, update on node_attestation to bampid;
grant select on node_attestation to portald;
grant insert, select, update, delete on drive to bampid;
grant select on drive to portald;
grant select, update (failing, observed_at, observed_power, power_since, problem) on bmc to bampid;
grant select (address, cipher_suite, driver, fingerprint, insecure, node_id, password_at, observed_at, observed_power, port, problem, tls, uri, username, workarounds, xmin) on bmc to portald;
grant select (node_id, observed_power, power_since) on bmc to peregrined;
grant select on node_transition_rule to bampid, portald;
grant select on node_view to portald;
grant select on allocatable_node to bampid, portald;
grant execute on function node_transition(bigint,node_event,text,jsonb) to bampid;
grant execute on function node_request(text,node_event,text,text) to portald;
grant execute on function node_put(jsonb,boolean,text) to portald;
grant execute on function node_delete(text,bigint,text) to portald;
grant execute on function node_lock(bigint[]) to bampid;
grant execute on function node_lock(text[]) to portald;
grant execute on function node_put_lock(text[]) to portald;
grant execute on function node_pdci(bigint) to bampid, portald;
