-- Who had which node or volume, from when to when: for bills and for questions.

-- ==== shape ====

-- One row per tenant and node or volume, with begin and end. It holds names and no keys, so it outlives its objects. Rows are added, and
-- closed once.
create table usage (
	id bigint generated always as identity primary key,
	tenant_id bigint not null,
	tenant text not null,
	kind text not null check (kind in ('node', 'volume')),
	subject text not null,
	class text not null default '',
	pdci text not null default '',
	from_at timestamptz not null default now(),
	to_at timestamptz,
	bytes bigint,  -- of volumes their size; of archives (class archive) their room on the storage
	constraint usage_in_order check (to_at is null or to_at >= from_at)
);
create index usage_tenant on usage (tenant_id, from_at);
create unique index usage_open on usage (kind, subject, (case when kind = 'volume' then class || ' ' || tenant_id else '' end)) where to_at is null;
alter table usage enable row level security;

-- ==== functions ====

create function usage_is_kept() returns trigger language plpgsql as $$
begin
	if tg_op = 'UPDATE' then
		if old.to_at is null and new.to_at is not null and to_jsonb(new) - 'to_at' = to_jsonb(old) - 'to_at' then
			return new;
		end if;
	end if;
	raise exception 'usage is only appended to, and closed once' using errcode = 'HA403';
end
$$;

-- A tenant uses a node from the moment it is handed over (active) until its release begins, whoever asked for either. A reinstall is part of it.
create function usage_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.tenant_id is not null and new.state = 'active' then
		insert into usage (tenant_id, tenant, kind, subject, class, pdci)
		select t.id, t.name, 'node', new.name, new.class,
		       coalesce((select p.name from pdci_node x join pdci p on p.id = x.pdci_id where x.node_id = new.id and x.released_at is null), '')
		from tenant t where t.id = new.tenant_id
		on conflict do nothing;
	elsif new.tenant_id is null or new.state in ('scrubbing', 'free', 'discovered') then
		update usage set to_at = greatest(now(), from_at) where kind = 'node' and subject = new.name and to_at is null;
	end if;
	return null;
end
$$;

create function usage_end() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	update usage set to_at = greatest(now(), from_at) where kind = 'node' and subject = old.name and to_at is null;
	return null;
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

-- ==== triggers, views, rights ====
create trigger usage_kept before update or delete on usage for each row execute function usage_is_kept();
create trigger usage_kept_whole before truncate on usage for each statement execute function usage_is_kept();

create policy usage_portald on usage for select to portald using (in_scope(tenant_id));

grant select on usage to portald;
