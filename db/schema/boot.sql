-- A boot of a node: its script is given once, its agent has one key. Who breaks that ends the boot (docs/decision/boot-token-once.md).

-- ==== shape ====

-- What was wrong with a node's boot, the latest of each kind; an alert for a day.
create table boot_alarm (
	node_id bigint not null references node on delete cascade,
	kind text not null check (kind in ('boot.second_fetch', 'boot.restarted', 'boot.second_agent', 'boot.foreign_asker', 'boot.foreign_port', 'boot.task_refused', 'boot.result_forged')),
	at timestamptz not null default clock_timestamp(),
	message text not null,
	hint text not null default '',
	primary key (node_id, kind)
);
alter table boot_alarm enable row level security;

-- ==== functions ====

-- Words for {"address", "mac", "place", "relay"}: "10.2.0.17 (52:54:00:00:00:01, at sw1:e3)".
create function boot_asker_text(p_asker jsonb)
returns text immutable language sql as $$
	select format('%s (%s, %s)', coalesce(p_asker ->> 'address', 'nobody'), coalesce(nullif(p_asker ->> 'mac', ''), 'its MAC is not seen'),
		      coalesce('at ' || nullif(p_asker ->> 'place', ''), 'behind relay ' || nullif(p_asker ->> 'relay', ''), 'its port is not known'))
$$;

-- An event, and the alert that operation_problem makes of the row. At most one in ten seconds, and one in a second
-- where the asker changes: whoever asks in a loop fills no table.
create function boot_alarm_add(p_node bigint, p_kind text, p_message text, p_hint text, p_detail jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into boot_alarm as a (node_id, kind, message, hint) select n.id, p_kind, p_message, p_hint from node n where n.id = p_node
	on conflict (node_id, kind) do update set at = clock_timestamp(), message = excluded.message, hint = excluded.hint
		where a.at < clock_timestamp() - case when a.message <> excluded.message then interval '1 s' else interval '10 s' end;
	if found then
		perform event_add('bampi-bootd', p_kind, 'node', n.name, null, p_message, p_detail || jsonb_build_object('hint', p_hint)) from node n where n.id = p_node;
	end if;
end
$$;

-- The boot with this token is over: nothing that its token asks is answered, its tasks are dropped, its deployment is due and begins a new boot.
create function boot_end(p_token text, p_kind text, p_message text, p_hint text, p_detail jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node bigint;
	v_deployment bigint;
begin
	select i.node_id, i.deployment_id into v_node, v_deployment from boot_intent i where i.token = p_token;
	-- The order of locks: deployment, task, intent.
	perform deployment_touch(array[v_deployment]);
	perform from agent_task t where t.token = p_token and t.state in ('queued', 'taken') order by t.id for no key update;
	update agent_task set state = 'dropped', updated_at = now() where token = p_token and state in ('queued', 'taken');
	update boot_intent set ended_at = clock_timestamp(), ended_why = p_message where token = p_token and ended_at is null;
	if found then
		perform boot_alarm_add(v_node, p_kind, p_message, p_hint, p_detail || jsonb_build_object('deployment', v_deployment));
		perform pg_notify('deployment', ''), pg_notify('boot_intent', ''), pg_notify('agent_task', '');
	end if;
end
$$;

-- Is the asker at another port than the node's, as the switches hear it? Then an alarm.
create function boot_foreign_port(p_node bigint, p_nic macaddr, p_asker jsonb)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_why text := nic_elsewhere(p_nic);
begin
	if v_why is not null then
		perform boot_alarm_add(p_node, 'boot.foreign_port', format('node %s asked from %s, and %s: its boot is not given', (select name from node where id = p_node),
			boot_asker_text(p_asker), v_why), 'another machine uses its MAC; a node that was moved on purpose: haasctl wiring set, or wiring delete', p_asker);
	end if;
	return v_why is not null;
end
$$;

-- Who asks for the script of the agent's boot. Rows: {"n", "token", "connection", "knows", "leased_s", "nic", "asker"}. `knows`: the asker
-- named the token. `leased_s`: when DHCP last confirmed its address. `nic`: the MAC that has the address. The verdicts:
--   given  the script may be told
--   later  the asker is of the time before this boot was asked for: it is about to be power-cycled
--   elsewhere  switches hear the asker's MAC at another port than the node's
--   ended  the boot is over, with this question or before
create function boot_script_fetch(p_rows jsonb)
returns table (n integer, verdict text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	r record;
	i boot_intent%rowtype;
	v_restarted boolean;
begin
	for r in select x.* from jsonb_to_recordset(p_rows) as x (n integer, token text, connection text, knows boolean, leased_s bigint, nic macaddr, asker jsonb) order by x.token, x.n loop
		n := r.n;
		select * into i from boot_intent b where b.token = r.token and b.target = 'agent';
		if not found or i.ended_at is not null then
			verdict := 'ended';
		elsif r.leased_s + 10 < extract(epoch from i.changed_at) and not r.knows then -- two clocks may differ a little
			verdict := 'later';
		elsif boot_foreign_port(i.node_id, r.nic, r.asker) then
			verdict := 'elsewhere';
		else
			update boot_intent b set fetched_at = clock_timestamp(), fetched_by = r.asker, fetched_connection = r.connection, fetch_count = 1
			where b.token = r.token and b.fetched_at is null and b.ended_at is null;
			if found then
				verdict := 'given';
			else
				select * into i from boot_intent b where b.token = r.token;
				-- The agent has not used the token yet, and it is the asker that has the script already.
				if i.ended_at is null and i.agent_key is null and i.fetched_by ->> 'address' = r.asker ->> 'address' and (r.knows or (r.connection <> '' and i.fetched_connection = r.connection)) then
					update boot_intent b set fetch_count = b.fetch_count + 1 where b.token = r.token;
					verdict := 'given';
				else
					v_restarted := i.agent_key is null and i.fetched_by = r.asker and r.leased_s > extract(epoch from i.fetched_at);
					perform boot_end(r.token, case when v_restarted then 'boot.restarted' else 'boot.second_fetch' end,
						format(case when v_restarted then 'node %s started again by itself before its agent came: that boot is ended; it asked from %s'
							    else 'the boot script of node %s was asked for twice: that boot is ended; first by %s, then by %s' end,
						       (select x.name from node x where x.id = i.node_id), boot_asker_text(i.fetched_by), boot_asker_text(r.asker)),
						case when v_restarted then 'its console tells why: haasctl node console ' || (select x.name from node x where x.id = i.node_id)
						     else 'another machine may use its address: look at both ports; or the node started again by itself' end,
						jsonb_build_object('first', i.fetched_by, 'second', r.asker, 'fetched_at', i.fetched_at));
					verdict := 'ended';
				end if;
			end if;
		end if;
		return next;
	end loop;
end
$$;

-- One question was answered with "given", and its asker was gone before a byte of the script was sent. Only that one is taken back: the same
-- asker may have been given the script before or since.
create function boot_script_return(p_token text)
returns void language sql security definer set search_path = haas, pg_temp as $$
	update boot_intent set fetch_count = fetch_count - 1, fetched_at = case when fetch_count > 1 then fetched_at end,
		fetched_by = case when fetch_count > 1 then fetched_by end, fetched_connection = case when fetch_count > 1 then fetched_connection end
	where token = p_token and fetched_at is not null and agent_key is null and ended_at is null
$$;

-- The agent tells its key, the first time it asks for a task. One boot has one agent. Verdicts: given, elsewhere, ended.
create function boot_agent_begin(p_token text, p_key text, p_nic macaddr, p_asker jsonb)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	i boot_intent%rowtype;
begin
	select * into i from boot_intent where token = p_token and ended_at is null;
	if found and boot_foreign_port(i.node_id, p_nic, p_asker) then
		return 'elsewhere';
	end if;
	update boot_intent set agent_key = p_key, agent_by = coalesce(agent_by, p_asker) where token = p_token and ended_at is null and coalesce(agent_key, p_key) = p_key;
	if found then
		return 'given';
	end if;
	select * into i from boot_intent where token = p_token and ended_at is null;
	if found then
		perform boot_end(p_token, 'boot.second_agent',
			format('a second agent used the token of node %s: that boot is ended; first %s, then %s', (select x.name from node x where x.id = i.node_id),
			       boot_asker_text(i.agent_by), boot_asker_text(p_asker)),
			'somebody else has the token: look at who can see the traffic of the provisioning network',
			jsonb_build_object('first', i.agent_by, 'second', p_asker));
	end if;
	return 'ended';
end
$$;

-- ==== triggers, views, rights ====

grant execute on function boot_alarm_add(bigint,text,text,text,jsonb) to bampi_bootd;
grant execute on function boot_script_fetch(jsonb) to bampi_bootd;
grant execute on function boot_script_return(text) to bampi_bootd;
grant execute on function boot_agent_begin(text,text,macaddr,jsonb) to bampi_bootd;
