-- Deployments, their steps, boot intents and observations, agent tasks, node actions, erase certificates.

-- ==== shape ====

create type deployment_state as enum ('queued', 'waiting', 'cancelling', 'done', 'failed', 'cancelled', 'cleared');

-- For what a deployment waits: its step works as usual, or something outside of the step has to happen.
create type wait_kind as enum ('work', 'pause', 'daemon', 'retry', 'bmc', 'agent', 'console', 'switch', 'storage');

create table deployment (
	id bigint generated always as identity primary key,
	job_id bigint references job,
	plan text not null check (plan in ('inspect', 'install', 'reinstall', 'release')),
	node_id bigint not null references node on delete cascade,
	node text not null,                   -- its name: a tenant reads of its deployments after the node left it
	tenant_id bigint references tenant on delete set null,
	image_id bigint references image on delete set null,
	image text not null default '',       -- its NAME:VERSION: history outlives it
	actor text not null,
	params jsonb not null default '{}',   -- hostname, ssh_keys, user_data, addresses, bonds, packages, disk
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
	paused jsonb,                         -- the health label that pauses it
	paused_at timestamptz,
	waiting_reason jsonb,                 -- for what its step waits, {message, detail, hint, kind}; written with each look
	waiting_since timestamptz,            -- since when its message is the same
	constraint waiting_has_time check ((waiting_reason is null) = (waiting_since is null)),
	constraint ended_waits_for_nothing check (waiting_reason is null or due_at is not null),
	constraint unfinished_has_due_time check ((state in ('queued', 'waiting', 'cancelling')) = (due_at is not null)),
	constraint failed_has_problem check (state <> 'failed' or problem is not null),
	constraint install_names_image check (plan not in ('install', 'reinstall') or (image <> '' and (image_id is not null or due_at is null))),
	constraint ended_has_time check ((state in ('done', 'failed', 'cancelled', 'cleared')) = (ended_at is not null)),
	constraint paused_is_unfinished check (paused is null or (due_at is not null and state <> 'cancelling' and paused_at is not null))
);
create unique index deployment_one_active on deployment (node_id) where due_at is not null;
create index deployment_due on deployment (due_at) where due_at is not null;
create index deployment_node on deployment (node_id, id);
create index deployment_job on deployment (job_id);
alter table deployment enable row level security;

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

-- The latest progress per deployment: a value, not an event. bootd flushes all once a second.
create table progress (
	deployment_id bigint primary key references deployment on delete cascade,
	percent integer not null check (percent between 0 and 100),
	done_bytes bigint not null default 0,
	total_bytes bigint not null default 0,
	text text not null default '',
	updated_at timestamptz not null default now()
);

-- What a node is to start next. Written by the steps, read by bootd; without a row the node's state decides (target_policy).
create table boot_intent (
	node_id bigint primary key references node on delete cascade,
	target text not null check (target in ('agent', 'disk')),
	deployment_id bigint not null references deployment on delete cascade,
	token text not null check (token ~ '^[0-9a-f]{32}$'),  -- of the agent, new for each netboot attempt
	nonce text not null check (nonce ~ '^[0-9a-f]{32}$'),  -- in the installed OS's callback URL
	stored_digest text,                                    -- the image this token may fetch
	changed_at timestamptz not null default now(),
	package_digests text not null default '',             -- packages that this token may fetch; digests, a blank between them
	-- Of this token: who was given its script, and the one agent that uses it (boot.sql).
	fetched_at timestamptz,
	fetched_by jsonb,                                      -- {"address", "mac", "place", "relay"}
	fetched_connection text,
	fetch_count integer not null default 1,                -- of a fetched one: how often it was given, less what was taken back
	agent_key text check (agent_key ~ '^[0-9a-f]{64}$'),   -- secrets and tasks of this boot are for this agent alone
	agent_by jsonb,
	ended_at timestamptz,                                  -- the token opens nothing any more
	ended_why text,
	constraint ended_boot_has_reason check ((ended_at is null) = (ended_why is null))
);
create unique index boot_intent_token on boot_intent (token);
create unique index boot_intent_nonce on boot_intent (nonce);

-- What bootd saw a node do, the latest per kind: evidence for steps and problems. `token` says for which netboot attempt.
create table boot_observation (
	node_id bigint not null references node on delete cascade,
	kind text not null check (kind in ('dhcp', 'tftp', 'script', 'kernel', 'ramdisk', 'agent', 'image', 'callback', 'loader')),
	at timestamptz not null,
	token text not null default '',
	detail text not null default '',
	bytes bigint not null default 0,
	primary key (node_id, kind)
);

create table agent_task (
	id bigint generated by default as identity primary key, -- bampid draws it first: it is part of what is signed
	deployment_id bigint not null references deployment on delete cascade,
	node_id bigint not null references node on delete cascade,
	token text not null,                   -- the netboot attempt it is for
	step text not null,
	kind text not null check (kind in ('inventory', 'write_image', 'configure_os', 'put_packages', 'erase', 'verify_erased', 'power_off', 'attest')),
	params json not null default '{}',     -- json keeps the bytes: they are signed
	statement text not null,               -- for whom, for which boot and how long; signed by bampid (common/net/task_wire.h)
	signature text not null check (signature ~ '^[0-9a-f]{128}$'),
	agent text generated always as (substring(statement from '\nagent ([0-9a-f]{64})\n')) stored,  -- whose signature its result needs
	state text not null default 'queued' check (state in ('queued', 'taken', 'done', 'failed', 'dropped')),
	result jsonb,
	problem jsonb,
	created_at timestamptz not null default now(),
	updated_at timestamptz not null default now(),
	constraint failed_task_has_problem check (state <> 'failed' or problem is not null)
);
create index agent_task_open on agent_task (token, id) where state in ('queued', 'taken');
create index agent_task_deployment on agent_task (deployment_id, id);

-- Operations that a person asks of one BMC; claimed by bampid like deployments.
create table node_action (
	id bigint generated always as identity primary key,
	job_id bigint not null references job,
	node_id bigint not null references node on delete cascade,
	node text not null,
	tenant_id bigint references tenant on delete set null,
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
create index node_action_due on node_action (due_at) where due_at is not null;
alter table node_action enable row level security;

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

-- ==== functions ====

create function deployment_touch(p_deployments bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	update deployment set due_at = least(due_at, now())
	where id = any (array(select id from deployment where id = any (p_deployments) and due_at is not null order by id for no key update))
	  and due_at is not null
$$;

create function deployment_image_fill() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	new.image := coalesce((select i.name || ':' || i.version from image i where i.id = new.image_id), '');
	return new;
end
$$;

-- What a tenant gave for its OS is its secret, and it is in the OS now.
create function deployment_forget_user_data() returns trigger language plpgsql as $$
begin
	new.params := new.params - 'user_data';
	return new;
end
$$;

create function agent_task_forget_user_data() returns trigger language plpgsql as $$
begin
	new.params := (new.params::jsonb - 'user_data')::json;
	return new;
end
$$;

create function certificate_is_final() returns trigger language plpgsql as $$
begin
	raise exception 'certificates are never changed or deleted' using errcode = 'HA403';
end
$$;

-- cancel, retry, clear. Null = done, else the reason. The node is locked before its deployment; a caller with many calls deployment_lock for
-- all of them first.
create function deployment_request(p_deployment bigint, p_verb text, p_actor text)
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
			waiting_reason = null, waiting_since = null, version = version + 1
		where id = d.id;
	when 'retry' then
		if d.state <> 'failed' then
			return format('deployment %s is %s; only a failed one can be retried', d.id, d.state);
		elsif exists (select from deployment x where x.node_id = d.node_id and x.id > d.id) then
			return format('node %s has a newer deployment', n.name);
		elsif d.plan in ('install', 'reinstall') and d.image_id is null then
			return format('image %s is deleted', d.image);
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

-- What is claimed by bampid and is not: {message, detail, hint, since}. Null: it was claimed, or is due since less than 10 s.
create function unclaimed_reason(p_due timestamptz, p_claimed timestamptz, p_created timestamptz)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case
	       when a is not null and (a ->> 'since' is not null or p_created < now() - interval '10 s') then
		a || jsonb_build_object('kind', 'daemon'::wait_kind, 'message', 'nobody works on it: ' || (a ->> 'message'), 'since', coalesce(a ->> 'since', p_created::text)::timestamptz)
	       when p_due < now() - interval '10 s' and coalesce(p_claimed, '-infinity') < now() - interval '10 s' then
		jsonb_build_object('kind', 'daemon'::wait_kind, 'message', 'nobody has claimed it, though bampid is heard', 'detail', 'bampid may be too busy, or its database be away',
				   'hint', 'on the controller: journalctl -u bampid', 'since', p_due)
	       end
	from daemon_absence('bampid') a
$$;

-- For what an unfinished deployment waits: {message, detail, hint, since}. A pause comes first, then who would have to work on it, then its step.
create function deployment_waiting(d deployment) returns jsonb stable language sql set search_path = haas, pg_temp as $$
	select case
	       when d.due_at is null then null
	       when d.paused is not null then (d.paused - 'code') || jsonb_build_object('kind', 'pause'::wait_kind, 'since', d.paused_at)
	       else coalesce(unclaimed_reason(d.due_at, d.claim_until, d.created_at),
			     (select a || jsonb_build_object('kind', 'daemon'::wait_kind, 'detail', concat_ws('; ', a ->> 'detail', d.waiting_reason ->> 'message'))
			      from (values ('bampi-bootd', '{netboot,agent,inventory,write_image,configure_os,put_packages,scrub,verify_scrubbed}'::text[]),
					   ('peregrined', '{isolate,attach,detach,park}')) w (daemon, steps), daemon_absence(w.daemon) a
			      where d.step = any (w.steps) and a ->> 'since' is not null),
			     (d.waiting_reason - 'code') || jsonb_build_object('kind', coalesce((d.waiting_reason ->> 'kind')::wait_kind, 'work'), 'since', d.waiting_since))
	       end
$$;

-- Why a node's power and disks are not touched: its PDCI is locked. No row: it is not.
create function node_locked(p_node bigint)
returns table (refused text, hint text) stable language sql security definer set search_path = haas, pg_temp as $$
	select format('node %s belongs to PDCI %s, which is locked', m.node, p.name), format('haasctl pdci unlock %s, if it is meant', p.name)
	from pdci_node m join pdci p on p.id = m.pdci_id where m.node_id = p_node and m.released_at is null and p.locked
$$;

-- Why a tenant reaches into nothing of its node now: before the hand-over and during a scrub what runs there is ours. Null: the node is its own.
create function node_not_handed_over(n node) returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select case when n.state <> 'active' then format('node %s is %s: its tenant has it while it is active', n.name, n.state)
		    when exists (select from deployment d where d.node_id = n.id and d.due_at is not null) then format('node %s is being worked on', n.name) end
$$;

-- What a tenant has asked of its node and nobody has begun is not done when the node is worked on.
create function deployment_drop_actions() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	update node_action a set state = 'failed', due_at = null, ended_at = now(),
		problem = jsonb_build_object('code', 'conflict', 'message', format('node %s is being worked on', new.node), 'hint', 'ask again when its deployment is done')
	from job j where j.id = a.job_id and j.tenant_id is not null and a.node_id = new.node_id and a.state = 'queued' and a.due_at is not null;
	return null;
end
$$;

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
		elsif not is_operator() and (p_force or p_action in ('power_on', 'power_off', 'power_cycle', 'power_reset', 'power_soft', 'boot_device'))
		      and node_not_handed_over(n) is not null then
			v_why := node_not_handed_over(n);
			v_hint := 'wait until its deployment is done: haasctl node show ' || v_name;
		elsif not p_force and p_action in ('power_on', 'power_off', 'power_cycle', 'power_reset', 'power_soft', 'boot_device')
		      and exists (select from deployment d where d.node_id = n.id and d.due_at is not null) then
			v_why := format('node %s is being worked on', v_name);
			v_hint := 'wait for its deployment, cancel it, or use --force';
		elsif p_action in ('power_off', 'power_cycle', 'power_reset', 'power_soft') then
			select l.refused, l.hint into v_why, v_hint from node_locked(n.id) l;
		end if;
		if v_why is not null then
			node := v_name; action_id := null; job_id := null; refused := v_why; hint := v_hint;
			return next;
			continue;
		end if;
		if v_job is null then
			insert into job (kind, actor, tenant_id) values ('node.' || p_action, p_actor, current_tenant()) returning id into v_job;
		end if;
		insert into node_action (job_id, node_id, tenant_id, action, params, actor)
		values (v_job, n.id, n.tenant_id, p_action, coalesce(p_params, '{}'), p_actor) returning id into v_id;
		perform event_add(p_actor, 'node.action', 'node', n.name, n.tenant_id, p_action || ' asked for', jsonb_build_object('action', v_id));
		node := n.name; action_id := v_id; job_id := v_job; refused := null; hint := null;
		return next;
	end loop;
	if v_job is not null then
		perform pg_notify('deployment', '');
	end if;
end
$$;

create function deployment_pause_problem(p_node bigint)
returns jsonb stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	l health_label := health_effect(p_node, 'no_automation');
begin
	if l.label is null then
		return null;
	end if;
	return jsonb_build_object('code', 'paused', 'message', format('no automation: the node has the health label %s', l.label), 'detail', l.reason,
				  'hint', format('the deployment continues when the label is cleared: haasctl node health %s; or cancel it',
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

-- Asks for one plan on many nodes. All nodes are locked before the first is looked at. One row per node: the deployment's id, or why the node
-- refuses it.
create function deployment_create(p_plan text, p_nodes text[], p_image text, p_tenant text, p_params jsonb, p_actor text, p_force boolean default false,
				   p_counted boolean default false)
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
		if v_tenant is null then
			raise exception 'the request is in no tenant''s scope' using errcode = 'HA403';
		end if;
	end if;
	if not is_operator() and p_params ? 'lost_drives' then
		raise exception 'only an operator may say that a drive is lost' using errcode = 'HA403', hint = 'leave out --lost-drive; the operator looks for the drive';
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
		if not found or not (in_scope(n.tenant_id) or (n.state = 'free' and p_plan = 'install')) then
			v_why := format('node %s does not exist', v_name);
			v_hint := 'haasctl node list shows the nodes';
		elsif exists (select from deployment d where d.node_id = n.id and d.due_at is not null) then
			select format('node %s is busy with deployment %s (%s)', n.name, d.id, d.plan),
			       format('haasctl deployment watch %s, or cancel it', d.id)
			into v_why, v_hint from deployment d where d.node_id = n.id and d.due_at is not null;
		elsif (select r.next is null from node_transition_rule r where r.state = n.state and r.event = v_event) then
			v_why := format('node %s is %s%s; plan %s is not possible from there', n.name, n.state,
					case when n.dirty then ' and dirty' else '' end, p_plan);
			v_hint := case n.state when 'discovered' then format('haasctl node accept %s if its disks hold no tenant''s data, else release it', n.name)
				  when 'held' then format('haasctl node unhold %s when its cause no longer exists', n.name)
				  when 'broken' then format('haasctl node repair %s after its repair', n.name)
				  else format('haasctl node show %s shows its state', n.name) end;
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
			v_why := format('node %s is not allocated: health label %s, %s', n.name, v_label.label, v_label.reason);
			v_hint := case when is_operator() then
					format('%shaasctl node health %s shows the cause; haasctl health clear %s %s after its repair, or use --force',
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

	if p_plan = 'install' and v_tenant is not null and not p_counted then
		perform tenant_limit_hold(v_tenant, 'nodes', (select jsonb_agg(jsonb_build_object('class', x.class, 'count', 1)) from node x where x.name = any (p_nodes)));
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

-- Deployments with their nodes, before more than one of them is asked for something in one transaction. Returns those that there are, in order.
create function deployment_lock(p_deployments bigint[])
returns setof bigint language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform node_lock(array(select node_id from deployment where id = any (p_deployments)));
	return query select id from deployment where id = any (p_deployments) order by id for no key update;
end
$$;

-- The same for a person who asks for many: those that may be seen. How many they are.
create function deployment_lock_seen(p_deployments bigint[])
returns bigint language sql security definer set search_path = haas, pg_temp as $$
	select count(*) from deployment_lock(array(select d.id from deployment d where d.id = any (p_deployments) and in_scope(d.tenant_id)))
$$;

-- Describes the requested packages as they are now, in the order of the request: [{"name", "version", "kind", "digest", "size_bytes",
-- "allowed"}]. Null: no packages. A deleted package has its name and "allowed": false.
create function deployment_packages(p_params jsonb, p_tenant bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_agg(jsonb_build_object('name', split_part(w.name, ':', 1), 'version', substr(w.name, strpos(w.name, ':') + 1), 'kind', p.kind, 'digest', p.digest,
					    'size_bytes', p.size_bytes, 'allowed', package_allowed(w.name, p_tenant)) order by w.at)
	from jsonb_array_elements_text(case jsonb_typeof(p_params -> 'packages') when 'array' then p_params -> 'packages' end) with ordinality as w (name, at)
	left join package p on p.name = split_part(w.name, ':', 1) and p.version = substr(w.name, strpos(w.name, ':') + 1)
$$;

create function deployment_packages_check() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform packages_check(new.params, new.tenant_id);
	return new;
end
$$;

create function boot_intent_packages() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	new.package_digests := case when new.target = 'agent' then coalesce((
		select string_agg(x ->> 'digest', ' ') from deployment d, jsonb_array_elements(deployment_packages(d.params, d.tenant_id)) x
		where d.id = new.deployment_id and d.plan in ('install', 'reinstall') and (x -> 'allowed')::boolean), '') else '' end;
	return new;
end
$$;

-- deployment_create for people. The PDCI itself removes a node, or gives a node that it still has to another tenant, so a person is
-- refused. An operator may insist.
create function deployment_ask(p_plan text, p_nodes text[], p_image text, p_tenant text, p_params jsonb, p_actor text, p_force boolean default false)
returns table (node text, deployment_id bigint, job_id bigint, refused text, hint text)
language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	v_refused boolean := false;
	r record;
begin
	perform node_lock(p_nodes);
	for r in select n.name as node, p.id, p.name, p.tenant_id, p.locked from node n join pdci_node m on m.node_id = n.id and m.released_at is null join pdci p on p.id = m.pdci_id
		 where n.name = any (p_nodes)
		   and ((p_plan = 'install' and (in_scope(p.tenant_id) or n.state = 'free')) or (p_plan = 'release' and in_scope(p.tenant_id) and p.wanted = 'present' and m.replace_asked_at is null)
			or (p_plan = 'reinstall' and in_scope(p.tenant_id) and p.locked))
		   and not exists (select from deployment d where d.node_id = n.id and d.due_at is not null)   -- busy: said as ever
		 order by n.name loop
		if p_force and is_operator() and not r.locked then
			perform event_add(p_actor, 'pdci.overridden', 'pdci', r.name, r.tenant_id, format('%s of its node %s, asked for by hand', p_plan, r.node),
					  jsonb_build_object('pdci', r.id, 'node', r.node, 'plan', p_plan));
			continue;
		end if;
		v_refused := true;
		node := r.node; deployment_id := null; job_id := null;
		if in_scope(r.tenant_id) and r.locked then
			select l.refused, l.hint into refused, hint from node n cross join node_locked(n.id) l where n.name = r.node;
		elsif in_scope(r.tenant_id) then
			refused := format('node %s belongs to PDCI %s', r.node, r.name);
			hint := format('haasctl pdci replace %1$s %2$s replaces the node, haasctl pdci release %1$s returns the whole PDCI%3$s', r.name, r.node,
				       case when is_operator() then '; or use --force: the PDCI then loses the node' else '' end);
		else
			refused := format('node %s is not allocated yet', r.node);
			hint := 'choose another node';
		end if;
		perform event_add(p_actor, 'deployment.refused', 'node', r.node, case when in_scope(r.tenant_id) then r.tenant_id else current_tenant() end, refused, jsonb_build_object('plan', p_plan));
		return next;
	end loop;
	if not v_refused then
		for r in select * from deployment_create(p_plan, p_nodes, p_image, p_tenant, p_params, p_actor, p_force) loop
			if p_plan = 'reinstall' and r.deployment_id is not null then   -- of a PDCI's node: its place says the rest
				perform pdci_place_reinstall(r.deployment_id, p_params);
			end if;
			node := r.node; deployment_id := r.deployment_id; job_id := r.job_id; refused := r.refused; hint := r.hint;
			return next;
		end loop;
	end if;
end
$$;

-- ==== triggers, views, rights ====
create trigger deployment_drop_actions after insert on deployment for each row execute function deployment_drop_actions();
create trigger deployment_node_name before insert on deployment for each row execute function node_name_fill();
create trigger deployment_image_fill before insert on deployment for each row execute function deployment_image_fill();
create trigger node_action_node_name before insert on node_action for each row execute function node_name_fill();
create trigger certificate_final before update or delete or truncate on certificate for each statement execute function certificate_is_final();
create trigger deployment_pause_new before insert on deployment for each row execute function deployment_pause_fill();
create trigger deployment_pause_change before update of state, due_at on deployment for each row
	when (new.state is distinct from old.state or (new.due_at is null) <> (old.due_at is null)) execute function deployment_pause_fill();
create trigger deployment_forget_user_data before update of state on deployment for each row
	when (new.state in ('done', 'cancelled', 'cleared') and new.params ? 'user_data') execute function deployment_forget_user_data();
create trigger agent_task_forget_user_data before update of state on agent_task for each row
	when (new.state in ('done', 'failed', 'dropped') and new.params ->> 'user_data' is not null) execute function agent_task_forget_user_data();
create trigger deployment_packages_check before insert on deployment for each row
	when (new.params ? 'packages' and new.plan in ('install', 'reinstall')) execute function deployment_packages_check();
create trigger boot_intent_packages before insert or update on boot_intent for each row execute function boot_intent_packages();

-- Why a deployment waits, before what went wrong with it.
create view deployment_view with (security_invoker = true) as
select d.id, d.job_id, d.plan, d.node, t.name as tenant, d.tenant_id, nullif(split_part(d.image, ':', 1), '') as image, nullif(split_part(d.image, ':', 2), '') as image_version, d.actor, d.state,
       d.step, d.step_index, d.attempt, coalesce(d.paused, d.problem) as problem, d.version, d.params, d.created_at, d.started_at, d.ended_at, d.step_started_at, d.step_deadline_at,
       p.percent, p.done_bytes, p.total_bytes, p.text as progress,
       (select jsonb_agg(jsonb_build_object('step', s.step, 'state', s.state, 'attempt', s.attempt, 'started_at', s.started_at, 'ended_at', s.ended_at,
						 'problem', s.problem) order by s.step_index, s.attempt)
	from deployment_step s where s.deployment_id = d.id) as steps,
       deployment_waiting(d) as waiting, n.class,
       case when d.due_at is not null and d.state <> 'cancelling' and d.paused is null then
	deployment_eta(e.step_s, e.left_s, case when d.step = '' or d.step_started_at is null then 0 else extract(epoch from now() - d.step_started_at) end, p.percent) end as eta,
       case when d.due_at is not null then
	(select s.problem from deployment_step s where s.deployment_id = d.id and s.state = 'failed' order by s.started_at desc limit 1) end as last_problem
from deployment d
left join node n on n.id = d.node_id
left join tenant t on t.id = d.tenant_id
-- progress belongs to the step that was running when it was told
left join progress p on p.deployment_id = d.id and p.updated_at >= d.step_started_at
left join lateral deployment_pace_of(d.plan, n.class, d.step) e on d.due_at is not null;

create policy deployment_portald on deployment for select to portald using (in_scope(tenant_id));
create policy deployment_daemon on deployment to bampid using (true) with check (true);
create policy deployment_bootd on deployment for select to bampi_bootd using (true);
create policy action_portald on node_action for select to portald using (in_scope(tenant_id));
create policy action_daemon on node_action to bampid using (true) with check (true);
-- bampid neither sees a paused deployment when it claims nor can it save one: whatever it was about to do to the node is not done.
create policy deployment_not_paused on deployment as restrictive for update to bampid using (paused is null) with check (true);

grant select (id) on deployment to bampi_bootd;
grant select on deployment to portald;
grant select, update on deployment to bampid;
grant insert, select, update on deployment_step to bampid;
grant select on deployment_step to portald;
grant insert, select, update on progress to bampi_bootd;
grant select on progress to bampid, portald;
grant select (node_id, target, deployment_id, token, nonce, stored_digest, package_digests, agent_key, ended_at) on boot_intent to bampi_bootd;
grant insert, select, update, delete on boot_intent to bampid;
grant insert, select, update on boot_observation to bampi_bootd;
grant select on boot_observation to bampid;
grant select, update (problem, result, state, updated_at) on agent_task to bampi_bootd;
grant insert, select, update (problem, result, state, updated_at) on agent_task to bampid;
grant usage on sequence agent_task_id_seq to bampid;
grant select, update on node_action to bampid;
grant select on node_action to portald;
grant insert, select on certificate to bampid;
grant select on certificate to portald;
grant select on deployment_view to portald;
grant execute on function deployment_touch(bigint[]) to bampi_bootd, bampid;
grant execute on function deployment_request(bigint,text,text) to portald;
grant execute on function node_action_create(text[],text,jsonb,boolean,text) to portald;
grant execute on function deployment_lock(bigint[]) to portald;
grant execute on function deployment_lock_seen(bigint[]) to portald;
grant execute on function unclaimed_reason(timestamptz,timestamptz,timestamptz) to portald;
grant execute on function deployment_waiting(deployment) to portald;
grant execute on function deployment_packages(jsonb,bigint) to bampid;
grant execute on function deployment_ask(text,text[],text,text,jsonb,text,boolean) to portald;
