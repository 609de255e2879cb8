-- Secrets that are exchanged for new ones. Old and new are both kept until the new one has proven itself, so that a program which ends at any
-- moment loses neither.

-- ==== shape ====

-- One exchange. begun: the new password is made, and perhaps set. trial: it counts, and was not used yet. both: it was used; the old one is kept
-- until keep_until. The secrets themselves lie in bmc: password_sealed counts, password_next is the one to come, password_former the one before.
create table rotation (
	id bigint generated always as identity primary key,
	node_id bigint references node on delete cascade,
	node text not null,
	state text not null default 'begun' check (state in ('begun', 'trial', 'both', 'done', 'failed')),
	actor text not null,
	begun_at timestamptz not null default now(),
	proven_at timestamptz,
	keep_s integer not null check (keep_s between 0 and 31536000),
	keep_until timestamptz,
	ended_at timestamptz,
	tries integer not null default 0,       -- times that the BMC took neither
	problem jsonb,                          -- why it waits, or failed
	due_at timestamptz default now(),
	claim_owner text,
	claim_until timestamptz,
	generation bigint not null default 0,
	constraint rotation_ends check ((ended_at is not null) = (state in ('done', 'failed')))
);
create unique index rotation_one_open on rotation (node_id) where ended_at is null;
create index rotation_due on rotation (due_at) where ended_at is null;

-- A daemon that exchanges its seal key. begun: asked for. sealing: the new key lies beside the old one, portald seals to it, and what was sealed before is
-- sealed anew, row by row. both: all is sealed to the new one; the old one is kept for backups until keep_until.
create table seal_rotation (
	id bigint generated always as identity primary key,
	daemon text not null check (daemon in ('bampid', 'peregrined')),
	state text not null default 'begun' check (state in ('begun', 'sealing', 'both', 'done')),
	actor text not null,
	begun_at timestamptz not null default now(),
	keep_s integer not null check (keep_s between 0 and 31536000),
	keep_until timestamptz,
	ended_at timestamptz,
	resealed bigint not null default 0,
	lost bigint not null default 0,         -- rows that neither key opens
	problem jsonb,                          -- why it waits
	constraint seal_rotation_ends check ((ended_at is not null) = (state = 'done'))
);
create unique index seal_rotation_one_open on seal_rotation (daemon) where ended_at is null;

-- ==== functions ====

create function seal_rotation_begin(p_daemon text, p_keep_s integer, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
begin
	if not is_operator() then
		raise exception 'only an operator may exchange keys' using errcode = 'HA403';
	end if;
	if not exists (select from daemon_key where daemon = p_daemon) then
		raise exception '% has no key that anything is sealed to', p_daemon using errcode = 'HA404', hint = 'bampid and peregrined have one, once they were started';
	end if;
	if exists (select from seal_rotation where daemon = p_daemon and ended_at is null) then
		raise exception 'the key of % is being exchanged, or its old one is kept', p_daemon using errcode = 'HA409', hint = 'haasctl rotation keys shows until when';
	end if;
	insert into seal_rotation (daemon, keep_s, actor) values (p_daemon, p_keep_s, p_actor) returning id into v_id;
	perform event_add(p_actor, 'daemon.key_rotation', 'daemon', p_daemon, null, 'its seal key is to be exchanged');
	perform pg_notify('inventory', ''), pg_notify('fabric', '');
	return v_id;
end
$$;

create function seal_rotation_check(p_daemon text) returns void language plpgsql as $$
begin
	if not pg_has_role(session_user, p_daemon, 'member') then
		raise exception 'role % is not %', session_user, p_daemon using errcode = 'HA403';
	end if;
end
$$;

-- What the daemon has to do. instances: those of it that were heard lately, the one that asks among them.
create function seal_rotation_now(p_daemon text)
returns table (id bigint, state text, instances bigint, ended boolean) language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check(p_daemon);
	return query select r.id, r.state, (select count(*) from daemon d where d.name = p_daemon and d.seen_at > now() - interval '15 s'),
		coalesce(r.keep_until <= now(), false)
	from seal_rotation r where r.daemon = p_daemon and r.ended_at is null;
end
$$;

create function seal_rotation_step(p_daemon text, p_id bigint, p_state text, p_lost bigint, p_problem jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check(p_daemon);
	update seal_rotation r set state = p_state, lost = coalesce(p_lost, r.lost), problem = nullif(p_problem, 'null'),
		keep_until = case when p_state = 'both' and r.state <> 'both' then now() + make_interval(secs => r.keep_s) else r.keep_until end,
		ended_at = case when p_state = 'done' then now() end
	where r.id = p_id and r.daemon = p_daemon and r.ended_at is null;
	if found and nullif(p_problem, 'null') is null and p_state in ('both', 'done') then
		perform event_add(p_daemon, 'daemon.key_rotated', 'daemon', p_daemon, null,
				  case p_state when 'both' then 'all its secrets are sealed to its new key' else 'its old seal key is destroyed' end);
	end if;
end
$$;

-- Everything that is sealed to a daemon, in the order of (id, part).
create function sealed_rows(p_daemon text, p_id bigint, p_part text)
returns table (id bigint, part text, sealed bytea) language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check(p_daemon);
	return query select x.id, x.part, x.sealed from (
		select b.node_id as id, v.part, v.sealed from bmc b
		cross join lateral (values ('password'::text, b.password_sealed), ('password_former', b.password_former), ('password_next', b.password_next)) v(part, sealed)
		where p_daemon = 'bampid'
		union all
		select e.switch_id, 'secrets', e.secrets_sealed from switch_endpoint e where p_daemon = 'peregrined') x
	where x.sealed is not null and (x.id, x.part) > (p_id, p_part) order by x.id, x.part limit 256;
end
$$;

-- Only if it is still what was opened: somebody may have given another one meanwhile.
create function sealed_put(p_daemon text, p_rotation bigint, p_rows jsonb)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_count bigint := 0;
	r record;
begin
	perform seal_rotation_check(p_daemon);
	for r in select * from jsonb_to_recordset(p_rows) as x (id bigint, part text, old text, new text) order by id, part loop
		if p_daemon = 'bampid' then
			update bmc set password_sealed = case when r.part = 'password' then decode(r.new, 'hex') else password_sealed end,
				password_former = case when r.part = 'password_former' then decode(r.new, 'hex') else password_former end,
				password_next = case when r.part = 'password_next' then decode(r.new, 'hex') else password_next end
			where node_id = r.id and decode(r.old, 'hex') = case r.part when 'password' then password_sealed when 'password_former' then password_former else password_next end;
		else
			update switch_endpoint set secrets_sealed = decode(r.new, 'hex') where switch_id = r.id and secrets_sealed = decode(r.old, 'hex');
		end if;
		v_count := v_count + case when found then 1 else 0 end;
	end loop;
	update seal_rotation set resealed = resealed + v_count where id = p_rotation and daemon = p_daemon;
	return v_count;
end
$$;

-- Asks for new BMC passwords. One row per node: null, or why it is refused.
create function rotation_begin(p_nodes text[], p_keep_s integer, p_actor text)
returns table (node text, refused text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	v_name text;
	v_id bigint;
	b bmc%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may change passwords of BMCs' using errcode = 'HA403';
	end if;
	foreach v_name in array array(select distinct x from unnest(p_nodes) x order by x) loop
		select n.id into v_id from node n where n.name = v_name;
		node := v_name;
		refused := null;
		if not found then
			refused := format('node %s does not exist', v_name);
		else
			select * into b from bmc x where x.node_id = v_id for update;
			if not found or b.password_sealed is null then
				refused := format('node %s has no BMC with a password', v_name);
			elsif b.driver not in ('ipmi', 'redfish') then
				refused := format('the BMC of node %s is reached by %s, which sets no password', v_name, b.driver);
			elsif exists (select from rotation r where r.node_id = v_id and r.ended_at is null and r.state <> 'both') then
				refused := format('the password of node %s is being changed', v_name);
			end if;
		end if;
		if refused is null then
			-- The one before the present one is forgotten now. Not one that a failed exchange left in password_next: the BMC may have it.
			update rotation r set state = 'done', ended_at = now(), due_at = null where r.node_id = v_id and r.ended_at is null;
			update bmc x set password_former = null where x.node_id = v_id;
			insert into rotation (node_id, node, actor, keep_s) values (v_id, v_name, p_actor, p_keep_s);
			perform event_add(p_actor, 'bmc.rotation_begun', 'node', v_name, null, 'the password of its BMC is to be changed');
		end if;
		return next;
	end loop;
	perform pg_notify('deployment', '');
end
$$;

-- One step of an exchange, by the bampid whose claim holds: false = it does not hold any more. next: the new password, sealed, before it is set.
-- swap: it may be set: it counts from now on. back: the BMC refuses it. proven, later, fail, end.
create function rotation_step(p_id bigint, p_generation bigint, p_step text, p_sealed text, p_problem jsonb)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r rotation%rowtype;
	b bmc%rowtype;
	v_node bigint;
begin
	select node_id into v_node from rotation where id = p_id;
	select * into b from bmc where node_id = v_node for update;   -- before the rotation: lock order
	select * into r from rotation where id = p_id and generation = p_generation and ended_at is null for update;
	if r.id is null or b.node_id is null then
		return false;
	end if;
	if p_step = 'next' then
		update bmc set password_next = decode(p_sealed, 'hex') where node_id = b.node_id;
		return true;
	elsif p_step = 'swap' and r.state = 'begun' and b.password_next is not null then
		update bmc set password_sealed = b.password_next, password_former = b.password_sealed, password_next = null where node_id = b.node_id;
		update rotation set state = 'trial', problem = null, due_at = now(), claim_until = null where id = r.id;
	elsif p_step = 'back' and r.state = 'trial' and b.password_former is not null then
		update bmc set password_sealed = b.password_former, password_next = b.password_sealed, password_former = null where node_id = b.node_id;
		update rotation set state = case when r.tries > 0 then 'failed' else 'begun' end, tries = r.tries + 1, problem = p_problem,
			ended_at = case when r.tries > 0 then now() end, due_at = case when r.tries > 0 then null else now() end, claim_until = null
		where id = r.id;
		if r.tries > 0 then -- password_next stays: it may be the one that the BMC has
			perform event_add('bampid', 'bmc.rotation_failed', 'node', r.node, null, 'the BMC takes neither its old nor its new password', p_problem);
		end if;
	elsif p_step = 'proven' and r.state = 'trial' then
		update bmc set password_at = now() where node_id = b.node_id;
		update rotation set state = 'both', proven_at = now(), problem = null, keep_until = now() + make_interval(secs => r.keep_s),
			due_at = now() + make_interval(secs => r.keep_s), claim_until = null
		where id = r.id;
		perform event_add('bampid', 'bmc.password_changed', 'node', r.node, null, 'its BMC has a new password, and took it');
	elsif p_step = 'later' then
		update rotation set problem = p_problem, due_at = now() + interval '30 s', claim_until = null where id = r.id;
	elsif p_step = 'fail' and r.state = 'begun' then
		update bmc set password_next = null where node_id = b.node_id;
		update rotation set state = 'failed', ended_at = now(), due_at = null, problem = p_problem where id = r.id;
		perform event_add('bampid', 'bmc.rotation_failed', 'node', r.node, null, 'the password of its BMC stays: ' || (p_problem ->> 'message'), p_problem);
	elsif p_step = 'end' and r.state = 'both' then
		update bmc set password_former = null where node_id = b.node_id;
		update rotation set state = 'done', ended_at = now(), due_at = null where id = r.id;
	else
		return false;
	end if;
	perform pg_notify('inventory', '');
	perform pg_notify('deployment', '');
	return true;
end
$$;

-- ==== triggers, views, rights ====

grant select on rotation to portald, bampid;
grant update (claim_owner, claim_until, generation) on rotation to bampid;
grant select on seal_rotation to portald;
grant execute on function seal_rotation_begin(text,integer,text) to portald;
grant execute on function seal_rotation_now(text) to bampid, peregrined;
grant execute on function seal_rotation_step(text,bigint,text,bigint,jsonb) to bampid, peregrined;
grant execute on function sealed_rows(text,bigint,text) to bampid, peregrined;
grant execute on function sealed_put(text,bigint,jsonb) to bampid, peregrined;
grant execute on function rotation_begin(text[],integer,text) to portald;
grant execute on function rotation_step(bigint,bigint,text,text,jsonb) to bampid;
