-- Complaints with their clock: what was asked, what was found, the report that the tenant may read.

-- ==== shape ====

-- A complaint, from its opening to the answer. A tenant sees the answer once it is published, and before that only that it complained itself.
create table case_file (
	id bigint generated always as identity primary key,
	tenant_id bigint references tenant on delete set null,
	tenant text not null default '',       -- a name outlives its tenant
	alert_id bigint references alert on delete set null,
	text text not null check (length(text) between 1 and 2000),
	complaint boolean not null default false, -- the tenant opened it itself
	opened_by text not null,
	opened_at timestamptz not null default now(),
	closed_by text,
	closed_at timestamptz,
	answer text not null default '',       -- what the complaint was, for whoever complained
	published_by text,
	published_at timestamptz,
	report text                            -- as it was published: it does not change any more
);
create index case_file_tenant on case_file (tenant_id);
create index case_file_open on case_file (id) where closed_at is null;
alter table case_file enable row level security;

-- What was done and found, in order. Written by the server when it happens.
create table case_entry (
	id bigint generated always as identity primary key,
	case_id bigint not null references case_file,
	at timestamptz not null default clock_timestamp(),
	actor text not null,
	kind text not null check (kind in ('opened', 'query', 'capture', 'note', 'finding', 'closed', 'published')),
	text text not null check (length(text) <= 4000),
	detail jsonb not null default '{}'
);
create index case_entry_case on case_entry (case_id, id);
alter table case_entry enable row level security;

-- ==== functions ====

create function case_entry_is_kept() returns trigger language plpgsql as $$
begin
	raise exception 'entries of a case are only appended' using errcode = 'HA403';
end
$$;

-- An operator opens a case for whom he names. A tenant opens one for itself: a complaint, and an alert that stands until it is answered.
create function case_open(p_tenant text, p_alert bigint, p_text text, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_own boolean := not is_operator();
	v_tenant bigint;
	v_name text;
	v_id bigint;
	a alert%rowtype;
begin
	-- A complaint is the tenant's own word: who only looks as the tenant says nothing in its name.
	if v_own and not coalesce(asking_role() in ('tenant-admin', 'tenant-member'), false) then
		raise exception 'only the tenant itself complains' using errcode = 'HA403', hint = 'open a case for it in the scope of the site: haasctl case open --tenant NAME, without --as-tenant';
	end if;
	if p_alert is not null then
		select * into a from alert where id = p_alert;
		if not found or not in_scope(a.tenant_id) then
			raise exception 'alert % does not exist', p_alert using errcode = 'HA404', hint = 'haasctl alert list --all shows the alerts';
		end if;
	end if;
	if p_tenant is not null or v_own then
		select id, name into v_tenant, v_name from tenant where case when v_own then id = current_tenant() and name = coalesce(p_tenant, name) else name = p_tenant end;
		if not found then
			raise exception 'tenant % does not exist', coalesce(p_tenant, '') using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
		end if;
	end if;
	if v_own then
		perform pg_advisory_xact_lock(hashtext('case_open ' || v_tenant));
		if (select count(*) from case_file where tenant_id = v_tenant and complaint and closed_at is null) >= 16 then
			raise exception 'tenant % has 16 complaints without an answer', v_name using errcode = 'HA409', hint = 'haasctl case list shows them';
		end if;
	end if;
	insert into case_file (tenant_id, tenant, alert_id, text, complaint, opened_by) values (v_tenant, coalesce(v_name, ''), p_alert, p_text, v_own, p_actor) returning id into v_id;
	insert into case_entry (case_id, actor, kind, text, detail) values (v_id, p_actor, 'opened', p_text, jsonb_strip_nulls(jsonb_build_object('tenant', v_name, 'alert', p_alert,
		'alert_kind', a.kind, 'subject', a.subject, 'message', a.message)));
	-- Of an operator's case the tenant is not told by an event: it is the operators' until its report is published.
	perform event_add(p_actor, 'case.opened', 'case', v_id::text, case when v_own then v_tenant end, left(p_text, 255), jsonb_strip_nulls(jsonb_build_object('tenant', v_name, 'alert', p_alert)));
	if v_own then
		insert into alert (key, kind, severity, subject_kind, subject, message, detail)
		values ('case.complaint:' || v_id, 'case.complaint', 'warning', 'case', v_id::text, left(format('tenant %s complains: %s', v_name, p_text), 255),
			jsonb_build_object('hint', 'haasctl case show ' || v_id));
		perform event_add(p_actor, 'alert.raised', 'case', v_id::text, null, format('tenant %s complains', v_name), jsonb_build_object('kind', 'case.complaint', 'severity', 'warning'));
	end if;
	return v_id;
end
$$;

-- The case, locked, when an operator may write into it.
create function case_for_entry(p_case bigint)
returns case_file language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c case_file%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may work on a case' using errcode = 'HA403', hint = 'leave out --case (HAAS_CASE) or --as-tenant';
	end if;
	select * into c from case_file where id = p_case for update;
	if not found then
		raise exception 'case % does not exist', p_case using errcode = 'HA404', hint = 'haasctl case list shows the cases; unset HAAS_CASE';
	end if;
	if c.closed_at is not null then
		raise exception 'case % is closed', p_case using errcode = 'HA409', hint = 'open a new one: haasctl case open; unset HAAS_CASE';
	end if;
	return c;
end
$$;

create function case_note(p_case bigint, p_kind text, p_text text, p_detail jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c case_file%rowtype := case_for_entry(p_case);
	v_id bigint;
begin
	if p_kind not in ('query', 'capture', 'note', 'finding') then
		raise exception 'a case holds no %', p_kind using errcode = 'HA422';
	end if;
	insert into case_entry (case_id, actor, kind, text, detail) values (c.id, p_actor, p_kind, left(p_text, 4000), coalesce(p_detail, '{}')) returning id into v_id;
	return v_id;
end
$$;

-- An answer of drill (openapi.yaml, DrillLevel), by what it says first: where, when, how much, who most. The same question again within a minute, as a screen asks it
-- every second, is the entry that is there.
create function case_query(p_case bigint, p_answer jsonb, p_actor text)
returns bigint language sql set search_path = haas, pg_temp as $$
	select coalesce((select e.id from case_entry e where e.case_id = p_case and e.kind = 'query' and e.actor = p_actor and e.detail ->> 'path' = p_answer ->> 'path'
		and greatest(clock_timestamp() - e.at, greatest((e.detail ->> 'from')::timestamptz - (p_answer ->> 'from')::timestamptz, (p_answer ->> 'from')::timestamptz - (e.detail ->> 'from')::timestamptz),
			     greatest((e.detail ->> 'to')::timestamptz - (p_answer ->> 'to')::timestamptz, (p_answer ->> 'to')::timestamptz - (e.detail ->> 'to')::timestamptz)) < interval '1 minute'
		and e.id = (select max(l.id) from case_entry l where l.case_id = p_case)), case_note(p_case, 'query', coalesce(nullif(p_answer ->> 'path', ''), 'all links'), jsonb_build_object('path', p_answer -> 'path', 'from', p_answer -> 'from',
		'to', p_answer -> 'to', 'bytes', p_answer #> '{total,bytes}', 'bits_per_second', p_answer #> '{total,bits_per_second}', 'rows',
		(select coalesce(jsonb_agg(jsonb_build_object('name', r -> 'name', 'path', r -> 'path', 'share', r -> 'share', 'bits_per_second', r -> 'bits_per_second') order by n), '[]')
		 from jsonb_array_elements(p_answer -> 'rows') with ordinality x (r, n) where n <= 3)), p_actor))
$$;

create function case_rate(p_bits numeric)
returns text immutable language sql as $$
	select case when p_bits >= 1e9 then to_char(p_bits / 1e9, 'FM999999990.0') || ' Gbit/s' when p_bits >= 1e6 then to_char(p_bits / 1e6, 'FM990.0') || ' Mbit/s'
		when p_bits >= 1e3 then to_char(p_bits / 1e3, 'FM990.0') || ' kbit/s' else to_char(coalesce(p_bits, 0), 'FM990') || ' bit/s' end
$$;

-- '+07:05' of a time after the opening; hours where there are some.
create function case_clock(p_from timestamptz, p_at timestamptz)
returns text immutable language sql as $$
	select '+' || case when p_at - p_from >= interval '1 hour' then floor(extract(epoch from p_at - p_from) / 3600)::text || ':' else '' end
		|| to_char(greatest(p_at - p_from, interval '0'), 'MI:SS')
$$;

-- One entry as a line. For a tenant (p_for is its name) names of other tenants are cut out, and only its own traffic is told. Notes between
-- operators, captures of another tenant and looks at another tenant's traffic are left out. Of traffic that is nobody's only the reason is
-- told: the levels below hold addresses of others.
create function case_line(p_opened timestamptz, e case_entry, p_public boolean, p_for text)
returns text immutable language sql set search_path = haas, pg_temp as $$
	with p as (select e.detail ->> 'path' as path, coalesce(substring(e.detail ->> 'path' from '(?:^|/)tenant:([^/]*)'), p_for) as of_tenant),
	q as (select case when p_public and of_tenant <> p_for then regexp_replace(path, '(^|/)tenant:.*$', '\1(another tenant)')
			  when p_public then regexp_replace(path, '((?:^|/)nobody:[^/]*)/.*$', '\1') else path end as path,
		     p_public and (of_tenant <> p_for or path !~ '(^|/)tenant:') as hidden from p)
	select format('- %s %s: %s', case_clock(p_opened, e.at), e.kind,
		case when e.kind = 'query' and not e.detail ? 'look' then format('`%s`%s', concat_ws(' ', 'drill', nullif(q.path, '')), ' ' || (e.detail ->> 'from') || ' to ' || (e.detail ->> 'to')
			|| case when q.hidden then '' else ', ' || case_rate((e.detail ->> 'bits_per_second')::numeric) end
			|| coalesce((select ', most: ' || string_agg(format('%s %s %%', r ->> 'name', round((r ->> 'share')::numeric * 100, 1)), ', ' order by n)
				     from jsonb_array_elements(e.detail -> 'rows') with ordinality x (r, n) where not q.hidden), ''))
		else e.text end)
	from q where not p_public or e.kind <> 'note' and ((e.kind <> 'capture' and not e.detail ? 'look') or e.detail ->> 'tenant' = p_for)
$$;

-- The whole of it as Markdown. p_public: as the tenant gets it.
create function case_text(p_case bigint, p_public boolean)
returns text stable language sql set search_path = haas, pg_temp as $$
	with c as (select f.*, a.kind as alert_kind, a.subject as alert_subject, a.message as alert_message, a.raised_at, a.tenant_id is not distinct from f.tenant_id as own_alert
		   from case_file f left join alert a on a.id = f.alert_id where f.id = p_case)
	select concat_ws(E'\n', format('# Case %s%s', c.id, case when c.tenant <> '' then ': ' || c.tenant else '' end), '', c.text, '',
		format('- opened %s by %s', to_char(c.opened_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'), case when p_public and not c.complaint then 'the operator' else c.opened_by end),
		case when c.alert_id is not null and (own_alert or not p_public) then format('- alert %s: %s, %s', c.alert_id, c.alert_subject, c.alert_message) end,
		case when c.closed_at is not null then format('- answered after %s', substr(case_clock(c.opened_at, c.closed_at), 2)) else '- not answered yet' end,
		case when c.answer <> '' then E'\n## Answer\n\n' || c.answer end,
		(select E'\n## What was found\n\n' || string_agg(format('- %s %s', case_clock(c.opened_at, e.at), e.text), E'\n' order by e.id)
		 from case_entry e where e.case_id = c.id and e.kind = 'finding'),
		(select E'\n## What was done\n\n' || string_agg(case_line(c.opened_at, e, p_public, c.tenant), E'\n' order by e.id)
		 from case_entry e where e.case_id = c.id and e.kind <> 'published'), '') from c
$$;

-- The operator's view of it now; for the tenant what was published, or that its complaint waits.
create function case_report(p_case bigint)
returns text stable language sql set search_path = haas, pg_temp as $$
	select case when is_operator() then case_text(f.id, false) else coalesce(f.report, concat_ws(E'\n', format('# Case %s: %s', f.id, f.tenant), '', f.text, '',
		format('- opened %s by %s', to_char(f.opened_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'), f.opened_by), '- not answered yet', '')) end from case_file f where f.id = p_case
$$;

create function case_publish(p_case bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c case_file%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may publish cases' using errcode = 'HA403';
	end if;
	select * into c from case_file where id = p_case for update;
	if not found then
		raise exception 'case % does not exist', p_case using errcode = 'HA404', hint = 'haasctl case list shows the cases';
	end if;
	if c.tenant_id is null or c.closed_at is null then
		raise exception 'case % has no %', p_case, case when c.tenant_id is null then 'tenant to publish it to' else 'answer yet' end using errcode = 'HA409',
			hint = case when c.tenant_id is null then 'a case of a tenant is opened with --tenant' else 'haasctl case close CASE ANSWER' end;
	end if;
	if c.published_at is not null then
		return;
	end if;
	update case_file set published_by = p_actor, published_at = now(), report = case_text(p_case, true) where id = p_case;
	insert into case_entry (case_id, actor, kind, text) values (p_case, p_actor, 'published', 'the tenant can read its report');
	perform event_add(p_actor, 'case.published', 'case', p_case::text, c.tenant_id, 'the answer to a complaint is published', jsonb_build_object('case', p_case));
end
$$;

create function case_close(p_case bigint, p_answer text, p_publish boolean, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c case_file%rowtype := case_for_entry(p_case);
begin
	update case_file set closed_by = p_actor, closed_at = clock_timestamp(), answer = p_answer where id = c.id;
	insert into case_entry (case_id, actor, kind, text) values (c.id, p_actor, 'closed', left(p_answer, 4000));
	perform alert_clear(p_actor, 'case.complaint:' || c.id, null);
	perform event_add(p_actor, 'case.closed', 'case', c.id::text, null, left(p_answer, 255), jsonb_build_object('after_s', extract(epoch from clock_timestamp() - c.opened_at)::bigint));
	if p_publish then
		perform case_publish(c.id, p_actor);
	end if;
end
$$;

-- One such look. The same again within a minute is the entry that is there, as with case_query.
create function case_look(p_case bigint, p_look text, p_seen text, p_tenant text, p_actor text)
returns bigint language sql set search_path = haas, pg_temp as $$
	select coalesce((select e.id from case_entry e where e.case_id = p_case and e.kind = 'query' and e.actor = p_actor and e.detail ->> 'look' = p_look
			 and e.text = format('`%s`: %s', p_look, p_seen) and clock_timestamp() - e.at < interval '1 minute'
			 and e.id = (select max(l.id) from case_entry l where l.case_id = p_case)),
			case_note(p_case, 'query', format('`%s`: %s', p_look, p_seen), jsonb_strip_nulls(jsonb_build_object('look', p_look, 'tenant', p_tenant)), p_actor))
$$;

-- p_answer is network_path's.
create function case_path(p_case bigint, p_answer jsonb, p_actor text)
returns bigint language sql set search_path = haas, pg_temp as $$
	select case_look(p_case, format('network path %s %s %s', p_answer ->> 'tenant', p_answer ->> 'a', p_answer ->> 'b'),
		coalesce((select string_agg(format('%s %s, %s links', p ->> 'network', coalesce(nullif(p ->> 'problem', ''), 'whole'), jsonb_array_length(p -> 'hops')), '; ' order by n)
			  from jsonb_array_elements(p_answer -> 'paths') with ordinality x (p, n)), 'no network'), p_answer ->> 'tenant', p_actor)
$$;

-- Nothing where there is no such alert. Its suspects may be others: for operators only, whose alert it may be.
create function case_alert(p_case bigint, p_alert bigint, p_actor text)
returns bigint language sql set search_path = haas, pg_temp as $$
	select case_look(p_case, 'alert show ' || a.id, concat_ws(', ', a.subject, a.message,
			'suspects: ' || (select string_agg(format('%s %s', s ->> 'kind', s ->> 'name'), ', ' order by n)
					 from jsonb_array_elements(a.detail -> 'suspects') with ordinality x (s, n) where n <= 3)), null, p_actor)
	from alert a where a.id = p_alert
$$;

-- ==== triggers, views, rights ====
create trigger case_entry_is_kept before update or delete or truncate on case_entry for each statement execute function case_entry_is_kept();

create policy case_file_portald on case_file for select to portald using (is_operator() or (complaint or published_at is not null) and in_scope(tenant_id));
create policy case_entry_portald on case_entry for select to portald using (is_operator());

grant select on case_file to portald;
grant select on case_entry to portald;
grant execute on function case_open(text,bigint,text,text) to portald;
grant execute on function case_note(bigint,text,text,jsonb,text) to portald;
grant execute on function case_query(bigint,jsonb,text) to portald;
grant execute on function case_rate(numeric) to portald;
grant execute on function case_clock(timestamptz,timestamptz) to portald;
grant execute on function case_line(timestamptz,case_entry,boolean,text) to portald;
grant execute on function case_text(bigint,boolean) to portald;
grant execute on function case_report(bigint) to portald;
grant execute on function case_publish(bigint,text) to portald;
grant execute on function case_close(bigint,text,boolean,text) to portald;
grant execute on function case_look(bigint,text,text,text,text) to portald;
grant execute on function case_path(bigint,jsonb,text) to portald;
grant execute on function case_alert(bigint,bigint,text) to portald;
