-- Captures of packets: who may have whose, which process takes them, which mirror session delivers them.
do $$
begin
	if not exists (select from pg_roles where rolname = 'peregrine_captured') then
		create role peregrine_captured login;
	end if;
	alter role peregrine_captured set search_path = haas;
	grant usage on schema haas to peregrine_captured;
end
$$;

-- Where a switch's mirror sessions deliver: a port of it that leads to the host of a collector, or a tunnel to there.
create table capture_point (
	switch_id bigint primary key references switch on delete cascade,
	collector text not null default 'main' check (collector ~ '^[a-z0-9][a-z0-9-]{0,62}$'),  -- `name` of its peregrine-captured
	port text not null check (length(port) between 1 and 63),           -- of the switch; frames of the session go out there
	interface text not null check (length(interface) between 1 and 15), -- of the collector's host; they come in there
	kind text not null default 'port' check (kind in ('port', 'gre', 'erspan', 'vxlan')),
	session bigint not null default 0 check (session between 0 and 4294967295)  -- GRE key, ERSPAN session or VNI; 0 = any
);
grant select on capture_point to portald;
grant select on capture_point to peregrined, peregrine_captured;

-- A tenant's consent, ahead of any capture: to its own packets, all or of one node, until a time.
create table capture_grant (
	id bigint generated always as identity primary key,
	tenant_id bigint not null references tenant,
	node text not null default '',         -- '' = all of its nodes
	granted_by text not null,
	created_at timestamptz not null default now(),
	expires_at timestamptz not null,
	withdrawn_at timestamptz
);
create index capture_grant_tenant on capture_grant (tenant_id);
alter table capture_grant enable row level security;
create policy capture_grant_portald on capture_grant for select to portald using (in_scope(tenant_id));
grant select on capture_grant to portald;

create table capture (
	id bigint generated always as identity primary key,
	tenant_id bigint not null references tenant,
	node_id bigint references node on delete set null,
	peer_id bigint references node on delete set null,
	node text not null,
	peer text not null default '',         -- '' = everything that the node sends and gets
	macs macaddr[] not null check (cardinality(macs) between 1 and 64),
	peer_macs macaddr[] not null default '{}' check (cardinality(peer_macs) <= 64),
	switch_id bigint not null references switch on delete cascade,
	port text not null,                    -- the node's edge port
	collector text not null,
	filter text not null default '' check (length(filter) <= 512),
	snap_length integer not null default 128 check (snap_length between 14 and 65535),
	seconds integer not null default 60 check (seconds between 1 and 3600),
	max_bytes bigint not null default 67108864 check (max_bytes between 1048576 and 17179869184),
	wrap boolean not null default false,   -- the oldest packets make room; else it ends when it is full
	reason text not null default '' check (length(reason) <= 200),
	requester text not null,
	consent text check (consent in ('tenant', 'grant', 'approver')),
	consent_by text,
	grant_id bigint references capture_grant,
	wanted text not null default 'present' check (wanted in ('present', 'absent')),
	-- waiting: for consent. approved: the collector's turn. listening: peregrined's. running: packets come. ending: the session is taken back.
	state text not null default 'waiting' check (state in ('waiting', 'approved', 'listening', 'running', 'ending', 'ended')),
	mirrored boolean not null default false, -- the switch may have its session; written before it is told
	because text,                          -- why it ended: stopped, deadline, full, failed, lapsed, refused, expired
	problem jsonb,
	result jsonb not null default '{}',    -- what the process told last
	files text not null default 'none' check (files in ('none', 'kept', 'removing', 'removed')),
	created_at timestamptz not null default now(),
	approved_at timestamptz, started_at timestamptz, deadline timestamptz, beat_at timestamptz, ended_at timestamptz,
	constraint capture_has_consent check (state in ('waiting', 'ended') or (consent is not null and consent_by is not null)),
	constraint capture_consent_is_another_s check (consent_by <> requester),
	constraint capture_ends_without_session check (state <> 'ended' or not mirrored)
);
create index capture_open on capture (state) where state <> 'ended';
create index capture_tenant on capture (tenant_id, id);
alter table capture enable row level security;
create policy capture_portald on capture for select to portald using (in_scope(tenant_id));
create policy capture_daemon on capture to peregrined using (true) with check (true);
create policy capture_collector on capture for select to peregrine_captured using (true);
grant select on capture to portald, peregrined, peregrine_captured;
grant update (mirrored, problem) on capture to peregrined;

-- --- consent ------------------------------------------------------------------------------------------------------------------------------

-- A grant that somebody else gave: nobody consents to his own request.
create function capture_grant_for(p_tenant bigint, p_node text, p_peer text, p_requester text)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select max(g.id) from capture_grant g
	where g.tenant_id = p_tenant and g.withdrawn_at is null and g.expires_at > now() and g.granted_by <> p_requester and g.node in ('', p_node, p_peer)
$$;

create function capture_event(c capture, p_actor text, p_kind text, p_message text)
returns void language sql security definer set search_path = haas, pg_temp as $$
	select event_add(p_actor, 'capture.' || p_kind, 'capture', c.id::text, c.tenant_id, p_message,
			 jsonb_build_object('capture', c.id, 'node', c.node, 'peer', c.peer, 'filter', c.filter, 'snap_length', c.snap_length, 'seconds', c.seconds,
					    'requester', c.requester, 'consent', c.consent, 'consent_by', c.consent_by, 'reason', c.reason));
	select pg_notify('capture', '');
$$;

-- For the tenant: whoever is let in is an operator, and gives it while he sees as that tenant. It is then not for a capture of his own (above).
create function capture_grant_put(p_node text, p_expires timestamptz, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint := current_tenant();
	v_id bigint;
begin
	if is_operator() or v_tenant is null then
		raise exception 'only a tenant grants captures of its packets' using errcode = 'HA403', hint = 'ask the tenant, or let another operator approve: haasctl capture approve';
	elsif p_node is not null and not exists (select from node where name = p_node and tenant_id = v_tenant) then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	elsif p_expires is null or p_expires <= now() or p_expires > now() + interval '30 days' then
		raise exception 'a grant ends, within 30 days' using errcode = 'HA422', hint = 'say until when: --until 2026-12-01T18:00:00Z';
	end if;
	insert into capture_grant (tenant_id, node, granted_by, expires_at) values (v_tenant, coalesce(p_node, ''), p_actor, p_expires) returning id into v_id;
	perform event_add(p_actor, 'capture.granted', 'capture_grant', v_id::text, v_tenant, format('captures of %s until %s', coalesce('node ' || p_node, 'all nodes'), p_expires),
			  jsonb_build_object('grant', v_id, 'node', p_node, 'expires_at', p_expires));
	return v_id;
end
$$;
grant execute on function capture_grant_put(text, timestamptz, text) to portald;

-- A capture under way that rests on it ends at once (capture_sweep).
create function capture_grant_withdraw(p_grant bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	g capture_grant%rowtype;
begin
	select * into g from capture_grant where id = p_grant for update;
	if not found or not in_scope(g.tenant_id) then
		raise exception 'grant % does not exist', p_grant using errcode = 'HA404', hint = 'haasctl capture grants';
	elsif g.withdrawn_at is null then
		update capture_grant set withdrawn_at = now() where id = g.id;
		perform event_add(p_actor, 'capture.withdrawn', 'capture_grant', g.id::text, g.tenant_id, 'a grant of captures is withdrawn', jsonb_build_object('grant', g.id));
		perform pg_notify('capture', '');
	end if;
end
$$;
grant execute on function capture_grant_withdraw(bigint, text) to portald;

-- --- switches ---------------------------------------------------------------------------------------------------------------------------

-- What could not be taken back, or not be removed, afterwards: the row of the capture goes with its switch.
create function capture_holds_switch() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := (to_jsonb(old) ->> tg_argv[0])::bigint;
	v_id bigint;
begin
	select min(id) into v_id from capture where switch_id = v_switch and (state <> 'ended' or mirrored or files in ('kept', 'removing'));
	if v_id is not null then
		raise exception 'switch % has capture %', (select name from switch where id = v_switch), v_id using errcode = 'HA409',
			detail = 'it is under way, or its packets are kept', hint = format('haasctl capture stop %1$s; haasctl capture remove %1$s', v_id);
	end if;
	return case when tg_op = 'DELETE' then old else new end;
end
$$;
create trigger capture_holds_switch before delete on switch for each row execute function capture_holds_switch('id');
create trigger capture_holds_release before delete on switch_endpoint for each row execute function capture_holds_switch('switch_id');
create trigger capture_holds_managed before update of managed on switch_endpoint for each row when (old.managed and not new.managed)
	execute function capture_holds_switch('switch_id');

-- A session would pour packets of one node into the port of another. An aggregate is its ports.
create function capture_point_check(p_switch bigint, p_port text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch text := (select name from switch where id = p_switch);
	v_ports text[] := array(select p_port union select name from port_observed where switch_id = p_switch and lag = p_port
				union select lag from port_observed where switch_id = p_switch and name = p_port and lag <> '');
	v_node text;
begin
	select d.name into v_node from unnest(v_ports) x (port) join node d on d.id = port_node(p_switch, x.port) order by d.name limit 1;
	if found then
		raise exception 'node % is behind port %:%', v_node, v_switch, p_port using errcode = 'HA409', hint = 'haasctl capture point names a port that leads to a collector';
	elsif exists (select from attachment where switch_id = p_switch and port = any (v_ports)) then
		raise exception 'port %:% is in a network', v_switch, p_port using errcode = 'HA409', hint = 'haasctl capture point names a port that leads to a collector';
	end if;
end
$$;

-- --- asked for by people ----------------------------------------------------------------------------------------------------------------

create function capture_node(p_node text) returns node language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype;
begin
	select * into n from node where name = p_node for share;
	if not found or (n.tenant_id is null and not is_operator()) or (n.tenant_id is not null and not in_scope(n.tenant_id)) then
		raise exception 'node % does not exist', p_node using errcode = 'HA404', hint = 'haasctl node list';
	elsif n.tenant_id is null then
		raise exception 'node % is no tenant''s now', p_node using errcode = 'HA409', hint = 'captures are of a tenant''s packets';
	end if;
	return n;
end
$$;

-- p_spec: {"node", "peer", "tenant", "filter", "snap_length", "seconds", "max_bytes", "wrap", "reason"}. What cannot be captured is said now.
create function capture_start(p_spec jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype := capture_node(p_spec ->> 'node');
	p node%rowtype;
	c capture%rowtype;
	v_switch text;
	v_point capture_point%rowtype;
begin
	if p_spec ->> 'tenant' is not null and not exists (select from tenant where id = n.tenant_id and name = p_spec ->> 'tenant') then
		raise exception 'node % is not tenant %''s', n.name, p_spec ->> 'tenant' using errcode = 'HA409', hint = 'haasctl node show ' || n.name;
	end if;
	if p_spec ->> 'peer' is not null then
		p := capture_node(p_spec ->> 'peer');
		if p.tenant_id <> n.tenant_id or p.id = n.id then
			raise exception 'node % and % are no pair of one tenant', n.name, p.name using errcode = 'HA409', hint = 'a capture is of one tenant''s packets';
		end if;
	end if;
	-- Where it is plugged in, first where its tenant's network is; an aggregate is one port.
	select l.switch_id, coalesce(nullif(o.lag, ''), l.port) into c.switch_id, c.port
	from nic x join nic_location l on l.mac = x.mac
	left join port_observed o on o.switch_id = l.switch_id and o.name = l.port
	where x.node_id = n.id
	order by exists (select from port_binding b where b.switch_id = l.switch_id and b.port in (l.port, nullif(o.lag, '')) and b.valid_to is null and b.tenant_id = n.tenant_id) desc,
		 l.certainty desc, x.name
	limit 1;
	if c.switch_id is null then
		raise exception 'no switch port of node % is known', n.name using errcode = 'HA409', hint = 'haasctl nic locate ' || n.name;
	end if;
	select s.name into v_switch from switch s join switch_endpoint e on e.switch_id = s.id where s.id = c.switch_id and e.managed for share of e;
	if not found then
		raise exception 'switch % is not managed', (select name from switch where id = c.switch_id) using errcode = 'HA409', hint = 'a capture needs a mirror session there';
	end if;
	select * into v_point from capture_point where switch_id = c.switch_id;
	if not found then
		raise exception 'switch % has no mirror port', v_switch using errcode = 'HA409',
			hint = format('haasctl capture point %s --port PORT --interface INTERFACE', v_switch);
	elsif not exists (select from port_observed where switch_id = c.switch_id and name = v_point.port) then
		raise exception 'mirror port %:% is missing', v_switch, v_point.port using errcode = 'HA409', detail = 'the switch shows no port of that name',
			hint = 'haasctl fabric show; haasctl capture point ' || v_switch || ' --port PORT names another';
	elsif v_point.port = c.port then
		raise exception 'mirror port %:% is where node % is', v_switch, v_point.port, n.name using errcode = 'HA409';
	elsif (select count(*) from capture where switch_id = c.switch_id and state not in ('waiting', 'ended')) >= 16 then
		raise exception 'switch % has 16 captures already', v_switch using errcode = 'HA409', hint = 'haasctl capture list shows them; haasctl capture stop ends one';
	end if;
	perform capture_point_check(c.switch_id, v_point.port);
	-- Nobody's own consent counts, as whoever he sees: who may use this server is an operator.
	c.grant_id := capture_grant_for(n.tenant_id, n.name, coalesce(p.name, ''), p_actor);
	insert into capture (tenant_id, node_id, peer_id, node, peer, macs, peer_macs, switch_id, port, collector, filter, snap_length, seconds, max_bytes, wrap, reason, requester,
			     consent, consent_by, grant_id, state, approved_at)
	select n.tenant_id, n.id, p.id, n.name, coalesce(p.name, ''), array(select mac from nic where node_id = n.id order by name limit 64),
	       array(select mac from nic where node_id = p.id order by name limit 64), c.switch_id, c.port, v_point.collector, coalesce(p_spec ->> 'filter', ''),
	       coalesce((p_spec ->> 'snap_length')::integer, 128), coalesce((p_spec ->> 'seconds')::integer, 60), coalesce((p_spec ->> 'max_bytes')::bigint, 67108864),
	       coalesce((p_spec ->> 'wrap')::boolean, false), coalesce(p_spec ->> 'reason', ''), p_actor, x.consent, x.by, c.grant_id,
	       case when x.consent is null then 'waiting' else 'approved' end, case when x.consent is not null then now() end
	from (select case when c.grant_id is not null then 'grant' end as consent, (select granted_by from capture_grant where id = c.grant_id) as by) x
	returning * into c;
	perform capture_event(c, p_actor, 'requested', format('%s%s: %s', c.node, coalesce('~' || nullif(c.peer, ''), ''),
							       case when c.consent = 'grant' then 'the tenant has granted it' else 'waits for consent' end));
	return c.id;
end
$$;
grant execute on function capture_start(jsonb, text) to portald;

create function capture_lock(p_capture bigint) returns capture language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
begin
	select * into c from capture where id = p_capture for update;
	if not found or not in_scope(c.tenant_id) then
		raise exception 'capture % does not exist', p_capture using errcode = 'HA404', hint = 'haasctl capture list';
	end if;
	return c;
end
$$;

-- A second pair of eyes: another operator, as himself or for the tenant.
create function capture_approve(p_capture bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype := capture_lock(p_capture);
begin
	if c.state <> 'waiting' then
		raise exception 'capture % is %', c.id, c.state using errcode = 'HA409';
	elsif p_actor = c.requester then
		raise exception 'capture % was asked for by yourself', c.id using errcode = 'HA403', hint = 'another operator approves it, or its tenant grants it';
	end if;
	update capture set consent = case when is_operator() then 'approver' else 'tenant' end, consent_by = p_actor, state = 'approved', approved_at = now()
	where id = c.id returning * into c;
	perform capture_event(c, p_actor, 'approved', format('asked for by %s', c.requester));
end
$$;
grant execute on function capture_approve(bigint, text) to portald;

create function capture_stop(p_capture bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype := capture_lock(p_capture);
begin
	if c.wanted = 'absent' or c.state = 'ended' then
		return;
	end if;
	update capture set wanted = 'absent', because = coalesce(because, 'stopped') where id = c.id returning * into c;
	perform capture_event(c, p_actor, 'stopped', 'asked for');
	perform capture_sweep();
end
$$;
grant execute on function capture_stop(bigint, text) to portald;

create function capture_remove(p_capture bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype := capture_lock(p_capture);
begin
	if c.state <> 'ended' then
		raise exception 'capture % is %', c.id, c.state using errcode = 'HA409', hint = 'haasctl capture stop ' || c.id;
	elsif c.files = 'kept' then
		update capture set files = 'removing' where id = c.id;
		perform capture_event(c, p_actor, 'removed', 'its packets are to be deleted');
	end if;
end
$$;
grant execute on function capture_remove(bigint, text) to portald;

-- Who may read packets: who asked, when somebody else consented, and who consented; as whoever they see. p_first: a reading begins, which is an event.
create function capture_seen(c capture, p_first boolean, p_actor text, p_kind text, p_message text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	-- the first of this reader is one wherever he begins
	if p_first or not exists (select from event where subject_kind = 'capture' and subject = c.id::text and kind = 'capture.' || p_kind and actor = p_actor) then
		perform capture_event(c, p_actor, p_kind, p_message);
	end if;
end
$$;

create function capture_reader(p_capture bigint, p_actor text) returns capture language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype := capture_lock(p_capture);
begin
	if p_actor <> c.requester and p_actor is distinct from c.consent_by then
		raise exception 'capture % is not yours to read', c.id using errcode = 'HA403', hint = format('it was asked for by %s', c.requester);
	elsif c.consent_by is null and c.state <> 'ended' then
		raise exception 'capture % waits for consent', c.id using errcode = 'HA409', hint = 'another operator approves it, or its tenant grants it';
	end if;
	return c;
end
$$;

create function capture_read(p_capture bigint, p_first boolean, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype := capture_reader(p_capture, p_actor);
begin
	if c.state <> 'ended' then
		raise exception 'capture % is %', c.id, c.state using errcode = 'HA409', hint = 'haasctl capture stop ' || c.id;
	elsif c.files <> 'kept' or c.consent_by is null then
		raise exception 'capture % has no packets', c.id using errcode = 'HA404', hint = 'haasctl capture show ' || c.id;
	end if;
	perform capture_seen(c, p_first, p_actor, 'read', 'its packets are downloaded');
end
$$;
grant execute on function capture_read(bigint, boolean, text) to portald;

-- Its last packets while it is under way.
create function capture_watch(p_capture bigint, p_first boolean, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype := capture_reader(p_capture, p_actor);
begin
	if c.state = 'ended' then
		raise exception 'capture % is %', c.id, c.state using errcode = 'HA409', hint = 'haasctl capture download ' || c.id;
	end if;
	perform capture_seen(c, p_first, p_actor, 'watched', 'its packets are followed');
end
$$;
grant execute on function capture_watch(bigint, boolean, text) to portald;

-- --- the daemons' side --------------------------------------------------------------------------------------------------------------------

-- What ends by itself, whoever is left to say so: called by peregrined and by every collector, again and again. How many rows moved.
create function capture_sweep()
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
	v_count integer := 0;
begin
	for c in select * from capture where state <> 'ended' order by id for update loop
		-- nobody agreed; consent is over; a node is not its tenant's any more; its time is over
		if c.wanted = 'present' then
			c.because := case
				when c.state = 'waiting' then case when c.created_at < now() - interval '1 day' then 'expired' end
				when c.consent = 'grant' and not exists (select from capture_grant g where g.id = c.grant_id and g.withdrawn_at is null and g.expires_at > now()) then 'lapsed'
				when not exists (select from node n where n.id = c.node_id and n.tenant_id = c.tenant_id)
					or c.peer <> '' and not exists (select from node n where n.id = c.peer_id and n.tenant_id = c.tenant_id) then 'lapsed'
				when c.deadline < now() then 'deadline'
				when c.state = 'approved' and c.approved_at < now() - interval '2 minutes' then 'failed' end;
			continue when c.because is null and c.state <> 'ending' and coalesce(c.beat_at, now()) >= now() - interval '20 seconds';
			if c.because is not null then
				c.wanted := 'absent';
			end if;
			if c.because = 'failed' then
				c.problem := jsonb_build_object('code', 'unavailable', 'message', 'no peregrine-captured takes it',
								'detail', 'collector ' || c.collector, 'hint', 'is peregrine-captured running there?');
			end if;
		end if;
		if c.state in ('listening', 'running') and c.beat_at < now() - interval '20 seconds' then
			c.state := 'ending'; c.wanted := 'absent'; c.because := coalesce(c.because, 'failed');
			c.problem := coalesce(c.problem, jsonb_build_object('code', 'unavailable', 'message', 'its collector is gone', 'detail', 'collector ' || c.collector, 'hint', ''));
		elsif c.wanted = 'absent' and c.state in ('waiting', 'approved') then
			c.state := 'ending';
		end if;
		if c.state = 'ending' and not c.mirrored then
			c.state := 'ended'; c.ended_at := now(); c.wanted := 'absent'; c.because := coalesce(c.because, 'stopped');
		end if;
		update capture set state = c.state, wanted = c.wanted, because = c.because, problem = c.problem, ended_at = c.ended_at
		where id = c.id and (state, wanted, because, problem) is distinct from (c.state, c.wanted, c.because, c.problem);
		if found then
			v_count := v_count + 1;
			if c.state = 'ended' then
				perform capture_event(c, 'system', 'ended', format('%s (%s packets)', c.because, coalesce(c.result ->> 'packets', '0')));
			else
				perform pg_notify('capture', '');
			end if;
		end if;
	end loop;
	return v_count;
end
$$;
grant execute on function capture_sweep() to peregrined, peregrine_captured;

-- The work of a collector: rows with the order for a process (peregrine/capture/capture_order.h).
create view capture_work as
select c.id, c.collector, c.state, c.wanted, c.files,
       jsonb_build_object('interface', p.interface, 'kind', p.kind, 'session', p.session, 'filter', c.filter, 'macs_a', to_jsonb(c.macs), 'macs_b', to_jsonb(c.peer_macs),
			  'snap_length', c.snap_length, 'seconds', c.seconds + 120, 'files', 4, 'file_bytes', greatest(262144, c.max_bytes / 4), 'wrap', c.wrap,
			  'comment', left(format('capture %s: %s%s of %s, asked for by %s, consent of %s', c.id, c.node, coalesce(' ~ ' || nullif(c.peer, ''), ''), t.name,
						 c.requester, c.consent_by), 250)) as "order"
from capture c join tenant t on t.id = c.tenant_id left join capture_point p on p.switch_id = c.switch_id
where c.state in ('approved', 'listening', 'running') or c.files = 'removing';
grant select on capture_work to peregrine_captured;

-- What a process of a collector tells. p_state: listening, running (a beat), ended, removed.
create function capture_told(p_capture bigint, p_state text, p_because text, p_problem jsonb, p_result jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
begin
	select * into c from capture where id = p_capture for update;
	if not found or c.state = 'waiting' then
		return;
	end if;
	if p_state = 'removed' then
		update capture set files = 'removed' where id = c.id;
		return;
	end if;
	if c.state = 'ended' then
		update capture set result = coalesce(p_result, result), files = case files when 'none' then 'removing' else files end where id = c.id and p_state = 'ended';
		return;
	end if;
	-- An end before anything was kept: a start that failed may have left its folder.
	update capture set beat_at = now(), result = coalesce(p_result, result), files = case when files <> 'none' then files when p_state = 'ended' then 'removing' else 'kept' end
	where id = c.id;
	-- The line that said listening may be lost.
	if p_state in ('listening', 'running') and c.state = 'approved' then
		update capture set state = 'listening', deadline = now() + interval '60 seconds' where id = c.id;
		perform pg_notify('capture', '');
	elsif p_state = 'ended' then
		update capture set state = 'ending', wanted = 'absent', because = coalesce(because, p_because), problem = coalesce(problem, p_problem) where id = c.id;
		perform capture_sweep();
		perform pg_notify('capture', '');
	end if;
end
$$;
grant execute on function capture_told(bigint, text, text, jsonb, jsonb) to peregrine_captured;

-- Which sessions there shall be, per switch that can have some: what peregrined tells it.
create view capture_session as
select s.id as switch_id, c.id, c.port, p.port as target
from switch s join switch_endpoint e on e.switch_id = s.id
left join capture_point p on p.switch_id = s.id
left join capture c on c.switch_id = s.id and p.switch_id is not null and c.state in ('listening', 'running') and c.wanted = 'present' and c.deadline > now()
where e.managed and (p.switch_id is not null or exists (select from capture m where m.switch_id = s.id and m.mirrored));
grant select on capture_session to peregrined;

-- The switch has it, or could not: then the capture ends.
create function capture_mirrored(p_capture bigint, p_taken boolean, p_problem jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
begin
	select * into c from capture where id = p_capture for update;
	if not found then
		return;
	elsif p_taken then
		update capture set state = 'running', started_at = now(), deadline = now() + make_interval(secs => seconds) where id = c.id and state = 'listening' returning * into c;
		if found then
			perform capture_event(c, 'system', 'started', 'the switch mirrors ' || c.port);
		end if;
	elsif c.state in ('listening', 'running') then
		update capture set wanted = 'absent', because = coalesce(because, 'refused'), problem = coalesce(problem, p_problem) where id = c.id;
		perform pg_notify('capture', '');
	end if;
end
$$;
grant execute on function capture_mirrored(bigint, boolean, jsonb) to peregrined;

-- The switch has exactly these: it has none of the others.
create function capture_unmirrored(p_switch bigint, p_captures bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	update capture set mirrored = false where switch_id = p_switch and mirrored and id <> all (p_captures);
	select capture_sweep();
$$;
grant execute on function capture_unmirrored(bigint, bigint[]) to peregrined;

-- --- where mirrors deliver ----------------------------------------------------------------------------------------------------------------

create function capture_switch(p_switch text) returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
begin
	select e.switch_id into v_id from switch s join switch_endpoint e on e.switch_id = s.id where s.name = p_switch;
	if v_id is null then
		raise exception 'switch % does not exist', p_switch using errcode = 'HA404', hint = 'haasctl switch list shows those that are managed';
	end if;
	return v_id;
end
$$;

create function capture_point_put(p_switch text, p_spec jsonb, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := capture_switch(p_switch);
begin
	if exists (select from capture where switch_id = v_switch and state not in ('waiting', 'ended')) then
		raise exception 'switch % has captures under way', p_switch using errcode = 'HA409', hint = 'haasctl capture list';
	end if;
	perform capture_point_check(v_switch, p_spec ->> 'port');
	insert into capture_point (switch_id, port, interface, collector, kind, session)
	values (v_switch, p_spec ->> 'port', p_spec ->> 'interface', coalesce(p_spec ->> 'collector', 'main'), coalesce(p_spec ->> 'kind', 'port'),
		coalesce((p_spec ->> 'session')::bigint, 0))
	on conflict (switch_id) do update set port = excluded.port, interface = excluded.interface, collector = excluded.collector, kind = excluded.kind, session = excluded.session;
	perform event_add(p_actor, 'capture.point', 'switch', p_switch, null, format('mirrors go to port %s', p_spec ->> 'port'), p_spec);
	perform pg_notify('capture', '');
end
$$;
grant execute on function capture_point_put(text, jsonb, text) to portald;

create function capture_point_remove(p_switch text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := capture_switch(p_switch);
begin
	if exists (select from capture where switch_id = v_switch and (mirrored or state not in ('waiting', 'ended'))) then
		raise exception 'switch % has captures under way', p_switch using errcode = 'HA409', hint = 'haasctl capture list';
	end if;
	delete from capture_point where switch_id = v_switch;
	if not found then
		raise exception 'switch % has no mirror port', p_switch using errcode = 'HA404';
	end if;
	perform event_add(p_actor, 'capture.point', 'switch', p_switch, null, 'mirrors go nowhere any more');
end
$$;
grant execute on function capture_point_remove(text, text) to portald;
