-- How switches shall sample, and what was found there.
--
-- One row of `sampling` is for a fabric's switches, or for one switch, whose own row then stands alone.

-- ==== shape ====

-- One row for a fabric's switches, or for one switch, whose own row stands instead of its fabric's.
create table sampling (
	id bigint generated always as identity primary key,
	fabric_id bigint unique references fabric on delete cascade,
	switch_id bigint unique references switch on delete cascade,
	enabled boolean not null default true, -- false: what is ours on the switches is taken away
	collector inet not null,
	port integer not null default 6343 check (port between 1 and 65535),
	rate integer not null default 0 check (rate between 0 and 16777216), -- 1 frame in so many; 0 = by the speed of each port
	header integer not null default 128 check (header between 64 and 256),
	poll_s integer not null default 20 check (poll_s between 1 and 3600), -- counters of ports are told this often
	version bigint not null default 1,
	changed_at timestamptz not null default now(),
	constraint sampling_of_one check ((fabric_id is null) <> (switch_id is null))
);

-- What peregrined found and flowd heard.
create table sampling_state (
	switch_id bigint primary key references switch on delete cascade,
	state text not null check (state in ('applied', 'off', 'drift', 'foreign', 'refused', 'silent')),
	version bigint not null default 0,      -- of the setting that it was last brought to
	sources integer not null default 0,     -- ports that sample, or bridges
	rate_low bigint not null default 0,
	rate_high bigint not null default 0,
	problem jsonb,
	checked_at timestamptz not null default now(),
	told_rate bigint,                       -- in the datagrams
	told_at timestamptz,
	backoff text not null default '' check (backoff in ('', 'coarser', 'finer', 'drops'))
);

-- ==== functions ====

-- Raises, keeps or (p_message null) clears one alert about a switch. Returns whether that is news.
create function sampling_alert(p_daemon text, p_kind text, p_switch text, p_message text, p_hint text, p_detail jsonb)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_key text := p_kind || ':' || p_switch;
	v_detail jsonb := coalesce(p_detail, '{}') || jsonb_build_object('hint', p_hint);
begin
	if p_message is null then
		return alert_clear(p_daemon, v_key, 'sampling is as wanted');
	end if;
	update alert set seen_at = now(), message = p_message, detail = v_detail where key = v_key and cleared_at is null;
	if found then
		return false;
	end if;
	insert into alert (key, kind, severity, subject_kind, subject, message, detail) values (v_key, p_kind, 'warning', 'switch', p_switch, p_message, v_detail);
	perform event_add(p_daemon, 'alert.raised', 'switch', p_switch, null, p_message, jsonb_build_object('kind', p_kind, 'severity', 'warning', 'hint', p_hint));
	return true;
end
$$;

-- How a switch stands after a look at it: peregrined's word.
create function sampling_found(p_switch_id bigint, p_state text, p_version bigint, p_sources integer, p_rate_low bigint, p_rate_high bigint, p_problem jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_name text;
begin
	select name into v_name from switch where id = p_switch_id;
	if not found then
		return;
	end if;
	insert into sampling_state (switch_id, state, version, sources, rate_low, rate_high, problem) values (p_switch_id, p_state, case when p_state in ('applied', 'off') then p_version else 0 end,
		p_sources, p_rate_low, p_rate_high, p_problem)
	on conflict (switch_id) do update set state = excluded.state, version = greatest(excluded.version, sampling_state.version), problem = excluded.problem, checked_at = now(),
		sources = case when p_state = 'silent' then sampling_state.sources else excluded.sources end,
		rate_low = case when p_state = 'silent' then sampling_state.rate_low else excluded.rate_low end,
		rate_high = case when p_state = 'silent' then sampling_state.rate_high else excluded.rate_high end,
		backoff = case when p_state in ('applied', 'silent') then sampling_state.backoff else '' end;
	if p_state = 'silent' then
		return; -- that it does not answer is an alert of its own
	end if;
	perform sampling_alert('peregrined', 'sampling.refused', v_name, case when p_state = 'refused' then 'sampling cannot be set up: ' || coalesce(p_problem ->> 'message', '?') end,
			       coalesce(nullif(p_problem ->> 'hint', ''), 'see haasctl sampling show ' || v_name || '; haasctl sampling set --switch ' || v_name || ' --off gives it up'), p_problem);
	perform sampling_alert('peregrined', 'sampling.foreign', v_name, case when p_state = 'foreign' then 'another program has set up sampling: ' || coalesce(p_problem ->> 'detail', '?') end,
			       'remove it from the switch, or leave it: haasctl sampling set --switch ' || v_name || ' --off', p_problem);
	perform sampling_alert('peregrined', 'sampling.drift', v_name, case when p_state = 'drift' then 'sampling differs from the set-up' end,
			       'foreign changes are only reported in this fabric: set it anew with haasctl sampling set', p_problem);
	if p_state not in ('applied', 'silent') then
		perform sampling_alert('peregrined', 'sampling.backoff', v_name, null, null, null);
	end if;
end
$$;

-- What the datagrams say: flowd's word. Rows {switch_id, rate, verdict, pool_rate}.
create function sampling_told(p_rows jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	for r in
		select s.name, x.* from jsonb_to_recordset(p_rows) as x (switch_id bigint, rate bigint, verdict text, pool_rate bigint) join switch s on s.id = x.switch_id order by s.id
	loop
		update sampling_state set told_rate = r.rate, told_at = now(), backoff = r.verdict where switch_id = r.switch_id;
		continue when not found;
		perform sampling_alert('peregrine-flowd', 'sampling.backoff', r.name, case r.verdict
				when 'coarser' then format('it samples 1 in %s, less often than wanted: the switch backs off', r.rate)
				when 'finer' then format('it samples 1 in %s, more often than wanted', r.rate)
				when 'drops' then format('it reports 1 in %s and takes 1 in %s: it drops samples', r.rate, r.pool_rate) end,
			case r.verdict when 'finer' then 'peregrined corrects it at its next poll; if it stays, another program changes it'
				else 'its CPU is busy: ask for fewer samples, haasctl sampling set --switch ' || r.name || ' --rate ' || greatest(r.rate, r.pool_rate)
					|| '; peregrined sets the wanted rate again at its next poll' end,
			jsonb_build_object('rate', r.rate, 'pool_rate', r.pool_rate));
	end loop;
end
$$;

create function sampling_set(p_kind text, p_name text, p_spec jsonb, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_fabric bigint;
	v_switch bigint;
	v_old sampling%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may set up sampling' using errcode = 'HA403';
	end if;
	if p_kind = 'fabric' then
		select id into v_fabric from fabric where name = p_name;
	else
		select s.id into v_switch from switch s join switch_endpoint e on e.switch_id = s.id where s.name = p_name;
	end if;
	if not found then
		raise exception '% % does not exist', p_kind, p_name using errcode = 'HA404', hint = 'haasctl fabric list shows the fabrics, haasctl fabric show their switches';
	end if;
	select * into v_old from sampling where fabric_id = v_fabric or switch_id = v_switch;
	if not found and v_switch is not null then -- begins as its fabric's
		select w.* into v_old from sampling w join switch_endpoint e on e.fabric_id = w.fabric_id where e.switch_id = v_switch;
		v_old.id := null;
	end if;
	if coalesce(p_spec ->> 'collector', host(v_old.collector)) is null then
		raise exception 'the collector is missing' using errcode = 'HA422', hint = 'the collector is an address at which peregrine-flowd listens';
	end if;
	-- One series for all rows: which of two rules a switch has been given is told by the number alone.
	lock table sampling in share row exclusive mode;
	insert into sampling (version, fabric_id, switch_id, enabled, collector, port, rate, header, poll_s)
	values (1 + coalesce((select max(version) from sampling), 0), v_fabric, v_switch, coalesce((p_spec ->> 'enabled')::boolean, true), coalesce((p_spec ->> 'collector')::inet, v_old.collector),
		coalesce((p_spec ->> 'port')::integer, v_old.port, 6343), coalesce((p_spec ->> 'rate')::integer, v_old.rate, 0),
		coalesce((p_spec ->> 'header')::integer, v_old.header, 128), coalesce((p_spec ->> 'poll_s')::integer, v_old.poll_s, 20))
	on conflict do nothing;
	if not found then
		update sampling set enabled = coalesce((p_spec ->> 'enabled')::boolean, true), collector = coalesce((p_spec ->> 'collector')::inet, collector),
			port = coalesce((p_spec ->> 'port')::integer, port), rate = coalesce((p_spec ->> 'rate')::integer, rate), header = coalesce((p_spec ->> 'header')::integer, header),
			poll_s = coalesce((p_spec ->> 'poll_s')::integer, poll_s), version = 1 + (select max(o.version) from sampling o), changed_at = now()
		where id = v_old.id;
	end if;
	perform event_add(p_actor, 'sampling.set', p_kind, p_name, null, 'sampling set',
			  jsonb_build_object('before', case when v_old.id is not null then to_jsonb(v_old) - '{id,fabric_id,switch_id}'::text[] end, 'after', p_spec));
	perform pg_notify('fabric', '');
exception
	when check_violation then
		raise exception 'a number is out of range' using errcode = 'HA422', hint = 'port 1..65535, rate 0..16777216 (0 = by speed), header 64..256, poll_s 1..3600';
	when invalid_text_representation then
		raise exception 'the collector is not an address' using errcode = 'HA422', hint = 'an IPv4 or IPv6 address at which peregrine-flowd listens';
end
$$;

-- ==== triggers, views, rights ====

-- Each switch that is managed, with the setting that holds for it, if any.
create view sampling_view with (security_invoker = true) as
select s.id as switch_id, s.name as switch, f.name as fabric, f.id as fabric_id, e.managed, f.repair, w.id as setting_id, w.switch_id is not null as own, w.enabled,
       host(w.collector) as collector, w.port, w.rate, w.header, w.poll_s, w.version, coalesce(x.state, case when w.id is null then 'none' else 'new' end) as state, x.version as state_version,
       x.sources, x.rate_low, x.rate_high, x.problem, x.checked_at, x.told_rate, x.told_at, coalesce(x.backoff, '') as backoff
from switch_endpoint e join switch s on s.id = e.switch_id join fabric f on f.id = e.fabric_id
left join lateral (select * from sampling w where w.switch_id = s.id or w.fabric_id = f.id order by w.switch_id nulls last limit 1) w on true
left join sampling_state x on x.switch_id = s.id;

grant select on sampling to portald, peregrined, peregrine_flowd;
grant select on sampling_state to portald, peregrined, peregrine_flowd;
grant select on sampling_view to portald, peregrined, peregrine_flowd;
grant execute on function sampling_found(bigint,text,bigint,integer,bigint,bigint,jsonb) to peregrined;
grant execute on function sampling_told(jsonb) to peregrine_flowd;
grant execute on function sampling_set(text,text,jsonb,text) to portald;
