-- Alerts of fabric and traffic, silences, and facts that may be an alert's cause.
--
-- An alert is written and ends also while it is silenced; a silence only keeps it from people.

-- ==== shape ====

-- Something that a person should look at, while it lasts. `key` is what makes it the same alert again.
create table alert (
	id bigint generated always as identity primary key,
	key text not null,
	kind text not null check (kind ~ '^[a-z_]+\.[a-z_]+$'),
	severity text not null check (severity in ('info', 'warning', 'critical')),
	subject_kind text not null,
	subject text not null,
	tenant_id bigint references tenant on delete set null,
	message text not null,
	detail jsonb not null default '{}',    -- hint: what to do next; suspects
	raised_at timestamptz not null default now(),
	seen_at timestamptz not null default now(),
	cleared_at timestamptz,
	acknowledged_by text,
	acknowledged_at timestamptz,
	muted boolean not null default false  -- it was silenced when it came: nobody was told
);
create unique index alert_open on alert (key) where cleared_at is null;
create index alert_subject on alert (subject_kind, subject);
create index alert_key on alert (key, raised_at);
alter table alert enable row level security;

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

-- ==== functions ====

-- Sets all alerts of one watcher: those whose kind is like one of p_kinds and like none of p_others. An open alert that is not in the rows is over.
-- Rows: {key, kind, severity, subject_kind, subject, tenant_id, message, hint}. p_seen_s: how often an unchanged one is written. Returns the events.
create function alert_set(p_actor text, p_kinds text[], p_others text[], p_rows jsonb, p_seen_s integer)
returns integer language plpgsql security definer set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	r record;
	v_events integer := 0;
begin
	for r in
		select distinct on (x.key) x.*, a.id from jsonb_to_recordset(p_rows) as x (key text, kind text, severity text, subject_kind text, subject text,
			tenant_id bigint, message text, hint text)
		left join alert a on a.key = x.key and a.cleared_at is null order by x.key
	loop
		if r.id is not null then
			update alert set seen_at = now(), severity = r.severity, message = r.message, detail = jsonb_build_object('hint', r.hint)
			where id = r.id and (seen_at < now() - make_interval(secs => p_seen_s)
					     or (severity, message, detail) is distinct from (r.severity, r.message, jsonb_build_object('hint', r.hint)));
			continue;
		end if;
		insert into alert (key, kind, severity, subject_kind, subject, tenant_id, message, detail)
		values (r.key, r.kind, r.severity, r.subject_kind, r.subject, r.tenant_id, r.message, jsonb_build_object('hint', r.hint));
		perform event_add(p_actor, 'alert.raised', r.subject_kind, r.subject, r.tenant_id, r.message,
				  jsonb_build_object('kind', r.kind, 'severity', r.severity, 'hint', r.hint));
		v_events := v_events + 1;
	end loop;
	for r in
		update alert a set cleared_at = now()
		where a.cleared_at is null and a.kind like any (p_kinds) and not a.kind like any (p_others)
		and not exists (select from jsonb_to_recordset(p_rows) as x (key text) where x.key = a.key)
		returning a.subject_kind, a.subject, a.kind, a.message, a.tenant_id
	loop
		perform event_add(p_actor, 'alert.cleared', r.subject_kind, r.subject, r.tenant_id, r.message, jsonb_build_object('kind', r.kind));
		v_events := v_events + 1;
	end loop;
	delete from alert where cleared_at < now() - interval '90 days';
	return v_events;
end
$$;

-- One open alert is over, before its watcher looks again. p_message: for the event; null: the alert's. False: it was not open.
create function alert_clear(p_actor text, p_key text, p_message text)
returns boolean language plpgsql as $$
declare
	a alert%rowtype;
begin
	update alert set cleared_at = now() where key = p_key and cleared_at is null returning * into a;
	if found then
		perform event_add(p_actor, 'alert.cleared', a.subject_kind, a.subject, a.tenant_id, coalesce(p_message, a.message), jsonb_build_object('kind', a.kind));
	end if;
	return a.id is not null;
end
$$;

-- The alerts of the fabric: cables, places, the plan, silent switches. Alerts of reconcile (drift, broken isolation) are reconcile's own to clear.
create function fabric_alert_put(p_rows jsonb, p_seen_s integer)
returns integer language sql security definer set search_path = haas, pg_temp as $$
	select alert_set('peregrined', array['fabric.%', 'nic.%', 'wiring.%', 'switch.unreachable', 'switch.not_set', 'switch.row_refused', 'switch.reading_partial', 'switch.former_secrets'], array['fabric.isolation'],
		p_rows || fabric_overlaps() || switch_former_secrets(), p_seen_s)
$$;

create function alert_acknowledge(p_id bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a alert%rowtype;
begin
	select * into a from alert where id = p_id for update;
	if not found or not in_scope(a.tenant_id) then
		raise exception 'alert % does not exist', p_id using errcode = 'HA404', hint = 'haasctl alert list shows the alerts';
	end if;
	update alert set acknowledged_by = p_actor, acknowledged_at = now() where id = p_id and acknowledged_by is null;
	perform event_add(p_actor, 'alert.acknowledged', a.subject_kind, a.subject, a.tenant_id, a.message, jsonb_build_object('alert', a.id));
end
$$;

-- The silence that an alert is under now, the longest one; null = none.
create function alert_silence_of(p_kind text, p_subject text)
returns alert_silence stable language sql set search_path = haas, pg_temp as $$
	select s from alert_silence s
	where s.until > now() and starts_with(p_kind, s.kind) and starts_with(p_subject, s.subject)
	order by s.until desc, s.id limit 1
$$;

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
		raise exception 'a silence of all alerts is not possible' using errcode = 'HA422', hint = 'name a kind, a subject, or the begin of one';
	end if;
	insert into alert_silence (kind, subject, reason, actor, until) values (coalesce(p_kind, ''), coalesce(p_subject, ''), p_reason, p_actor, v_until)
	returning id into v_id;
	perform event_add(p_actor, 'alert.silenced', 'silence', v_id::text, null, p_reason,
			  jsonb_build_object('kind', coalesce(p_kind, ''), 'subject', coalesce(p_subject, ''), 'until', v_until));
	return v_id;
end
$$;

create function alert_silence_end(p_id bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not is_operator() then
		raise exception 'only an operator may end silences' using errcode = 'HA403';
	end if;
	update alert_silence set until = now(), ended_by = p_actor where id = p_id and until > now();
	if not found then
		raise exception 'silence % does not exist or has ended', p_id using errcode = 'HA404', hint = 'haasctl alert silences shows the silences';
	end if;
	perform event_add(p_actor, 'alert.unsilenced', 'silence', p_id::text, null, 'silence ended');
end
$$;

-- Writes alerts: rows {op, key, kind, severity, subject_kind, subject, tenant_id, message, detail, raised_us, at_us}, in the order of their
-- events. 'put' sets the alert of that key, and opens it when there is none; 'clear' ends it. Key and raised_us identify an alert, so rows
-- that are sent again after a lost commit change nothing. A silence delays an alert: people hear of it when the silence is over and the
-- alert still stands.
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
			raise exception 'alert % is not about traffic', r.key using errcode = 'HA422';
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

-- Facts that may be the cause of an alert, beside the last seconds that flowd sees itself: one list, ranked by suspect_policy. p_nodes: the nodes
-- whose traffic it is. All is of the time when the alert began, however long ago: a later change is no cause. Counters, logs of BMCs and
-- health labels count if they were read a little later. `counted` is from the counters of sFlow or of SNMP, whichever say more: one of them may
-- be missing. Of a switch as a whole (no port) every change on it counts. Links and the VLANs on uplinks (uplink_applied) have no history:
-- they are as of now. A network that is gone has its last name.
create function alert_candidates(p_switch bigint, p_port text, p_nodes text[], p_at timestamptz)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	with far as (
		select b_switch as switch_id, b_port as port from link where a_switch = p_switch and a_port = p_port and state <> 'gone'
		union all select a_switch, a_port from link where b_switch = p_switch and b_port = p_port and state <> 'gone'),
	ends as (select p_switch as switch_id, p_port as port where p_port <> '' union select * from far),
	named as (select e.*, s.name || ':' || e.port as name from ends e join switch s on s.id = e.switch_id),
	nodes as (select n.id, n.name from node n where n.name = any (p_nodes)
		  union select n.id, n.name from nic_binding b join node n on n.id = b.node_id where b.switch_id = p_switch and b.port = p_port
		  and b.valid_from <= p_at and (b.valid_to is null or b.valid_to > p_at)),
	located as (
		select t.name as tenant, nw.name as network, nv.vlan from uplink_applied u join switch_endpoint e on e.switch_id = u.switch_id
		cross join lateral vlan_numbers(u.tagged) v join network_vlan nv on nv.fabric_id = e.fabric_id and nv.vlan = v and nv.state = 'used'
		join network nw on nw.id = nv.network_id join tenant t on t.id = nw.tenant_id
		where u.switch_id = p_switch and u.port = p_port
		union select t.name, coalesce(nw.name, (select h.network from vlan_history h where h.network_id = b.network_id order by h.valid_from desc limit 1), 'a deleted network'), b.tag from port_binding b join tenant t on t.id = b.tenant_id left join network nw on nw.id = b.network_id
		where b.switch_id = p_switch and b.port = p_port and b.valid_from <= p_at and (b.valid_to is null or b.valid_to > p_at)),
	counters as (
		select n.name, 'sflow' as source, t.in_errors, t.out_errors, t.in_discards, t.out_discards, t.seconds from named n join traffic_port t on t.switch_id = n.switch_id and t.port = n.port
		where t.step = 60 and t.at > p_at - interval '10 minutes' and t.at <= p_at + interval '1 minute'
		union all select n.name, 'snmp', t.in_errors, t.out_errors, t.in_discards, t.out_discards, t.seconds from named n join traffic_60_counter t on t.switch_id = n.switch_id
		and t.port = any (counter_names(n.switch_id, n.port))
		where t.at > p_at - interval '10 minutes' and t.at <= p_at + interval '1 minute'),
	counted as (
		select distinct on (x.name) x.* from (
			select c.name, c.source, sum(coalesce(c.in_errors, 0) + coalesce(c.out_errors, 0)) as errors, sum(coalesce(c.in_discards, 0) + coalesce(c.out_discards, 0)) as discards,
				nullif(sum(c.seconds), 0) as seconds from counters c group by c.name, c.source) x
		where x.seconds is not null order by x.name, (x.errors + x.discards) / x.seconds desc, x.source),
	facts as (
		(select jsonb_build_object('fact', 'located', 'name', l.tenant, 'text', string_agg(l.network || ' (VLAN ' || l.vlan || ')', ', ' order by l.vlan)) as f
		 from located l group by l.tenant order by l.tenant limit 64)
		union all
		(select jsonb_build_object('fact', 'counted', 'name', c.name, 'errors', c.errors, 'discards', c.discards, 'seconds', c.seconds)
		 from counted c where c.errors + c.discards > 0 limit 8)
		union all
		(select jsonb_build_object('fact', 'changed', 'name', s.name || coalesce(':' || (c.edit ->> 'port'), ''), 'here', p_port = '' or coalesce(c.edit ->> 'port' = p_port, false),
			'text', concat_ws(' ', c.edit ->> 'kind', 'VLAN ' || nullif(c.edit ->> 'vlan', '0'), '(' || c.state || ')'),
			'age_s', extract(epoch from p_at - c.sent_at)::bigint)
		 from change c join switch s on s.id = c.switch_id
		 where (c.switch_id = p_switch or c.switch_id in (select switch_id from ends)) and c.sent_at between p_at - interval '1 hour' and p_at order by c.sent_at desc limit 8)
		union all
		(select jsonb_build_object('fact', 'changed', 'name', e.subject, 'here', p_port = '' or e.subject_kind in ('port', 'node'), 'text', e.message, 'age_s', extract(epoch from p_at - e.at)::bigint)
		 from event e where (e.subject_kind = 'port' and e.subject in (select name from named)
				     or e.subject_kind = 'switch' and e.subject = (select name from switch where id = p_switch)
				     or e.subject_kind = 'node' and e.subject in (select name from nodes))
		 and not starts_with(e.kind, 'alert.') and e.at between p_at - interval '1 hour' and p_at order by e.id desc limit 8)
		union all
		(select jsonb_build_object('fact', 'logged', 'name', n.name, 'text', concat_ws(' ', nullif(s.sensor, ''), s.event), 'asserted', s.asserted,
			'age_s', extract(epoch from p_at - s.seen_at)::bigint)
		 from sel_entry s join nodes n on n.id = s.node_id where s.seen_at > p_at - interval '1 day' and s.seen_at <= p_at + interval '5 minutes' order by s.id desc limit 8)
		union all
		(select jsonb_build_object('fact', 'ill', 'name', n.name, 'text', h.label || ': ' || h.reason, 'severity', h.severity)
		 from health_label h join nodes n on n.id = h.node_id where h.since <= p_at + interval '5 minutes' and (h.expires_at is null or h.expires_at > p_at) order by h.since desc limit 8))
	select coalesce(jsonb_agg(f), '[]') from facts
$$;

-- ==== triggers, views, rights ====

create policy alert_portald on alert to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
create policy alert_daemon on alert to peregrined using (true) with check (true);
create policy alert_flowd on alert to peregrine_flowd using (true) with check (true);
create policy alert_silence_portald on alert_silence for select to portald using (is_operator());

grant select, update (acknowledged_at, acknowledged_by) on alert to portald;
grant insert, select, update, delete on alert to peregrined;
grant select on alert to peregrine_flowd;
grant select on alert_silence to portald;
grant execute on function fabric_alert_put(jsonb,integer) to peregrined;
grant execute on function alert_acknowledge(bigint,text) to portald;
grant execute on function alert_silence_of(text,text) to portald;
grant execute on function alert_silence_add(text,text,text,bigint,text) to portald;
grant execute on function alert_silence_end(bigint,text) to portald;
grant execute on function alert_put(jsonb) to peregrine_flowd;
grant execute on function alert_candidates(bigint,text,text[],timestamptz) to peregrine_flowd;
