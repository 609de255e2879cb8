-- The end of images and tenants: nothing goes that somebody still needs, and what is in the way is named.

-- ==== shape ====

-- Of an owner's images with this name, this version and all older ones are withdrawn, also those that come later. Each such word is a row: the
-- highest version counts, so a later word about an older version lowers nothing, and one that was an error is taken back alone.
create table image_floor (
	name text not null,
	tenant_id bigint references tenant on delete cascade,  -- null = the operator
	version text not null,
	unique nulls not distinct (name, tenant_id, version)
);
alter table image_floor enable row level security;

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

-- Versions in their order, compared by bytes: numbers count by their value, so 12.9 comes before 12.10.
create function version_key(p_version text)
returns text immutable language sql as $$
	select string_agg(case when m[1] ~ '^[0-9]' then lpad(ltrim(m[1], '0'), 64, '0') else m[1] end, '' order by n) collate "C"
	from regexp_matches(p_version, '[0-9]+|[^0-9]+', 'g') with ordinality as x (m, n)
$$;

create function image_above_floor() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_floor text;
begin
	select f.version into v_floor from image_floor f where f.name = new.name and f.tenant_id is not distinct from new.tenant_id and version_key(new.version) <= version_key(f.version)
	order by version_key(f.version) desc limit 1;
	if found then
		raise exception 'image %:% is withdrawn, as is %:% and all older ones', new.name, new.version, new.name, v_floor
			using errcode = 'HA409', hint = format('haasctl image withdraw %s:%s --older --undo takes that back', new.name, v_floor);
	end if;
	return new;
end
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

-- Takes one `withdraw --older` back: an operator's error. Also when the image of that version is gone. False: there is no such floor,
-- or it is another's.
create function image_floor_lift(p_name text, p_version text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	f image_floor%rowtype;
	v_next text;
begin
	delete from image_floor x where x.name = p_name and x.version = p_version and in_scope(x.tenant_id)
		and x.tenant_id is not distinct from coalesce((select i.tenant_id from image i where i.name = p_name and i.version = p_version), x.tenant_id)
	returning * into f;
	if not found then
		return false;
	end if;
	select x.version into v_next from image_floor x where x.name = p_name and x.tenant_id is not distinct from f.tenant_id order by version_key(x.version) desc limit 1;
	perform event_add(p_actor, 'image.floor_lifted', 'image', p_name || ':' || p_version, f.tenant_id,
		case when v_next is null then 'older versions may be added again; those that were withdrawn stay so'
		     else format('%s:%s and all older ones stay withdrawn', p_name, v_next) end, jsonb_build_object('floor', v_next));
	return true;
end
$$;

-- 'retired': no new installs, and what is under way goes on. 'withdrawn': nor does an install under way write it. 'ready': it may be installed again.
-- p_older: 'withdrawn' is meant of all older versions of its owner, too, also of those that come later; any other state takes that word about
-- this version back, and older ones stay as they are.
create function image_state_set(p_name text, p_version text, p_state text, p_older boolean, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	i image%rowtype;
	o record;
	v_floor text;
begin
	if p_older and p_state <> 'withdrawn' and not exists (select from image x where x.name = p_name and x.version = p_version)
	   and image_floor_lift(p_name, p_version, p_actor) then
		return;
	end if;
	i := image_lock(p_name, p_version);
	if p_older and p_state <> 'withdrawn' and not image_floor_lift(p_name, p_version, p_actor) then
		select f.version into v_floor from image_floor f where f.name = p_name and f.tenant_id is not distinct from i.tenant_id order by version_key(f.version) desc limit 1;
		if found then
			raise exception '%:% and all older ones are withdrawn, not %', p_name, v_floor, p_version using errcode = 'HA409',
				hint = format('haasctl image withdraw %s:%s --older --undo takes that back', p_name, v_floor);
		end if;
	end if;
	if p_older and p_state = 'withdrawn' then
		insert into image_floor (name, tenant_id, version) values (p_name, i.tenant_id, p_version) on conflict do nothing;
		if found then
			perform event_add(p_actor, 'image.floor_raised', 'image', p_name || ':' || p_version, i.tenant_id, 'withdrawn with all older ones, also those to come', '{}');
		end if;
		for o in select x.version from image x where x.name = p_name and x.tenant_id is not distinct from i.tenant_id and x.state in ('ready', 'retired')
			 and version_key(x.version) < version_key(p_version) order by x.id
		loop
			perform image_state_set(p_name, o.version, 'withdrawn', false, p_actor);
		end loop;
	end if;
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
	from numbered x where in_scope(p_tenant) group by x.kind order by x.kind
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
	delete from idempotency where tenant_id = v_id; -- its name may be another's soon
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

create trigger image_above_floor before insert or update of state on image for each row when (new.state <> 'withdrawn') execute function image_above_floor();

grant execute on function image_state_set(text,text,text,boolean,text) to portald;
grant execute on function image_delete(text,text,text) to portald;
grant execute on function tenant_left(bigint) to portald;
grant execute on function tenant_delete(text,text) to portald;
