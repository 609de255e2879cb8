-- Deployments: one execution of a plan on one node, as claimable work rows; what bootd and the agent saw of it; its certificates.
create type deployment_state as enum ('queued', 'waiting', 'cancelling', 'done', 'failed', 'cancelled', 'cleared');

create table deployment (
	id bigint generated always as identity primary key,
	job_id bigint references job,
	plan text not null check (plan in ('inspect', 'install', 'reinstall', 'release')),
	node_id bigint not null references node on delete cascade,
	node text not null,                   -- its name: a tenant reads of its deployments after the node left it
	tenant_id bigint references tenant,
	image_id bigint references image,
	actor text not null,
	params jsonb not null default '{}',   -- hostname, ssh_keys, user_data, addresses, disk
	state deployment_state not null default 'queued',
	step text not null default '',        -- name in the plan table of bampid; '' before the first
	step_index integer not null default 0,
	attempt integer not null default 0,   -- of this step
	step_started_at timestamptz,
	step_deadline_at timestamptz,
	due_at timestamptz default now(),
	claim_owner text,
	claim_until timestamptz,
	generation bigint not null default 0, -- every write of a claim says "where generation = mine"
	memo jsonb not null default '{}',     -- what a step must remember between two runs
	problem jsonb,
	version bigint not null default 1,
	created_at timestamptz not null default now(),
	started_at timestamptz,
	ended_at timestamptz,
	constraint unfinished_has_due_time check ((state in ('queued', 'waiting', 'cancelling')) = (due_at is not null)),
	constraint failed_has_problem check (state <> 'failed' or problem is not null),
	constraint install_names_image check (plan not in ('install', 'reinstall') or image_id is not null),
	constraint ended_has_time check ((state in ('done', 'failed', 'cancelled', 'cleared')) = (ended_at is not null))
);
create function node_name_fill() returns trigger language plpgsql as $$
begin
	select name into strict new.node from node where id = new.node_id;
	return new;
end
$$;
create trigger deployment_node_name before insert on deployment for each row execute function node_name_fill();
create unique index deployment_one_active on deployment (node_id) where due_at is not null;
create index deployment_due on deployment (due_at) where due_at is not null;
create index deployment_node on deployment (node_id, id);
create index deployment_job on deployment (job_id);
alter table deployment enable row level security;
create policy deployment_portald on deployment for select to portald using (in_scope(tenant_id));
create policy deployment_daemon on deployment to bampid using (true) with check (true);
create policy deployment_bootd on deployment for select to bampi_bootd using (true);
grant select on deployment to portald, bampi_bootd;
grant select, update on deployment to bampid;

-- One row per step begun: the log of a deployment, and the source of its ETA.
create table deployment_step (
	deployment_id bigint not null references deployment on delete cascade,
	step_index integer not null,
	step text not null,
	state text not null check (state in ('running', 'done', 'failed', 'cancelled')),
	attempt integer not null default 1,
	started_at timestamptz not null default now(),
	ended_at timestamptz,
	problem jsonb,
	primary key (deployment_id, step_index, attempt)
);
grant select on deployment_step to portald;
grant select, insert, update on deployment_step to bampid;

-- The latest progress per deployment: a value, not an event. bootd flushes all once a second.
create table progress (
	deployment_id bigint primary key references deployment on delete cascade,
	percent integer not null check (percent between 0 and 100),
	done_bytes bigint not null default 0,
	total_bytes bigint not null default 0,
	text text not null default '',
	updated_at timestamptz not null default now()
);
grant select on progress to portald, bampid;
grant select, insert, update on progress to bampi_bootd;

-- What a node is to start next. Written by the steps, read by bootd; without a row the node's state decides (target_policy).
create table boot_intent (
	node_id bigint primary key references node on delete cascade,
	target text not null check (target in ('agent', 'disk')),
	deployment_id bigint not null references deployment on delete cascade,
	token text not null check (token ~ '^[0-9a-f]{32}$'),  -- of the agent, new for each netboot attempt
	nonce text not null check (nonce ~ '^[0-9a-f]{32}$'),  -- in the installed OS's callback URL
	stored_digest text,                                    -- the image this token may fetch
	changed_at timestamptz not null default now()
);
create unique index boot_intent_token on boot_intent (token);
create unique index boot_intent_nonce on boot_intent (nonce);
grant select on boot_intent to bampi_bootd;
grant select, insert, update, delete on boot_intent to bampid;

-- What bootd saw a node do, the latest per kind: evidence for steps and problems. `token` says for which netboot attempt.
create table boot_observation (
	node_id bigint not null references node on delete cascade,
	kind text not null check (kind in ('dhcp', 'tftp', 'script', 'kernel', 'ramdisk', 'agent', 'image', 'callback')),
	at timestamptz not null,
	token text not null default '',
	detail text not null default '',
	bytes bigint not null default 0,
	primary key (node_id, kind)
);
grant select on boot_observation to bampid, portald;
grant select, insert, update on boot_observation to bampi_bootd;

create table agent_task (
	id bigint generated always as identity primary key,
	deployment_id bigint not null references deployment on delete cascade,
	node_id bigint not null references node on delete cascade,
	token text not null,                   -- the netboot attempt it is for
	step text not null,
	kind text not null check (kind in ('inventory', 'write_image', 'configure_os', 'erase', 'verify_erased', 'power_off')),
	params jsonb not null default '{}',
	state text not null default 'queued' check (state in ('queued', 'taken', 'done', 'failed', 'dropped')),
	result jsonb,
	problem jsonb,
	created_at timestamptz not null default now(),
	updated_at timestamptz not null default now(),
	constraint failed_task_has_problem check (state <> 'failed' or problem is not null)
);
create index agent_task_open on agent_task (token, id) where state in ('queued', 'taken');
create index agent_task_deployment on agent_task (deployment_id, id);
grant select on agent_task to bampi_bootd, bampid;
grant update (state, result, problem, updated_at) on agent_task to bampi_bootd, bampid;
grant insert on agent_task to bampid;

-- Something the deployment waits for has happened: make it due now. The caller notifies 'deployment' once per batch.
create function deployment_touch(p_deployments bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	update deployment set due_at = least(due_at, now()) where id = any (p_deployments) and due_at is not null
$$;
grant execute on function deployment_touch(bigint[]) to bampi_bootd, bampid;

-- Operations that a person asks of one BMC; claimed by bampid like deployments.
create table node_action (
	id bigint generated always as identity primary key,
	job_id bigint not null references job,
	node_id bigint not null references node on delete cascade,
	node text not null,
	tenant_id bigint references tenant,
	action text not null check (action in ('power_on', 'power_off', 'power_cycle', 'power_reset', 'power_soft', 'power_status', 'boot_device',
					       'identify', 'sensors', 'sel', 'fru', 'users', 'lan')),
	params jsonb not null default '{}',
	actor text not null,
	state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
	due_at timestamptz default now(),
	claim_owner text,
	claim_until timestamptz,
	generation bigint not null default 0,
	result jsonb,
	problem jsonb,
	created_at timestamptz not null default now(),
	ended_at timestamptz,
	constraint unfinished_action_has_due_time check ((state in ('queued', 'running')) = (due_at is not null))
);
create trigger node_action_node_name before insert on node_action for each row execute function node_name_fill();
create index node_action_due on node_action (due_at) where due_at is not null;
alter table node_action enable row level security;
create policy action_portald on node_action for select to portald using (in_scope(tenant_id));
create policy action_daemon on node_action to bampid using (true) with check (true);
grant select on node_action to portald;
grant select, update on node_action to bampid;

-- Proof of erasure: bodies signed by bampid, each naming the hash of the one before. Nobody may change or delete one.
create table certificate (
	id bigint generated always as identity primary key,
	node text not null,
	deployment_id bigint not null,
	body text not null,
	previous_hash text not null unique,   -- two writers cannot fork the chain; the first has 64 zeros
	hash text not null unique,
	signature text not null,
	public_key text not null,
	created_at timestamptz not null default now()
);
create function certificate_is_final() returns trigger language plpgsql as $$
begin
	raise exception 'certificates are never changed or deleted' using errcode = 'HA403';
end
$$;
create trigger certificate_final before update or delete or truncate on certificate for each statement execute function certificate_is_final();
grant select, insert on certificate to bampid;
grant select on certificate to portald;

-- Asks for one plan on many nodes, all or none. One row per node: deployment id, or why it is refused. With any refusal nothing is made.
create function deployment_create(p_plan text, p_nodes text[], p_image text, p_tenant text, p_params jsonb, p_actor text)
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
grant execute on function deployment_create(text, text[], text, text, jsonb, text) to portald;

-- cancel, retry, clear. Null = done, else why not.
create function deployment_request(p_deployment bigint, p_verb text, p_actor text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	d deployment%rowtype;
	n node%rowtype;
begin
	select * into d from deployment where id = p_deployment for update;
	if not found or not in_scope(d.tenant_id) then
		raise exception 'deployment % does not exist', p_deployment using errcode = 'HA404', hint = 'haasctl deployment list';
	end if;
	select * into n from node where id = d.node_id for update;
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
grant execute on function deployment_request(bigint, text, text) to portald;

-- Asks for one BMC operation on many nodes; refuses to touch the power of a node that is being worked on unless p_force.
create function node_action_create(p_nodes text[], p_action text, p_params jsonb, p_force boolean, p_actor text)
returns table (node text, action_id bigint, job_id bigint, refused text, hint text)
language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	v_job bigint;
	n node%rowtype;
	v_name text;
	v_why text;
	v_hint text;
	v_refused boolean := false;
	v_id bigint;
begin
	foreach v_name in array p_nodes loop
		select * into n from node x where x.name = v_name;
		v_why := null;
		v_hint := null;
		if not found or not in_scope(n.tenant_id) then
			v_why := format('node %s does not exist', v_name);
			v_hint := 'haasctl node list shows the nodes';
		elsif not exists (select from bmc b where b.node_id = n.id) then
			v_why := format('node %s has no BMC', v_name);
			v_hint := 'import it with bmc_address, bmc_username and bmc_password';
		elsif not p_force and p_action in ('power_on', 'power_off', 'power_cycle', 'power_reset', 'power_soft', 'boot_device')
		      and exists (select from deployment d where d.node_id = n.id and d.due_at is not null) then
			v_why := format('node %s is being worked on', v_name);
			v_hint := 'wait for its deployment, cancel it, or say --force';
		end if;
		if v_why is not null then
			v_refused := true;
			node := v_name; action_id := null; job_id := null; refused := v_why; hint := v_hint;
			return next;
		end if;
	end loop;
	if v_refused then
		return;
	end if;
	insert into job (kind, actor, tenant_id) values ('node.' || p_action, p_actor, current_tenant()) returning id into v_job;
	foreach v_name in array p_nodes loop
		select * into n from node x where x.name = v_name;
		insert into node_action (job_id, node_id, tenant_id, action, params, actor)
		values (v_job, n.id, n.tenant_id, p_action, coalesce(p_params, '{}'), p_actor) returning id into v_id;
		perform event_add(p_actor, 'node.action', 'node', n.name, n.tenant_id, p_action || ' asked for', jsonb_build_object('action', v_id));
		node := n.name; action_id := v_id; job_id := v_job; refused := null; hint := null;
		return next;
	end loop;
	perform pg_notify('deployment', '');
end
$$;
grant execute on function node_action_create(text[], text, jsonb, boolean, text) to portald;
