-- Ten thousand BMCs: what most of them report changes nothing, and costs accordingly.

-- A BMC that fails or answers again makes the node's labels due; its power does only where it decides something: while a sensor is not nominal
-- or a rule's label stands. Else as before.
create or replace function health_bmc_changed() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
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

-- As before, but nodes without a label and without a reason for one are one statement.
create or replace function health_save(p_rows jsonb)
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
