-- Limits of tenants: how much one may have at most, of nodes, volumes, networks, images and packages.
--
-- A limit is asked before more is made, whoever asks: an operator raises it first. Without a row, a tenant's own or the site's, there is no limit.
-- The row of the tenant is locked first and counted after that, so two requests at once cannot pass a limit together. What is there already stays
-- when a limit is lowered. docs/decision/tenant-limits.md says why.

-- ==== shape ====

create table tenant_limit (
	tenant_id bigint references tenant on delete cascade,  -- null: the site's, for each tenant without a row of its own
	kind text not null check (kind in ('nodes', 'volume_bytes', 'networks', 'images', 'packages', 'image_bytes')),
	class text check (length(class) between 1 and 63),     -- of nodes; null: of all classes together
	amount bigint check (amount >= 0),                     -- null: no limit, whatever the site's says
	unique nulls not distinct (tenant_id, kind, class),
	constraint only_nodes_have_classes check (class is null or kind = 'nodes')
);
alter table tenant_limit enable row level security;

-- ==== functions ====

-- The limits that hold for a tenant: its own, else the site's.
create function tenant_limit_of(p_tenant bigint)
returns table (kind text, class text, amount bigint, own boolean) stable language sql security definer set search_path = haas, pg_temp as $$
	select distinct on (l.kind, l.class) l.kind, l.class, l.amount, l.tenant_id is not null from tenant_limit l
	where l.tenant_id = p_tenant or l.tenant_id is null order by l.kind, l.class, l.tenant_id nulls last
$$;

-- Counts the nodes of a tenant: those that it has, and places of its PDCIs that are to be filled. Such a place without a class may get a node of any,
-- so it counts for each class.
create function tenant_nodes(p_tenant bigint, p_class text)
returns numeric stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce(sum(x.count), 0) from (
		select greatest((g.e ->> 'count')::bigint - (select count(*) from pdci_node m where m.pdci_id = p.id and m.group_index = g.i - 1 and m.released_at is null), 0) as count
		from pdci p cross join jsonb_array_elements(p.request -> 'groups') with ordinality as g (e, i)
		where p.tenant_id = p_tenant and p.wanted = 'present' and (p_class is null or coalesce(g.e ->> 'class', '') in ('', p_class))
		union all
		select count(*) from node n where (p_class is null or n.class = p_class) and (n.tenant_id = p_tenant or n.id in (
			select m.node_id from pdci_node m join pdci p on p.id = m.pdci_id where p.tenant_id = p_tenant and m.released_at is null))) x
$$;

-- How much of a kind a tenant has. An archive counts as its volume until it is packed. What is being deleted counts until it is gone.
create function tenant_used(p_tenant bigint, p_kind text, p_class text default null)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce(case p_kind
		when 'nodes' then tenant_nodes(p_tenant, p_class)
		when 'volume_bytes' then (select coalesce(sum(size_bytes), 0) from volume where tenant_id = p_tenant and state <> 'deleted')
			+ (select coalesce(sum(coalesce(stored_bytes, size_bytes)), 0) from archive where tenant_id = p_tenant and state <> 'deleted')
		when 'networks' then (select count(*) from network where tenant_id = p_tenant and storage_id is null)
		when 'images' then (select count(*) from image where tenant_id = p_tenant)
		when 'packages' then (select count(*) from package where tenant_id = p_tenant)
		when 'image_bytes' then (select coalesce(sum(stored_bytes), 0) from image where tenant_id = p_tenant)
			+ (select coalesce(sum(size_bytes), 0) from package where tenant_id = p_tenant) end, 0)::bigint
$$;

-- "16 nodes of class gpu", "20 TiB of volumes".
create function tenant_limit_text(p_kind text, p_class text, p_amount numeric)
returns text immutable language sql as $$
	select case p_kind
		when 'volume_bytes' then size_text(p_amount) || ' of volumes and archives'
		when 'image_bytes' then size_text(p_amount) || ' of images and packages'
		else count_text(p_amount, regexp_replace(p_kind, 's$', '')) end || coalesce(' of class ' || p_class, '')
$$;

-- Locks the tenant when it has a limit of this kind; true: it has. Before any row of what is limited, so that nobody waits in a ring.
create function tenant_limit_lock(p_tenant bigint, p_kind text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not exists (select from tenant_limit_of(p_tenant) l where l.kind = p_kind and l.amount is not null) then
		return false;
	end if;
	perform from tenant where id = p_tenant for no key update;
	return found;
end
$$;

-- Refuses what would pass a limit. p_asked: [{"class", "count"}], a class of null is any; what has no classes is one element without.
create function tenant_limit_hold(p_tenant bigint, p_kind text, p_asked jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	l record;
	v_asked numeric;
	v_used bigint;
	v_name text;
begin
	if not tenant_limit_lock(p_tenant, p_kind) then
		return;
	end if;
	for l in select x.kind, x.class, x.amount from tenant_limit_of(p_tenant) x where x.kind = p_kind and x.amount is not null loop
		select coalesce(sum((a ->> 'count')::bigint), 0) into v_asked from jsonb_array_elements(p_asked) a where l.class is null or coalesce(a ->> 'class', l.class) = l.class;
		v_used := tenant_used(p_tenant, p_kind, l.class);
		if v_asked > 0 and v_used + v_asked > l.amount then
			select name into v_name from tenant where id = p_tenant;
			raise exception 'tenant % may have %: it has %, and asks for % more', v_name, tenant_limit_text(p_kind, l.class, l.amount),
				case when p_kind ~ 'bytes' then size_text(v_used) else v_used::text end, case when p_kind ~ 'bytes' then size_text(v_asked) else v_asked::text end
				using errcode = 'HA409', constraint = 'tenant_limit',
				detail = format('limit %s, used %s, asked %s', l.amount, v_used, v_asked),
				hint = case when is_operator() then format('haasctl tenant limit list %s shows all; haasctl tenant limit set %s raises them', v_name, v_name)
					    else format('give something back, or ask an operator for more; haasctl tenant limit list %s shows all', v_name) end;
		end if;
	end loop;
end
$$;

-- Of each row that is made, and of one that grows. Arguments: kind and column that counts, in pairs; a column of '' counts 1.
create function tenant_limit_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_new jsonb := to_jsonb(new);
	v_old jsonb := case tg_op when 'UPDATE' then to_jsonb(old) else '{}' end;
begin
	for i in 0 .. tg_nargs / 2 - 1 loop
		perform tenant_limit_hold(new.tenant_id, tg_argv[2 * i], jsonb_build_array(jsonb_build_object('count', case tg_argv[2 * i + 1] when '' then 1
			else (v_new ->> tg_argv[2 * i + 1])::bigint - coalesce((v_old ->> tg_argv[2 * i + 1])::bigint, 0) end)));
	end loop;
	return new;
end
$$;

create function tenant_limit_pdci() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform tenant_limit_hold(new.tenant_id, 'nodes', (
		select jsonb_agg(jsonb_build_object('class', nullif(g ->> 'class', ''), 'count', g -> 'count')) from jsonb_array_elements(new.request -> 'groups') g));
	return new;
end
$$;

-- Says the limits of a tenant with what it has; p_tenant null: the site's. A class is there when it is limited, or the tenant has nodes of it.
create function tenant_limits(p_tenant text)
returns jsonb stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint := (select id from tenant where name = p_tenant and in_scope(id));
begin
	if p_tenant is null and is_operator() then
		return (select coalesce(jsonb_agg(jsonb_build_object('kind', l.kind, 'class', l.class, 'limit', l.amount) order by l.kind, l.class nulls first), '[]')
			from tenant_limit l where l.tenant_id is null);
	elsif v_id is null then
		raise exception 'tenant % does not exist', coalesce(p_tenant, '(none)') using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
	end if;
	return (select jsonb_agg(jsonb_build_object('kind', x.kind, 'class', x.class, 'limit', l.amount, 'used', x.used, 'free', case when l.amount is not null then greatest(l.amount - x.used, 0) end,
						    'own', coalesce(l.own, false)) order by x.n, x.class nulls first)
		from (select w.n, k.kind, k.class, tenant_used(v_id, k.kind, k.class) as used
		      from unnest('{nodes,volume_bytes,networks,images,packages,image_bytes}'::text[]) with ordinality as w (kind, n)
		      join (select u.kind, null::text as class from unnest('{nodes,volume_bytes,networks,images,packages,image_bytes}'::text[]) u (kind)
			    union select o.kind, o.class from tenant_limit_of(v_id) o
			    union select 'nodes', nullif(d.class, '') from node d where d.tenant_id = v_id) k on k.kind = w.kind) x
		left join tenant_limit_of(v_id) l on l.kind = x.kind and l.class is not distinct from x.class);
end
$$;

-- Sets limits: [{"kind", "class", "amount" | "default": true}]; an amount of null is no limit, the default is the site's. p_tenant null: the site's own.
create function tenant_limit_put(p_tenant text, p_limits jsonb, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
	v_before jsonb;
	v_after jsonb;
begin
	if not is_operator() then
		raise exception 'only an operator may set limits' using errcode = 'HA403';
	end if;
	if p_tenant is not null then
		select id into v_id from tenant where name = p_tenant for no key update;
		if not found then
			raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
		end if;
	end if;
	select coalesce(jsonb_agg(to_jsonb(l) - 'tenant_id' order by l.kind, l.class), '[]') into v_before from tenant_limit l where l.tenant_id is not distinct from v_id;
	delete from tenant_limit l using jsonb_to_recordset(p_limits) as x (kind text, class text)
	where l.tenant_id is not distinct from v_id and l.kind = x.kind and l.class is not distinct from x.class;
	insert into tenant_limit (tenant_id, kind, class, amount)
	select v_id, x.kind, x.class, x.amount from jsonb_to_recordset(p_limits) as x (kind text, class text, amount bigint, "default" boolean)
	where not coalesce(x."default", false) and (v_id is not null or x.amount is not null);
	select coalesce(jsonb_agg(to_jsonb(l) - 'tenant_id' order by l.kind, l.class), '[]') into v_after from tenant_limit l where l.tenant_id is not distinct from v_id;
	if v_after <> v_before then
		perform event_add(p_actor, 'tenant.limited', case when v_id is null then 'site' else 'tenant' end, coalesce(p_tenant, 'limits'), v_id, coalesce(
			(select string_agg(tenant_limit_text(a ->> 'kind', a ->> 'class', (a ->> 'amount')::numeric), ', ') from jsonb_array_elements(v_after) a where a ->> 'amount' is not null),
			'no limit'), jsonb_build_object('before', v_before, 'after', v_after));
	end if;
end
$$;

-- ==== triggers, views, rights ====

create trigger tenant_limit before insert on network for each row when (new.tenant_id is not null and new.storage_id is null) execute function tenant_limit_follow('networks', '');
create trigger tenant_limit before insert on volume for each row execute function tenant_limit_follow('volume_bytes', 'size_bytes');
create trigger tenant_limit_grows before update of size_bytes on volume for each row when (new.size_bytes > old.size_bytes)
	execute function tenant_limit_follow('volume_bytes', 'size_bytes');
create trigger tenant_limit before insert on archive for each row execute function tenant_limit_follow('volume_bytes', 'size_bytes');
create trigger tenant_limit before insert on image for each row when (new.tenant_id is not null)
	execute function tenant_limit_follow('images', '', 'image_bytes', 'stored_bytes');
create trigger tenant_limit before insert on package for each row when (new.tenant_id is not null)
	execute function tenant_limit_follow('packages', '', 'image_bytes', 'size_bytes');
create trigger tenant_limit before insert on pdci for each row execute function tenant_limit_pdci();

grant execute on function tenant_limits(text) to portald;
grant execute on function tenant_limit_put(text,jsonb,text) to portald;
