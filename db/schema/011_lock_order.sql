-- Who writes many rows at once takes their locks in one order, so that nobody waits for another in a ring:
--
--   bmc, node_health, health_label, node, deployment, agent_task, and then the rest; the rows of one table by their key, ids ascending
--
-- and no lock is stronger than what is done: `for no key update` lets the foreign keys of new rows (boot_observation, sel_entry, node_health, ...)
-- look at a node or a deployment that somebody else is working on; `for update` is for what will be deleted. An array of a sub-select,
-- `= any (array(select .. order by id for ..))`, is read to its end before the first row is changed, so its order is the order of the locks.
-- Whoever holds a node keeps new deployments away from it. What is left (a node deleted while its first observation is written, two sheets that
-- claim one another's MACs) the programs repeat: common/db. tests/unit/lock_order_test.c holds this.

create function node_lock(p_nodes bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	select from (select from node where id = any (p_nodes) order by id for no key update) x
$$;
create function node_lock(p_nodes text[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	select from (select from node where name = any (p_nodes) order by id for no key update) x
$$;
-- Before rows whose triggers write it, as those of drive.
create function node_health_lock(p_nodes bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	select from (select from node_health where node_id = any (p_nodes) order by node_id for no key update) x
$$;
-- Before what a sheet says is written.
create function node_put_lock(p_nodes text[])
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform from bmc where node_id in (select id from node where name = any (p_nodes)) order by node_id for no key update;
	perform node_lock(p_nodes);
end
$$;
grant execute on function node_lock(bigint[]), node_health_lock(bigint[]) to bampid;
grant execute on function node_lock(text[]), node_put_lock(text[]) to portald;

-- Deployments with their nodes, before more than one of them is asked for something in one transaction. Returns those that there are, in order.
create function deployment_lock(p_deployments bigint[])
returns setof bigint language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform node_lock(array(select node_id from deployment where id = any (p_deployments)));
	return query select id from deployment where id = any (p_deployments) order by id for no key update;
end
$$;
grant execute on function deployment_lock(bigint[]) to portald;

create or replace function deployment_touch(p_deployments bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	update deployment set due_at = least(due_at, now())
	where id = any (array(select id from deployment where id = any (p_deployments) and due_at is not null order by id for no key update))
	  and due_at is not null
$$;

-- --- node -----------------------------------------------------------------------------------------------------------------------------------
-- As before; the row is locked no stronger than it is changed.
create or replace function node_transition(p_node bigint, p_event node_event, p_actor text, p_detail jsonb default '{}')
returns node_state language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype;
	r node_transition_rule%rowtype;
begin
	select * into n from node where id = p_node for no key update;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	end if;
	select * into r from node_transition_rule where state = n.state and event = p_event;
	-- 'accept' is the operator's word that the disks hold nobody's data; it cannot overrule a sticky dirty.
	if r.next is null or (r.next = 'free' and n.dirty and r.dirties is distinct from false) then
		perform event_add(p_actor, 'node.refused', 'node', n.name, n.tenant_id,
				  format('%s refused in state %s%s', p_event, n.state, case when n.dirty then ' (dirty)' else '' end),
				  p_detail || jsonb_build_object('state', n.state, 'event', p_event));
		return null;
	end if;
	update node set state = r.next, dirty = coalesce(r.dirties, dirty), version = version + 1, updated_at = now(),
			tenant_id = case when r.next in ('free', 'discovered') then null else tenant_id end
	where id = p_node;
	if r.next is distinct from n.state then
		perform event_add(p_actor, 'node.state', 'node', n.name, n.tenant_id, format('%s -> %s by %s', n.state, r.next, p_event),
				  p_detail || jsonb_build_object('from', n.state, 'to', r.next, 'event', p_event,
								 'dirty', coalesce(r.dirties, n.dirty)));
	end if;
	return r.next;
end
$$;

-- As before; its BMC first.
create or replace function node_put(p_spec jsonb, p_dry_run boolean, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_name text := p_spec ->> 'name';
	v_bmc jsonb := p_spec -> 'bmc';
	v_id bigint;
	v_port integer;
	v_errors jsonb := '[]';
	v_result text := 'created';
	v_other text;
	v_nic jsonb;
	v_before jsonb;
	v_after jsonb;
begin
	if not is_operator() then
		raise exception 'only an operator may change nodes' using errcode = 'HA403';
	end if;
	perform node_put_lock(array[v_name]);
	select id into v_id from node where name = v_name;
	if found then
		v_result := 'updated';
	end if;
	for v_nic in select * from jsonb_array_elements(coalesce(p_spec -> 'nics', '[]')) loop
		select n.name into v_other from nic join node n on n.id = nic.node_id
		where nic.mac = (v_nic ->> 'mac')::macaddr and n.id is distinct from v_id;
		if found then
			v_errors := v_errors || jsonb_build_object('column', 'mac', 'message', format('%s belongs to node %s', v_nic ->> 'mac', v_other));
		end if;
	end loop;
	if v_bmc is not null then
		v_port := case when v_bmc ->> 'driver' is distinct from 'redfish' then 623
			       when v_bmc ->> 'tls' = 'off' then 80 else 443 end;
		-- What belongs to another driver goes with it.
		v_bmc := v_bmc - case when v_bmc ->> 'driver' = 'libvirt' then 'address' else 'uri' end;
		if v_bmc ->> 'driver' = 'libvirt' and v_bmc ->> 'uri' is null then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_uri', 'message', 'needed by driver libvirt');
		elsif v_bmc ->> 'driver' is distinct from 'libvirt' and v_bmc ->> 'address' is null then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_address', 'message', 'needed by every driver but libvirt');
		end if;
		select n.name into v_other from bmc b join node n on n.id = b.node_id
		where b.address = (v_bmc ->> 'address')::inet and b.port = coalesce((v_bmc ->> 'port')::integer, v_port) and n.id is distinct from v_id;
		if found then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_address',
								   'message', format('%s is the BMC of node %s', v_bmc ->> 'address', v_other));
		end if;
	end if;
	if jsonb_array_length(v_errors) > 0 or p_dry_run then
		return jsonb_build_object('result', v_result, 'errors', v_errors);
	end if;
	v_before := (select to_jsonb(x) - 'version' - 'updated_at' from node x where id = v_id);
	insert into node (name, class, rack, unit, firmware, arch, serial, uuid)
	values (v_name, coalesce(p_spec ->> 'class', ''), coalesce(p_spec ->> 'rack', ''), (p_spec ->> 'unit')::integer,
		coalesce(p_spec ->> 'firmware', 'bios'), coalesce(p_spec ->> 'arch', 'x86_64'), coalesce(p_spec ->> 'serial', ''),
		(p_spec ->> 'uuid')::uuid)
	on conflict (name) do update set
		class = case when p_spec ? 'class' then excluded.class else node.class end,
		rack = case when p_spec ? 'rack' then excluded.rack else node.rack end,
		unit = case when p_spec ? 'unit' then excluded.unit else node.unit end,
		firmware = case when p_spec ? 'firmware' then excluded.firmware else node.firmware end,
		arch = case when p_spec ? 'arch' then excluded.arch else node.arch end,
		serial = case when p_spec ? 'serial' then excluded.serial else node.serial end,
		uuid = case when p_spec ? 'uuid' then excluded.uuid else node.uuid end,
		version = node.version + 1, updated_at = now()
	returning id into v_id;
	if p_spec ? 'nics' then
		delete from nic where node_id = v_id;
		insert into nic (mac, node_id, name, boot)
		select (j ->> 'mac')::macaddr, v_id, j ->> 'name', coalesce((j ->> 'boot')::boolean, false) from jsonb_array_elements(p_spec -> 'nics') j;
	end if;
	if v_bmc is not null then
		insert into bmc (node_id, driver, address, uri, port, username, password_sealed, cipher_suite, workarounds, tls, fingerprint)
		values (v_id, coalesce(v_bmc ->> 'driver', 'ipmi'), (v_bmc ->> 'address')::inet, v_bmc ->> 'uri',
			coalesce((v_bmc ->> 'port')::integer, v_port),
			coalesce(v_bmc ->> 'username', ''), decode(v_bmc ->> 'password_sealed', 'hex'),
			coalesce((v_bmc ->> 'cipher_suite')::integer, 17),
			array(select jsonb_array_elements_text(coalesce(v_bmc -> 'workarounds', '[]'))),
			coalesce(v_bmc ->> 'tls', 'verify'), coalesce(v_bmc ->> 'fingerprint', ''))
		on conflict (node_id) do update set driver = excluded.driver, address = excluded.address, uri = excluded.uri, port = excluded.port,
			username = excluded.username, password_sealed = coalesce(excluded.password_sealed, bmc.password_sealed),
			cipher_suite = excluded.cipher_suite, workarounds = excluded.workarounds, tls = excluded.tls, fingerprint = excluded.fingerprint;
	end if;
	v_after := (select to_jsonb(x) - 'version' - 'updated_at' from node x where id = v_id);
	perform event_add(p_actor, 'node.' || v_result, 'node', v_name, null, 'node ' || v_result,
			  jsonb_build_object('before', v_before, 'after', v_after));
	perform pg_notify('inventory', '');
	return jsonb_build_object('result', v_result, 'errors', v_errors);
end
$$;

-- As before; its BMC and its health first, which go with it.
create or replace function node_delete(p_node text, p_version bigint, p_actor text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may delete nodes' using errcode = 'HA403';
	end if;
	perform from bmc where node_id = (select id from node where name = p_node) for update;
	perform node_health_lock(array(select id from node where name = p_node));
	select * into n from node where name = p_node for update;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	elsif n.version <> p_version then
		raise exception 'node % was changed meanwhile', p_node using errcode = 'HA412', hint = 'read it again and repeat';
	elsif n.dirty or n.state not in ('discovered', 'free', 'broken') then
		return format('node %s is %s%s; release it first', n.name, n.state, case when n.dirty then ' and dirty' else '' end);
	end if;
	perform event_add(p_actor, 'node.deleted', 'node', n.name, null, 'node deleted', to_jsonb(n));
	delete from node where id = n.id;
	perform pg_notify('inventory', '');
	return null;
end
$$;

-- --- deployment -----------------------------------------------------------------------------------------------------------------------------
-- As before; all nodes are locked before the first is looked at.
create or replace function deployment_create(p_plan text, p_nodes text[], p_image text, p_tenant text, p_params jsonb, p_actor text, p_force boolean default false)
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

	perform node_lock(p_nodes);
	foreach v_name in array p_nodes loop
		select * into n from node x where x.name = v_name;
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

-- As before; its node first. Many in one transaction: deployment_lock of all before.
create or replace function deployment_request(p_deployment bigint, p_verb text, p_actor text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	d deployment%rowtype;
	n node%rowtype;
begin
	perform deployment_lock(array[p_deployment]);
	select * into d from deployment where id = p_deployment;
	if not found or not in_scope(d.tenant_id) then
		raise exception 'deployment % does not exist', p_deployment using errcode = 'HA404', hint = 'haasctl deployment list';
	end if;
	select * into n from node where id = d.node_id;
	case p_verb
	when 'cancel' then
		if d.state = 'cancelling' then
			return null;
		elsif d.due_at is null then
			return format('deployment %s is %s already', d.id, d.state);
		end if;
		update deployment_step set state = 'cancelled', ended_at = now() where deployment_id = d.id and state = 'running';
		-- generation moves on, so whoever works on it now can no longer write
		update deployment set state = 'cancelling', step = '', step_index = 0, attempt = 0, memo = '{}', step_started_at = null,
			step_deadline_at = null, due_at = now(), claim_owner = null, claim_until = null, generation = generation + 1,
			version = version + 1
		where id = d.id;
	when 'retry' then
		if d.state <> 'failed' then
			return format('deployment %s is %s; only a failed one can be retried', d.id, d.state);
		elsif exists (select from deployment x where x.node_id = d.node_id and x.id > d.id) then
			return format('node %s has a newer deployment', n.name);
		end if;
		-- same step again; a step looks at the world first, so what is done stays done
		update deployment set state = 'queued', due_at = now(), attempt = attempt + 1, memo = '{}', problem = null, step_started_at = null,
			step_deadline_at = null, claim_owner = null, claim_until = null, generation = generation + 1, ended_at = null,
			version = version + 1
		where id = d.id;
	when 'clear' then
		if d.state not in ('failed', 'cancelled') then
			return format('deployment %s is %s; only a failed or cancelled one can be cleared', d.id, d.state);
		end if;
		update deployment set state = 'cleared', version = version + 1 where id = d.id;
		delete from boot_intent where deployment_id = d.id;
		if d.state = 'failed' and n.state in ('reserved', 'scrubbing') then
			perform node_transition(n.id, 'abandon', p_actor, jsonb_build_object('deployment', d.id));
		end if;
	else
		raise exception 'verb % does not exist', p_verb using errcode = 'HA422';
	end case;
	perform event_add(p_actor, 'deployment.' || p_verb, 'node', n.name, d.tenant_id, p_verb || ' asked for',
			  jsonb_build_object('deployment', d.id, 'step', d.step));
	perform pg_notify('deployment', '');
	return null;
end
$$;

-- --- health ---------------------------------------------------------------------------------------------------------------------------------
-- Whoever writes labels: what the rules remember, the labels that there are, and what labels have an effect on.
create or replace function health_lock(p_nodes bigint[])
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform node_health_lock(p_nodes);
	perform from health_label where node_id = any (p_nodes) order by node_id, label, source for no key update;
	perform node_lock(p_nodes);
	perform from deployment where node_id = any (p_nodes) and due_at is not null order by id for no key update;
end
$$;

-- As before; the deployments are locked already.
create or replace function health_label_effect() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
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

-- As before, in the new order.
create or replace function health_save(p_rows jsonb)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
	l record;
	v_changed bigint := 0;
begin
	-- who holds the memory of a node decides about its labels; only where some may change, more is held
	perform node_health_lock(array(select (x ->> 'node_id')::bigint from jsonb_array_elements(p_rows) x));
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

-- As before, and nothing but what was locked.
create or replace function health_expire()
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

-- As before, in the order of the nodes.
create or replace function health_request(p_nodes text[], p_verb text, p_label text, p_severity text, p_effects text[], p_reason text,
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

-- As before, once for each statement: the BMCs of a batch are written in any order, the memories of their nodes in that of the ids.
drop trigger health_bmc_changed on bmc;
create or replace function health_bmc_changed() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into node_health as h (node_id, bmc_failing_since, due_at)
	select n.node_id, case when n.failing then now() end, now()
	from bmc_new n join bmc_old o on o.node_id = n.node_id
	where n.failing <> o.failing or n.observed_power <> o.observed_power order by n.node_id
	on conflict (node_id) do update set due_at = now(),
		bmc_failing_since = case when excluded.bmc_failing_since is not null then coalesce(h.bmc_failing_since, now()) end;
	return null;
end
$$;
create trigger health_bmc_changed after update on bmc referencing old table as bmc_old new table as bmc_new
	for each statement execute function health_bmc_changed();

-- --- what bampi-bootd saw ---------------------------------------------------------------------------------------------------------------------
-- As before; what another server is about to write or to remove is left to the next time.
create or replace function circuit_unknown_put(p_relay inet[], p_circuit text[], p_remote text[], p_mac macaddr[], p_seen bigint[])
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_relay integer;
	v_all integer;
begin
	insert into circuit_unknown as u (relay, circuit, remote, mac, seen)
	select w.relay, decode(w.circuit, 'hex'), decode(w.remote, 'hex'), w.mac, w.seen
	from unnest(p_relay, p_circuit, p_remote, p_mac, p_seen) as w (relay, circuit, remote, mac, seen)
	order by w.relay, w.circuit, w.remote   -- two servers lock them in the same order
	on conflict (relay, circuit, remote) do update set mac = excluded.mac, seen = u.seen + excluded.seen, last_at = now();
	delete from circuit_unknown where id = any (array(select id from circuit_unknown where id in (
		select x.id from (select u.id, row_number() over (partition by u.relay order by u.seen > 2 desc, u.last_at desc, u.id desc) as n
				  from circuit_unknown u where u.relay = any (p_relay)) x where x.n > 64) order by id for update skip locked));
	get diagnostics v_relay = row_count;
	delete from circuit_unknown where id = any (array(select id from circuit_unknown where id in (
		select u.id from circuit_unknown u order by u.seen > 2 desc, u.last_at desc, u.id desc offset 4096) order by id for update skip locked));
	get diagnostics v_all = row_count;
	return v_relay + v_all;
end
$$;
