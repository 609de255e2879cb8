-- Storages, volumes, archives.
--
-- Each storage logs in as a role of its own. One storage: bampi_stored itself. More: a role each, `create role NAME login in role bampi_stored`.
-- Each node has an account of its own at a volume, with a secret derived from the volume's (docs/decision/way-to-a-volume.md): its access ends with its place
-- in the PDCI, and no secret of a node is a row.

-- ==== shape ====

-- A place that keeps volumes and serves them to nodes.
create table storage (
	id bigint generated always as identity primary key,
	name text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	login name not null default 'bampi_stored' unique,  -- who keeps it; a role that is or is in bampi_stored
	driver text not null default 'tgt' check (driver in ('tgt')),
	portal text not null check (portal ~ '^[0-9a-fA-F.:\[\]]+:[0-9]{1,5}$'),  -- where nodes reach it
	iqn text not null default 'iqn.2026-11.internal.haas' check (iqn ~ '^iqn\.[0-9]{4}-[0-9]{2}\.[a-z0-9.-]{1,80}$'),  -- of targets and initiators (RFC 7143, 4.2.7.5)
	capacity_bytes bigint check (capacity_bytes > 0),   -- what volumes and archives may take together; null: what the disk has
	accepts boolean not null default true,              -- new volumes
	public_key bytea check (length(public_key) = 32),   -- CHAP secrets are sealed to it
	total_bytes bigint, free_bytes bigint, problem jsonb, seen_at timestamptz,
	claim_owner text, claim_until timestamptz, generation bigint not null default 0,  -- every write of a claim says "where generation = mine"
	version bigint not null default 1, created_at timestamptz not null default now(),
	-- Where the storage is plugged in, and the addresses of its networks. Each PDCI with volumes there gets a network of its own (network.storage_id).
	-- Its members are the PDCI's nodes and the storage's port, tagged. So two PDCIs never share one, whatever prefixes their tenants use.
	-- Without a port the site routes the storage's portal.
	switch_id bigint references switch, port text, prefix cidr,
	constraint port_of_storage_is_whole check ((switch_id is null) = (port is null) and (port is null or prefix is not null))
);
create unique index storage_port on storage (switch_id, port) where port is not null;
create index storage_switch on storage (switch_id);
alter table storage enable row level security;

-- An immutable copy of a volume: zstd, with digests (BLAKE2b-256) of the data and of what is stored.
create table archive (
	id bigint generated always as identity primary key,
	tenant_id bigint not null references tenant,
	name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	storage_id bigint not null references storage,
	volume_id bigint, volume text not null,  -- that it is of
	size_bytes bigint not null check (size_bytes > 0),
	digest text check (digest ~ '^[0-9a-f]{64}$'), stored_digest text check (stored_digest ~ '^[0-9a-f]{64}$'), stored_bytes bigint,
	wanted text not null default 'present' check (wanted in ('present', 'absent')),
	state text not null default 'archiving' check (state in ('archiving', 'ready', 'failed', 'deleting', 'deleted')),
	done_bytes bigint not null default 0, problem jsonb, actor text not null,
	version bigint not null default 1,
	created_at timestamptz not null default now(), ready_at timestamptz, ended_at timestamptz,
	constraint ready_archive_is_known check (state <> 'ready' or (digest is not null and stored_digest is not null and stored_bytes is not null)),
	constraint deleted_archive_has_end check ((state = 'deleted') = (ended_at is not null))
);
create unique index archive_name on archive (tenant_id, name) where state <> 'deleted';
create index archive_storage on archive (storage_id) where state <> 'deleted';
create index archive_volume on archive (volume_id) where state = 'archiving';
alter table archive enable row level security;

-- Shared block storage of a tenant; local disks of nodes are no rows here (local_disk).
create table volume (
	id bigint generated always as identity primary key,
	tenant_id bigint not null references tenant,
	name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	storage_id bigint not null references storage,
	size_bytes bigint not null check (size_bytes between 1048576 and 1125899906842624 and size_bytes % 4096 = 0),
	archive_id bigint references archive on delete set null,  -- that it is restored of
	pdci_id bigint references pdci,        -- wanted: whose nodes may reach it; null: nobody's
	keep boolean not null default true,    -- outlives that PDCI; false: is deleted with it
	wanted text not null default 'present' check (wanted in ('present', 'absent')),
	-- of the data. creating: made, or restored. failed: see problem, tried again
	state text not null default 'creating' check (state in ('creating', 'ready', 'failed', 'deleting', 'deleted')),
	kept_bytes bigint not null default 0,  -- how large it is on the storage: size_bytes, or it is being made or grown
	done_bytes bigint not null default 0, problem jsonb,
	-- CHAP: the user is made of the id and the number of the secret. Without one asked for, one that nobody knows.
	secret_sealed bytea, secret_number bigint not null default 0,
	served_pdci_id bigint references pdci, -- observed: whose nodes can reach it
	served jsonb,                          -- observed: [{"node", "address"}], who can
	actor text not null,
	version bigint not null default 1,
	created_at timestamptz not null default now(), ready_at timestamptz, ended_at timestamptz,
	constraint deleted_volume_has_end check ((state = 'deleted') = (ended_at is not null)),
	constraint deleted_volume_is_not_served check (state <> 'deleted' or served_pdci_id is null),
	constraint unwanted_volume_is_nobodys check (wanted = 'present' or pdci_id is null)
);
create unique index volume_name on volume (tenant_id, name) where state <> 'deleted';
create index volume_storage on volume (storage_id) where state <> 'deleted';
create index volume_pdci on volume (pdci_id) where pdci_id is not null;
create index volume_served on volume (served_pdci_id) where served_pdci_id is not null;
alter table volume enable row level security;

alter table network add foreign key (storage_id) references storage;

-- ==== functions ====

-- Mine? Row policies of what lies on a storage ask this.
create function storage_mine(p_storage bigint) returns boolean stable language sql security definer set search_path = haas, pg_temp as
$$ select exists (select from storage where id = p_storage and login = session_user) $$;

-- Which volume or archive: an id, or the name that it has in its tenant; a deleted one keeps its name until there is a new one of that name.
create function stored_pick(p_kind text, p_key text, p_tenants bigint, p_id bigint)
returns bigint immutable language plpgsql set search_path = haas as $$
begin
	if p_id is null then
		raise exception '% % does not exist', p_kind, p_key using errcode = 'HA404', hint = format('haasctl %s list shows the %ss', p_kind, p_kind);
	elsif p_tenants > 1 then
		raise exception '% tenants have the % %', p_tenants, p_kind, p_key using errcode = 'HA409', hint = 'name the owner: tenant=NAME (haasctl: --tenant), or use its id';
	end if;
	return p_id;
end
$$;

create function volume_find(p_key text, p_tenant text)
returns bigint stable language plpgsql set search_path = haas as $$
begin
	if exists (select from volume_view v where v.kind = 'local' and v.name = p_key and (p_tenant is null or v.tenant = p_tenant)) then
		raise exception 'volume % is a local disk of its node', p_key using errcode = 'HA409', hint = 'it is there and goes with the node: haasctl volume show ' || p_key;
	end if;
	return (select stored_pick('volume', p_key, count(distinct v.tenant_id), (array_agg(v.id order by v.state = 'deleted', v.id desc))[1])
		from volume v join tenant t on t.id = v.tenant_id
		where case when p_key ~ '^[1-9][0-9]{0,17}$' then v.id = p_key::bigint else v.name = p_key end and (p_tenant is null or t.name = p_tenant));
end
$$;

create function archive_find(p_key text, p_tenant text)   -- whoever it was granted to may know it but not its tenant
returns bigint stable language sql set search_path = haas as $$
	select stored_pick('archive', p_key, count(distinct a.tenant_id), (array_agg(a.id order by a.state = 'deleted', a.id desc))[1])
	from archive a where case when p_key ~ '^[1-9][0-9]{0,17}$' then a.id = p_key::bigint else a.name = p_key end
	      and (p_tenant is null or exists (select from tenant t where t.id = a.tenant_id and t.name = p_tenant))
$$;

-- The row of a volume of the caller's scope that is not being deleted, locked. Only for the functions below.
create function volume_lock(p_volume bigint)
returns volume language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype;
begin
	select * into v from volume where id = p_volume for update;
	if not found or not in_scope(v.tenant_id) then
		raise exception 'volume % does not exist', p_volume using errcode = 'HA404', hint = 'haasctl volume list shows the volumes';
	elsif v.wanted = 'absent' then
		raise exception 'volume % is %', v.name, case v.state when 'deleted' then 'deleted' else 'being deleted' end using errcode = 'HA409';
	end if;
	return v;
end
$$;

-- The same before its tenant gets more: the tenant is locked first (limit.sql).
create function volume_lock_counted(p_volume bigint)
returns volume language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform tenant_limit_lock(v.tenant_id, 'volume_bytes') from volume v where v.id = p_volume;
	return volume_lock(p_volume);
end
$$;

create function volume_wished(p_actor text, p_kind text, p_volume volume, p_message text)
returns void language sql security definer set search_path = haas, pg_temp as $$
	select event_add(p_actor, p_kind, 'volume', p_volume.name, p_volume.tenant_id, p_message, jsonb_build_object('volume', p_volume.id, 'pdci', p_volume.pdci_id));
	select pg_notify('volume', '');
$$;

-- Sums the bytes of a storage that volumes and archives have taken or reserved.
create function storage_used(p_storage bigint)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select (coalesce((select sum(size_bytes) from volume where storage_id = p_storage and state <> 'deleted'), 0)
		+ coalesce((select sum(stored_bytes) from archive where storage_id = p_storage and state <> 'deleted'), 0))::bigint
$$;

-- p_spec: {"name", "size_bytes" | "archive", "storage", "pdci": id, "keep"}. A volume restored from an archive is on the archive's storage and at
-- least as large. A refusal for lack of room names the largest size that would fit.
create function volume_create(p_tenant text, p_spec jsonb, p_actor text)
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
			raise exception 'archive % needs a volume of %', a.name, size_text(a.size_bytes) using errcode = 'HA422';
		end if;
	elsif v_size is null then
		raise exception 'a volume needs a size or an archive' using errcode = 'HA422';
	end if;
	perform tenant_limit_lock(v_tenant, 'volume_bytes');
	-- all storages are locked in order: what is free is told once
	perform from storage order by id for no key update;
	select * into v_room from storage_room(p_spec ->> 'storage', a.storage_id);
	if v_size > coalesce(v_room.bytes, 0) then
		raise exception 'there is no room for a volume of %', size_text(v_size) ||
			coalesce((select ' on storage ' || s.name from storage s where s.id = a.storage_id or s.name = p_spec ->> 'storage' limit 1), '')
			using errcode = 'HA409', constraint = 'room',
			hint = case when v_room.bytes > 0 then format('the largest that fits has %s (storage %s); or delete volumes or archives', size_text(v_room.bytes), v_room.name)
				    else 'delete volumes or archives, or add storage: haasctl storage list' end;
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

-- The nodes of the PDCI may reach it, from when the PDCI is ready until it is released or the volume detached. One PDCI at a time.
create function volume_attach(p_volume bigint, p_pdci bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock(p_volume);
	p pdci%rowtype;
begin
	select * into p from pdci where id = p_pdci for share;
	if not found or not in_scope(p.tenant_id) or p.tenant_id <> v.tenant_id then
		raise exception 'PDCI % does not exist for the tenant of volume %', p_pdci, v.name using errcode = 'HA404', hint = 'haasctl pdci list shows the PDCIs';
	elsif p.wanted = 'absent' then
		raise exception 'PDCI % is %', p.name, p.state using errcode = 'HA409', hint = 'attach it to a PDCI that is not being released';
	elsif v.pdci_id = p.id then
		return;
	elsif v.pdci_id is not null then
		raise exception 'volume % is attached to another PDCI', v.name using errcode = 'HA409', hint = 'haasctl volume detach ' || v.name;
	end if;
	update volume set pdci_id = p.id, secret_sealed = null, secret_number = secret_number + 1, version = version + 1 where id = v.id;
	perform volume_wished(p_actor, 'volume.attach', v, 'to PDCI ' || p.name);
end
$$;

create function volume_detach(p_volume bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock(p_volume);
begin
	if v.pdci_id is null then
		return;
	end if;
	update volume set pdci_id = null, secret_sealed = null, secret_number = secret_number + 1, version = version + 1 where id = v.id;
	perform volume_wished(p_actor, 'volume.detach', v, 'asked for');
end
$$;

-- Only larger: what would be cut off is a tenant's data. While it is detached: initiators take the size when they log in.
create function volume_resize(p_volume bigint, p_size bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock_counted(p_volume);
begin
	if p_size < v.size_bytes then
		raise exception 'volume % has % and can only grow', v.name, size_text(v.size_bytes) using errcode = 'HA422';
	elsif v.pdci_id is not null or v.served_pdci_id is not null then
		raise exception 'volume % is attached', v.name using errcode = 'HA409', hint = 'haasctl volume detach ' || v.name;
	elsif v.state <> 'ready' or exists (select from archive a where a.volume_id = v.id and a.state = 'archiving') then
		raise exception 'volume % is being worked on', v.name using errcode = 'HA409', hint = 'haasctl volume show ' || v.name;
	end if;
	perform from storage order by id for no key update;
	if (select storage_used(s.id) - v.size_bytes + p_size > coalesce(s.capacity_bytes, s.total_bytes, 0) from storage s where s.id = v.storage_id) then
		raise exception 'there is no room for a volume of %', size_text(p_size) using errcode = 'HA409', hint = 'ask for less, or delete volumes or archives';
	end if;
	update volume set size_bytes = p_size, version = version + 1 where id = v.id;
	perform volume_wished(p_actor, 'volume.resize', v, format('%s -> %s', size_text(v.size_bytes), size_text(p_size)));
end
$$;

-- The data is overwritten and read back, then the room given back.
create function volume_delete(p_volume bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock(p_volume);
begin
	if v.pdci_id is not null or v.served_pdci_id is not null then
		raise exception 'volume % is attached', v.name using errcode = 'HA409', hint = 'haasctl volume detach ' || v.name;
	elsif exists (select from archive a where a.volume_id = v.id and a.state = 'archiving' and a.wanted = 'present') then
		raise exception 'volume % is being archived', v.name using errcode = 'HA409', hint = 'wait for its archive, or delete that';
	end if;
	update volume set wanted = 'absent', secret_sealed = null, version = version + 1 where id = v.id;
	perform volume_wished(p_actor, 'volume.delete', v, 'its data is to be destroyed');
end
$$;

-- A new CHAP secret, sealed to the storage by who told it to the tenant; the former one ends.
create function volume_secret_set(p_volume bigint, p_sealed text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock(p_volume);
begin
	if v.pdci_id is null then
		raise exception 'volume % is not attached', v.name using errcode = 'HA409', hint = 'haasctl volume attach ' || v.name || ' PDCI';
	end if;
	update volume set secret_sealed = decode(p_sealed, 'hex'), secret_number = secret_number + 1, version = version + 1 where id = v.id;
	perform volume_wished(p_actor, 'volume.secret', v, 'a new secret was issued');
end
$$;

create function archive_create(p_volume bigint, p_name text, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock_counted(p_volume);
	v_id bigint;
begin
	if v.pdci_id is not null or v.served_pdci_id is not null then
		raise exception 'volume % is attached: writes during the copy would make it inconsistent', v.name using errcode = 'HA409', hint = 'haasctl volume detach ' || v.name;
	elsif v.state <> 'ready' or v.kept_bytes <> v.size_bytes then
		raise exception 'volume % is being worked on', v.name using errcode = 'HA409', hint = 'haasctl volume show ' || v.name;
	end if;
	begin
		insert into archive (tenant_id, name, storage_id, volume_id, volume, size_bytes, actor)
		values (v.tenant_id, p_name, v.storage_id, v.id, v.name, v.size_bytes, p_actor) returning id into v_id;
	exception when unique_violation then
		raise exception 'archive % exists already', p_name using errcode = 'HA409', hint = 'choose another name';
	end;
	perform event_add(p_actor, 'archive.created', 'archive', p_name, v.tenant_id, 'of volume ' || v.name, jsonb_build_object('archive', v_id, 'volume', v.id));
	perform pg_notify('volume', '');
	return v_id;
end
$$;

create function archive_delete(p_archive bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a archive%rowtype;
begin
	select * into a from archive where id = p_archive for update;
	if not found or not (in_scope(a.tenant_id) or granted('archive', a.id, current_tenant())) then
		raise exception 'archive % does not exist', p_archive using errcode = 'HA404', hint = 'haasctl archive list shows the archives';
	elsif not in_scope(a.tenant_id) then
		raise exception 'archive % belongs to another owner', a.name using errcode = 'HA403', hint = 'a grant lets you restore it';
	elsif a.wanted = 'absent' then
		return;
	elsif exists (select from volume v where v.archive_id = a.id and v.wanted = 'present' and v.ready_at is null) then
		raise exception 'a volume is being restored of archive %', a.name using errcode = 'HA409', hint = 'wait for it, or delete that volume';
	end if;
	update archive set wanted = 'absent', version = version + 1 where id = a.id;
	delete from object_grant g where g.archive_id = a.id;
	perform event_add(p_actor, 'archive.delete', 'archive', a.name, a.tenant_id, 'its data is to be destroyed', jsonb_build_object('archive', a.id));
	perform pg_notify('volume', '');
end
$$;

create function storage_put(p_name text, p_spec jsonb, p_actor text)
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
			raise exception 'node % is behind port %', v_node, p_spec ->> 'port' using errcode = 'HA409', hint = 'haasctl nic locate shows the NIC behind the port';
		end if;
	end if;
	if (p_spec ? 'port' or p_spec ? 'prefix') and exists (select from network n where n.storage_id = v.id)
	   and (p_spec ? 'prefix' and (p_spec ->> 'prefix')::cidr is distinct from v.prefix
		or p_spec ? 'port' and (nullif(p_spec ->> 'port', '') is distinct from (select w.name from switch w where w.id = v.switch_id) || ':' || v.port)) then
		raise exception 'nodes reach storage % at its port', p_name using errcode = 'HA409', hint = 'detach its volumes first: haasctl volume list';
	elsif coalesce(p_spec ->> 'port', '') <> '' and p_spec ->> 'prefix' is null and v.prefix is null then
		raise exception 'a storage at a port of ours needs a prefix' using errcode = 'HA422', hint = 'give a prefix such as 100.96.0.0/16: each PDCI gets a part of it, and no network of a tenant may overlap it';
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

-- One claim for all that a storage does: two daemons at one storage would serve the same files. No row: it is another's, or the database was
-- restored, and what it does not know would be closed.
create function storage_claim(p_name text, p_owner text, p_claim_ms bigint, p_key bytea, p_total bigint, p_free bigint, p_problem jsonb)
returns table (id bigint, generation bigint, iqn text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
begin
	return query
	update storage s set claim_owner = p_owner, claim_until = now() + p_claim_ms * interval '1 ms',
		generation = s.generation + case when s.claim_owner is distinct from p_owner then 1 else 0 end,
		public_key = p_key, total_bytes = p_total, free_bytes = p_free, problem = p_problem, seen_at = now()
	where s.name = p_name and s.login = session_user and not restoration_waits()
	and (s.claim_owner is not distinct from p_owner or s.claim_until is null or s.claim_until <= now())
	returning s.id, s.generation, s.iqn;
end
$$;

create function archive_work(p_storage bigint)
returns table (id bigint, name text, tenant text, state text, absent boolean, size_bytes bigint, stored_bytes bigint, volume_id bigint)
stable language sql security definer set search_path = haas, pg_temp as $$
	select a.id, a.name, t.name, a.state, a.wanted = 'absent', a.size_bytes, a.stored_bytes, a.volume_id
	from archive a join storage s on s.id = a.storage_id join tenant t on t.id = a.tenant_id
	where a.storage_id = p_storage and s.login = session_user and a.state <> 'deleted' and (a.state <> 'ready' or a.wanted = 'absent') order by a.id
$$;

-- node_ids: of `initiators`, one for one.
create function volume_work(p_storage bigint)
returns table (id bigint, name text, tenant text, state text, absent boolean, size_bytes bigint, kept_bytes bigint, archive_id bigint, archive_bytes bigint, archive_digest text,
	       pdci_id bigint, served_pdci_id bigint, initiators jsonb, secret_sealed bytea, secret_number bigint, served jsonb, node_ids jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select v.id, v.name, t.name, v.state, v.wanted = 'absent', v.size_bytes, v.kept_bytes, v.archive_id, a.size_bytes, a.digest, v.pdci_id, v.served_pdci_id,
	       x.initiators, v.secret_sealed, v.secret_number, v.served, x.node_ids
	from volume v join storage s on s.id = v.storage_id join tenant t on t.id = v.tenant_id
	left join archive a on a.id = v.archive_id left join pdci p on p.id = v.pdci_id
	left join network n on n.pdci_id = v.pdci_id and n.storage_id = v.storage_id and n.wanted = 'present'
	left join lateral (select jsonb_agg(jsonb_build_object('node', m.node, 'address', case when n.id is null then host(m.address) else
			(select host(w.address) from node_network w where w.node_id = m.node_id and w.network_id = n.id) end) order by m.node) as initiators,
		jsonb_agg(m.node_id order by m.node) as node_ids
		from pdci_node m where m.pdci_id = p.id and m.released_at is null and m.replace_asked_at is null
		      -- its OS was told the secret and starts when its ports are its tenant's: before the PDCI is ready
		      and (p.ready_at is not null or exists (select from node_place y where y.node_id = m.node_id and y.place = 'tenant'))) x
		on v.wanted = 'present' and v.state = 'ready' and v.kept_bytes = v.size_bytes and p.wanted = 'present' and (n.id is null or n.storage_up_at is not null)
		   and not exists (select from archive y where y.volume_id = v.id and y.state = 'archiving')
	where v.storage_id = p_storage and s.login = session_user and v.state <> 'deleted' order by v.id
$$;

-- ==== triggers, views, rights ====
create trigger usage_of_volume after update of state, wanted, kept_bytes, ready_at on volume for each row execute function usage_of_storage('volume');
create trigger usage_of_archive after update of state, wanted, ready_at on archive for each row execute function usage_of_storage('archive');
create trigger volume_network_follow after update of pdci_id, served_pdci_id on volume for each row
	when (new.pdci_id is distinct from old.pdci_id or new.served_pdci_id is distinct from old.served_pdci_id) execute function volume_network_follow();

-- The disks of the nodes of a PDCI, as their agents reported them.
create view local_disk with (security_invoker = true) as
select m.pdci_id, p.tenant_id, n.name as node, d ->> 'name' as disk, d ->> 'model' as model, d ->> 'serial' as serial, d ->> 'kind' as bus, (d ->> 'size_bytes')::bigint as size_bytes
from pdci_node m join pdci p on p.id = m.pdci_id join node n on n.id = m.node_id join node_inventory i on i.node_id = n.id
cross join lateral jsonb_array_elements(i.data -> 'disks') d
where m.released_at is null and not coalesce((d ->> 'removable')::boolean, false);

create view volume_view with (security_invoker = true) as
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

create policy storage_portald on storage to portald using (true) with check (is_operator());
create policy storage_daemon on storage to bampi_stored using (login = session_user);
create policy archive_portald on archive for select to portald using (in_scope(tenant_id) or granted('archive', id, current_tenant()));
create policy archive_daemon on archive to bampi_stored using (storage_mine(storage_id)) with check (storage_mine(storage_id));
create policy volume_portald on volume for select to portald using (in_scope(tenant_id));
create policy volume_daemon on volume to bampi_stored using (storage_mine(storage_id)) with check (storage_mine(storage_id));
create policy volume_bampid on volume for select to bampid using (true);

grant select on storage to portald;
grant select, update (claim_owner, claim_until, free_bytes, generation, problem, public_key, seen_at, total_bytes) on storage to bampi_stored;
grant select on archive to portald;
grant select, update (digest, done_bytes, ended_at, problem, ready_at, state, stored_bytes, stored_digest, version) on archive to bampi_stored;
grant select (actor, archive_id, created_at, done_bytes, ended_at, id, keep, kept_bytes, name, pdci_id, problem, ready_at, secret_number, served, served_pdci_id, size_bytes, state, storage_id, tenant_id, version, wanted) on volume to portald;
grant select, update (done_bytes, ended_at, kept_bytes, problem, ready_at, served, served_pdci_id, state, version) on volume to bampi_stored;
grant select on local_disk to portald;
grant select on volume_view to portald;
grant execute on function storage_mine(bigint) to bampi_stored;
grant execute on function stored_pick(text,text,bigint,bigint) to portald;
grant execute on function volume_find(text,text) to portald;
grant execute on function archive_find(text,text) to portald;
grant execute on function storage_used(bigint) to portald;
grant execute on function volume_create(text,jsonb,text) to portald;
grant execute on function volume_attach(bigint,bigint,text) to portald;
grant execute on function volume_detach(bigint,text) to portald;
grant execute on function volume_resize(bigint,bigint,text) to portald;
grant execute on function volume_delete(bigint,text) to portald;
grant execute on function volume_secret_set(bigint,text,text) to portald;
grant execute on function archive_create(bigint,text,text) to portald;
grant execute on function archive_delete(bigint,text) to portald;
grant execute on function storage_put(text,jsonb,text) to portald;
grant execute on function storage_claim(text,text,bigint,bytea,bigint,bigint,jsonb) to bampi_stored;
grant execute on function archive_work(bigint) to bampi_stored;
grant execute on function volume_work(bigint) to bampi_stored;
