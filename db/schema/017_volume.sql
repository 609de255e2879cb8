-- What tenants store: volumes, archives of them, packages; and the one table that says who may use what is not their own.

-- Storage speaks to the database as a role of its own. One storage: bampi_stored itself. More: a role each, `create role NAME login in role bampi_stored`; which rows
-- it sees, storage.login says.
do $$
begin
	if not exists (select from pg_roles where rolname = 'bampi_stored') then
		create role bampi_stored login;
	end if;
	alter role bampi_stored set search_path = haas;
	grant usage on schema haas to bampi_stored;
end
$$;

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
	version bigint not null default 1, created_at timestamptz not null default now()
);
alter table storage enable row level security;
create policy storage_portald on storage to portald using (true) with check (is_operator());
create policy storage_daemon on storage to bampi_stored using (login = session_user);
grant select on storage to portald, bampi_stored;
grant update (public_key, total_bytes, free_bytes, problem, seen_at, claim_owner, claim_until, generation) on storage to bampi_stored;
-- Mine? Row policies of what lies on a storage ask this.
create function storage_mine(p_storage bigint) returns boolean stable language sql security definer set search_path = haas, pg_temp as
$$ select exists (select from storage where id = p_storage and login = session_user) $$;
grant execute on function storage_mine(bigint) to bampi_stored;

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

-- Software that a tenant may put onto nodes: a blob that is kept like an image, by its digest.
create table package (
	id bigint generated always as identity primary key,
	name text not null check (name ~ '^[a-z0-9][a-z0-9.-]{0,62}$'),
	version text not null check (version ~ '^[A-Za-z0-9][A-Za-z0-9._+-]{0,62}$'),
	kind text not null check (kind in ('deb', 'bundle')),  -- a Debian package; an archive with an installer in it
	tenant_id bigint references tenant,                    -- owner; null = the operator, see public
	public boolean not null default false,
	digest text not null check (digest ~ '^[0-9a-f]{64}$'), size_bytes bigint not null check (size_bytes > 0),
	state text not null default 'uploading' check (state in ('uploading', 'ready', 'retired')),
	received_bytes bigint not null default 0,
	version_number bigint not null default 1, created_at timestamptz not null default now(),
	unique (name, version),
	constraint ready_package_is_whole check (state = 'uploading' or received_bytes = size_bytes),
	constraint public_package_is_the_operators check (not public or tenant_id is null)
);

-- --- grants: a tenant's right to what it does not own ---------------------------------------------------------------------------------------------

create table object_grant (
	id bigint generated always as identity primary key,
	image_id bigint references image on delete cascade, package_id bigint references package on delete cascade, archive_id bigint references archive on delete cascade,
	kind text not null generated always as (case when image_id is not null then 'image' when package_id is not null then 'package' else 'archive' end) stored,
	tenant_id bigint not null references tenant,
	granted_by text not null, created_at timestamptz not null default now(),
	expires_at timestamptz,                -- null: until it is taken back
	constraint grant_has_one_object check (num_nonnulls(image_id, package_id, archive_id) = 1)
);
create unique index object_grant_once on object_grant (coalesce(image_id, 0), coalesce(package_id, 0), coalesce(archive_id, 0), tenant_id);
create index object_grant_tenant on object_grant (tenant_id);

insert into object_grant (image_id, tenant_id, granted_by, created_at) select image_id, tenant_id, granted_by, created_at from image_grant;

-- Does the tenant hold it now? With the rights of the owner: a policy that asks must not ask the policies of another table back.
create function granted(p_kind text, p_object bigint, p_tenant bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select p_tenant is not null and exists (
		select from object_grant g where g.tenant_id = p_tenant and (g.expires_at is null or g.expires_at > now())
		and case p_kind when 'image' then g.image_id = p_object when 'package' then g.package_id = p_object else g.archive_id = p_object end)
$$;
grant execute on function granted(text, bigint, bigint) to portald, bampid;

drop policy image_read on image;
create policy image_read on image for select to portald using (in_scope(tenant_id) or public or granted('image', id, current_tenant()));
create or replace function image_allowed(p_image bigint, p_tenant bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select exists (select from image i where i.id = p_image and i.state = 'ready' and
		       (p_tenant is null or i.public or i.tenant_id = p_tenant or granted('image', i.id, p_tenant)))
$$;
create or replace view image_view with (security_invoker = true) as
select i.id, i.name, i.version, t.name as tenant, i.tenant_id, i.public, i.key_id, i.digest, i.stored_digest, i.size_bytes, i.stored_bytes,
       i.root_partition, i.firmware, i.state, i.received_bytes, i.version_number, i.created_at,
       (select jsonb_agg(g.tenant_id) from object_grant g where g.image_id = i.id) as granted_tenant_ids
from image i left join tenant t on t.id = i.tenant_id;
drop table image_grant;

-- A tenant sees the grants that it holds, and those of what is its own.
create function object_owner(p_image bigint, p_package bigint, p_archive bigint)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select case when p_image is not null then (select tenant_id from image where id = p_image)
		    when p_package is not null then (select tenant_id from package where id = p_package)
		    else (select tenant_id from archive where id = p_archive) end
$$;
grant execute on function object_owner(bigint, bigint, bigint) to portald;
alter table object_grant enable row level security;
create policy grant_portald on object_grant for select to portald using (in_scope(tenant_id) or in_scope(object_owner(image_id, package_id, archive_id)));
grant select on object_grant to portald;

alter table archive enable row level security;
create policy archive_portald on archive for select to portald using (in_scope(tenant_id) or granted('archive', id, current_tenant()));
create policy archive_daemon on archive to bampi_stored using (storage_mine(storage_id)) with check (storage_mine(storage_id));
grant select on archive to portald, bampi_stored;
grant update (digest, stored_digest, stored_bytes, state, done_bytes, problem, version, ready_at, ended_at) on archive to bampi_stored;
alter table volume enable row level security;
create policy volume_portald on volume for select to portald using (in_scope(tenant_id));
create policy volume_daemon on volume to bampi_stored using (storage_mine(storage_id)) with check (storage_mine(storage_id));
create policy volume_bampid on volume for select to bampid using (true);
-- not the secret: nobody but the storage has a use for it
grant select (id, tenant_id, name, storage_id, size_bytes, archive_id, pdci_id, keep, wanted, state, kept_bytes, done_bytes, problem, secret_number, served_pdci_id, served,
	      actor, version, created_at, ready_at, ended_at) on volume to portald;
grant select on volume to bampi_stored;
grant update (state, kept_bytes, done_bytes, problem, served_pdci_id, served, version, ready_at, ended_at) on volume to bampi_stored;
alter table package enable row level security;
create policy package_read on package for select to portald using (in_scope(tenant_id) or public or granted('package', id, current_tenant()));
create policy package_write on package for insert to portald with check (in_scope(tenant_id));
create policy package_change on package for update to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
grant select, insert, update on package to portald;

-- --- usage -------------------------------------------------------------------------------------------------------------------------------------

-- How much was held; of volumes the size, of archives (class archive) what they take on the storage.
alter table usage add column bytes bigint;
drop index usage_open;
create unique index usage_open on usage (kind, subject, (case when kind = 'volume' then class || ' ' || tenant_id else '' end)) where to_at is null;
create or replace function usage_is_kept() returns trigger language plpgsql as $$
begin
	if tg_op = 'UPDATE' then
		if old.to_at is null and new.to_at is not null and to_jsonb(new) - 'to_at' = to_jsonb(old) - 'to_at' then
			return new;
		end if;
	end if;
	raise exception 'usage is only appended to, and closed once' using errcode = 'HA403';
end
$$;
-- From the moment it is there until its deletion is asked for; a volume that grows begins a new row.
create function usage_of_storage() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_class text := tg_argv[0];
	v_bytes bigint := case tg_argv[0] when 'archive' then (to_jsonb(new) ->> 'stored_bytes')::bigint else (to_jsonb(new) ->> 'kept_bytes')::bigint end;
	v_held boolean := new.wanted = 'present' and new.ready_at is not null;
begin
	update usage set to_at = greatest(now(), from_at)
	where kind = 'volume' and class = v_class and tenant_id = new.tenant_id and subject = new.name and to_at is null
	      and (not v_held or bytes is distinct from v_bytes);
	if v_held then
		insert into usage (tenant_id, tenant, kind, subject, class, bytes)
		select t.id, t.name, 'volume', new.name, v_class, v_bytes from tenant t where t.id = new.tenant_id
		on conflict do nothing;
	end if;
	return null;
end
$$;
create trigger usage_of_volume after update of state, wanted, kept_bytes, ready_at on volume for each row execute function usage_of_storage('volume');
create trigger usage_of_archive after update of state, wanted, ready_at on archive for each row execute function usage_of_storage('archive');

-- --- asked for by people -----------------------------------------------------------------------------------------------------------------------

-- Which volume or archive: an id, or the name that it has in its tenant; a deleted one keeps its name until there is a new one of that name.
create function stored_pick(p_kind text, p_key text, p_tenants bigint, p_id bigint)
returns bigint immutable language plpgsql set search_path = haas as $$
begin
	if p_id is null then
		raise exception '% % does not exist', p_kind, p_key using errcode = 'HA404', hint = format('haasctl %s list shows the %ss', p_kind, p_kind);
	elsif p_tenants > 1 then
		raise exception '% tenants have the % %', p_tenants, p_kind, p_key using errcode = 'HA409', hint = 'say whose: tenant=NAME (haasctl: --tenant), or its id';
	end if;
	return p_id;
end
$$;
create function volume_find(p_key text, p_tenant text)
returns bigint stable language sql set search_path = haas as $$
	select stored_pick('volume', p_key, count(distinct v.tenant_id), (array_agg(v.id order by v.state = 'deleted', v.id desc))[1])
	from volume v join tenant t on t.id = v.tenant_id
	where case when p_key ~ '^[1-9][0-9]{0,17}$' then v.id = p_key::bigint else v.name = p_key end and (p_tenant is null or t.name = p_tenant)
$$;
create function archive_find(p_key text, p_tenant text)   -- whoever it was granted to may know it but not its tenant
returns bigint stable language sql set search_path = haas as $$
	select stored_pick('archive', p_key, count(distinct a.tenant_id), (array_agg(a.id order by a.state = 'deleted', a.id desc))[1])
	from archive a where case when p_key ~ '^[1-9][0-9]{0,17}$' then a.id = p_key::bigint else a.name = p_key end
	      and (p_tenant is null or exists (select from tenant t where t.id = a.tenant_id and t.name = p_tenant))
$$;
grant execute on function stored_pick(text, text, bigint, bigint), volume_find(text, text), archive_find(text, text) to portald;

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

create function volume_wished(p_actor text, p_kind text, p_volume volume, p_message text)
returns void language sql security definer set search_path = haas, pg_temp as $$
	select event_add(p_actor, p_kind, 'volume', p_volume.name, p_volume.tenant_id, p_message, jsonb_build_object('volume', p_volume.id, 'pdci', p_volume.pdci_id));
	select pg_notify('volume', '');
$$;

-- What of a storage is spoken for.
create function storage_used(p_storage bigint)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select (coalesce((select sum(size_bytes) from volume where storage_id = p_storage and state <> 'deleted'), 0)
		+ coalesce((select sum(stored_bytes) from archive where storage_id = p_storage and state <> 'deleted'), 0))::bigint
$$;
grant execute on function storage_used(bigint) to portald;

-- p_spec: {"name", "size_bytes" | "archive", "storage", "pdci": id, "keep"}. Restored of an archive, it is on the same storage and at least as large.
create function volume_create(p_tenant text, p_spec jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint;
	a archive%rowtype;
	v_size bigint := (p_spec ->> 'size_bytes')::bigint;
	v_name text := p_spec ->> 'name';
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
	select s.id into v_storage from storage s
	where s.accepts and (a.storage_id is null or s.id = a.storage_id) and (p_spec ->> 'storage' is null or s.name = p_spec ->> 'storage')
	      and storage_used(s.id) + v_size <= coalesce(s.capacity_bytes, s.total_bytes, 0)
	order by coalesce(s.capacity_bytes, s.total_bytes) - storage_used(s.id) desc, s.id limit 1;
	if v_storage is null then
		raise exception 'there is no room for a volume of % bytes%', v_size,
			coalesce((select ' on storage ' || s.name from storage s where s.id = a.storage_id or s.name = p_spec ->> 'storage' limit 1), '')
			using errcode = 'HA409', hint = 'ask for less, delete what is not needed, or add storage: haasctl storage list';
	end if;
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
grant execute on function volume_create(text, jsonb, text) to portald;

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
		raise exception 'PDCI % is %', p.name, p.state using errcode = 'HA409', hint = 'attach it to one that is not given back';
	elsif v.pdci_id = p.id then
		return;
	elsif v.pdci_id is not null then
		raise exception 'volume % is attached to another PDCI', v.name using errcode = 'HA409', hint = 'haasctl volume detach ' || v.name;
	end if;
	update volume set pdci_id = p.id, secret_sealed = null, secret_number = secret_number + 1, version = version + 1 where id = v.id;
	perform volume_wished(p_actor, 'volume.attach', v, 'to PDCI ' || p.name);
end
$$;
grant execute on function volume_attach(bigint, bigint, text) to portald;

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
grant execute on function volume_detach(bigint, text) to portald;

-- Only larger: what would be cut off is a tenant's data. While it is detached: initiators take the size when they log in.
create function volume_resize(p_volume bigint, p_size bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock(p_volume);
begin
	if p_size < v.size_bytes then
		raise exception 'volume % has % bytes and can only grow', v.name, v.size_bytes using errcode = 'HA422';
	elsif v.pdci_id is not null or v.served_pdci_id is not null then
		raise exception 'volume % is attached', v.name using errcode = 'HA409', hint = 'haasctl volume detach ' || v.name;
	elsif v.state <> 'ready' or exists (select from archive a where a.volume_id = v.id and a.state = 'archiving') then
		raise exception 'volume % is being worked on', v.name using errcode = 'HA409', hint = 'haasctl volume show ' || v.name;
	end if;
	perform from storage order by id for no key update;
	if (select storage_used(s.id) - v.size_bytes + p_size > coalesce(s.capacity_bytes, s.total_bytes, 0) from storage s where s.id = v.storage_id) then
		raise exception 'there is no room for a volume of % bytes', p_size using errcode = 'HA409', hint = 'ask for less, or delete what is not needed';
	end if;
	update volume set size_bytes = p_size, version = version + 1 where id = v.id;
	perform volume_wished(p_actor, 'volume.resize', v, format('%s -> %s bytes', v.size_bytes, p_size));
end
$$;
grant execute on function volume_resize(bigint, bigint, text) to portald;

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
grant execute on function volume_delete(bigint, text) to portald;

-- A new CHAP secret, sealed to the storage by who told it to the tenant; the former one ends.
create function volume_secret_set(p_volume bigint, p_sealed text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock(p_volume);
begin
	if v.pdci_id is null then
		raise exception 'volume % is attached to nothing', v.name using errcode = 'HA409', hint = 'haasctl volume attach ' || v.name || ' PDCI';
	end if;
	update volume set secret_sealed = decode(p_sealed, 'hex'), secret_number = secret_number + 1, version = version + 1 where id = v.id;
	perform volume_wished(p_actor, 'volume.secret', v, 'a new secret was told');
end
$$;
grant execute on function volume_secret_set(bigint, text, text) to portald;

create function archive_create(p_volume bigint, p_name text, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v volume%rowtype := volume_lock(p_volume);
	v_id bigint;
begin
	if v.pdci_id is not null or v.served_pdci_id is not null then
		raise exception 'volume % is attached: what is written meanwhile would tear the copy', v.name using errcode = 'HA409', hint = 'haasctl volume detach ' || v.name;
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
grant execute on function archive_create(bigint, text, text) to portald;

create function archive_delete(p_archive bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a archive%rowtype;
begin
	select * into a from archive where id = p_archive for update;
	if not found or not (in_scope(a.tenant_id) or granted('archive', a.id, current_tenant())) then
		raise exception 'archive % does not exist', p_archive using errcode = 'HA404', hint = 'haasctl archive list shows the archives';
	elsif not in_scope(a.tenant_id) then
		raise exception 'archive % is another''s', a.name using errcode = 'HA403', hint = 'a grant lets you restore it';
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
grant execute on function archive_delete(bigint, text) to portald;

-- p_spec: {"portal", "capacity_bytes", "accepts", "login", "iqn"}; what is not in it stays.
create function storage_put(p_name text, p_spec jsonb, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_new boolean := not exists (select from storage where name = p_name);
begin
	if not is_operator() then
		raise exception 'only an operator may change storages' using errcode = 'HA403';
	elsif v_new and p_spec ->> 'portal' is null then
		raise exception 'a storage needs a portal' using errcode = 'HA422', hint = 'ADDRESS:PORT where nodes reach it';
	elsif p_spec ? 'login' and not exists (select from pg_roles r where r.rolname = p_spec ->> 'login' and pg_has_role(r.oid, 'bampi_stored', 'member')) then
		raise exception 'role % is not in bampi_stored', p_spec ->> 'login' using errcode = 'HA422', hint = 'create role NAME login in role bampi_stored';
	end if;
	insert into storage (name, portal, login) select p_name, p_spec ->> 'portal', coalesce(p_spec ->> 'login', 'bampi_stored') where v_new;
	update storage s set portal = coalesce(p_spec ->> 'portal', s.portal), accepts = coalesce((p_spec ->> 'accepts')::boolean, s.accepts),
		capacity_bytes = case when p_spec ? 'capacity_bytes' then (p_spec ->> 'capacity_bytes')::bigint else s.capacity_bytes end,
		login = coalesce(p_spec ->> 'login', s.login), iqn = coalesce(p_spec ->> 'iqn', s.iqn), version = s.version + 1
	where s.name = p_name;
	perform event_add(p_actor, 'storage.put', 'storage', p_name, null, case when v_new then 'storage added' else 'storage changed' end, p_spec);
	perform pg_notify('volume', '');
	return v_new;
end
$$;
grant execute on function storage_put(text, jsonb, text) to portald;

-- p_object: NAME:VERSION of an image or a package, NAME or id of an archive (p_owner: whose, where several tenants have one of that name). Granted again: the new end holds.
create function grant_put(p_kind text, p_object text, p_owner text, p_tenant text, p_expires timestamptz, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint;
	v_object bigint;
	v_id bigint;
begin
	if not is_operator() then
		raise exception 'only an operator may grant' using errcode = 'HA403';
	end if;
	select id into v_tenant from tenant where name = p_tenant;
	if not found then
		raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
	elsif p_expires <= now() then
		raise exception 'the grant would have ended at %', p_expires using errcode = 'HA422', hint = 'say a time to come';
	end if;
	v_object := case p_kind
		when 'image' then (select id from image where name = split_part(p_object, ':', 1) and version = substr(p_object, position(':' in p_object) + 1))
		when 'package' then (select id from package where name = split_part(p_object, ':', 1) and version = substr(p_object, position(':' in p_object) + 1))
		else archive_find(p_object, p_owner) end;
	if v_object is null then
		raise exception '% % does not exist', p_kind, p_object using errcode = 'HA404', hint = format('say NAME:VERSION; haasctl %s list shows them', p_kind);
	elsif p_kind = 'archive' and exists (select from archive where id = v_object and wanted = 'absent') then
		raise exception 'archive % is deleted', p_object using errcode = 'HA409';
	end if;
	insert into object_grant (image_id, package_id, archive_id, tenant_id, granted_by, expires_at)
	values (case p_kind when 'image' then v_object end, case p_kind when 'package' then v_object end, case p_kind when 'archive' then v_object end, v_tenant, p_actor, p_expires)
	on conflict ((coalesce(image_id, 0)), (coalesce(package_id, 0)), (coalesce(archive_id, 0)), tenant_id)
	do update set granted_by = excluded.granted_by, expires_at = excluded.expires_at, created_at = now()
	returning id into v_id;
	update image set version_number = version_number + 1 where p_kind = 'image' and id = v_object;
	update package set version_number = version_number + 1 where p_kind = 'package' and id = v_object;
	perform event_add(p_actor, p_kind || '.granted', p_kind, p_object, v_tenant, format('%s may use the %s', p_tenant, p_kind),
			  jsonb_build_object('grant', v_id, 'expires_at', p_expires));
	return v_id;
end
$$;
grant execute on function grant_put(text, text, text, text, timestamptz, text) to portald;

create function grant_remove(p_grant bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	g object_grant%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may take a grant back' using errcode = 'HA403';
	end if;
	delete from object_grant where id = p_grant returning * into g;
	if not found then
		raise exception 'grant % does not exist', p_grant using errcode = 'HA404', hint = 'haasctl grant list shows the grants';
	end if;
	update image set version_number = version_number + 1 where id = g.image_id;
	update package set version_number = version_number + 1 where id = g.package_id;
	perform event_add(p_actor, g.kind || '.withdrawn', g.kind,
			  coalesce((select name || ':' || version from image where id = g.image_id), (select name || ':' || version from package where id = g.package_id),
				   (select name from archive where id = g.archive_id)),
			  g.tenant_id, format('%s may no longer use the %s', (select name from tenant where id = g.tenant_id), g.kind), jsonb_build_object('grant', g.id));
end
$$;
grant execute on function grant_remove(bigint, text) to portald;

-- --- with a PDCI ------------------------------------------------------------------------------------------------------------------------------------

-- request.volumes: [{"name", "size_bytes" | "archive", "keep"} for a new one | {"volume": NAME} that is there already].
create function pdci_volumes() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r jsonb;
	v_tenant text := (select name from tenant where id = new.tenant_id);
	v_id bigint;
begin
	for r in select * from jsonb_array_elements(coalesce(new.request -> 'volumes', '[]')) loop
		if r ? 'volume' then
			select id into v_id from volume v where v.tenant_id = new.tenant_id and v.name = r ->> 'volume' and v.wanted = 'present';
			if not found then
				raise exception 'volume % does not exist', r ->> 'volume' using errcode = 'HA404', hint = 'haasctl volume list shows the volumes';
			end if;
			perform volume_attach(v_id, new.id, new.actor);
		else
			if r ? 'archive' then
				r := r || jsonb_build_object('archive', (
					select a.id from archive a where (a.tenant_id = new.tenant_id or granted('archive', a.id, new.tenant_id)) and a.wanted = 'present'
					and a.name = r ->> 'archive' order by a.tenant_id = new.tenant_id desc, a.id desc limit 1));
			end if;
			perform volume_create(v_tenant, r || jsonb_build_object('pdci', new.id), new.actor);
		end if;
	end loop;
	return null;
end
$$;
create trigger pdci_volumes after insert on pdci for each row when (new.request ? 'volumes') execute function pdci_volumes();

-- Given back, it leaves its volumes to the tenant, but for those that go with it. Whatever else happens to it, storages look.
create function pdci_volumes_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.wanted = 'absent' and old.wanted = 'present' then
		perform event_add(new.actor, 'volume.detach', 'volume', v.name, v.tenant_id, 'its PDCI ' || new.name || ' is given back',
				  jsonb_build_object('volume', v.id, 'pdci', new.id, 'delete', not v.keep))
		from volume v where v.pdci_id = new.id;
		update volume set pdci_id = null, wanted = case when keep then wanted else 'absent' end, secret_sealed = null, secret_number = secret_number + 1,
			version = version + 1
		where pdci_id = new.id;
	end if;
	perform pg_notify('volume', '');
	return null;
end
$$;
create trigger pdci_volumes_follow after update of state, wanted on pdci for each row
	when (new.state is distinct from old.state or new.wanted is distinct from old.wanted) execute function pdci_volumes_follow();

-- No node is given back while a volume is still open to it. A storage that has been silent for ten minutes is not waited for: the nodes' secret is void anyway, and they
-- are erased.
alter function pdci_release_step(bigint, bigint, text) rename to pdci_release_nodes;
create function pdci_release_step(p_pdci bigint, p_generation bigint, p_actor text)
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
	end if;
	return query select * from pdci_release_nodes(p_pdci, p_generation, p_actor);
end
$$;
grant execute on function pdci_release_step(bigint, bigint, text) to bampid;
revoke execute on function pdci_release_nodes(bigint, bigint, text) from bampid;

-- --- done by a storage ----------------------------------------------------------------------------------------------------------------------------

-- One claim for all that a storage does: two daemons at one storage would serve the same files. No row: it is another's.
create function storage_claim(p_name text, p_owner text, p_claim_ms bigint, p_key bytea, p_total bigint, p_free bigint, p_problem jsonb)
returns table (id bigint, generation bigint, iqn text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
begin
	return query
	update storage s set claim_owner = p_owner, claim_until = now() + p_claim_ms * interval '1 ms',
		generation = s.generation + case when s.claim_owner is distinct from p_owner then 1 else 0 end,
		public_key = p_key, total_bytes = p_total, free_bytes = p_free, problem = p_problem, seen_at = now()
	where s.name = p_name and s.login = session_user and (s.claim_owner is not distinct from p_owner or s.claim_until is null or s.claim_until <= now())
	returning s.id, s.generation, s.iqn;
end
$$;
grant execute on function storage_claim(text, text, bigint, bytea, bigint, bigint, jsonb) to bampi_stored;

-- What is to be true of each volume that is not deleted. initiators: null = nobody may reach it now; else the nodes of its PDCI as they are, once it was ready.
create function volume_work(p_storage bigint)
returns table (id bigint, name text, tenant text, state text, absent boolean, size_bytes bigint, kept_bytes bigint, archive_id bigint,
	       archive_bytes bigint, archive_digest text, pdci_id bigint, served_pdci_id bigint, initiators jsonb, secret_sealed bytea, secret_number bigint, served jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select v.id, v.name, t.name, v.state, v.wanted = 'absent', v.size_bytes, v.kept_bytes, v.archive_id, a.size_bytes, a.digest, v.pdci_id, v.served_pdci_id,
	       case when v.wanted = 'present' and v.state = 'ready' and v.kept_bytes = v.size_bytes and p.wanted = 'present' and p.ready_at is not null
			 and not exists (select from archive x where x.volume_id = v.id and x.state = 'archiving') then
			(select coalesce(jsonb_agg(jsonb_build_object('node', m.node, 'address', host(m.address)) order by m.node), '[]')
			 from pdci_node m where m.pdci_id = p.id and m.released_at is null and to_jsonb(m) ->> 'replace_asked_at' is null) end,  -- (021) being replaced: out
	       v.secret_sealed, v.secret_number, v.served
	from volume v join storage s on s.id = v.storage_id join tenant t on t.id = v.tenant_id
	left join archive a on a.id = v.archive_id left join pdci p on p.id = v.pdci_id
	where v.storage_id = p_storage and s.login = session_user and v.state <> 'deleted' order by v.id
$$;
grant execute on function volume_work(bigint) to bampi_stored;
create function archive_work(p_storage bigint)
returns table (id bigint, name text, tenant text, state text, absent boolean, size_bytes bigint, stored_bytes bigint, volume_id bigint)
stable language sql security definer set search_path = haas, pg_temp as $$
	select a.id, a.name, t.name, a.state, a.wanted = 'absent', a.size_bytes, a.stored_bytes, a.volume_id
	from archive a join storage s on s.id = a.storage_id join tenant t on t.id = a.tenant_id
	where a.storage_id = p_storage and s.login = session_user and a.state <> 'deleted' and (a.state <> 'ready' or a.wanted = 'absent') order by a.id
$$;
grant execute on function archive_work(bigint) to bampi_stored;
grant execute on function event_add(text, text, text, text, bigint, text, jsonb) to bampi_stored;

-- --- what the API reads ------------------------------------------------------------------------------------------------------------------------------

-- The disks of the nodes of a PDCI, as their agents reported them.
create view local_disk with (security_invoker = true) as
select m.pdci_id, p.tenant_id, n.name as node, d ->> 'name' as disk, d ->> 'model' as model, d ->> 'serial' as serial, d ->> 'kind' as bus, (d ->> 'size_bytes')::bigint as size_bytes
from pdci_node m join pdci p on p.id = m.pdci_id join node n on n.id = m.node_id join node_inventory i on i.node_id = n.id
cross join lateral jsonb_array_elements(i.data -> 'disks') d
where m.released_at is null and not coalesce((d ->> 'removable')::boolean, false);

-- Shared volumes and local disks in one list. state of a shared one: what a person wants to know, of what is wanted and what is.
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
       s.iqn || ':volume.' || v.id as target, s.portal, v.actor, v.version, v.created_at, v.ready_at, v.ended_at, null::jsonb as disk
from volume v join tenant t on t.id = v.tenant_id join storage s on s.id = v.storage_id left join pdci p on p.id = v.pdci_id
union all
select null, l.node || '/' || l.disk, 'local', l.tenant_id, t.name, l.pdci_id, p.name, l.size_bytes, l.node, null, 'attached', false, null, null, null, null, null, null, null, null,
       null, null, null, null, null, jsonb_build_object('model', l.model, 'serial', l.serial, 'bus', l.bus)
from local_disk l join tenant t on t.id = l.tenant_id join pdci p on p.id = l.pdci_id;
grant select on local_disk, volume_view to portald;
