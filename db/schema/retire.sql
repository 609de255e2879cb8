-- The end of images and tenants: nothing goes that somebody still needs, and what is in the way is named.

-- ==== shape ====

-- ==== functions ====

-- Lists what still needs an image: a deployment under way, a PDCI that is not being released. No row: nothing does.
create function image_needed(p_image bigint)
returns table (tenant_id bigint, why text) stable language sql security definer set search_path = haas, pg_temp as $$
	select d.tenant_id, format('deployment %s (%s of node %s)', d.id, d.plan, d.node) from deployment d where d.image_id = p_image and d.due_at is not null
	union all
	select p.tenant_id, format('PDCI %s', p.name) from pdci p cross join image i
	where i.id = p_image and p.wanted = 'present'
	  and (exists (select from pdci_node m join deployment d on d.id = m.deployment_id where m.pdci_id = p.id and m.released_at is null and d.image_id = p_image)
	       or exists (select from jsonb_array_elements(p.request -> 'groups') g where g ->> 'image' = i.name || ':' || i.version
			  -- a name alone is the newest: needed while no other version of it is there
			  or (g ->> 'image' = i.name and not exists (select from image o where o.name = i.name and o.state = 'ready' and o.id <> i.id))))
$$;

-- The row of an image that the caller owns, locked.
create function image_lock(p_name text, p_version text)
returns image language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	i image%rowtype;
begin
	select * into i from image x where x.name = p_name and x.version = p_version for update;
	if not found or not (in_scope(i.tenant_id) or i.public or granted('image', i.id, current_tenant())) then
		raise exception 'image %:% does not exist', p_name, p_version using errcode = 'HA404', hint = 'haasctl image list shows the images';
	elsif not in_scope(i.tenant_id) then
		raise exception 'image %:% is another''s', p_name, p_version using errcode = 'HA403';
	end if;
	return i;
end
$$;

-- 'retired': no new installs, and what is under way goes on. 'withdrawn': nor does an install under way write it. 'ready': it may be installed again.
create function image_state_set(p_name text, p_version text, p_state text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	i image%rowtype := image_lock(p_name, p_version);
begin
	if i.state = 'uploading' then
		raise exception 'image %:% is not whole yet', p_name, p_version using errcode = 'HA409', hint = format('haasctl image delete %s:%s gives the upload up', p_name, p_version);
	elsif i.state <> p_state then
		update image set state = p_state, version_number = version_number + 1 where id = i.id;
		perform event_add(p_actor, 'image.' || p_state, 'image', p_name || ':' || p_version, i.tenant_id,
				  case p_state when 'retired' then 'no new installs' when 'withdrawn' then 'it is written to no disk any more' else 'it may be installed again' end, jsonb_build_object('stored_digest', i.stored_digest));
	end if;
end
$$;

-- Gone with its grants. Its bytes go when no other image or package has the same digest (portald).
create function image_delete(p_name text, p_version text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	i image%rowtype := image_lock(p_name, p_version);
	v_why text;
begin
	select case when in_scope(n.tenant_id) then n.why else 'another tenant' end into v_why from image_needed(i.id) n order by in_scope(n.tenant_id) desc, n.why limit 1;
	if found then
		raise exception 'image %:% is in use: %', p_name, p_version, v_why using errcode = 'HA409',
			hint = format('haasctl image retire %s:%s keeps it from new installs', p_name, p_version);
	end if;
	delete from image where id = i.id;
	perform event_add(p_actor, 'image.deleted', 'image', p_name || ':' || p_version, i.tenant_id, 'deleted', jsonb_build_object('digest', i.stored_digest));
end
$$;

-- Counts what a tenant still has, by kind; a kind without any has no row. What is only history is not counted.
create function tenant_left(p_tenant bigint)
returns table (kind text, count bigint, names text) stable language sql security definer set search_path = haas, pg_temp as $$
	with left_over (kind, name) as (
		select 'nodes', n.name from node n where n.tenant_id = p_tenant
		union all select 'pdcis', p.name from pdci p where p.tenant_id = p_tenant and p.state <> 'released'
		union all select 'networks', n.name from network n where n.tenant_id = p_tenant
		union all select 'volumes', v.name from volume v where v.tenant_id = p_tenant and v.state <> 'deleted'
		union all select 'archives', a.name from archive a where a.tenant_id = p_tenant and a.state <> 'deleted'
		union all select 'images', i.name || ':' || i.version from image i where i.tenant_id = p_tenant
		union all select 'packages', k.name || ':' || k.version from package k where k.tenant_id = p_tenant
		union all select 'deployments', d.id::text from deployment d where d.tenant_id = p_tenant and d.due_at is not null
		union all select 'captures', c.id::text from capture c where c.tenant_id = p_tenant and (c.state <> 'ended' or c.files in ('kept', 'removing'))
		union all select 'cases', f.id::text from case_file f where f.tenant_id = p_tenant and f.closed_at is null
	), numbered as (
		select l.*, row_number() over (partition by l.kind order by l.name) as n from left_over l
	)
	select x.kind, count(*), string_agg(x.name, ' ' order by x.name collate natural_order) filter (where x.n <= 3) || case when count(*) > 3 then ' ...' else '' end
	from numbered x group by x.kind order by x.kind
$$;

-- History stays with the name it had (usage, case files, tenant_name), or without a tenant (events, jobs, deployments, alerts).
create function tenant_delete(p_name text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
	v_left text;
begin
	if not is_operator() then
		raise exception 'only an operator may delete tenants' using errcode = 'HA403';
	end if;
	select id into v_id from tenant where name = p_name for update;
	if not found then
		raise exception 'tenant % does not exist', p_name using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
	end if;
	select string_agg(format('%s %s (%s)', l.count, case when l.count = 1 then regexp_replace(l.kind, 's$', '') else l.kind end, l.names), ', ') into v_left from tenant_left(v_id) l;
	if v_left is not null then
		raise exception 'tenant % still has %', p_name, v_left using errcode = 'HA409', hint = 'haasctl tenant show ' || p_name;
	end if;
	delete from object_grant where tenant_id = v_id;
	delete from capture where tenant_id = v_id;
	delete from capture_grant where tenant_id = v_id;
	delete from volume where tenant_id = v_id;
	delete from archive where tenant_id = v_id;
	delete from pdci where tenant_id = v_id;
	delete from tenant where id = v_id;
	perform event_add(p_actor, 'tenant.deleted', 'tenant', p_name, null, 'tenant deleted', jsonb_build_object('tenant', v_id));
end
$$;

-- ==== triggers, views, rights ====

grant execute on function image_state_set(text,text,text,text) to portald;
grant execute on function image_delete(text,text,text) to portald;
grant execute on function tenant_left(bigint) to portald;
grant execute on function tenant_delete(text,text) to portald;
