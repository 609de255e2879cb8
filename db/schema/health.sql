-- Event logs and sensors of BMCs, health labels, and their effects: no allocation, no automation.
--
-- The effects of a label stand where every program passes: deployment_create refuses a node with no_allocation, and a row policy hides from bampid
-- the deployments of a node with no_automation. Most reports of ten thousand BMCs change nothing; they cost one statement together.

-- ==== shape ====

-- The BMC's event log, the newest 512 of a node. A BMC numbers anew after its log was cleared, so the time belongs to the key.
create table sel_entry (
	id bigint generated always as identity primary key,
	node_id bigint not null references node on delete cascade,
	record integer not null check (record between 0 and 65535),
	bmc_time_s bigint not null default 0,  -- of the BMC's clock, which may be wrong; 0 = not stamped
	type text not null default '',         -- IPMI 42.2 sensor type: Memory, Temperature, ...
	sensor text not null default '',
	event text not null,
	asserted boolean not null default true,
	seen_at timestamptz not null default now(),
	unique (node_id, record, bmc_time_s)
);
create index sel_entry_node on sel_entry (node_id, id);
alter table sel_entry enable row level security;

-- One row per node: its sensors as last read (all come from one reading, so they are one value), and when its labels are to be decided again.
create table node_health (
	node_id bigint primary key references node on delete cascade,
	sensors jsonb not null default '[]',  -- [{name, number, type, unit, reading, state}]
	sensors_at timestamptz,
	alarms jsonb not null default '[]',   -- the sensors that are not nominal: only when these change is there something to decide
	sel_record integer,                   -- the newest entry that was read, and how the BMC stamped it; null = read all
	sel_stamp bigint,
	sel_at timestamptz,
	bmc_failing_since timestamptz,
	memo jsonb not null default '{}',     -- hysteresis: label -> {bad|good: ms since 1970}
	cleared jsonb not null default '{}',  -- label -> ms: what was seen before a person cleared it does not count
	due_at timestamptz,
	generation bigint not null default 0,
	check (jsonb_typeof(sensors) = 'array' and jsonb_typeof(memo) = 'object' and jsonb_typeof(cleared) = 'object')
) with (fillfactor = 70);
create index node_health_due on node_health (due_at) where due_at is not null;
alter table node_health enable row level security;

-- Which sensors a node has, in the order of its readings. Others come with another firmware, or a part that is put in.
create table sensor_set (
	node_id bigint not null references node on delete cascade,
	digest text not null,                 -- of the rest
	numbers integer[] not null,
	names text[] not null,
	units text[] not null,
	primary key (node_id, digest),
	check (cardinality(names) = cardinality(numbers) and cardinality(units) = cardinality(numbers))
);
alter table sensor_set enable row level security;

-- The last reading of each five minutes, for 25 hours: 300 rows of a node at most.
create table sensor_reading (
	node_id bigint not null,
	at timestamptz not null,              -- the begin of the five minutes
	digest text not null,
	readings real[] not null,             -- null: the sensor gave none
	primary key (node_id, at),
	foreign key (node_id, digest) references sensor_set on delete cascade
);
alter table sensor_reading enable row level security;

create table health_label (
	node_id bigint not null references node on delete cascade,
	label text not null check (label ~ '^[a-z][a-z0-9_]{0,47}$'),
	source text not null check (source in ('rule', 'operator')),
	severity text not null check (severity in ('info', 'warning', 'critical')),
	effects text[] not null default '{}' check (effects <@ array['no_allocation', 'no_automation']),
	reason text not null check (length(reason) between 1 and 512),
	hint text not null default '',
	actor text not null,
	since timestamptz not null default now(),
	expires_at timestamptz,                -- an operator's label goes by itself
	acknowledged_by text,                  -- somebody knows; changes nothing else
	acknowledged_reason text,
	acknowledged_until timestamptz,
	silenced_by text,                      -- its effects are suspended; it stays to be seen
	silenced_reason text,
	silenced_until timestamptz,
	primary key (node_id, label, source),
	constraint rules_have_no_expiry check (source = 'operator' or expires_at is null),
	constraint silence_ends check ((silenced_by is null) = (silenced_until is null))
);
create index health_label_expiry on health_label (least(expires_at, acknowledged_until, silenced_until))
	where expires_at is not null or acknowledged_until is not null or silenced_until is not null;
alter table health_label enable row level security;

-- ==== functions ====

-- Which label of a node has this effect now; null = none. One worst label stands for all in what a person is told.
create function health_effect(p_node bigint, p_effect text)
returns health_label stable language sql security definer set search_path = haas, pg_temp as $$
	select l from health_label l
	where l.node_id = p_node and p_effect = any (l.effects) and (l.expires_at is null or l.expires_at > now())
	  and (l.silenced_until is null or l.silenced_until <= now())
	order by l.severity = 'critical' desc, l.since, l.label limit 1
$$;

-- Labels changed: deployments stop or go on. A pause does not count against the time a step may take. The deployments are locked already.
create function health_label_effect() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node bigint := case tg_op when 'DELETE' then old.node_id else new.node_id end;
	v_pause jsonb := deployment_pause_problem(v_node);
	d deployment%rowtype;
begin
	for d in select * from deployment where node_id = v_node and due_at is not null and state <> 'cancelling'
		 and paused is distinct from v_pause order by id for no key update loop
		update deployment set paused = v_pause, paused_at = case when v_pause is not null then coalesce(paused_at, now()) end,
			due_at = case when v_pause is null then now() else due_at end,
			step_started_at = case when v_pause is null then step_started_at + (now() - paused_at) else step_started_at end,
			step_deadline_at = case when v_pause is null then step_deadline_at + (now() - paused_at) else step_deadline_at end,
			version = version + 1
		where id = d.id;
		if (v_pause is null) <> (d.paused is null) then
			perform event_add('health', case when v_pause is null then 'deployment.resumed' else 'deployment.paused' end, 'node', d.node,
					  d.tenant_id, case when v_pause is null then format('%s goes on', d.plan)
					  else format('%s waits: %s', d.plan, v_pause ->> 'message') end,
					  jsonb_build_object('deployment', d.id, 'problem', v_pause));
		end if;
	end loop;
	return null;
end
$$;

-- Whoever writes labels: what the rules remember, the labels that there are, and what labels have an effect on.
create function health_lock(p_nodes bigint[])
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform node_health_lock(p_nodes);
	perform from health_label where node_id = any (p_nodes) order by node_id, label, source for no key update;
	perform node_lock(p_nodes);
	perform from deployment where node_id = any (p_nodes) and due_at is not null order by id for no key update;
end
$$;

-- [{node_id, at_us, sensors, alarms}]: one statement for all nodes that were read since the last one.
create function health_sensors_put(p_rows jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_nodes bigint[];
begin
	insert into node_health as h (node_id, sensors, sensors_at, alarms, due_at)
	select distinct on (x.node_id) x.node_id, x.sensors, to_timestamp(x.at_us / 1e6), x.alarms, case when x.alarms <> '[]' then now() end
	from jsonb_to_recordset(p_rows) as x (node_id bigint, at_us bigint, sensors jsonb, alarms jsonb)
	join node n on n.id = x.node_id order by x.node_id, x.at_us desc
	on conflict (node_id) do update set sensors = excluded.sensors, sensors_at = excluded.sensors_at, alarms = excluded.alarms,
		due_at = case when h.alarms is distinct from excluded.alarms then now() else h.due_at end
	where h.sensors_at is null or h.sensors_at <= excluded.sensors_at;

	-- Locked above, in the order of the nodes: nobody else writes readings of these.
	with x as (
		select distinct on (x.node_id, date_bin('5 min', to_timestamp(x.at_us / 1e6), 'epoch')) x.node_id, date_bin('5 min', to_timestamp(x.at_us / 1e6), 'epoch') as at, y.*,
		       md5(row(y.numbers, y.names, y.units)::text) as digest
		from jsonb_to_recordset(p_rows) as x (node_id bigint, at_us bigint, sensors jsonb)
		join node n on n.id = x.node_id
		cross join lateral (select array_agg(coalesce(s.number, 0) order by s.n) as numbers, array_agg(coalesce(s.name, '') order by s.n) as names, array_agg(coalesce(s.unit, '') order by s.n) as units,
					   array_agg(s.reading::real order by s.n) as readings
				    from (select e.n, (e.value ->> 'number')::integer as number, e.value ->> 'name' as name, e.value ->> 'unit' as unit,
						 case when abs((e.value ->> 'reading')::double precision) between 1e-30 and 1e30 then (e.value ->> 'reading')::double precision
						      when (e.value ->> 'reading')::double precision = 0 then 0 end as reading
					  from jsonb_array_elements(x.sensors) with ordinality as e (value, n)) s) y
		where y.numbers is not null
		order by x.node_id, date_bin('5 min', to_timestamp(x.at_us / 1e6), 'epoch'), x.at_us desc
	), made as (
		insert into sensor_set (node_id, digest, numbers, names, units) select distinct on (node_id, digest) node_id, digest, numbers, names, units from x order by node_id, digest
		on conflict do nothing
	), kept as (
		insert into sensor_reading as r (node_id, at, digest, readings) select node_id, at, digest, readings from x order by node_id, at
		on conflict (node_id, at) do update set digest = excluded.digest, readings = excluded.readings
		returning r.node_id
	)
	select array_agg(distinct node_id) into v_nodes from kept;
	delete from sensor_reading where node_id = any (v_nodes) and at < now() - interval '25 h';
	delete from sensor_set s where s.node_id = any (v_nodes) and not exists (select from sensor_reading r where r.node_id = s.node_id and r.digest = s.digest);
end
$$;

-- Since when what a node's sensors and its BMC's log told may be seen: a tenant sees what came since it was handed over, while the node is its own.
create function node_seen_from(p_node bigint)
returns timestamptz stable language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	return case when is_operator() then '-infinity'
		    else (select max(u.from_at) from node n join usage u on u.kind = 'node' and u.subject = n.name and u.tenant_id = n.tenant_id and u.to_at is null
			  where n.id = p_node and n.tenant_id = current_tenant()) end;
end
$$;

-- Sensors of a node from p_from on, in p_points equal parts until now at most: mean, least and most of each; null where nothing was read. A row policy
-- says what may be seen.
create function sensor_series(p_node bigint, p_from timestamptz, p_points integer, p_sensors text[])
returns jsonb stable language sql set search_path = haas, pg_temp as $$
	with w as (
		select w.step, w.points, w.till - w.points * w.step as since, w.till
		from (select s.step, date_bin(s.step, now(), 'epoch') + s.step as till, ceil(extract(epoch from now() - p_from) / extract(epoch from s.step))::integer as points
		      from (select greatest(1, ceil(extract(epoch from now() - p_from) / 300 / p_points)) * interval '5 min' as step) s) w
	), r as (
		select x.number, x.name, x.unit, (extract(epoch from date_bin(w.step, r.at, 'epoch') - w.since) / extract(epoch from w.step))::integer as at, x.reading
		from w join sensor_reading r on r.node_id = p_node and r.at >= w.since and r.at < w.till
		join sensor_set s on s.node_id = r.node_id and s.digest = r.digest
		cross join lateral unnest(s.numbers, s.names, s.units, r.readings) as x (number, name, unit, reading)
		where p_sensors is null or x.name = any (p_sensors)
	), o as (
		select s.number, s.name, s.unit, jsonb_agg(v.mean order by g.at) as mean, jsonb_agg(v.least order by g.at) as least, jsonb_agg(v.most order by g.at) as most
		from (select distinct number, name, unit from r) s
		cross join w cross join generate_series(0, w.points - 1) as g (at)
		left join (select r.number, r.name, r.unit, r.at, round(avg(r.reading)::numeric, 3) as mean, min(r.reading) as least, max(r.reading) as most from r group by 1, 2, 3, 4) v
			on (v.number, v.name, v.unit, v.at) = (s.number, s.name, s.unit, g.at)
		group by s.number, s.name, s.unit
	)
	select jsonb_build_object('from_at', w.since, 'step_s', extract(epoch from w.step)::integer, 'points', w.points,
		'sensors', coalesce((select jsonb_agg(jsonb_build_object('name', o.name, 'number', o.number, 'unit', o.unit, 'mean', o.mean, 'least', o.least, 'most', o.most)
							      order by o.name collate haas.natural_order, o.number) from o), '[]'))
	from w
$$;

-- [{node_id, record, stamp, entries: [{record, time_s, type, sensor, event, asserted}]}], entries oldest first; record and stamp name the newest
-- entry of the log, null when it is empty. What is known is passed over, what is too old for the bound goes. Returns how many were new.
create function health_sel_put(p_rows jsonb)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_new bigint[];
begin
	with made as (
		insert into sel_entry (node_id, record, bmc_time_s, type, sensor, event, asserted)
		select x.node_id, e.record, coalesce(e.time_s, 0), coalesce(e.type, ''), coalesce(e.sensor, ''), e.event, coalesce(e.asserted, true)
		from jsonb_to_recordset(p_rows) as x (node_id bigint, entries jsonb)
		join node n on n.id = x.node_id
		cross join lateral rows from (jsonb_to_recordset(x.entries) as (record integer, time_s bigint, type text, sensor text, event text,
					      asserted boolean)) with ordinality as e (record, time_s, type, sensor, event, asserted, place)
		order by x.node_id, e.place
		on conflict do nothing returning node_id
	)
	select array_agg(node_id) into v_new from made;
	insert into node_health as h (node_id, sel_record, sel_stamp, sel_at, due_at)
	select distinct on (x.node_id) x.node_id, x.record, x.stamp, now(), case when x.node_id = any (v_new) then now() end
	from rows from (jsonb_to_recordset(p_rows) as (node_id bigint, record integer, stamp bigint)) with ordinality as x (node_id, record, stamp, place)
	join node n on n.id = x.node_id order by x.node_id, x.place desc
	on conflict (node_id) do update set sel_record = excluded.sel_record, sel_stamp = excluded.sel_stamp, sel_at = excluded.sel_at,
		due_at = least(excluded.due_at, h.due_at);
	delete from sel_entry s using (select distinct unnest(v_new) as node_id) x
	where s.node_id = x.node_id
	  and s.id <= (select o.id from sel_entry o where o.node_id = x.node_id order by o.id desc offset 512 limit 1);
	return coalesce(cardinality(v_new), 0);
end
$$;

-- Writes the labels of these nodes as the rules say: [{node_id, generation, memo, next_ms, labels: [{label, severity, effects, reason, hint,
-- since_ms}]}]. A node that another bampid has decided meanwhile is passed over. Nodes without a label, and without a reason for one, are one
-- statement. Returns how many labels came or went.
create function health_save(p_rows jsonb)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
	l record;
	v_changed bigint := 0;
	v_labelled bigint[];
begin
	-- who holds the memory of a node decides about its labels; only where some may change, more is held
	perform node_health_lock(array(select (x ->> 'node_id')::bigint from jsonb_array_elements(p_rows) x));
	v_labelled := array(select (x ->> 'node_id')::bigint from jsonb_array_elements(p_rows) x
			    where x -> 'labels' <> '[]' or exists (select from health_label o where o.node_id = (x ->> 'node_id')::bigint));
	perform health_lock(v_labelled);
	update node_health h set memo = x.memo, due_at = to_timestamp(x.next_ms / 1e3), generation = h.generation + 1
	from jsonb_to_recordset(p_rows) as x (node_id bigint, generation bigint, memo jsonb, next_ms bigint)
	where h.node_id = x.node_id and h.generation = x.generation and x.node_id <> all (v_labelled);
	for r in select x.*, n.name, n.tenant_id
		 from jsonb_to_recordset(p_rows) as x (node_id bigint, generation bigint, memo jsonb, next_ms bigint, labels jsonb)
		 join node n on n.id = x.node_id where x.node_id = any (v_labelled) order by x.node_id loop
		update node_health h set memo = r.memo, due_at = to_timestamp(r.next_ms / 1e3), generation = h.generation + 1
		where h.node_id = r.node_id and h.generation = r.generation;
		continue when not found;
		for l in delete from health_label o where o.node_id = r.node_id and o.source = 'rule'
			 and not exists (select from jsonb_array_elements(r.labels) w where w ->> 'label' = o.label) returning o.* loop
			v_changed := v_changed + 1;
			perform event_add('health', 'health.cleared', 'node', r.name, r.tenant_id, format('health label %s is gone', l.label),
					  jsonb_build_object('label', l.label, 'reason', l.reason, 'since', l.since));
		end loop;
		for l in insert into health_label as o (node_id, label, source, severity, effects, reason, hint, actor, since)
			 select r.node_id, w.label, 'rule', w.severity, w.effects,
				-- nothing new was seen: it stays as it was
				coalesce(nullif(w.reason, ''), (select k.reason from health_label k
								where k.node_id = r.node_id and k.label = w.label and k.source = 'rule'), w.label),
				coalesce(w.hint, ''), 'health', to_timestamp(w.since_ms / 1e3)
			 from jsonb_to_recordset(r.labels) as w (label text, severity text, effects text[], reason text, hint text, since_ms bigint)
			 on conflict (node_id, label, source) do update
				set severity = excluded.severity, effects = excluded.effects, reason = excluded.reason, hint = excluded.hint
				where (o.severity, o.effects, o.reason, o.hint) is distinct from
				      (excluded.severity, excluded.effects, excluded.reason, excluded.hint)
			 returning o.*, (o.xmax = 0) as made loop
			continue when not l.made;
			v_changed := v_changed + 1;
			perform event_add('health', 'health.raised', 'node', r.name, r.tenant_id, format('health label %s: %s', l.label, l.reason),
					  jsonb_build_object('label', l.label, 'severity', l.severity, 'effects', l.effects, 'since', l.since));
		end loop;
	end loop;
	return v_changed;
end
$$;

-- Ends labels of operators, acknowledgements and silences whose time is over; the effects of silenced labels come back. It changes only rows
-- that it has locked.
create function health_expire()
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	l record;
	v_nodes bigint[] := array(select node_id from health_label where least(expires_at, acknowledged_until, silenced_until) <= now());
	v_changed bigint := 0;
begin
	if cardinality(v_nodes) = 0 then
		return 0;
	end if;
	perform health_lock(v_nodes);
	for l in delete from health_label o using node n where n.id = o.node_id and o.node_id = any (v_nodes) and o.expires_at <= now() returning o.*, n.name, n.tenant_id loop
		v_changed := v_changed + 1;
		perform event_add('health', 'health.expired', 'node', l.name, l.tenant_id, format('health label %s has expired', l.label),
				  jsonb_build_object('label', l.label, 'reason', l.reason, 'actor', l.actor));
	end loop;
	update health_label set acknowledged_by = null, acknowledged_reason = null, acknowledged_until = null
	where node_id = any (v_nodes) and acknowledged_until <= now();
	for l in update health_label o set silenced_by = null, silenced_reason = null, silenced_until = null from node n
		 where n.id = o.node_id and o.node_id = any (v_nodes) and o.silenced_until <= now() returning o.*, n.name, n.tenant_id loop
		v_changed := v_changed + 1;
		perform event_add('health', 'health.expired', 'node', l.name, l.tenant_id, format('the silence of health label %s has ended', l.label),
				  jsonb_build_object('label', l.label, 'effects', l.effects));
	end loop;
	return v_changed;
end
$$;

-- A BMC that fails or answers again makes the node's labels due. Its power does so only where power decides something: while a sensor is not
-- nominal, or a rule's label stands.
create function health_bmc_changed() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into node_health as h (node_id, bmc_failing_since, due_at)
	select n.node_id, case when n.failing then now() end, now()
	from bmc_new n join bmc_old o on o.node_id = n.node_id
	where n.failing <> o.failing
	   or (n.observed_power <> o.observed_power
	       and exists (select from node_health k where k.node_id = n.node_id
			   and (k.alarms <> '[]' or k.memo <> '{}'
				or exists (select from health_label l where l.node_id = n.node_id and l.source = 'rule'))))
	order by n.node_id
	on conflict (node_id) do update set due_at = now(),
		bmc_failing_since = case when excluded.bmc_failing_since is not null then coalesce(h.bmc_failing_since, now()) end;
	return null;
end
$$;

create function health_drive_changed() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node bigint := case tg_op when 'DELETE' then old.node_id else new.node_id end;
begin
	insert into node_health (node_id, due_at) select id, now() from node where id = v_node
	on conflict (node_id) do update set due_at = now();
	return null;
end
$$;

-- add, acknowledge, silence, clear one label on many nodes; each node for itself, in the order of the nodes (lock order). One row per node:
-- `refused` is null where it was done.
create function health_request(p_nodes text[], p_verb text, p_label text, p_severity text, p_effects text[], p_reason text,
			       p_until timestamptz, p_actor text)
returns table (node text, refused text, hint text)
language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	v_name text;
	v_label health_label%rowtype;
	n node%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may change health labels' using errcode = 'HA403';
	elsif p_verb not in ('add', 'acknowledge', 'silence', 'clear') then
		raise exception 'verb % does not exist', p_verb using errcode = 'HA422';
	elsif coalesce(p_reason, '') = '' then
		raise exception 'say why' using errcode = 'HA422', hint = 'the reason is kept with the label and in the event';
	elsif p_until <= now() then
		raise exception 'the end lies in the past' using errcode = 'HA422';
	elsif p_verb = 'silence' and p_until is null then
		raise exception 'a silence needs an end' using errcode = 'HA422', hint = 'give the time that its effects are suspended';
	end if;
	perform health_lock(array(select x.id from node x where x.name = any (p_nodes)));
	-- labels and memories that are new are made in the order of the nodes
	foreach v_name in array array(select w from unnest(p_nodes) w left join node x on x.name = w order by x.id, w) loop
		node := v_name; refused := null; hint := null;
		select * into n from node x where x.name = v_name;
		-- what rules and people said under one word is one label to whoever handles it
		select * into v_label from health_label l where l.node_id = n.id and l.label = p_label order by l.source desc limit 1;
		if n.id is null then
			refused := format('node %s does not exist', v_name);
			hint := 'haasctl node list shows the nodes';
		elsif v_label.label is null and p_verb <> 'add' then
			refused := format('node %s has no health label %s', v_name, p_label);
			hint := format('haasctl node health %s shows its labels', v_name);
		end if;
		if refused is null then
			case p_verb
			when 'add' then
				insert into health_label (node_id, label, source, severity, effects, reason, actor, expires_at)
				values (n.id, p_label, 'operator', coalesce(p_severity, 'warning'), coalesce(p_effects, '{}'), p_reason, p_actor, p_until)
				on conflict (node_id, label, source) do update set severity = excluded.severity, effects = excluded.effects,
					reason = excluded.reason, actor = excluded.actor, expires_at = excluded.expires_at;
			when 'acknowledge' then
				update health_label l set acknowledged_by = p_actor, acknowledged_reason = p_reason, acknowledged_until = p_until
				where l.node_id = n.id and l.label = p_label;
			when 'silence' then
				update health_label l set silenced_by = p_actor, silenced_reason = p_reason, silenced_until = p_until
				where l.node_id = n.id and l.label = p_label;
			else
				delete from health_label l where l.node_id = n.id and l.label = p_label;
				-- what the rules saw until now does not count any more; what goes on being bad comes back
				insert into node_health (node_id, cleared, due_at)
				values (n.id, jsonb_build_object(p_label, floor(extract(epoch from clock_timestamp()) * 1000)::bigint), now())
				on conflict (node_id) do update set cleared = node_health.cleared || excluded.cleared,
					memo = node_health.memo - p_label, due_at = now(), generation = node_health.generation + 1;
			end case;
			perform event_add(p_actor, 'health.' || p_verb, 'node', n.name, n.tenant_id, format('health label %s: %s (%s)', p_label, p_verb, p_reason),
					  jsonb_strip_nulls(jsonb_build_object('label', p_label, 'reason', p_reason, 'until', p_until,
									       'effects', coalesce(p_effects, v_label.effects))));
		end if;
		return next;
	end loop;
	perform pg_notify('deployment', '');
end
$$;

-- The worst of a node in one object, for lists; null = well.
create function node_health_word(p_node bigint)
returns jsonb stable language sql set search_path = haas, pg_temp as $$
	select jsonb_build_object('severity', case when bool_or(l.severity = 'critical') then 'critical' when bool_or(l.severity = 'warning') then 'warning'
							  else 'info' end,
				  'labels', jsonb_agg(distinct l.label),
				  'effects', coalesce((select jsonb_agg(distinct e) from health_label x cross join unnest(x.effects) e
						       where x.node_id = p_node and (x.expires_at is null or x.expires_at > now())
							 and (x.silenced_until is null or x.silenced_until <= now())), '[]'))
	from health_label l where l.node_id = p_node and (l.expires_at is null or l.expires_at > now()) having count(*) > 0
$$;

-- Locks nodes without a health row too: a trigger (a drive's verdict) may be making that row. health_sensors_put makes missing rows of its
-- batch in the same order, so that making and locking form no ring.
create function node_health_lock(p_nodes bigint[])
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node bigint;
begin
	if not exists (select from unnest(p_nodes) x (id) where not exists (select from node_health h where h.node_id = x.id)) then
		perform from node_health where node_id = any (p_nodes) order by node_id for no key update;
		return;
	end if;
	for v_node in select distinct x.id from unnest(p_nodes) x (id) order by x.id loop
		insert into node_health (node_id) select id from node where id = v_node on conflict (node_id) do nothing;
		perform from node_health where node_id = v_node for no key update;
	end loop;
end
$$;

-- ==== triggers, views, rights ====
create trigger health_label_effect after insert or update or delete on health_label for each row execute function health_label_effect();

create view health_label_view with (security_invoker = true) as
select n.name as node, n.state as node_state, t.name as tenant, l.*,
       case when l.expires_at <= now() or l.silenced_until > now() then '{}' else l.effects end as effective
from health_label l join node n on n.id = l.node_id left join tenant t on t.id = n.tenant_id;

create policy sel_portald on sel_entry for select to portald using (exists (select from node n where n.id = node_id) and seen_at >= node_seen_from(node_id));
create policy sel_daemon on sel_entry for select to bampid using (true);
create policy health_portald on node_health for select to portald using (exists (select from node n where n.id = node_id));
create policy health_daemon on node_health for select to bampid using (true);
create policy sensor_set_portald on sensor_set for select to portald using (exists (select from node n where n.id = node_id));
create policy sensor_reading_portald on sensor_reading for select to portald using (exists (select from node n where n.id = node_id) and at >= node_seen_from(node_id));
create policy label_portald on health_label for select to portald using (exists (select from node n where n.id = node_id));
create policy label_daemon on health_label for select to bampid using (true);

grant select on sensor_set to portald;
grant select on sensor_reading to portald;
grant select on sel_entry to bampid, portald;
grant select on node_health to bampid, portald;
grant select on health_label to bampid, portald;
grant select on health_label_view to portald;
grant execute on function health_effect(bigint,text) to bampid, portald;
grant execute on function health_sensors_put(jsonb) to bampid;
grant execute on function node_seen_from(bigint) to portald;
grant execute on function sensor_series(bigint,timestamptz,integer,text[]) to portald;
grant execute on function health_sel_put(jsonb) to bampid;
grant execute on function health_save(jsonb) to bampid;
grant execute on function health_expire() to bampid;
grant execute on function health_request(text[],text,text,text,text[],text,timestamptz,text) to portald;
grant execute on function node_health_word(bigint) to portald;
grant execute on function node_health_lock(bigint[]) to bampid;
