-- The image catalogue: what it is, who signed it, who owns it and who may use it.
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
	state text not null default 'uploading' check (state in ('uploading', 'ready', 'retired')),
	received_bytes bigint not null default 0,
	version_number bigint not null default 1,
	created_at timestamptz not null default now(),
	unique (name, version),
	constraint ready_means_whole check (state = 'uploading' or received_bytes = stored_bytes),
	constraint public_is_the_operators check (not public or tenant_id is null)
);
create table image_grant (
	image_id bigint not null references image on delete cascade,
	tenant_id bigint not null references tenant,
	granted_by text not null,
	created_at timestamptz not null default now(),
	primary key (image_id, tenant_id)
);
alter table image enable row level security;
alter table image_grant enable row level security;
create policy grant_portald on image_grant to portald using (in_scope(tenant_id)) with check (is_operator());
create policy grant_daemon on image_grant for select to bampid using (true);
create policy image_read on image for select to portald
	using (in_scope(tenant_id) or public or exists (select from image_grant g where g.image_id = image.id and g.tenant_id = current_tenant()));
create policy image_write on image for insert to portald with check (in_scope(tenant_id));
create policy image_change on image for update to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
create policy image_remove on image for delete to portald using (in_scope(tenant_id));
create policy image_daemon on image for select to bampid, bampi_bootd using (true);
grant select, insert, update, delete on image to portald;
grant select, insert, delete on image_grant to portald;
grant select on image to bampid, bampi_bootd;
grant select on image_grant to bampid;

-- May this tenant (null = the operator) put this image on a node?
create function image_allowed(p_image bigint, p_tenant bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select exists (select from image i where i.id = p_image and i.state = 'ready' and
		       (p_tenant is null or i.public or i.tenant_id = p_tenant or
			exists (select from image_grant g where g.image_id = i.id and g.tenant_id = p_tenant)))
$$;
grant execute on function image_allowed(bigint, bigint) to portald, bampid;
