-- The audit: events are sealed in blocks, which bampid signs, and consoles leave a trace. What was sealed can be checked without us (haasctl audit verify).

-- ==== shape ====

-- Events in the order of the stream, up to the oldest transaction that ran. rows: "ID:SHA256 of event_text" of each; digest: SHA-256 of these lines.
-- body names both, and the hash of the block before; its key is one of certificate_key.
create table event_block (
	id bigint primary key check (id > 0),
	rows text[] not null check (cardinality(rows) between 1 and 1000),
	digest text not null check (digest ~ '^[0-9a-f]{64}$'),
	body text not null,
	previous_hash text not null unique check (previous_hash ~ '^[0-9a-f]{64}$'),  -- no two blocks follow one
	hash text not null check (hash ~ '^[0-9a-f]{64}$'),
	signature text not null check (signature ~ '^[0-9a-f]{128}$'),
	public_key text not null,
	first_id bigint not null,              -- of its first event
	sealed_at timestamptz not null
);
alter table event_block enable row level security;

-- The last event that is sealed, in the order of the stream. A restore moves it (restoration_begin).
create table event_sealed (
	one boolean primary key default true check (one),
	xid xid8 not null default '0',
	id bigint not null default 0
);
insert into event_sealed default values;

-- ==== functions ====

-- What is sealed of an event: one line of JSON, always the same. Not its xid, which a restore moves, nor its tenant's id, which goes with the tenant.
create function event_text(e event) returns text stable language sql as $$
	select format('{"format":"haas-event-1","id":%s,"at":"%s","actor":%s,"kind":%s,"subject_kind":%s,"subject":%s,"tenant":%s,"request":%s,"message":%s,"detail":%s}',
		e.id, to_char(e.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(e.actor), to_json(e.kind), to_json(e.subject_kind), to_json(e.subject),
		coalesce(to_json(e.tenant)::text, 'null'), coalesce(to_json(e.request)::text, 'null'), to_json(e.message), e.detail)
$$;

-- The events that the next block is of. It takes no lock: an event whose transaction still runs, and what comes after it, is for a later block.
create function event_block_rows(p_limit integer)
returns table (xid xid8, id bigint, line text) stable language sql set search_path = haas, pg_temp as $$
	select e.xid, e.id, e.id || ':' || encode(sha256(convert_to(event_text(e), 'UTF8')), 'hex')
	from event e, event_sealed s
	where (e.xid, e.id) > (s.xid, s.id) and e.xid < pg_snapshot_xmin(pg_current_snapshot())
	order by e.xid, e.id limit p_limit
$$;

-- What bampid signs next. No row: nothing is new.
create function event_block_next()
returns table (block bigint, previous_hash text, events bigint, digest text, sealed_at text) language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check('bampid');
	return query select coalesce(b.id, 0) + 1, coalesce(b.hash, repeat('0', 64)), r.events, r.digest,
		to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
	from (select count(*) as events, encode(sha256(convert_to(string_agg(x.line || chr(10), '' order by x.xid, x.id), 'UTF8')), 'hex') as digest
	      from event_block_rows(1000) x) r
	left join (select e.id, e.hash from event_block e order by e.id desc limit 1) b on true
	where r.events > 0;
end
$$;

-- The signed block, of as many events as it says. Nothing happens when another bampid was first.
create function event_block_add(p_body text, p_hash text, p_signature text, p_public_key text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_body constant jsonb := p_body::jsonb;
	v_rows text[];
	v_digest text;
	v_last record;
begin
	perform seal_rotation_check('bampid');
	perform from event_sealed for update;
	select array_agg(x.line order by x.xid, x.id) into v_rows from event_block_rows((v_body ->> 'events')::integer) x;
	v_digest := encode(sha256(convert_to(array_to_string(v_rows, chr(10)) || chr(10), 'UTF8')), 'hex');
	if v_digest is distinct from v_body ->> 'digest' or (v_body ->> 'block')::bigint is distinct from (select coalesce(max(id), 0) + 1 from event_block) then
		return null;
	end if;
	select x.xid, x.id into v_last from event_block_rows((v_body ->> 'events')::integer) x order by x.xid desc, x.id desc limit 1;
	insert into event_block (id, rows, digest, body, previous_hash, hash, signature, public_key, first_id, sealed_at)
	values ((v_body ->> 'block')::bigint, v_rows, v_digest, p_body, v_body ->> 'previous_hash', p_hash, p_signature, p_public_key, (select x.id from event_block_rows(1) x),
		(v_body ->> 'sealed_at')::timestamptz);
	update event_sealed set xid = v_last.xid, id = v_last.id;
	return (v_body ->> 'block')::bigint;
end
$$;

-- Where a restored database may be younger than its backup was: what is sealed stays before what is not.
create function event_sealed_restored()
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_now constant xid8 := pg_current_xact_id();
	v_before constant xid8 := ((v_now::text)::bigint - 1)::text::xid8;
	s event_sealed%rowtype;
begin
	select * into s from event_sealed;
	update event e set xid = case when (e.xid, e.id) <= (s.xid, s.id) then v_before else v_now end where e.xid >= v_now;
	if s.xid >= v_now then
		update event_sealed set xid = v_before, id = (select max(e.id) from event e where e.xid = v_before);
	end if;
end
$$;

-- Its xid and its tenant's id are not sealed: a restore and the end of a tenant change them.
create function event_is_final() returns trigger language plpgsql as $$
begin
	if tg_op = 'UPDATE' and tg_table_name = 'event' and to_jsonb(new) - '{xid,tenant_id}'::text[] = to_jsonb(old) - '{xid,tenant_id}'::text[] then
		return new;
	end if;
	raise exception 'what was told cannot be changed' using errcode = 'HA403';
end
$$;

-- --- consoles ---

-- node_console of who uses it now; event: what was written of that. p_what: opened, read (its log), typed. What is typed is not kept; that something
-- is, is: at first, then once a minute at most.
create function node_console_told(p_node text, p_what text)
returns table (tenant bigint, since_ms bigint, why text, told bigint) language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint;
	v_last event%rowtype;
begin
	select c.tenant, c.since_ms, c.why into tenant, since_ms, why from node_console(p_node) c;
	if not found then
		return;
	end if;
	if p_what = 'typed' then
		-- Of the last events of the node alone: where it has more of them in a minute, one more tells of it.
		select * into v_last from (select * from event x where x.subject_kind = 'node' and x.subject = p_node order by x.id desc limit 100) e
		where e.kind in ('console.opened', 'console.typed') and e.actor = event_actor(null) order by e.id desc limit 1;
	end if;
	if why is null and not coalesce(v_last.kind = 'console.typed' and v_last.at > now() - interval '1 minute', false) then
		select n.tenant_id into v_tenant from node n where n.name = p_node and in_scope(n.tenant_id);
		told := event_add(null, 'console.' || p_what, 'node', p_node, v_tenant,
				  case p_what when 'opened' then 'its console was opened' when 'read' then 'its console log was read' else 'keys are pressed at its console' end,
				  jsonb_build_object('as', case when is_operator() then 'operator' else 'tenant' end));
	end if;
	return next;
end
$$;

-- Who opened it may be logged out by now: the row says who that was.
create function node_console_closed(p_opened bigint)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	e event%rowtype;
begin
	select * into e from event where id = p_opened and kind = 'console.opened';
	if found then
		perform set_config('haas.actor', e.actor, true), set_config('haas.request', coalesce(e.request, ''), true), set_config('haas.reason', '', true);
		perform event_add(null, 'console.closed', 'node', e.subject, e.tenant_id, 'its console was closed',
				  jsonb_build_object('opened', e.id, 'after_s', extract(epoch from clock_timestamp() - e.at)::bigint));
	end if;
end
$$;

-- ==== triggers, views, rights ====

create trigger event_is_final before update or delete on event for each row execute function event_is_final();
create trigger event_is_kept before truncate on event for each statement execute function event_is_final();
create trigger event_block_is_final before update or delete or truncate on event_block for each statement execute function event_is_final();
create trigger event_block_key_seen before insert on event_block for each row execute function certificate_key_seen();

create policy event_block_portald on event_block for select to portald using (is_operator());

grant select on event_block to portald;
grant execute on function event_text(event) to portald;
grant execute on function event_block_next() to bampid;
grant execute on function event_block_add(text,text,text,text) to bampid;
grant execute on function node_console_told(text,text) to portald;
grant execute on function node_console_closed(bigint) to portald;
