-- Heartbeats: which daemon was heard last, and when.

-- ==== shape ====

-- Each daemon has its own row written every 3 s (common/db/heartbeat.h). An instance is a host, or a name of the configuration.
create table daemon (
	name text not null check (name in ('portald', 'bampid', 'bampi-bootd', 'bampi-stored', 'peregrined', 'peregrine-flowd', 'peregrine-captured',
		'portal-outward')),
	instance text not null,
	version text not null,
	started_at timestamptz not null,
	seen_at timestamptz not null default now(),
	primary key (name, instance)
);
alter table daemon enable row level security;

-- ==== functions ====

-- A beat of a daemon, by its own role. It also makes the check of operation (operation.sql) where that is due: bampid and portald do it, another
-- daemon after 15 s without one. bampi-bootd never does: no boot waits for a check.
create function daemon_beat(p_name text, p_instance text, p_version text, p_up_s double precision)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not pg_has_role(session_user, replace(p_name, '-', '_'), 'member') then
		raise exception 'role % is not %', session_user, p_name using errcode = 'HA403';
	end if;
	insert into daemon (name, instance, version, started_at) values (p_name, p_instance, p_version, now() - make_interval(secs => p_up_s))
	on conflict (name, instance) do update set version = excluded.version, started_at = excluded.started_at, seen_at = now();
	if p_name in ('bampid', 'portald') or (p_name <> 'bampi-bootd' and exists (select from operation_check where at < clock_timestamp() - interval '15 s')) then
		perform operation_alert_put();
	end if;
end
$$;

-- Why this daemon does nothing: no instance of it was heard for 10 s. {daemon, message, detail, hint, since}; since null: it was never
-- heard. Null: it is heard.
create function daemon_absence(p_name text) returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_build_object('daemon', p_name, 'message', p_name || ' is not heard',
				  'detail', coalesce('its last heartbeat came ' || extract(epoch from clock_timestamp() - x.seen_at)::integer || ' s ago', 'it was never heard'),
				  'hint', format('on the controller: systemctl status %1$s, then systemctl start %1$s', p_name), 'since', x.seen_at)
	from (select max(seen_at) as seen_at from daemon where name = p_name) x
	where x.seen_at is null or x.seen_at < clock_timestamp() - interval '10 s'
$$;

-- ==== triggers, views, rights ====
grant execute on function daemon_beat(text,text,text,double precision)
to bampi_bootd, bampid, portald, peregrined, bampi_stored, peregrine_flowd, peregrine_captured, portal_outward;
grant execute on function daemon_absence(text) to portald;
