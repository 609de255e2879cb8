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

-- ==== functions ====

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
			-- The one before the present one is forgotten now.
			update rotation r set state = 'done', ended_at = now(), due_at = null where r.node_id = v_id and r.ended_at is null;
			update bmc x set password_former = null, password_next = null where x.node_id = v_id;
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
grant execute on function rotation_begin(text[],integer,text) to portald;
grant execute on function rotation_step(bigint,bigint,text,text,jsonb) to bampid;
