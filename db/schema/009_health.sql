-- Health: what BMCs report, the labels concluded from it, and what a label does. A label's effects live here, behind what every program has to
-- use anyway: deployment_create refuses no_allocation, a row policy hides from bampid the deployments of a node with no_automation.

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
create policy sel_portald on sel_entry for select to portald using (exists (select from node n where n.id = node_id));
create policy sel_daemon on sel_entry for select to bampid using (true);
grant select on sel_entry to portald, bampid;

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
create policy health_portald on node_health for select to portald using (exists (select from node n where n.id = node_id));
create policy health_daemon on node_health for select to bampid using (true);
grant select on node_health to portald, bampid;

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
create policy label_portald on health_label for select to portald using (exists (select from node n where n.id = node_id));
create policy label_daemon on health_label for select to bampid using (true);
grant select on health_label to portald, bampid;

-- Which label of a node has this effect now; null = none. One worst label stands for all in what a person is told.
create function health_effect(p_node bigint, p_effect text)
returns health_label stable language sql security definer set search_path = haas, pg_temp as $$
	select l from health_label l
	where l.node_id = p_node and p_effect = any (l.effects) and (l.expires_at is null or l.expires_at > now())
	  and (l.silenced_until is null or l.silenced_until <= now())
	order by l.severity = 'critical' desc, l.since, l.label limit 1
$$;
grant execute on function health_effect(bigint, text) to portald, bampid;

-- What a later allocator may give to a tenant.
create view allocatable_node with (security_invoker = true) as
select n.id, n.name, n.class, n.rack, n.unit, n.firmware, n.arch
from node n
where n.state = 'free' and not n.dirty and (health_effect(n.id, 'no_allocation')).label is null;
grant select on allocatable_node to portald, bampid;

-- --- no_automation: a paused deployment -------------------------------------------------------------------------------------------------
alter table deployment add paused jsonb, add paused_at timestamptz,
	add constraint paused_is_unfinished check (paused is null or (due_at is not null and state <> 'cancelling' and paused_at is not null));

-- bampid neither sees a paused deployment when it claims nor can it save one: whatever it was about to do to the node is not done.
create policy deployment_not_paused on deployment as restrictive for update to bampid using (paused is null) with check (true);

create function deployment_pause_problem(p_node bigint)
returns jsonb stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	l health_label := health_effect(p_node, 'no_automation');
begin
	if l.label is null then
		return null;
	end if;
	return jsonb_build_object('code', 'paused', 'message', format('no automation: the node has the health label %s', l.label), 'detail', l.reason,
				  'hint', format('it goes on when the label is gone; haasctl node health %s, or cancel the deployment',
						 (select name from node where id = p_node)));
end
$$;

-- A deployment that begins, or is taken up again, on such a node waits from the start; cancel always goes through.
create function deployment_pause_fill() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	new.paused := case when new.due_at is not null and new.state <> 'cancelling' then deployment_pause_problem(new.node_id) end;
	new.paused_at := case when new.paused is not null then coalesce(new.paused_at, now()) end;
	return new;
end
$$;
create trigger deployment_pause_new before insert on deployment for each row execute function deployment_pause_fill();
create trigger deployment_pause_change before update of state, due_at on deployment for each row
	when (new.state is distinct from old.state or (new.due_at is null) <> (old.due_at is null)) execute function deployment_pause_fill();

-- Labels changed: deployments stop or go on. What a step may take does not count the pause.
create function health_label_effect() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node bigint := case tg_op when 'DELETE' then old.node_id else new.node_id end;
	v_pause jsonb := deployment_pause_problem(v_node);
	d deployment%rowtype;
begin
	for d in select * from deployment where node_id = v_node and due_at is not null and state <> 'cancelling'
		 and paused is distinct from v_pause for update loop
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
create trigger health_label_effect after insert or update or delete on health_label for each row execute function health_label_effect();

-- Labels are written deployments first, as the runner does it: whoever takes the locks of both takes them in this order.
create function health_lock(p_nodes bigint[]) returns void language sql security definer set search_path = haas, pg_temp as $$
	select from (select id from deployment where node_id = any (p_nodes) and due_at is not null order by id for update) x
$$;

-- --- what bampid tells ------------------------------------------------------------------------------------------------------------------
-- [{node_id, at_us, sensors, alarms}]: one statement for all nodes that were read since the last one.
create function health_sensors_put(p_rows jsonb)
returns void language sql security definer set search_path = haas, pg_temp as $$
	insert into node_health as h (node_id, sensors, sensors_at, alarms, due_at)
	select distinct on (x.node_id) x.node_id, x.sensors, to_timestamp(x.at_us / 1e6), x.alarms, case when x.alarms <> '[]' then now() end
	from jsonb_to_recordset(p_rows) as x (node_id bigint, at_us bigint, sensors jsonb, alarms jsonb)
	join node n on n.id = x.node_id order by x.node_id, x.at_us desc
	on conflict (node_id) do update set sensors = excluded.sensors, sensors_at = excluded.sensors_at, alarms = excluded.alarms,
		due_at = case when h.alarms is distinct from excluded.alarms then now() else h.due_at end
	where h.sensors_at is null or h.sensors_at <= excluded.sensors_at
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

-- What the labels of these nodes are by the rules: [{node_id, generation, memo, next_ms, labels: [{label, severity, effects, reason, hint,
-- since_ms}]}]. A node that another bampid has decided meanwhile is passed over. Returns how many labels came or went.
create function health_save(p_rows jsonb)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
	l record;
	v_changed bigint := 0;
begin
	perform health_lock(array(select (x ->> 'node_id')::bigint from jsonb_array_elements(p_rows) x
				  where x -> 'labels' <> '[]' or exists (select from health_label o where o.node_id = (x ->> 'node_id')::bigint)));
	for r in select x.*, n.name, n.tenant_id
		 from jsonb_to_recordset(p_rows) as x (node_id bigint, generation bigint, memo jsonb, next_ms bigint, labels jsonb)
		 join node n on n.id = x.node_id order by x.node_id loop
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

-- Ends what has ended by time: labels of operators, acknowledgements, silences (their effects come back).
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
	for l in delete from health_label o using node n where n.id = o.node_id and o.expires_at <= now() returning o.*, n.name, n.tenant_id loop
		v_changed := v_changed + 1;
		perform event_add('health', 'health.expired', 'node', l.name, l.tenant_id, format('health label %s has expired', l.label),
				  jsonb_build_object('label', l.label, 'reason', l.reason, 'actor', l.actor));
	end loop;
	update health_label set acknowledged_by = null, acknowledged_reason = null, acknowledged_until = null where acknowledged_until <= now();
	for l in update health_label o set silenced_by = null, silenced_reason = null, silenced_until = null from node n
		 where n.id = o.node_id and o.silenced_until <= now() returning o.*, n.name, n.tenant_id loop
		v_changed := v_changed + 1;
		perform event_add('health', 'health.expired', 'node', l.name, l.tenant_id, format('the silence of health label %s has ended', l.label),
				  jsonb_build_object('label', l.label, 'effects', l.effects));
	end loop;
	return v_changed;
end
$$;
grant execute on function health_sensors_put(jsonb), health_sel_put(jsonb), health_save(jsonb), health_expire() to bampid;

-- A BMC may answer and still have a problem (its sessions are all taken, so it is asked without one): only one that does not answer fails.
alter table bmc add column failing boolean not null default false;
grant update (failing) on bmc to bampid;
-- What is already written elsewhere: a BMC that fails or answers again, an erase that failed. Only a change makes the labels due.
create function health_bmc_changed() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into node_health as h (node_id, bmc_failing_since, due_at)
	values (new.node_id, case when new.failing then now() end, now())
	on conflict (node_id) do update set due_at = now(),
		bmc_failing_since = case when new.failing then coalesce(h.bmc_failing_since, now()) end;
	return null;
end
$$;
create trigger health_bmc_changed after update of failing, observed_power on bmc for each row
	when (new.failing <> old.failing or new.observed_power <> old.observed_power) execute function health_bmc_changed();
create function health_drive_changed() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node bigint := case tg_op when 'DELETE' then old.node_id else new.node_id end;
begin
	insert into node_health (node_id, due_at) select id, now() from node where id = v_node
	on conflict (node_id) do update set due_at = now();
	return null;
end
$$;
create trigger health_drive_made after insert on drive for each row when (new.verdict = 'failed') execute function health_drive_changed();
create trigger health_drive_changed after update of verdict on drive for each row
	when ((new.verdict = 'failed') <> (old.verdict = 'failed')) execute function health_drive_changed();
create trigger health_drive_gone after delete on drive for each row when (old.verdict = 'failed') execute function health_drive_changed();

-- --- what people ask --------------------------------------------------------------------------------------------------------------------
-- add, acknowledge, silence, clear one label on many nodes; each node for itself. One row per node: refused is null where it was done.
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
		raise exception 'a silence needs an end' using errcode = 'HA422', hint = 'say for how long its effects are suspended';
	end if;
	perform health_lock(array(select x.id from node x where x.name = any (p_nodes)));
	foreach v_name in array p_nodes loop
		node := v_name; refused := null; hint := null;
		select * into n from node x where x.name = v_name;
		-- what rules and people said under one word is one label to whoever handles it
		select * into v_label from health_label l where l.node_id = n.id and l.label = p_label order by l.source desc limit 1;
		if n.id is null then
			refused := format('node %s does not exist', v_name);
			hint := 'haasctl node list shows the nodes';
		elsif v_label.label is null and p_verb <> 'add' then
			refused := format('node %s has no health label %s', v_name, p_label);
			hint := format('haasctl node health %s shows those that it has', v_name);
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
grant execute on function health_request(text[], text, text, text, text[], text, timestamptz, text) to portald;

create view health_label_view with (security_invoker = true) as
select n.name as node, n.state as node_state, t.name as tenant, l.*,
       case when l.expires_at <= now() or l.silenced_until > now() then '{}' else l.effects end as effective
from health_label l join node n on n.id = l.node_id left join tenant t on t.id = n.tenant_id;
grant select on health_label_view to portald;

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
grant execute on function node_health_word(bigint) to portald;

-- Why a deployment waits, before what went wrong with it.
create or replace view deployment_view with (security_invoker = true) as
select d.id, d.job_id, d.plan, d.node, t.name as tenant, d.tenant_id, i.name as image, i.version as image_version, d.actor, d.state,
       d.step, d.step_index, d.attempt, coalesce(d.paused, d.problem) as problem, d.version, d.params, d.created_at, d.started_at, d.ended_at, d.step_started_at, d.step_deadline_at,
       p.percent, p.done_bytes, p.total_bytes, p.text as progress,
       (select jsonb_agg(jsonb_build_object('step', s.step, 'state', s.state, 'attempt', s.attempt, 'started_at', s.started_at, 'ended_at', s.ended_at,
						 'problem', s.problem) order by s.step_index, s.attempt)
	from deployment_step s where s.deployment_id = d.id) as steps
from deployment d
left join tenant t on t.id = d.tenant_id
left join image i on i.id = d.image_id
-- progress belongs to the step that was running when it was told
left join progress p on p.deployment_id = d.id and p.updated_at >= d.step_started_at;

-- Asks for one plan on many nodes, all or none. One row per node: deployment id, or why it is refused. With any refusal nothing is made.
-- A node with no_allocation is not given to a tenant, unless an operator insists.
drop function deployment_create(text, text[], text, text, jsonb, text);
create function deployment_create(p_plan text, p_nodes text[], p_image text, p_tenant text, p_params jsonb, p_actor text, p_force boolean default false)
returns table (node text, deployment_id bigint, job_id bigint, refused text, hint text)
language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	v_event node_event := case p_plan when 'install' then 'reserve' when 'inspect' then 'inspect' else p_plan end;
	v_image image%rowtype;
	v_tenant bigint;
	v_job bigint;
	v_refused boolean := false;
	n node%rowtype;
	v_name text;
	v_why text;
	v_hint text;
	v_id bigint;
	v_label health_label;
begin
	if p_plan not in ('inspect', 'install', 'reinstall', 'release') then
		raise exception 'plan % does not exist', p_plan using errcode = 'HA422', hint = 'inspect, install, reinstall or release';
	end if;
	if p_tenant is not null then
		select id into v_tenant from tenant where name = p_tenant;
		if not found or not in_scope(v_tenant) then
			raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404';
		end if;
	elsif not is_operator() then
		v_tenant := current_tenant();
	end if;
	if p_image is not null then
		-- NAME or NAME:VERSION; without a version the newest that is ready
		select i.* into v_image from image i where i.name = split_part(p_image, ':', 1) and i.state = 'ready'
			and (position(':' in p_image) = 0 or i.version = substr(p_image, position(':' in p_image) + 1))
			and image_allowed(i.id, v_tenant)
		order by i.created_at desc, i.id desc limit 1;
		if not found then
			raise exception 'image % does not exist or may not be used here', p_image using errcode = 'HA404',
				hint = 'haasctl image list shows the images that are ready';
		end if;
	elsif p_plan in ('install', 'reinstall') then
		raise exception 'plan % needs an image', p_plan using errcode = 'HA422', hint = 'add --image NAME[:VERSION]';
	end if;

	foreach v_name in array p_nodes loop
		select * into n from node x where x.name = v_name for update;
		v_why := null;
		v_hint := null;
		if not found or not (is_operator() or n.tenant_id = current_tenant() or (n.state = 'free' and p_plan = 'install')) then
			v_why := format('node %s does not exist', v_name);
			v_hint := 'haasctl node list shows the nodes';
		elsif exists (select from deployment d where d.node_id = n.id and d.due_at is not null) then
			select format('node %s is busy with deployment %s (%s)', n.name, d.id, d.plan),
			       format('haasctl deployment watch %s, or cancel it', d.id)
			into v_why, v_hint from deployment d where d.node_id = n.id and d.due_at is not null;
		elsif (select r.next is null from node_transition_rule r where r.state = n.state and r.event = v_event) then
			v_why := format('node %s is %s%s; plan %s is not possible from there', n.name, n.state,
					case when n.dirty then ' and dirty' else '' end, p_plan);
			v_hint := case n.state when 'discovered' then format('haasctl node accept %s if its disks hold nobody''s data, else release it', n.name)
				  when 'held' then format('haasctl node unhold %s when the cause is gone', n.name)
				  when 'broken' then format('haasctl node repair %s when it is mended', n.name)
				  else format('haasctl node show %s tells its state', n.name) end;
		elsif not exists (select from bmc b where b.node_id = n.id) then
			v_why := format('node %s has no BMC', n.name);
			v_hint := 'import it with bmc_address, bmc_username and bmc_password';
		elsif not exists (select from nic x where x.node_id = n.id and x.boot) then
			v_why := format('node %s has no boot NIC', n.name);
			v_hint := 'import it with the MAC of the NIC that it boots from';
		elsif v_image.id is not null and not n.firmware = any (v_image.firmware) then
			v_why := format('image %s does not boot under %s', p_image, n.firmware);
			v_hint := 'choose an image for that firmware';
		end if;
		v_label := case when v_why is null and p_plan in ('install', 'reinstall') then health_effect(n.id, 'no_allocation') end;
		if v_label.label is not null and p_force and is_operator() then
			perform event_add(p_actor, 'health.overridden', 'node', n.name, v_tenant, format('%s in spite of health label %s', p_plan, v_label.label),
					  jsonb_build_object('plan', p_plan, 'label', v_label.label, 'reason', v_label.reason));
		elsif v_label.label is not null then
			v_why := format('node %s is not given out: health label %s, %s', n.name, v_label.label, v_label.reason);
			v_hint := case when is_operator() then
					format('%shaasctl node health %s tells more; haasctl health clear %s %s when it is mended, or say --force',
					       case when v_label.hint <> '' then v_label.hint || '; ' else '' end, n.name, v_label.label, n.name)
				  else 'choose another node, or ask the operator' end;
		end if;
		if v_why is not null then
			v_refused := true;
			perform event_add(p_actor, 'deployment.refused', 'node', v_name, v_tenant, v_why, jsonb_build_object('plan', p_plan));
			node := v_name; deployment_id := null; job_id := null; refused := v_why; hint := v_hint;
			return next;
		end if;
	end loop;
	if v_refused then
		return;
	end if;

	insert into job (kind, actor, tenant_id) values ('deployment.' || p_plan, p_actor, v_tenant) returning id into v_job;
	foreach v_name in array p_nodes loop
		select * into n from node x where x.name = v_name;
		perform node_transition(n.id, v_event, p_actor, jsonb_build_object('plan', p_plan, 'job', v_job));
		if p_plan = 'install' then
			update node set tenant_id = v_tenant where id = n.id;
		end if;
		insert into deployment (job_id, plan, node_id, tenant_id, image_id, actor, params)
		values (v_job, p_plan, n.id, coalesce(v_tenant, n.tenant_id), v_image.id, p_actor, coalesce(p_params, '{}'))
		returning id into v_id;
		perform event_add(p_actor, 'deployment.created', 'node', n.name, coalesce(v_tenant, n.tenant_id), format('%s asked for', p_plan),
				  jsonb_build_object('deployment', v_id, 'plan', p_plan, 'image', p_image));
		node := n.name; deployment_id := v_id; job_id := v_job; refused := null; hint := null;
		return next;
	end loop;
	perform pg_notify('deployment', '');
end
$$;
grant execute on function deployment_create(text, text[], text, text, jsonb, text, boolean) to portald;
