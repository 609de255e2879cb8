-- Captures in the case of whoever complains; how long and how much of them a collector keeps.

-- --- in a case ----------------------------------------------------------------------------------------------------------------------------

alter table capture add column case_id bigint references case_file on delete set null;
create index capture_case_id on capture (case_id) where case_id is not null;

-- Where it is written down: the case that it was asked for in; else the latest open one of its tenant; else of whoever asked, when that one is of no tenant.
create function capture_case(c capture)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select f.id from case_file f
	where f.closed_at is null and case when c.case_id is not null then f.id = c.case_id else f.tenant_id = c.tenant_id or f.tenant_id is null and f.opened_by = c.requester end
	order by f.tenant_id is null, f.id desc limit 1
$$;
revoke execute on function capture_case(capture) from public;

create function capture_name(c capture)
returns text immutable language sql as $$
	select format('capture %s of %s%s', c.id, c.node, coalesce('~' || nullif(c.peer, ''), ''))
$$;

create function capture_note(c capture, p_actor text, p_text text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_case bigint := capture_case(c);
begin
	-- closed at this moment: then it is not in it
	perform from case_file where id = v_case and closed_at is null for share;
	if found then
		insert into case_entry (case_id, actor, kind, text, detail)
		values (v_case, p_actor, 'capture', left(p_text, 4000), jsonb_build_object('capture', c.id, 'tenant', (select name from tenant where id = c.tenant_id), 'state', c.state,
			'because', c.because));
	end if;
end
$$;
revoke execute on function capture_note(capture, text, text) from public;

-- What the process of a capture told is of a program that reads strangers' bytes: no shape of it may stop the end of a capture, and no word of it go as it is.
create function capture_count(p jsonb)
returns numeric immutable language sql as $$
	select case when jsonb_typeof(p) = 'number' then least(greatest(floor(p::text::numeric), 0), 1e18) else 0 end
$$;

create function capture_ms(p_us numeric)
returns text immutable language sql as $$
	select to_char(p_us / 1000, 'FM999999990.000')
$$;

-- "1234 packets, 98304 bytes; TCP: 812 segments, 3 sent again (0.4 %), 2 closed windows, round trip 0.210/0.305/1.100 ms; applications: TLS 80.0 %, DNS 20.0 %"
create function capture_summary(p_result jsonb)
returns text immutable language sql set search_path = haas, pg_temp as $$
	with r as (select case when jsonb_typeof(p_result) = 'object' then p_result else '{}' end as told),
	t as (select case when jsonb_typeof(told -> 'tcp') = 'object' then told -> 'tcp' else '{}' end as tcp,
		     case when jsonb_typeof(told -> 'applications') = 'array' then told -> 'applications' else '[]' end as applications, told from r),
	a as (select left(regexp_replace(coalesce(x ->> 'application', ''), '[^A-Za-z0-9 ._/+-]', '?', 'g'), 32) as name, capture_count(x -> 'bytes') as bytes
	      from t, jsonb_array_elements(applications) x where jsonb_typeof(x) = 'object'),
	-- the largest of them
	m as (select string_agg(format('%s %s %%', name, round(bytes * 100 / (select sum(bytes) from a), 1)), ', ' order by bytes desc, name) as words
	      from (select * from a where bytes > 0 order by bytes desc, name limit 5) x)
	select format('%s packets, %s bytes', capture_count(told -> 'packets'), capture_count(told -> 'bytes'))
		|| case when capture_count(told -> 'dropped') > 0 then format(', %s more were lost on the way', capture_count(told -> 'dropped')) else '' end
		|| case when capture_count(tcp -> 'segments') > 0 then format('; TCP: %s segments, %s sent again (%s %%), %s closed windows', capture_count(tcp -> 'segments'),
			capture_count(tcp -> 'retransmissions'), round(capture_count(tcp -> 'retransmissions') * 100 / capture_count(tcp -> 'segments'), 1),
			capture_count(tcp -> 'zero_windows')) else '' end
		|| case when capture_count(tcp -> 'rtt_count') > 0 then format(', round trip %s/%s/%s ms', capture_ms(capture_count(tcp -> 'rtt_least_us')),
			capture_ms(capture_count(tcp -> 'rtt_mean_us')), capture_ms(capture_count(tcp -> 'rtt_most_us'))) else '' end
		|| coalesce('; applications: ' || words, '')
	from t, m
$$;

-- A trigger: whoever moves it on, and whatever was killed, it is in the case.
create function capture_in_case() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.state = 'running' then
		perform capture_note(new, 'system', format('%s started: %s bytes of each frame, %s%s s at most', capture_name(new), new.snap_length,
			coalesce('filter ' || nullif(new.filter, '') || ', ', ''), new.seconds));
	elsif new.state = 'ended' then
		perform capture_note(new, 'system', format('%s ended (%s): %s', capture_name(new), new.because,
			case when new.consent is null then 'nobody consented' when new.result = '{}' then coalesce('nothing was taken, ' || (new.problem ->> 'message'), 'nothing was taken')
			else capture_summary(new.result) end));
	end if;
	return null;
end
$$;
create trigger capture_in_case after update of state on capture for each row when (new.state is distinct from old.state and new.state in ('running', 'ended'))
	execute function capture_in_case();

-- --- how much is kept ---------------------------------------------------------------------------------------------------------------------

-- What a collector says of itself when it starts. Packets count by what their capture may yet take, then by what it took.
create index capture_kept on capture (ended_at) where files = 'kept';

create table capture_collector (
	name text primary key check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	keep_days integer not null check (keep_days between 1 and 3650),
	keep_bytes bigint not null check (keep_bytes > 0),        -- of all tenants
	tenant_bytes bigint not null check (tenant_bytes > 0),    -- of one
	told_at timestamptz not null default now()
);

create function capture_kept_bytes(c capture)
returns numeric immutable language sql set search_path = haas, pg_temp as $$
	select case when c.state <> 'ended' then c.max_bytes when c.files in ('kept', 'removing') then coalesce(nullif(capture_count(c.result -> 'stored_bytes'), 0), c.max_bytes) else 0 end
$$;

create function capture_size(p_bytes numeric)
returns text immutable language sql as $$
	select case when p_bytes >= 1073741824 then round(p_bytes / 1073741824, 1) || ' GiB' else round(p_bytes / 1048576, 1) || ' MiB' end
$$;

-- Refuses what would not fit: nothing that somebody may still want makes room for it.
create function capture_fits(p_capture bigint)
returns void language plpgsql stable security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
	k capture_collector%rowtype;
	v_tenant text;
	v_all numeric;
	v_own numeric;
begin
	select * into c from capture where id = p_capture;
	select * into k from capture_collector where name = c.collector;
	if not found then
		return;
	end if;
	select name into v_tenant from tenant where id = c.tenant_id;
	select sum(capture_kept_bytes(o)), sum(capture_kept_bytes(o)) filter (where o.tenant_id = c.tenant_id) into v_all, v_own
	from capture o where o.collector = c.collector and (o.state <> 'ended' or o.files in ('kept', 'removing'));
	if v_own > k.tenant_bytes then
		raise exception 'tenant % would have % of packets kept', v_tenant, capture_size(v_own) using errcode = 'HA409', detail = format('%s is the most', capture_size(k.tenant_bytes)),
			hint = format('haasctl capture list --all --tenant %s; haasctl capture remove CAPTURE, or ask for less: --size', v_tenant);
	elsif v_all > k.keep_bytes and not is_operator() then -- how much others keep is not a tenant's to know
		raise exception 'there is no room for its packets now' using errcode = 'HA409', hint = 'ask for less: --size, or later';
	elsif v_all > k.keep_bytes then
		raise exception 'collector % would keep % of packets', k.name, capture_size(v_all) using errcode = 'HA409', detail = format('%s is the most', capture_size(k.keep_bytes)),
			hint = 'haasctl capture list --all; haasctl capture remove CAPTURE, or ask for less: --size';
	end if;
end
$$;
revoke execute on function capture_fits(bigint) from public;

-- A collector: what it keeps, and what of it is too old now. How many captures are to be deleted.
create function capture_keep(p_collector text, p_days integer, p_bytes bigint, p_tenant_bytes bigint)
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
	v_count integer := 0;
begin
	insert into capture_collector (name, keep_days, keep_bytes, tenant_bytes) values (p_collector, p_days, p_bytes, p_tenant_bytes)
	on conflict (name) do update set keep_days = excluded.keep_days, keep_bytes = excluded.keep_bytes, tenant_bytes = excluded.tenant_bytes, told_at = now()
	where (capture_collector.keep_days, capture_collector.keep_bytes, capture_collector.tenant_bytes) is distinct from (excluded.keep_days, excluded.keep_bytes, excluded.tenant_bytes);
	for c in select * from capture where collector = p_collector and state = 'ended' and files = 'kept' and ended_at < now() - make_interval(days => p_days)
		order by id limit 100 for update skip locked loop
		update capture set files = 'removing' where id = c.id;
		perform capture_event(c, 'system', 'removed', format('its packets were kept for %s days', p_days));
		v_count := v_count + 1;
	end loop;
	return v_count;
end
$$;
revoke execute on function capture_keep(text, integer, bigint, bigint) from public;
grant execute on function capture_keep(text, integer, bigint, bigint) to peregrine_captured;

-- --- asked for by people ------------------------------------------------------------------------------------------------------------------

-- The door of 037, with a case (NULL: whichever is open) and with what the collector has room for.
create function capture_ask(p_spec jsonb, p_case bigint, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
	c capture%rowtype;
begin
	if p_case is not null then
		perform case_for_entry(p_case);
	end if;
	-- two at once would not see each other
	perform pg_advisory_xact_lock(hashtext('haas.capture_fits'));
	v_id := capture_start(p_spec, p_actor);
	select * into c from capture where id = v_id;
	perform capture_fits(c.id);
	c.case_id := p_case;
	c.case_id := capture_case(c);
	update capture set case_id = c.case_id where id = c.id;
	perform capture_note(c, p_actor, format('%s asked for%s: %s', capture_name(c), coalesce(' (' || nullif(c.reason, '') || ')', ''),
		case when c.consent is null then 'it waits for consent' else 'its tenant has granted it' end));
	return c.id;
end
$$;
revoke execute on function capture_start(jsonb, text), capture_ask(jsonb, bigint, text) from public;
revoke execute on function capture_start(jsonb, text) from portald;
grant execute on function capture_ask(jsonb, bigint, text) to portald;

-- As in 036; what was captured of another tenant is not in what a tenant reads.
create or replace function case_line(p_opened timestamptz, e case_entry, p_public boolean, p_for text)
returns text immutable language sql set search_path = haas, pg_temp as $$
	with p as (select e.detail ->> 'path' as path, coalesce(substring(e.detail ->> 'path' from '(?:^|/)tenant:([^/]*)'), p_for) as of_tenant),
	q as (select case when p_public and of_tenant <> p_for then regexp_replace(path, '(^|/)tenant:.*$', '\1(another tenant)') else path end as path,
		     p_public and (of_tenant <> p_for or path !~ '(^|/)tenant:') as hidden from p)
	select format('- %s %s: %s', case_clock(p_opened, e.at), e.kind,
		case when e.kind = 'query' then format('`drill %s`%s', coalesce(nullif(q.path, ''), '""'), ' ' || (e.detail ->> 'from') || ' to ' || (e.detail ->> 'to')
			|| case when q.hidden then '' else ', ' || case_rate((e.detail ->> 'bits_per_second')::numeric) end
			|| coalesce((select ', most: ' || string_agg(format('%s %s %%', r ->> 'name', round((r ->> 'share')::numeric * 100, 1)), ', ' order by n)
				     from jsonb_array_elements(e.detail -> 'rows') with ordinality x (r, n) where not q.hidden), ''))
		else e.text end)
	from q where not p_public or e.kind <> 'note' and (e.kind <> 'capture' or e.detail ->> 'tenant' = p_for)
$$;
