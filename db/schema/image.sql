-- Images and packages, and what is asked of those that an install names.
--
-- `params.packages` of a deployment, and `request.params.packages` of a PDCI, name packages: ["NAME:VERSION", ...], at most 16, in the order of
-- their installation.

-- ==== shape ====

create table image (
	id bigint generated always as identity primary key,
	name text not null check (name ~ '^[a-z0-9][a-z0-9.-]{0,62}$'),
	version text not null check (version ~ '^[A-Za-z0-9][A-Za-z0-9._+-]{0,62}$'),
	tenant_id bigint references tenant,   -- owner; null = the operator, see public
	public boolean not null default false, -- every tenant may use it; only for the operator's images
	manifest text not null,               -- the exact signed bytes
	signature bytea not null check (length(signature) = 64),
	key_id text not null,                 -- first 16 hex digits of the BLAKE2b-256 of the public key
	digest text not null check (digest ~ '^[0-9a-f]{64}$'),
	stored_digest text not null check (stored_digest ~ '^[0-9a-f]{64}$'),
	size_bytes bigint not null check (size_bytes > 0),
	stored_bytes bigint not null check (stored_bytes > 0),
	root_partition integer not null check (root_partition between 1 and 128),
	firmware text[] not null,
	state text not null default 'uploading' check (state in ('uploading', 'ready', 'retired', 'withdrawn')),
	received_bytes bigint not null default 0,
	version_number bigint not null default 1,
	created_at timestamptz not null default now(),
	unique (name, version),
	constraint ready_means_whole check (state = 'uploading' or received_bytes = stored_bytes),
	constraint public_is_the_operators check (not public or tenant_id is null)
);
alter table image enable row level security;

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
alter table package enable row level security;

-- What each bampi-bootd says of itself (bampi/bootd/boot/contents.h): where the others fetch content from it, which content is there, and which addresses
-- that nodes boot from (subnet.boot_server) its machine has. Is it heard? See its row of daemon.
create table boot_server (
	instance text primary key check (length(instance) between 1 and 255),
	url text not null check (url ~ '^(https://[0-9.]{7,15}:[0-9]{1,5})?$'),  -- '' = nobody can fetch from it
	addresses inet[] not null
);
alter table boot_server enable row level security;
create table content_copy (
	instance text not null references boot_server on delete cascade,
	digest text not null check (digest ~ '^[0-9a-f]{64}$'),
	primary key (digest, instance)
);
create index content_copy_instance on content_copy (instance);
alter table content_copy enable row level security;

-- ==== functions ====

-- A bampi-bootd tells what it holds and all addresses of its machine, and is told what it lacks, with the address of one that holds it and is heard (else ''). `gone`: a copy of what was
-- deleted; as for portald's own files (image_sweep.c) only what an event says was deleted, so that a new or restored database takes nothing away.
-- Nothing is written where nothing has changed.
create function content_put(p_instance text, p_url text, p_addresses inet[], p_digests text[], p_copies text[])
returns table (digest text, size_bytes bigint, url text, gone boolean)
language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	v_addresses inet[] := array(select distinct a from unnest(p_addresses) a where exists (select from subnet s where host(s.boot_server) = host(a)) order by a);
begin
	if not exists (select from boot_server s where s.instance = p_instance and s.url = p_url and s.addresses = v_addresses) then
		insert into boot_server as s (instance, url, addresses) values (p_instance, p_url, v_addresses)
		on conflict (instance) do update set url = excluded.url, addresses = excluded.addresses;
	end if;
	delete from content_copy c where c.instance = p_instance and c.digest <> all (p_digests);
	insert into content_copy (instance, digest)
	select p_instance, d from unnest(p_digests) d where not exists (select from content_copy c where c.instance = p_instance and c.digest = d) on conflict do nothing;
	return query
	select w.digest, max(w.size_bytes), coalesce((select s.url from content_copy c join boot_server s on s.instance = c.instance
			join daemon d on d.name = 'bampi-bootd' and d.instance = s.instance and d.seen_at > clock_timestamp() - interval '10 s'
			where c.digest = w.digest and s.instance <> p_instance and s.url <> '' order by random() limit 1), ''), false
	from content_wanted w where w.digest <> all (p_digests) group by w.digest
	union all
	select d, 0::bigint, '', true from unnest(p_copies) d
	where not exists (select from image i where i.stored_digest = d) and not exists (select from package p where p.digest = d)
	and exists (select from event e where e.subject_kind in ('image', 'package') and e.kind in ('image.deleted', 'package.deleted') and e.detail ->> 'digest' = d);
end
$$;

create function image_allowed(p_image bigint, p_tenant bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select exists (select from image i where i.id = p_image and i.state = 'ready' and
		       (p_tenant is null or i.public or i.tenant_id = p_tenant or granted('image', i.id, p_tenant)))
$$;

-- May this tenant (null = the operator) put this package on a node? As image_allowed.
create function package_allowed(p_name text, p_tenant bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select exists (select from package p where p.name = split_part(p_name, ':', 1) and p.version = substr(p_name, strpos(p_name, ':') + 1) and strpos(p_name, ':') > 0
		       and p.state = 'ready' and (p_tenant is null or p.public or p.tenant_id = p_tenant or granted('package', p.id, p_tenant)))
$$;

-- Who asks for what he may not have is told so at once; bampid's step asks again (a grant may have been taken back since).
create function packages_check(p_params jsonb, p_tenant bigint)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_name text;
begin
	select x into v_name from jsonb_array_elements_text(p_params -> 'packages') x where not package_allowed(x, p_tenant) limit 1;
	if found then
		raise exception 'package % does not exist or may not be used here', v_name using errcode = 'HA404', hint = 'haasctl package list shows the packages that are ready';
	end if;
end
$$;

-- Gone with its grants: nobody installs it any more. The stored bytes stay: another package or image may have the same digest.
create function package_delete(p_name text, p_version text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	p package%rowtype;
begin
	select * into p from package x where x.name = p_name and x.version = p_version for update;
	if not found or not (in_scope(p.tenant_id) or p.public or granted('package', p.id, current_tenant())) then
		raise exception 'package %:% does not exist', p_name, p_version using errcode = 'HA404', hint = 'haasctl package list shows the packages';
	elsif not in_scope(p.tenant_id) then
		raise exception 'package %:% belongs to another owner', p_name, p_version using errcode = 'HA403';
	end if;
	delete from package where id = p.id;
	perform event_add(p_actor, 'package.deleted', 'package', p_name || ':' || p_version, p.tenant_id, 'deleted', jsonb_build_object('digest', p.digest, 'kind', p.kind));
end
$$;

-- ==== triggers, views, rights ====

create view image_view with (security_invoker = true) as
select i.id, i.name, i.version, t.name as tenant, i.tenant_id, i.public, i.key_id, i.digest, i.stored_digest, i.size_bytes, i.stored_bytes,
       i.root_partition, i.firmware, i.state, i.received_bytes, i.version_number, i.created_at,
       (select jsonb_agg(g.tenant_id) from object_grant g where g.image_id = i.id) as granted_tenant_ids
from image i left join tenant t on t.id = i.tenant_id;

-- What a node may be told to install, by the digest of its file.
create view content_wanted as
select 'image' as kind, name || ':' || version as name, stored_digest as digest, stored_bytes as size_bytes from image where state in ('ready', 'retired')
union all
select 'package', name || ':' || version, digest, size_bytes from package where state in ('ready', 'retired');

create policy image_write on image for insert to portald with check (in_scope(tenant_id));
create policy image_change on image for update to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
create policy image_remove on image for delete to portald using (in_scope(tenant_id));
create policy image_daemon on image for select to bampid, bampi_bootd using (true);
create policy image_read on image for select to portald using (in_scope(tenant_id) or public or granted('image', id, current_tenant()));
create policy package_read on package for select to portald using (in_scope(tenant_id) or public or granted('package', id, current_tenant()));
create policy package_write on package for insert to portald with check (in_scope(tenant_id));
create policy package_change on package for update to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));

grant select on image to bampi_bootd, bampid;
grant insert, select, update, delete on image to portald;
grant select on image_view to portald;
grant insert, select, update on package to portald;
grant execute on function image_allowed(bigint,bigint) to bampid, portald;
grant execute on function package_allowed(text,bigint) to bampid, portald;
grant execute on function content_put(text,text,inet[],text[],text[]) to bampi_bootd;
grant execute on function package_delete(text,text,text) to portald;
