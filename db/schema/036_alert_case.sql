-- Alerts about traffic: one door for peregrine-flowd, silences with an end, suspects; cases: a complaint with its clock, its findings and its answer.

-- --- silences -----------------------------------------------------------------------------------------------------------------------------

-- Alerts that nobody wants to hear of for a while: what they are about is known, or under work. They are written and end like others.
create table alert_silence (
	id bigint generated always as identity primary key,
	kind text not null default '' check (kind ~ '^[a-z_.]*$'),   -- of alerts whose kind begins so; '' = of any kind
	subject text not null default '' check (length(subject) <= 160), -- and whose subject begins so
	reason text not null check (length(reason) between 1 and 255),
	actor text not null,
	created_at timestamptz not null default now(),
	until timestamptz not null,
	ended_by text,                         -- a person ended it before its time
	constraint silence_is_of_something check (kind <> '' or subject <> '')
);
create index alert_silence_until on alert_silence (until);
alter table alert_silence enable row level security;
create policy alert_silence_portald on alert_silence for select to portald using (is_operator());
grant select on alert_silence to portald;

-- The silence that an alert is under now, the longest one; null = none.
create function alert_silence_of(p_kind text, p_subject text)
returns alert_silence stable language sql set search_path = haas, pg_temp as $$
	select s from alert_silence s
	where s.until > now() and starts_with(p_kind, s.kind) and starts_with(p_subject, s.subject)
	order by s.until desc, s.id limit 1
$$;
grant execute on function alert_silence_of(text, text) to portald;

create function alert_silence_add(p_kind text, p_subject text, p_reason text, p_for_s bigint, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
	v_until timestamptz := now() + make_interval(secs => p_for_s);
begin
	if not is_operator() then
		raise exception 'only an operator may silence alerts' using errcode = 'HA403';
	end if;
	if coalesce(p_kind, '') = '' and coalesce(p_subject, '') = '' then
		raise exception 'a silence of everything is none' using errcode = 'HA422', hint = 'name a kind, a subject, or the begin of one';
	end if;
	insert into alert_silence (kind, subject, reason, actor, until) values (coalesce(p_kind, ''), coalesce(p_subject, ''), p_reason, p_actor, v_until)
	returning id into v_id;
	perform event_add(p_actor, 'alert.silenced', 'silence', v_id::text, null, p_reason,
			  jsonb_build_object('kind', coalesce(p_kind, ''), 'subject', coalesce(p_subject, ''), 'until', v_until));
	return v_id;
end
$$;
revoke execute on function alert_silence_add(text, text, text, bigint, text) from public;
grant execute on function alert_silence_add(text, text, text, bigint, text) to portald;

create function alert_silence_end(p_id bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not is_operator() then
		raise exception 'only an operator may end silences' using errcode = 'HA403';
	end if;
	update alert_silence set until = now(), ended_by = p_actor where id = p_id and until > now();
	if not found then
		raise exception 'silence % does not exist, or is over', p_id using errcode = 'HA404', hint = 'haasctl alert silences shows the silences';
	end if;
	perform event_add(p_actor, 'alert.unsilenced', 'silence', p_id::text, null, 'silence ended');
end
$$;
revoke execute on function alert_silence_end(bigint, text) from public;
grant execute on function alert_silence_end(bigint, text) to portald;

-- --- what peregrine-flowd writes ----------------------------------------------------------------------------------------------------------

-- Its alerts only, and only through this door.
revoke insert, update on alert from peregrine_flowd;
alter table alert add column muted boolean not null default false;  -- nobody was told: it was silenced when it came
create index alert_key on alert (key, raised_at);

-- Rows {op, key, kind, severity, subject_kind, subject, tenant_id, message, detail, raised_us, at_us}, in the order in which they happened. 'put' makes the alert of
-- that key what the row says, opened when there is none; 'clear' ends it. An alert is known by its key and when it was raised: rows that are written twice, because
-- nobody heard of their commit, change nothing. Who was not told of an alert because of a silence is told when that is over and the alert is not.
create function alert_put(p_rows jsonb)
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
	a alert%rowtype;
	v_tenant bigint;
	v_silent boolean;
	v_events integer := 0;
begin
	for r in
		select x.* from rows from (jsonb_to_recordset(p_rows) as (op text, key text, kind text, severity text, subject_kind text, subject text, tenant_id bigint,
			message text, detail jsonb, raised_us bigint, at_us bigint))
			with ordinality as x (op, key, kind, severity, subject_kind, subject, tenant_id, message, detail, raised_us, at_us, n)
		order by x.n
	loop
		if r.kind !~ '^traffic\.[a-z_]+$' or not starts_with(r.key, r.kind || ':') then
			raise exception '% is no alert about traffic', r.key using errcode = 'HA422';
		end if;
		select * into a from alert where key = r.key and cleared_at is null for update;
		-- Rows of an earlier alert of this key, sent once more: what has begun since is another.
		continue when a.id is not null and a.raised_at > to_timestamp(r.raised_us / 1e6);
		continue when a.id is null and (r.op = 'clear' or exists (select from alert o where o.key = r.key and o.raised_at = to_timestamp(r.raised_us / 1e6)));
		if r.op = 'clear' then
			update alert set cleared_at = greatest(raised_at, to_timestamp(r.at_us / 1e6)), message = r.message, detail = detail || coalesce(r.detail, '{}')
			where id = a.id;
			perform event_add('peregrine-flowd', 'alert.cleared', a.subject_kind, a.subject, a.tenant_id, r.message,
					  jsonb_build_object('alert', a.id, 'kind', a.kind));
			v_events := v_events + 1;
			continue;
		end if;
		select t.id into v_tenant from tenant t where t.id = r.tenant_id;
		v_silent := (alert_silence_of(r.kind, r.subject)).id is not null;
		if a.id is null then
			insert into alert (key, kind, severity, subject_kind, subject, tenant_id, message, detail, raised_at, seen_at, muted)
			values (r.key, r.kind, r.severity, r.subject_kind, r.subject, v_tenant, r.message, coalesce(r.detail, '{}'),
				to_timestamp(r.raised_us / 1e6), to_timestamp(r.at_us / 1e6), v_silent)
			on conflict (key) where cleared_at is null do update set seen_at = excluded.seen_at
			returning * into a;
			continue when v_silent;
		else
			update alert set seen_at = greatest(seen_at, to_timestamp(r.at_us / 1e6)), severity = r.severity, message = r.message,
				detail = detail || coalesce(r.detail, '{}'), muted = muted and v_silent
			where id = a.id;
			continue when v_silent or not a.muted;
		end if;
		perform event_add('peregrine-flowd', 'alert.raised', r.subject_kind, r.subject, v_tenant, r.message,
				  jsonb_build_object('alert', a.id, 'kind', r.kind, 'severity', r.severity, 'hint', coalesce(r.detail ->> 'hint', '')));
		v_events := v_events + 1;
	end loop;
	delete from alert where cleared_at < now() - interval '90 days' and starts_with(kind, 'traffic.');
	return v_events;
end
$$;
revoke execute on function alert_put(jsonb) from public;
grant execute on function alert_put(jsonb) to peregrine_flowd;

-- Who or what may be the cause, beside what flowd sees itself (its last seconds): one list of facts, ranked by suspect_policy. p_nodes: those whose traffic it is.
create function alert_candidates(p_switch bigint, p_port text, p_nodes text[], p_at timestamptz)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	with far as (
		select b_switch as switch_id, b_port as port from link where a_switch = p_switch and a_port = p_port and state <> 'gone'
		union all select a_switch, a_port from link where b_switch = p_switch and b_port = p_port and state <> 'gone'),
	ends as (select p_switch as switch_id, p_port as port where p_port <> '' union select * from far),
	named as (select e.*, s.name || ':' || e.port as name from ends e join switch s on s.id = e.switch_id),
	nodes as (select n.id, n.name from node n where n.name = any (p_nodes)
		  union select n.id, n.name from nic_binding b join node n on n.id = b.node_id where b.switch_id = p_switch and b.port = p_port and b.valid_to is null),
	located as (
		select t.name as tenant, nw.name as network, nv.vlan from uplink_applied u join switch_endpoint e on e.switch_id = u.switch_id
		cross join lateral vlan_numbers(u.tagged) v join network_vlan nv on nv.fabric_id = e.fabric_id and nv.vlan = v and nv.state = 'used'
		join network nw on nw.id = nv.network_id join tenant t on t.id = nw.tenant_id
		where u.switch_id = p_switch and u.port = p_port
		union select t.name, nw.name, b.tag from port_binding b join network nw on nw.id = b.network_id join tenant t on t.id = nw.tenant_id
		where b.switch_id = p_switch and b.port = p_port and b.valid_to is null),
	counted as (
		select n.name, sum(t.in_errors + t.out_errors) as errors, sum(t.in_discards + t.out_discards) as discards, sum(t.seconds) as seconds
		from named n join traffic_port t on t.switch_id = n.switch_id and t.port = n.port
		where t.step = 60 and t.at > p_at - interval '10 minutes' and t.at <= p_at group by n.name),
	facts as (
		(select jsonb_build_object('fact', 'located', 'name', l.tenant, 'text', string_agg(l.network || ' (VLAN ' || l.vlan || ')', ', ' order by l.vlan)) as f
		 from located l group by l.tenant order by l.tenant limit 64)
		union all
		(select jsonb_build_object('fact', 'counted', 'name', c.name, 'errors', coalesce(c.errors, 0), 'discards', coalesce(c.discards, 0), 'seconds', c.seconds)
		 from counted c where coalesce(c.errors, 0) + coalesce(c.discards, 0) > 0 limit 8)
		union all
		(select jsonb_build_object('fact', 'changed', 'name', s.name || coalesce(':' || (c.edit ->> 'port'), ''), 'here', coalesce(c.edit ->> 'port' = p_port, false),
			'text', concat_ws(' ', c.edit ->> 'kind', 'VLAN ' || nullif(c.edit ->> 'vlan', '0'), '(' || c.state || ')'),
			'age_s', extract(epoch from p_at - c.sent_at)::bigint)
		 from change c join switch s on s.id = c.switch_id
		 where c.switch_id in (select switch_id from ends) and c.sent_at between p_at - interval '1 hour' and p_at order by c.sent_at desc limit 8)
		union all
		(select jsonb_build_object('fact', 'changed', 'name', e.subject, 'here', e.subject_kind in ('port', 'node'), 'text', e.message, 'age_s', extract(epoch from p_at - e.at)::bigint)
		 from event e where (e.subject_kind = 'port' and e.subject in (select name from named)
				     or e.subject_kind = 'switch' and e.subject = (select name from switch where id = p_switch)
				     or e.subject_kind = 'node' and e.subject in (select name from nodes))
		 and not starts_with(e.kind, 'alert.') and e.at between p_at - interval '1 hour' and p_at order by e.id desc limit 8)
		union all
		(select jsonb_build_object('fact', 'logged', 'name', n.name, 'text', concat_ws(' ', nullif(s.sensor, ''), s.event), 'asserted', s.asserted,
			'age_s', extract(epoch from p_at - s.seen_at)::bigint)
		 from sel_entry s join nodes n on n.id = s.node_id where s.seen_at > p_at - interval '1 day' and s.seen_at <= p_at order by s.id desc limit 8)
		union all
		(select jsonb_build_object('fact', 'ill', 'name', n.name, 'text', h.label || ': ' || h.reason, 'severity', h.severity)
		 from health_label h join nodes n on n.id = h.node_id where h.expires_at is null or h.expires_at > p_at order by h.since desc limit 8))
	select coalesce(jsonb_agg(f), '[]') from facts
$$;
revoke execute on function alert_candidates(bigint, text, text[], timestamptz) from public;
grant execute on function alert_candidates(bigint, text, text[], timestamptz) to peregrine_flowd;

-- --- cases --------------------------------------------------------------------------------------------------------------------------------

-- A complaint, from its opening to the answer. A tenant sees the answer once it is published, and nothing before.
create table case_file (
	id bigint generated always as identity primary key,
	tenant_id bigint references tenant,
	tenant text not null default '',       -- a name outlives its tenant
	alert_id bigint references alert on delete set null,
	text text not null check (length(text) between 1 and 2000),
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
create policy case_file_portald on case_file for select to portald using (is_operator() or published_at is not null and in_scope(tenant_id));
grant select on case_file to portald;

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
create policy case_entry_portald on case_entry for select to portald using (is_operator());
grant select on case_entry to portald;

create function case_entry_is_kept() returns trigger language plpgsql as $$
begin
	raise exception 'what is in a case is only appended to' using errcode = 'HA403';
end
$$;
create trigger case_entry_is_kept before update or delete or truncate on case_entry for each statement execute function case_entry_is_kept();

create function case_open(p_tenant text, p_alert bigint, p_text text, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint;
	v_id bigint;
	a alert%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may open cases' using errcode = 'HA403';
	end if;
	if p_alert is not null then
		select * into a from alert where id = p_alert;
		if not found then
			raise exception 'alert % does not exist', p_alert using errcode = 'HA404', hint = 'haasctl alert list --all shows the alerts';
		end if;
	end if;
	if p_tenant is not null then
		select id into v_tenant from tenant where name = p_tenant;
		if not found then
			raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
		end if;
	end if;
	insert into case_file (tenant_id, tenant, alert_id, text, opened_by) values (v_tenant, coalesce(p_tenant, ''), p_alert, p_text, p_actor) returning id into v_id;
	insert into case_entry (case_id, actor, kind, text, detail) values (v_id, p_actor, 'opened', p_text, jsonb_strip_nulls(jsonb_build_object('tenant', p_tenant, 'alert', p_alert,
		'alert_kind', a.kind, 'subject', a.subject, 'message', a.message)));
	-- The tenant is not told of it by an event: it is the operators' until its report is published.
	perform event_add(p_actor, 'case.opened', 'case', v_id::text, null, left(p_text, 255), jsonb_strip_nulls(jsonb_build_object('tenant', p_tenant, 'alert', p_alert)));
	return v_id;
end
$$;
revoke execute on function case_open(text, bigint, text, text) from public;
grant execute on function case_open(text, bigint, text, text) to portald;

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
revoke execute on function case_for_entry(bigint) from public;

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
revoke execute on function case_note(bigint, text, text, jsonb, text) from public;
grant execute on function case_note(bigint, text, text, jsonb, text) to portald;

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
grant execute on function case_query(bigint, jsonb, text) to portald;

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

-- One entry as a line. For a tenant (p_for is its name): what names another tenant ends there, how much was seen is told of its own traffic only, and notes between
-- operators are not there at all.
create function case_line(p_opened timestamptz, e case_entry, p_public boolean, p_for text)
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
	from q where not p_public or e.kind <> 'note'
$$;

-- The whole of it as Markdown. p_public: as the tenant gets it.
create function case_text(p_case bigint, p_public boolean)
returns text stable language sql set search_path = haas, pg_temp as $$
	with c as (select f.*, a.kind as alert_kind, a.subject as alert_subject, a.message as alert_message, a.raised_at, a.tenant_id is not distinct from f.tenant_id as own_alert
		   from case_file f left join alert a on a.id = f.alert_id where f.id = p_case)
	select concat_ws(E'\n', format('# Case %s%s', c.id, case when c.tenant <> '' then ': ' || c.tenant else '' end), '', c.text, '',
		format('- opened %s by %s', to_char(c.opened_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'), case when p_public then 'the operator' else c.opened_by end),
		case when c.alert_id is not null and (own_alert or not p_public) then format('- alert %s: %s, %s', c.alert_id, c.alert_subject, c.alert_message) end,
		case when c.closed_at is not null then format('- answered after %s', substr(case_clock(c.opened_at, c.closed_at), 2)) else '- not answered yet' end,
		case when c.answer <> '' then E'\n## Answer\n\n' || c.answer end,
		(select E'\n## What was found\n\n' || string_agg(format('- %s %s', case_clock(c.opened_at, e.at), e.text), E'\n' order by e.id)
		 from case_entry e where e.case_id = c.id and e.kind = 'finding'),
		(select E'\n## What was done\n\n' || string_agg(case_line(c.opened_at, e, p_public, c.tenant), E'\n' order by e.id)
		 from case_entry e where e.case_id = c.id and e.kind <> 'published'), '') from c
$$;

-- The operator's view of it now, or what was published, for the tenant.
create function case_report(p_case bigint)
returns text stable language sql set search_path = haas, pg_temp as $$
	select case when is_operator() then case_text(f.id, false) else f.report end from case_file f where f.id = p_case
$$;
grant execute on function case_report(bigint), case_text(bigint, boolean), case_line(timestamptz, case_entry, boolean, text), case_rate(numeric),
	case_clock(timestamptz, timestamptz) to portald;

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
			hint = case when c.tenant_id is null then 'a case of a tenant is opened with --tenant' else 'haasctl case close --answer TEXT' end;
	end if;
	if c.published_at is not null then
		return;
	end if;
	update case_file set published_by = p_actor, published_at = now(), report = case_text(p_case, true) where id = p_case;
	insert into case_entry (case_id, actor, kind, text) values (p_case, p_actor, 'published', 'its report is the tenant''s to read');
	perform event_add(p_actor, 'case.published', 'case', p_case::text, c.tenant_id, 'the answer to a complaint can be read', jsonb_build_object('case', p_case));
end
$$;
revoke execute on function case_publish(bigint, text) from public;
grant execute on function case_publish(bigint, text) to portald;

create function case_close(p_case bigint, p_answer text, p_publish boolean, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c case_file%rowtype := case_for_entry(p_case);
begin
	update case_file set closed_by = p_actor, closed_at = clock_timestamp(), answer = p_answer where id = c.id;
	insert into case_entry (case_id, actor, kind, text) values (c.id, p_actor, 'closed', left(p_answer, 4000));
	perform event_add(p_actor, 'case.closed', 'case', c.id::text, null, left(p_answer, 255), jsonb_build_object('after_s', extract(epoch from clock_timestamp() - c.opened_at)::bigint));
	if p_publish then
		perform case_publish(c.id, p_actor);
	end if;
end
$$;
revoke execute on function case_close(bigint, text, boolean, text) from public;
grant execute on function case_close(bigint, text, boolean, text) to portald;
