-- The roles of the programs, tenants, scope, events, jobs, idempotency, keys of daemons: all other files refer to these.

-- ==== shape ====

-- Roles belong to the cluster, not to a database: they are made once and kept. Who applies the schema (superuser haas of the private cluster, or
-- a role with CREATEROLE elsewhere) makes them, and the extension. All else belongs to haas_owner, which is no superuser and cannot log in: a
-- definer function has its rights. Each program logs in under its own role and has only the rights that stand beside each table; portald has
-- portald_tenant besides, for what it does in a tenant's scope (scope.sql).
do $$
declare
	program text;
begin
	foreach program in array array['bampi_bootd', 'bampid', 'portald', 'peregrined', 'bampi_stored', 'peregrine_flowd', 'peregrine_captured',
		'portal_outward', 'portald_tenant'] loop
		if not exists (select from pg_roles where rolname = program) then
			execute format('create role %I login', program);
		end if;
		execute format('alter role %I set search_path = haas', program);
	end loop;
	if not exists (select from pg_roles where rolname = 'haas_owner') then
		create role haas_owner nologin;
	end if;
	if not pg_has_role('haas_owner', 'member') then
		execute format('grant haas_owner to %I', current_user);
	end if;
	grant pg_read_all_stats to haas_owner;   -- whether standbys follow (operation.sql)
	execute format('grant create on database %I to haas_owner', current_database());
	if to_regclass('haas.schema_migration') is not null then
		alter table schema_migration owner to haas_owner;
	end if;
end
$$;

create extension if not exists btree_gist with schema public;
alter schema haas owner to haas_owner;
set local role haas_owner;
alter default privileges revoke execute on functions from public;

-- Names as people count: x1, x2, x10. Lists of portald are in this order; their cursors compare by it too.
create collation natural_order (provider = icu, locale = 'und-u-kn-true');

create table tenant (
	id bigint generated always as identity primary key,
	name text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	created_at timestamptz not null default now()
);
alter table tenant enable row level security;

-- The audit row: who did what to which subject. Readers that follow the stream order by (xid, id) and stop at the oldest transaction
-- still running (pg_snapshot_xmin), so a row that commits late is never passed over.
create table event (
	id bigint generated always as identity primary key,
	xid xid8 not null default pg_current_xact_id(),
	at timestamptz not null default clock_timestamp(),
	actor text not null,
	kind text not null check (kind ~ '^[a-z_]+\.[a-z_]+$'),
	subject_kind text not null,
	subject text not null,
	tenant_id bigint references tenant on delete set null,
	tenant text,                           -- its name: it stays when the tenant goes
	request text,                          -- the request of portald that it is of; one bulk edit has one
	message text not null,
	detail jsonb not null default '{}'
);
create index event_stream on event (xid, id);
create index event_subject on event (subject_kind, subject, id);
alter table event enable row level security;

-- Which events a program may tell of by itself (event_told). All others are written by the functions that do what they tell of.
create table event_kind_right (
	role text not null,
	kind text not null check (kind ~ '^[a-z_]+\.([a-z_]+|%)$'),  -- of LIKE
	primary key (role, kind)
);
insert into event_kind_right (role, kind)
select role, unnest(kinds) from (values
	('bampi_bootd', '{boot.%,circuit.%,dhcp.%,identity.%,lease.%,subnet.exhausted}'::text[]),
	('bampid', '{deployment.cancelled,deployment.done,deployment.failed,node.action_done,node.action_failed,pdci.%,step.%}'),
	('peregrined', '{aggregate.%,alert.cleared,change.%,fabric.isolation,link.%,network.gone,nic.%,port.blocked,port.down,port.unblocked,port.up,switch.%}'),
	('bampi_stored', '{archive.%,volume.%}'),
	('portald', '{circuit.%,image.created,image.discarded,image.ready,package.created,package.discarded,package.ready,port.deleted,port.placed,'
	 'reservation.%,site_ca.%,subnet.%,switch.placed,tenant.created}'),
	('portald_tenant', '{image.created,image.discarded,image.ready,package.created,package.discarded,package.ready}')) r (role, kinds);

-- Long work a person asked for. Its state is not stored: job_view derives it from the deployments and node actions it made.
create table job (
	id bigint generated always as identity primary key,
	kind text not null,
	actor text not null,
	tenant_id bigint references tenant on delete set null,
	created_at timestamptz not null default now()
);
alter table job enable row level security;

-- Answers kept for 24 hours, so that a repeated POST is not done twice (draft-ietf-httpapi-idempotency-key-header).
create table idempotency (
	principal text not null,
	key text not null check (length(key) between 1 and 128),
	route text not null,
	body_digest text not null,
	status integer,           -- null while the first request is still under way
	location text,
	body text,
	tenant_id bigint,         -- in whose scope; null = an operator's
	created_at timestamptz not null default now(),
	primary key (principal, key)
);
create index idempotency_age on idempotency (created_at);

-- Public keys that portald seals secrets to; only the daemon that owns the pair can open them.
create table daemon_key (
	daemon text primary key,
	public_key bytea not null check (length(public_key) = 32),
	changed_at timestamptz not null default now()
);
alter table daemon_key enable row level security;

-- Every name that a tenant has had: stored traffic has the tenant's id, paths have its name.
create table tenant_name (
	name text not null,
	tenant_id bigint not null,             -- may be gone: its traffic is kept
	primary key (name, tenant_id)
);
alter table tenant_name enable row level security;

-- ==== functions ====

-- "1 rack", "2 racks": p_noun is one of them, with the plural of English.
create function count_text(p_count numeric, p_noun text) returns text immutable language sql as
$$ select p_count || ' ' || case when p_count = 1 then p_noun when p_noun ~ '(s|x|z|ch|sh)$' then p_noun || 'es'
	when p_noun ~ '[^aeiou]y$' then left(p_noun, -1) || 'ies' else p_noun || 's' end $$;

-- Bytes as people read them, like the tables of haasctl: "512 B", "1.5 GiB", "24 MiB".
create function size_text(p_bytes numeric) returns text immutable language sql as
$$ select case when u = 0 or v >= 10 then round(v)::text else round(v, 1)::text end || ' ' || ('{B,KiB,MiB,GiB,TiB,PiB}'::text[])[u + 1]
	from (select u, p_bytes / 1024::numeric ^ u as v from (select count(*)::integer as u from generate_series(1, 5) g where p_bytes >= 1024::numeric ^ g) x) y $$;

-- A text as one cell of a table (RFC 4180). A sheet runs what begins with = + - @, a tab or a line end as a formula: a quote before it makes it a
-- text there too.
create function csv_cell(value text) returns text language sql immutable parallel safe as $$
	select case when cell ~ '[",\r\n]' then '"' || replace(cell, '"', '""') || '"' else cell end
	from (select case when value ~ '^[=+@\t\r\n-]' then '''' || value else value end as cell) x
$$;

-- What a filter let through, for an action on all of it: as many as its caller saw, or nothing is done.
create function selection_expect(p_chosen text[], p_expected bigint) returns void language plpgsql stable as $$
declare
	v_locked constant text[] := nullif(current_setting('haas.locked', true), '')::text[];
begin
	if cardinality(p_chosen) > 500 then  -- other writes wait for it: 500 take up to a second
		raise exception 'more than 500 rows match the filter' using errcode = 'HA409', hint = 'act on them in parts, by a narrower filter: rack by rack';
	elsif not (p_chosen <@ v_locked and v_locked <@ p_chosen) then
		raise exception 'what the filter lets through changed meanwhile: nothing was done' using errcode = 'HA409', hint = 'list them again with the same filter, then repeat';
	elsif cardinality(p_chosen) <> p_expected then
		raise exception '% match the filter, % were expected: nothing was done', cardinality(p_chosen), p_expected
			using errcode = 'HA409', hint = 'list them again with the same filter, then repeat';
	elsif p_expected = 0 then
		raise exception 'nothing matches the filter' using errcode = 'HA409', hint = 'list with the same filter';
	end if;
end
$$;

-- Whose rows this transaction may see. portald says so at the start of each transaction; without it nothing is visible. What a tenant asks for is
-- done under a role of its own (scope.sql), and for that nothing makes an operator.
create function is_operator() returns boolean stable language sql as
$$ select session_user <> 'portald_tenant' and coalesce(current_setting('haas.scope', true), '') = 'operator' $$;

create function current_tenant() returns bigint stable language sql as
$$ select nullif(current_setting('haas.tenant', true), '')::bigint $$;

-- Never null: `if not in_scope(..)` lets nobody in where the scope was forgotten.
create function in_scope(p_tenant bigint) returns boolean stable language sql as
$$ select haas.is_operator() or coalesce(p_tenant = haas.current_tenant(), false) $$;

-- The program that logs in under a role, as events name it. Null: a person at the database.
create function program_of(p_role text) returns text immutable language sql as $$
	select case when p_role = 'portald_tenant' then 'portald'
		when p_role in ('bampi_bootd', 'bampid', 'portald', 'peregrined', 'bampi_stored', 'peregrine_flowd', 'peregrine_captured', 'portal_outward')
		then replace(p_role, '_', '-') end
$$;

-- Who does it: the database says so, whatever it is told. A daemon is itself, or the rules that it applies. portald is who asks in this transaction, as
-- identity_enter or the local socket said; a program that a function names is no person, so that name is kept.
create function event_actor(p_told text) returns text stable language sql as $$
	select case
		when haas.program_of(session_user) is null then coalesce(p_told, session_user)
		when p_told in ('health', 'operation') then p_told
		when haas.program_of(session_user) <> 'portald' then haas.program_of(session_user)
		when haas.program_of(replace(p_told, '-', '_')) = p_told then p_told
		else coalesce(nullif(current_setting('haas.actor', true), ''), 'portald') end
$$;

-- What portald says of this transaction: the request, and why a person asked for it.
create function event_request(p_setting text) returns text stable language sql as
$$ select case when haas.program_of(session_user) = 'portald' then nullif(current_setting('haas.' || p_setting, true), '') end $$;

-- The only way to write an event; for functions of this schema alone. It does not notify: the caller does, once per batch (a commit with NOTIFY
-- takes a cluster-wide lock).
create function event_add(p_actor text, p_kind text, p_subject_kind text, p_subject text, p_tenant bigint, p_message text,
			  p_detail jsonb default '{}')
returns bigint language sql security definer set search_path = haas, pg_temp as $$
	insert into event (actor, kind, subject_kind, subject, tenant_id, tenant, request, message, detail)
	values (event_actor(p_actor), p_kind, p_subject_kind, p_subject, p_tenant, (select name from tenant where id = p_tenant), event_request('request'), p_message,
		case when event_request('reason') is null then coalesce(p_detail, '{}')
		     when jsonb_typeof(p_detail) = 'object' then p_detail || jsonb_build_object('why', event_request('reason'))
		     else jsonb_strip_nulls(jsonb_build_object('why', event_request('reason'), 'of', p_detail)) end)
	returning id
$$;

-- The door of programs: what a statement of theirs has done itself. Other events are written by the functions that do the work.
create function event_told(p_kind text, p_subject_kind text, p_subject text, p_tenant bigint, p_message text, p_detail jsonb default '{}')
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if program_of(session_user) is not null and (not exists (select from event_kind_right r where r.role = session_user and p_kind like replace(r.kind, '_', '\_'))
	   or (program_of(session_user) = 'portald' and not in_scope(p_tenant))) then
		raise exception 'event % is not yours to tell', p_kind using errcode = 'HA403';
	end if;
	return event_add(null, p_kind, p_subject_kind, p_subject, p_tenant, p_message, p_detail);
end
$$;

-- Work keeps who asked for it: not whom portald names.
create function actor_told() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if program_of(session_user) = 'portald' then
		new.actor := event_actor(new.actor);
	end if;
	return new;
end
$$;

create function tenant_name_keep() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into tenant_name (name, tenant_id) values (new.name, new.id) on conflict do nothing;
	return null;
end
$$;

-- Secrets that are entered from now on are sealed to another key: an operator sees why the daemon may not open the older ones.
create function daemon_key_told() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if tg_op = 'INSERT' or new.public_key <> old.public_key then
		perform event_add(new.daemon, 'daemon.key_changed', 'daemon', new.daemon, null,
				  format('%s seals to key %s', new.daemon, left(encode(new.public_key, 'hex'), 16)),
				  jsonb_build_object('key', encode(new.public_key, 'hex'), 'before', case when tg_op = 'UPDATE' then encode(old.public_key, 'hex') end));
	end if;
	return null;
end
$$;

-- ==== triggers, views, rights ====
create trigger daemon_key_told after insert or update on daemon_key for each row execute function daemon_key_told();
do $$
declare
	v_table text;
begin
	foreach v_table in array array['alert_silence', 'case_entry', 'deployment', 'health_label', 'image_key', 'job', 'node_action', 'pdci', 'rotation',
		'seal_rotation', 'volume'] loop
		execute format('create trigger actor_told before insert on %I for each row execute function actor_told()', v_table);
	end loop;
end
$$;
create trigger tenant_name_keep after insert or update of name on tenant for each row execute function tenant_name_keep();

create view job_view with (security_invoker = true) as
select j.id, j.kind, j.actor, j.tenant_id, j.created_at, w.total, w.done, w.failed, w.ended_at,
       case when w.total = w.done + w.failed then case when w.failed > 0 then 'failed' else 'done' end else 'running' end as state, w.items
from job j
join lateral (
	select count(*) as total, count(*) filter (where ok) as done, count(*) filter (where not ok) as failed,
	       case when bool_and(x.ended_at is not null) then max(x.ended_at) end as ended_at, jsonb_agg(x.item order by x.id) as items
	from (
		select d.id, d.state = 'done' as ok, d.ended_at,
		       jsonb_build_object('deployment', d.id, 'node', d.node, 'state', d.state, 'step', d.step, 'problem', d.problem) as item
		from deployment d where d.job_id = j.id and d.ended_at is not null
		union all
		select d.id, null, null, jsonb_build_object('deployment', d.id, 'node', d.node, 'state', d.state, 'step', d.step, 'problem', d.problem,
							  'waiting', deployment_waiting(d))
		from deployment d where d.job_id = j.id and d.ended_at is null
		union all
		select a.id, case a.state when 'done' then true when 'failed' then false end, a.ended_at,
		       jsonb_build_object('action', a.action, 'node', a.node, 'state', a.state, 'result', a.result, 'problem', a.problem,
					  'waiting', case when a.due_at is not null then unclaimed_reason(a.due_at, a.claim_until, a.created_at) end)
		from node_action a where a.job_id = j.id
	) x
) w on true;

create policy tenant_portald on tenant to portald using (is_operator() or id = current_tenant()) with check (is_operator());
create policy tenant_daemon on tenant for select to bampid using (true);
create policy event_portald on event for select to portald using (in_scope(tenant_id));
create policy event_daemon on event for select to bampid using (true);
create policy job_portald on job to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
create policy job_daemon on job for select to bampid using (true);
create policy tenant_peregrined on tenant for select to peregrined using (true);
create policy tenant_flowd on tenant for select to peregrine_flowd using (true);
-- A daemon that is broken into does not get the secrets that are meant for another.
create policy daemon_key_read on daemon_key for select using (true);
create policy daemon_key_insert on daemon_key for insert with check (daemon = current_user);
create policy daemon_key_update on daemon_key for update using (daemon = current_user) with check (daemon = current_user);
create policy tenant_name_portald on tenant_name for select to portald using ((select is_operator()) or tenant_id = (select current_tenant()));

revoke all on schema haas from public;
grant usage on schema haas to bampi_bootd, bampid, portald, peregrined, bampi_stored, peregrine_flowd, peregrine_captured, portal_outward, portald_tenant;

grant select on tenant to bampid, peregrined, peregrine_flowd;
grant insert, select on tenant to portald;
grant select on event to bampid, portald;
grant select on job to bampid;
grant insert, select on job to portald;
grant insert, select, update, delete on idempotency to portald;
grant insert, select, update on daemon_key to bampid, peregrined;
grant select on daemon_key to portald;
grant select on job_view to portald;
grant select on tenant_name to portald;
grant execute on function csv_cell(text) to portald;
grant execute on function selection_expect(text[],bigint) to portald;
grant execute on function is_operator() to bampi_bootd, bampid, portald, peregrined, peregrine_flowd;
grant execute on function current_tenant() to bampi_bootd, bampid, portald, peregrined, peregrine_flowd;
grant execute on function in_scope(bigint) to bampi_bootd, bampid, portald, peregrined, peregrine_flowd;
grant execute on function event_told(text,text,text,bigint,text,jsonb) to bampi_bootd, bampid, portald, peregrined, bampi_stored;
