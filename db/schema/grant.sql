-- Who may use an image, a package or an archive that is not their own.

-- ==== shape ====

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
alter table object_grant enable row level security;

-- ==== functions ====

-- Does the tenant hold it now? With the rights of the owner: a policy that asks must not ask the policies of another table back.
create function granted(p_kind text, p_object bigint, p_tenant bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select p_tenant is not null and exists (
		select from object_grant g where g.tenant_id = p_tenant and (g.expires_at is null or g.expires_at > now())
		and case p_kind when 'image' then g.image_id = p_object when 'package' then g.package_id = p_object else g.archive_id = p_object end)
$$;

-- A tenant sees the grants that it holds, and those of what is its own.
create function object_owner(p_image bigint, p_package bigint, p_archive bigint)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select case when p_image is not null then (select tenant_id from image where id = p_image)
		    when p_package is not null then (select tenant_id from package where id = p_package)
		    else (select tenant_id from archive where id = p_archive) end
$$;

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
		raise exception 'the grant would have ended at %', p_expires using errcode = 'HA422', hint = 'give a time in the future';
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

create function grant_remove(p_grant bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	g object_grant%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may withdraw a grant' using errcode = 'HA403';
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

-- ==== triggers, views, rights ====

create policy grant_portald on object_grant for select to portald using (in_scope(tenant_id) or in_scope(object_owner(image_id, package_id, archive_id)));

grant select on object_grant to portald;
grant execute on function granted(text,bigint,bigint) to bampid, portald;
grant execute on function object_owner(bigint,bigint,bigint) to portald;
grant execute on function grant_put(text,text,text,text,timestamptz,text) to portald;
grant execute on function grant_remove(bigint,text) to portald;
