-- Alerts leave the box: what a receiver outside was told of which alert. `portal-outward` is the one that calls out.

-- ==== shape ====

-- One receiver and one alert. No row: the receiver does not know the alert.
create table notice (
	target text not null check (target in ('webhook', 'alertmanager', 'mail')),
	alert_id bigint not null references alert on delete cascade,
	told text check (told in ('raised', 'cleared')),  -- the receiver took it; null: nothing yet
	told_at timestamptz,
	attempts integer not null default 0,   -- that failed since
	problem jsonb,                         -- of the last attempt
	next_at timestamptz not null,          -- not before: a lease of the one who tells, or the pause after a failure
	primary key (target, alert_id),
	constraint told_has_time check ((told is null) = (told_at is null)),
	constraint failed_has_problem check ((attempts = 0) = (problem is null))
);
alter table notice enable row level security;
create index notice_failing on notice (target) where attempts > 0;

-- ==== functions ====

-- Takes up to a hundred alerts that the receiver must be told now, for half a minute. `body` is the message as this kind of receiver wants it; null: there
-- is nothing to tell. p_repeat_s: open alerts are told again after so long (Alertmanager forgets them otherwise); null: once. p_to: of mail.
-- An alert that came and went before anybody was told is not told. A silenced one is told when the silence is over and it still stands.
create function notice_take(p_target text, p_repeat_s integer, p_to text)
returns table (alerts bigint[], states text[], body text)
language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	select array_agg(d.id order by d.id), array_agg(d.state order by d.id) into alerts, states from (
		select a.id, case when a.cleared_at is null then 'raised' else 'cleared' end as state
		from alert a left join notice n on n.target = p_target and n.alert_id = a.id
		where a.severity <> 'info' and coalesce(n.next_at, '-infinity') <= clock_timestamp() and case
			when a.cleared_at is not null then n.told = 'raised'
			when n.told is null then (alert_silence_of(a.kind, a.subject)).id is null
			else n.told_at < clock_timestamp() - make_interval(secs => p_repeat_s) end
		order by a.id limit 100) d;
	if alerts is not null then
		insert into notice (target, alert_id, next_at) select p_target, x, clock_timestamp() + interval '30 s' from unnest(alerts) x order by x
		on conflict (target, alert_id) do update set next_at = excluded.next_at;
		body := notice_body(p_target, alerts, p_to);
	end if;
	return next;
end
$$;

create function notice_body(p_target text, p_alerts bigint[], p_to text)
returns text stable language sql set search_path = haas, pg_temp as $$
	with told as (
		select a.*, case when a.cleared_at is null then 'raised' else 'cleared' end as state, coalesce(a.detail ->> 'hint', '') as hint, t.name as tenant
		from alert a left join tenant t on t.id = a.tenant_id where a.id = any (p_alerts))
	select case p_target
	when 'webhook' then (select jsonb_build_object('alerts', jsonb_agg(jsonb_build_object('id', a.id, 'state', a.state, 'kind', a.kind, 'severity', a.severity,
		'subject_kind', a.subject_kind, 'subject', a.subject, 'tenant', a.tenant, 'message', a.message, 'hint', a.hint, 'raised_at', a.raised_at,
		'cleared_at', a.cleared_at) order by a.id))::text from told a)
	-- POST /api/v2/alerts of Alertmanager: an alert without endsAt would be over after its resolve_timeout.
	when 'alertmanager' then (select jsonb_agg(jsonb_build_object(
		'labels', jsonb_strip_nulls(jsonb_build_object('alertname', a.kind, 'severity', a.severity, 'subject_kind', a.subject_kind, 'subject', a.subject, 'tenant', a.tenant,
			'haas_alert', a.id::text)),
		'annotations', jsonb_build_object('summary', a.message, 'description', a.hint),
		'startsAt', a.raised_at, 'endsAt', coalesce(a.cleared_at, now() + interval '5 min')) order by a.id)::text from told a)
	-- RFC 5322, for `sendmail -t`. No text from outside can begin a header or a line.
	else (select format(E'To: %s\nSubject: [haas] %s\nContent-Type: text/plain; charset=utf-8\nAuto-Submitted: auto-generated\n\n%s', p_to,
		regexp_replace(case when count(*) = 1 then min(a.state || ': ' || a.message) else count(*) || ' alerts: ' || string_agg(distinct a.kind, ', ') end, '[^ -~]', '?', 'g'),
		string_agg(format(E'%s %s %s\n  %s\n%s', to_char(coalesce(a.cleared_at, a.raised_at) at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS UTC'), a.state, a.kind,
			regexp_replace(a.message, '[[:cntrl:]]', ' ', 'g'), case when a.hint <> '' and a.state = 'raised' then '  next: ' || regexp_replace(a.hint, '[[:cntrl:]]', ' ', 'g') || E'\n' else '' end),
			E'\n' order by a.id)) from told a)
	end
$$;

-- Addresses and prefixes of ours that nobody outside may have us call, separated by blanks: of nodes that are being installed, BMCs, switches.
create function outward_closed()
returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce(string_agg(distinct x.prefix, ' '), '') from (
		select text(s.prefix) as prefix from subnet s
		union all select host(b.address) from bmc b where b.address is not null
		union all select host(e.address) from switch_endpoint e) x
$$;

-- What became of a message. p_problem null: the receiver took it. Else it is told again after 2, 4, 8 ... 300 s.
create function notice_done(p_target text, p_alerts bigint[], p_states text[], p_problem jsonb)
returns void language sql security definer set search_path = haas, pg_temp as $$
	update notice n set
		told = case when p_problem is null then x.state else n.told end,
		told_at = case when p_problem is null then clock_timestamp() else n.told_at end,
		attempts = case when p_problem is null then 0 else n.attempts + 1 end,
		problem = p_problem,
		next_at = clock_timestamp() + case when p_problem is null then interval '0' else least(interval '300 s', make_interval(secs => 2 ^ least(n.attempts + 1, 9))) end
	from unnest(p_alerts, p_states) as x (id, state) where n.target = p_target and n.alert_id = x.id
$$;

-- ==== triggers, views, rights ====
grant execute on function notice_take(text,integer,text) to portal_outward;
grant execute on function outward_closed() to portal_outward;
grant execute on function notice_done(text,bigint[],text[],jsonb) to portal_outward;
