-- Heartbeats: which daemon was heard last, and when. The lead: which instance of a daemon works, and which stands by.

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

-- Of a daemon that works at one controller at a time ("bampid"), or of a part of it ("bampid/watch"): who leads (common/db/lead.h). The lead itself is
-- an advisory lock of the leader's session; this row says whose it is when that session is silent. A life is one run of the program.
create table daemon_lead (
	name text primary key check (name ~ '^[a-z-]+(/[a-z0-9_.-]+)?$'),
	instance text not null,
	life text not null,
	epoch bigint not null default 0,  -- grows when the lead is taken
	since timestamptz not null default now(),
	seen_at timestamptz not null
);
alter table daemon_lead enable row level security;

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

create function lead_silent()
returns interval immutable language sql as $$ select interval '10 s' $$;

-- The key of the advisory locks: (7303, key) is the leader's session's, (7304, key) of transactions beside it (lead_hold).
create function lead_key(p_name text)
returns integer immutable language sql as $$ select hashtext(p_name) & 2147483647 $$;

create function lead_check(p_name text)
returns void stable language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not pg_has_role(session_user, replace(split_part(p_name, '/', 1), '-', '_'), 'member') then
		raise exception 'role % is not %', session_user, split_part(p_name, '/', 1) using errcode = 'HA403';
	end if;
end
$$;

-- Takes the lead where it is free or its leader was silent, else says whose it is (epoch null). `blockers`: sessions that hold the lock though their
-- program is silent, cut off or paused. The caller ends them and asks again: so an old leader's session is over before a new one works.
-- A leader comes back to its own lead first: after a loss of the connection, or of the database (another primary knows no lock), and after its restart.
-- p_of: a part belongs to whoever leads the whole, at once.
create function lead_take(p_name text, p_instance text, p_life text, p_of text)
returns table (epoch bigint, leader text, ours boolean, blockers integer[])
language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v daemon_lead%rowtype;
	v_may boolean;
	v_held boolean := false;
begin
	perform lead_check(p_name);
	insert into daemon_lead (name, instance, life, seen_at) select p_name, '', '', '-infinity'
	where not exists (select from daemon_lead l where l.name = p_name) on conflict do nothing;
	-- Who stands by writes nothing: a look without a lock comes first.
	for i in 1..2 loop
		if i = 1 then
			select * into v from daemon_lead l where l.name = p_name;
		else
			select * into v from daemon_lead l where l.name = p_name for update;
		end if;
		leader := v.instance;
		ours := v.life = p_life;
		v_may := case when p_of is not null then exists (select from daemon_lead l where l.name = p_of and l.life = p_life)
			 -- Another primary's clock may differ from the one that wrote the time.
			 else ours or v.seen_at not between clock_timestamp() - lead_silent() and clock_timestamp() + lead_silent() end;
		if not v_may and (p_of is not null or v.instance <> p_instance) then
			return next;
			return;
		end if;
	end loop;
	if not pg_try_advisory_lock(7303, lead_key(p_name)) then
		v_held := true;
	elsif not ours and not pg_try_advisory_xact_lock(7304, lead_key(p_name)) then
		v_held := true;
		perform pg_advisory_unlock(7303, lead_key(p_name));
	end if;
	if v_held then
		if v_may then
			blockers := array(select l.pid from pg_locks l where l.locktype = 'advisory' and l.granted and l.classid in (7303, 7304)
					  and l.objid = lead_key(p_name)::oid and l.pid <> pg_backend_pid()
					  and l.database = (select d.oid from pg_database d where d.datname = current_database()));
		end if;
		return next;
		return;
	end if;
	update daemon_lead l set instance = p_instance, life = p_life, epoch = l.epoch + 1, seen_at = clock_timestamp(),
		since = case when l.life = p_life then l.since else clock_timestamp() end
	where l.name = p_name returning l.epoch, l.instance, true into epoch, leader, ours;
	return next;
end
$$;

create function lead_beat(p_name text, p_life text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform lead_check(p_name);
	update daemon_lead set seen_at = clock_timestamp() where name = p_name and life = p_life;
	if not found then
		raise exception 'another % leads', p_name using errcode = 'HA412';
	end if;
end
$$;

-- Begins a transaction on a connection beside the leader's: refused unless this life leads. Whoever takes the lead waits for its end, or ends it.
create function lead_hold(p_name text, p_life text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform lead_check(p_name);
	perform pg_advisory_xact_lock_shared(7304, lead_key(p_name));
	if not exists (select from daemon_lead where name = p_name and life = p_life) then
		raise exception 'another % leads', p_name using errcode = 'HA412';
	end if;
end
$$;

-- ==== triggers, views, rights ====
grant execute on function lead_take(text,text,text,text), lead_beat(text,text)
to bampid, peregrined, peregrine_flowd, peregrine_captured, portal_outward;
grant execute on function lead_hold(text,text) to peregrined, peregrine_flowd;
grant execute on function daemon_beat(text,text,text,double precision)
to bampi_bootd, bampid, portald, peregrined, bampi_stored, peregrine_flowd, peregrine_captured, portal_outward;
grant execute on function daemon_absence(text) to portald;
