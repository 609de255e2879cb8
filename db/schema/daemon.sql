-- Heartbeats: which daemon was heard last, and when.

-- ==== shape ====

-- Each daemon writes its own row every 3 s (common/db/heartbeat.h). An instance is a host, or a name of the configuration.
create table daemon (
	name text not null check (name in ('portald', 'bampid', 'bampi-bootd', 'bampi-stored', 'peregrined', 'peregrine-flowd', 'peregrine-captured')),
	instance text not null,
	version text not null,
	started_at timestamptz not null,
	seen_at timestamptz not null default now(),
	primary key (name, instance)
);

-- ==== functions ====

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
grant insert, select, update on daemon to bampi_bootd, bampid, portald, peregrined, bampi_stored, peregrine_flowd, peregrine_captured;
grant execute on function daemon_absence(text) to portald;
