-- A database that was restored from a backup (`haasctl db restore`). What happened since the backup is not in it: nodes were given out and released,
-- ports were moved. So nothing in it may change a node, a switch or a volume before an operator has compared them.

-- ==== shape ====

-- One row from the restore until an operator accepts it.
create table restoration (
	one boolean primary key default true check (one),
	restored_at timestamptz not null default now(),
	backup_at timestamptz,                  -- null: a plain backup does not say
	maker text not null                     -- the controller that made the backup; '': a plain backup
);
alter table restoration enable row level security;

-- ==== functions ====

-- Who may change switches and volumes asks this first: the mirrors, sampling and ports of switches (peregrined), the claim of a storage
-- (storage_claim), free addresses (bampi-bootd). Nodes have the health label "restored" instead, which an operator can clear one by one.
create function restoration_waits()
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select exists (select from restoration)
$$;

create function restoration_text(p_restoration restoration)
returns text stable language sql set search_path = haas, pg_temp as $$
	select case when p_restoration.maker = '' then 'the database is that of a plain backup, which does not say when it was made'
		    else format('the database is that of a backup of %s, made %s', p_restoration.maker, to_char(p_restoration.backup_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS"Z"')) end
$$;

-- Work that was under way at the time of the backup: it has ended since, nobody knows how. A person decides.
create function restoration_end_work()
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_problem constant jsonb := jsonb_build_object('code', 'restored', 'message', 'it was under way when the backup of the database was made',
		'detail', 'how it ended is not in the backup', 'hint', 'look at the node; then haasctl deployment retry or clear');
begin
	update agent_task set state = 'dropped', updated_at = now() where state in ('queued', 'taken');
	-- A node that starts must not find an agent that erases or installs.
	delete from boot_intent where target = 'agent';
	update deployment_step set state = 'failed', ended_at = now(), problem = v_problem where state = 'running';
	update deployment set state = 'failed', problem = v_problem, due_at = null, ended_at = now(), waiting_reason = null, waiting_since = null,
		paused = null, paused_at = null, claim_owner = null, claim_until = null, generation = generation + 1, version = version + 1
	where due_at is not null;
	update node_action set state = 'failed', problem = v_problem || '{"hint": "ask for it again"}', due_at = null, ended_at = now(),
		claim_owner = null, claim_until = null, generation = generation + 1
	where due_at is not null;
end
$$;

-- What was read of switches and BMCs is read again. Ports keep their last reading: without it they would seem to be gone.
create function restoration_forget()
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	delete from daemon;
	delete from fabric_claim;
	delete from switch_part;
	update switch_observed set reachable = false, read_at = null, problem = '{"message": "it was not read since the database was restored"}';
	update bmc set observed_power = 'unknown', observed_at = null, power_since = null;
end
$$;

-- The last step of a restore, in its transaction.
create function restoration_begin(p_backup_at timestamptz, p_maker text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r restoration%rowtype;
begin
	-- There is a row when the backup was made of a restored database that nobody had accepted.
	delete from restoration;
	insert into restoration (backup_at, maker) values (p_backup_at, p_maker) returning * into r;
	-- Events are read in the order of (xid, id), up to the oldest transaction that runs. This cluster may be younger than that of the backup.
	perform event_sealed_restored();
	perform webhook_restored();
	-- Numbers given since the backup stand on disks of storages, on switches and in customers' mails: none is given twice.
	perform setval(format('%I.%I', s.schemaname, s.sequencename)::regclass, least(s.last_value + 10000, s.max_value))
	from pg_sequences s where s.schemaname = 'haas' and s.last_value is not null;
	perform restoration_end_work();
	perform restoration_forget();
	insert into health_label (node_id, label, source, severity, effects, reason, hint, actor)
	select n.id, 'restored', 'operator', 'warning', '{no_allocation,no_automation}', restoration_text(r),
	       format('look who uses the node; then haasctl health clear restored %s --reason TEXT', n.name), 'haasctl'
	from node n order by n.id
	on conflict (node_id, label, source) do update set effects = excluded.effects, reason = excluded.reason, silenced_by = null, silenced_until = null;
	perform event_add('haasctl', 'database.restored', 'database', current_database()::text, null, restoration_text(r),
			  jsonb_build_object('backup_at', p_backup_at, 'maker', p_maker));
end
$$;

-- An operator has compared: the programs may go on. Deployments that the restore ended stay ended.
create function restoration_accept(p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r restoration%rowtype;
begin
	delete from restoration returning * into r;
	if r.one is null then
		raise exception 'the database was not restored, or the restore is accepted already' using errcode = 'HA409';
	end if;
	perform health_lock(array(select node_id from health_label where label = 'restored' and source = 'operator' order by node_id));
	delete from health_label where label = 'restored' and source = 'operator';
	perform event_add(p_actor, 'database.accepted', 'database', current_database()::text, null, 'restore accepted: ' || restoration_text(r), to_jsonb(r));
	perform pg_notify('deployment', ''), pg_notify('fabric', ''), pg_notify('network', ''), pg_notify('address', '');
end
$$;

-- ==== triggers, views, rights ====

grant execute on function restoration_waits() to peregrined, bampi_bootd;
