-- Captures of packets: consent, the mirror session, the collector, what came of it.
--
-- A capture is of the node's own port, also while its leaf does not answer; a switch that could not be asked is never called gone.

-- ==== shape ====

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
	case_id bigint references case_file on delete set null,
	constraint capture_has_consent check (state in ('waiting', 'ended') or (consent is not null and consent_by is not null)),
	-- A tenant's own word is enough for its own packets; whoever asks for them from outside needs somebody else's.
	constraint capture_consent_is_another_s check (consent_by <> requester or consent = 'tenant'),
	constraint capture_ends_without_session check (state <> 'ended' or not mirrored)
);
create index capture_open on capture (state) where state <> 'ended';
create index capture_tenant on capture (tenant_id, id);
create index capture_case_id on capture (case_id) where case_id is not null;
-- What a collector says of itself when it starts. Packets count by what their capture may yet take, then by what it took.
create index capture_kept on capture (ended_at) where files = 'kept';
alter table capture enable row level security;

-- ==== functions ====

-- A grant that somebody else gave: nobody consents to his own request.
create function capture_grant_for(p_tenant bigint, p_node text, p_peer text, p_requester text)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select max(g.id) from capture_grant g
	where g.tenant_id = p_tenant and g.withdrawn_at is null and g.expires_at > now() and g.granted_by <> p_requester and g.node in ('', p_node, p_peer)
$$;

create function capture_event(c capture, p_actor text, p_kind text, p_message text)
returns void language sql security definer set search_path = haas, pg_temp as $$
	select event_add(p_actor, 'capture.' || p_kind, 'capture', c.id::text, c.tenant_id,
			 p_message || case when p_kind = 'ended' then coalesce(': ' || nullif(c.problem ->> 'message', ''), '') else '' end,
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
	if is_operator() or v_tenant is null or asking_role() is distinct from 'tenant-admin' then
		raise exception 'only an admin of the tenant grants captures of its packets' using errcode = 'HA403', hint = 'ask one, or let another operator approve: haasctl capture approve';
	elsif p_node is not null and not exists (select from node where name = p_node and tenant_id = v_tenant) then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	elsif p_expires is null or p_expires <= now() or p_expires > now() + interval '30 days' then
		raise exception 'a grant ends, within 30 days' using errcode = 'HA422', hint = 'give its end: --until 2026-12-01T18:00:00Z';
	end if;
	insert into capture_grant (tenant_id, node, granted_by, expires_at) values (v_tenant, coalesce(p_node, ''), p_actor, p_expires) returning id into v_id;
	perform event_add(p_actor, 'capture.granted', 'capture_grant', v_id::text, v_tenant, format('captures of %s until %s', coalesce('node ' || p_node, 'all nodes'), p_expires),
			  jsonb_build_object('grant', v_id, 'node', p_node, 'expires_at', p_expires));
	return v_id;
end
$$;

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

create function capture_node(p_node text) returns node language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype;
begin
	select * into n from node where name = p_node for share;
	if not found or (n.tenant_id is null and not is_operator()) or (n.tenant_id is not null and not in_scope(n.tenant_id)) then
		raise exception 'node % does not exist', p_node using errcode = 'HA404', hint = 'haasctl node list';
	elsif n.tenant_id is null then
		raise exception 'node % belongs to no tenant now', p_node using errcode = 'HA409', hint = 'only packets of a tenant can be captured';
	end if;
	return n;
end
$$;

-- p_spec: {"node", "peer", "tenant", "filter", "snap_length", "seconds", "max_bytes", "wrap", "reason"}. A capture that cannot be is refused now: the
-- node's port is unknown, its switch does not answer, or no mirror session leads to a collector (by a port or a tunnel).
create function capture_start(p_spec jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype := capture_node(p_spec ->> 'node');
	p node%rowtype;
	c capture%rowtype;
	v_switch text;
	v_point capture_point%rowtype;
	v_at record;
	v_own boolean := coalesce(asking_role() in ('tenant-admin', 'tenant-member'), false);
begin
	if p_spec ->> 'tenant' is not null and not exists (select from tenant where id = n.tenant_id and name = p_spec ->> 'tenant') then
		raise exception 'node % does not belong to tenant %', n.name, p_spec ->> 'tenant' using errcode = 'HA409', hint = 'haasctl node show ' || n.name;
	end if;
	if p_spec ->> 'peer' is not null then
		p := capture_node(p_spec ->> 'peer');
		if p.tenant_id <> n.tenant_id or p.id = n.id then
			raise exception 'nodes % and % do not belong to one tenant', n.name, p.name using errcode = 'HA409', hint = 'a capture holds packets of one tenant only';
		end if;
	end if;
	select * into v_at from capture_port(n.id);
	c.switch_id := v_at.switch_id; c.port := v_at.port;
	if c.switch_id is null then
		raise exception 'no switch port of node % is known', n.name using errcode = 'HA409', hint = 'haasctl nic locate ' || n.name;
	elsif v_at.away is not null then
		raise exception 'switch % of node % does not answer', v_at.away, n.name using errcode = 'HA409',
			detail = coalesce('its MAC is heard behind ' || v_at.behind || ', which leads there', ''), hint = format('haasctl switch show %s says why; ask again when it answers', v_at.away);
	elsif v_at.port is null then
		raise exception 'no port of node % is known at switch %', n.name, v_at.beyond using errcode = 'HA409',
			detail = format('its MAC is heard behind %s, which leads there', v_at.behind), hint = format('haasctl nic locate %s; ask again when %s tells of it', n.name, v_at.beyond);
	end if;
	select s.name into v_switch from switch s join switch_endpoint e on e.switch_id = s.id where s.id = c.switch_id and e.managed for share of e;
	if not found then
		raise exception 'switch % is not managed', (select name from switch where id = c.switch_id) using errcode = 'HA409', hint = 'a capture needs a mirror session there';
	end if;
	select * into v_point from capture_point where switch_id = c.switch_id;
	if not found then
		raise exception 'switch % has no mirror port', v_switch using errcode = 'HA409',
			hint = format('haasctl capture point %s --port PORT --interface INTERFACE', v_switch);
	elsif v_point.address is null and not exists (select from port_observed where switch_id = c.switch_id and name = v_point.port) then
		raise exception 'mirror port %:% is missing', v_switch, v_point.port using errcode = 'HA409', detail = 'the switch shows no port of that name',
			hint = 'haasctl fabric show; haasctl capture point ' || v_switch || ' --port PORT names another';
	elsif v_point.port = c.port then
		raise exception 'mirror port %:% is where node % is', v_switch, v_point.port, n.name using errcode = 'HA409';
	elsif (select count(*) from capture where switch_id = c.switch_id and state not in ('waiting', 'ended')) >= 16 then
		raise exception 'switch % has 16 captures already', v_switch using errcode = 'HA409', hint = 'haasctl capture list shows them; haasctl capture stop ends one';
	end if;
	if v_point.address is null then
		perform capture_point_check(c.switch_id, v_point.port);
	end if;
	-- An operator's own consent does not count, as whoever he sees. People of the tenant ask for their own packets: that is its word.
	c.grant_id := capture_grant_for(n.tenant_id, n.name, coalesce(p.name, ''), p_actor);
	insert into capture (tenant_id, node_id, peer_id, node, peer, macs, peer_macs, switch_id, port, collector, filter, snap_length, seconds, max_bytes, wrap, reason, requester,
			     consent, consent_by, grant_id, state, approved_at)
	select n.tenant_id, n.id, p.id, n.name, coalesce(p.name, ''), array(select mac from nic where node_id = n.id order by name limit 64),
	       array(select mac from nic where node_id = p.id order by name limit 64), c.switch_id, c.port, v_point.collector, coalesce(p_spec ->> 'filter', ''),
	       coalesce((p_spec ->> 'snap_length')::integer, setting_number('capture.snap_length')), coalesce((p_spec ->> 'seconds')::integer, setting_number('capture.seconds')), coalesce((p_spec ->> 'max_bytes')::bigint, 67108864),
	       coalesce((p_spec ->> 'wrap')::boolean, false), coalesce(p_spec ->> 'reason', ''), p_actor, x.consent, x.by, c.grant_id,
	       case when x.consent is null then 'waiting' else 'approved' end, case when x.consent is not null then now() end
	from (select case when v_own then 'tenant' when c.grant_id is not null then 'grant' end as consent,
		     case when v_own then p_actor else (select granted_by from capture_grant where id = c.grant_id) end as by) x
	returning * into c;
	perform capture_event(c, p_actor, 'requested', format('%s%s: %s', c.node, coalesce('~' || nullif(c.peer, ''), ''),
							       case c.consent when 'grant' then 'the tenant has granted it' when 'tenant' then 'the tenant asks itself' else 'waits for consent' end));
	return c.id;
end
$$;

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

-- A second pair of eyes: another operator, for himself or for the tenant. The case gets an entry; who approved stands beside it, for operators.
create function capture_approve(p_capture bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype := capture_lock(p_capture);
begin
	if c.state <> 'waiting' then
		raise exception 'capture % is %', c.id, c.state using errcode = 'HA409';
	elsif is_operator() and asking_role() = 'on-call' then
		raise exception 'an on-call engineer may not consent to capture %', c.id using errcode = 'HA403', hint = 'an operator approves it, or its tenant grants it';
	elsif not is_operator() and asking_role() is distinct from 'tenant-admin' then
		raise exception 'only an admin of the tenant consents for it' using errcode = 'HA403', hint = 'an operator approves it as such, without --as-tenant';
	elsif p_actor = c.requester then
		raise exception 'you asked for capture % yourself', c.id using errcode = 'HA403', hint = 'another operator approves it, or its tenant grants it';
	end if;
	update capture set consent = case when is_operator() then 'approver' else 'tenant' end, consent_by = p_actor, state = 'approved', approved_at = now()
	where id = c.id returning * into c;
	perform capture_event(c, p_actor, 'approved', format('asked for by %s', c.requester));
	perform capture_note(c, p_actor, format('%s: %s', capture_name(c), case c.consent when 'tenant' then 'its tenant consents' else 'a second operator consents' end));
end
$$;

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
		raise exception 'you may not read capture %', c.id using errcode = 'HA403', hint = format('it was asked for by %s', c.requester);
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

-- Ends captures that are over, whoever is left to say so: peregrined and every collector call it again and again. A switch that did not take the
-- session in time is named as the reason why nothing was captured, unless the database stood still: then nobody knows. Returns how many rows
-- moved.
create function capture_sweep()
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
	v_count integer := 0;
	v_judges boolean;
begin
	perform capture_look_note();
	v_judges := capture_judges();
	for c in select * from capture where state <> 'ended' order by id for update loop
		-- nobody agreed; consent is over; a node is not its tenant's any more; its time is over
		if c.wanted = 'present' then
			c.because := case
				when c.state = 'waiting' then case when c.created_at < now() - interval '1 day' then 'expired' end
				when c.consent = 'grant' and not exists (select from capture_grant g where g.id = c.grant_id and g.withdrawn_at is null and g.expires_at > now()) then 'lapsed'
				when not exists (select from node n where n.id = c.node_id and n.tenant_id = c.tenant_id)
					or c.peer <> '' and not exists (select from node n where n.id = c.peer_id and n.tenant_id = c.tenant_id) then 'lapsed'
				when c.deadline < now() then case when c.state = 'listening' and v_judges then 'failed' else 'deadline' end
				when c.state = 'approved' and v_judges and c.approved_at < now() - interval '2 minutes' then 'failed' end;
			continue when c.because is null and c.state <> 'ending' and (not v_judges or coalesce(c.beat_at, now()) >= now() - interval '20 seconds');
			if c.because is not null then
				c.wanted := 'absent';
			end if;
			if c.because = 'failed' and c.state = 'listening' then
				c.problem := jsonb_build_object('code', 'timeout', 'message', format('switch %s did not set the mirror session in time', (select name from switch where id = c.switch_id)),
								'detail', '', 'hint', format('haasctl switch show %s says whether it answers', (select name from switch where id = c.switch_id)));
			elsif c.because = 'failed' then
				c.problem := jsonb_build_object('code', 'unavailable', 'message', 'no peregrine-captured has started it',
								'detail', 'collector ' || c.collector, 'hint', 'is peregrine-captured running there?');
			end if;
		end if;
		if c.state in ('listening', 'running') and v_judges and c.beat_at < now() - interval '20 seconds' then
			c.state := 'ending'; c.wanted := 'absent'; c.because := coalesce(c.because, 'failed');
			c.problem := coalesce(c.problem, jsonb_build_object('code', 'unavailable', 'message', 'its collector does not answer', 'detail', 'collector ' || c.collector, 'hint', ''));
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
				perform capture_event(c, 'system', 'ended', format('%s (%s)', c.because, count_text(capture_count(c.result -> 'packets'), 'packet')));
			else
				perform pg_notify('capture', '');
			end if;
		end if;
	end loop;
	return v_count;
end
$$;

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

-- Finds the case that records a capture: the case named in the request; else the latest open case of its tenant; else the latest open case
-- of the requester without a tenant.
create function capture_case(c capture)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select f.id from case_file f
	where f.closed_at is null and case when c.case_id is not null then f.id = c.case_id else f.tenant_id = c.tenant_id or f.tenant_id is null and f.opened_by = c.requester end
	order by f.tenant_id is null, f.id desc limit 1
$$;

create function capture_name(c capture)
returns text immutable language sql as $$
	select format('capture %s of %s%s', c.id, c.node, coalesce('~' || nullif(c.peer, ''), ''))
$$;

create function capture_note(c capture, p_actor text, p_text text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_case bigint := capture_case(c);
begin
	-- closed at this moment: then it is not in it
	perform from case_file where id = v_case and closed_at is null for share;
	if found then
		insert into case_entry (case_id, actor, kind, text, detail)
		values (v_case, p_actor, 'capture', left(p_text, 4000), jsonb_build_object('capture', c.id, 'tenant', (select name from tenant where id = c.tenant_id), 'state', c.state,
			'because', c.because));
	end if;
end
$$;

-- Reads a count in the report of a capture process. The process reads strangers' bytes: no form of its report may stop the end of a
-- capture, and no word of it is shown as it came.
create function capture_count(p jsonb)
returns numeric immutable language sql as $$
	select case when jsonb_typeof(p) = 'number' then least(greatest(floor(p::text::numeric), 0), 1e18) else 0 end
$$;

create function capture_ms(p_us numeric)
returns text immutable language sql as $$
	select to_char(p_us / 1000, 'FM999999990.000')
$$;

-- "1234 packets, 98304 bytes; TCP: 812 segments, 3 sent again (0.4 %), 2 closed windows, round trip 0.210/0.305/1.100 ms; applications: TLS 80.0 %,
-- DNS 20.0 %". An application that nDPI guessed by a port number or an address is left out: it is no fact.
create function capture_summary(p_result jsonb)
returns text immutable language sql set search_path = haas, pg_temp as $$
	with r as (select case when jsonb_typeof(p_result) = 'object' then p_result else '{}' end as told),
	t as (select case when jsonb_typeof(told -> 'tcp') = 'object' then told -> 'tcp' else '{}' end as tcp,
		     case when jsonb_typeof(told -> 'applications') = 'array' then told -> 'applications' else '[]' end as applications, told from r),
	a as (select left(regexp_replace(coalesce(x ->> 'application', ''), '[^A-Za-z0-9 ._/+-]', '?', 'g'), 32)
		     || case when x -> 'guessed' = 'true' then ' (guessed by port or address)' else '' end as name, capture_count(x -> 'bytes') as bytes
	      from t, jsonb_array_elements(applications) x where jsonb_typeof(x) = 'object'),
	-- the largest of them
	m as (select string_agg(format('%s %s %%', name, round(bytes * 100 / (select sum(bytes) from a), 1)), ', ' order by bytes desc, name) as words
	      from (select * from a where bytes > 0 order by bytes desc, name limit 5) x)
	select format('%s, %s', count_text(capture_count(told -> 'packets'), 'packet'), size_text(capture_count(told -> 'bytes')))
		|| case when capture_count(told -> 'dropped') > 0 then format(', %s more were lost on the way', capture_count(told -> 'dropped')) else '' end
		|| case when capture_count(tcp -> 'segments') > 0 then format('; TCP: %s segments, %s sent again (%s %%), %s closed windows', capture_count(tcp -> 'segments'),
			capture_count(tcp -> 'retransmissions'), round(capture_count(tcp -> 'retransmissions') * 100 / capture_count(tcp -> 'segments'), 1),
			capture_count(tcp -> 'zero_windows')) else '' end
		|| case when capture_count(tcp -> 'rtt_count') > 0 then format(', round trip %s/%s/%s ms', capture_ms(capture_count(tcp -> 'rtt_least_us')),
			capture_ms(capture_count(tcp -> 'rtt_mean_us')), capture_ms(capture_count(tcp -> 'rtt_most_us'))) else '' end
		|| coalesce('; applications: ' || words, '')
	from t, m
$$;

create function capture_in_case() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.state = 'running' then
		perform capture_note(new, 'system', format('%s started: %s bytes of each frame, %s%s s at most', capture_name(new), new.snap_length,
			coalesce('filter ' || nullif(new.filter, '') || ', ', ''), new.seconds));
	elsif new.state = 'ended' then
		perform capture_note(new, 'system', format('%s ended (%s): %s', capture_name(new), new.because,
			case when new.consent is null then 'nobody consented'
			else case when new.result = '{}' then 'nothing was taken' else capture_summary(new.result) end || coalesce(', ' || nullif(new.problem ->> 'message', ''), '') end));
	end if;
	return null;
end
$$;

-- Refuses what would not fit: nothing that somebody may still want makes room for it.
create function capture_fits(p_capture bigint)
returns void language plpgsql stable security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
	k capture_collector%rowtype;
	v_tenant text;
	v_all numeric;
	v_own numeric;
begin
	select * into c from capture where id = p_capture;
	select * into k from capture_collector where name = c.collector;
	if not found then
		return;
	end if;
	select name into v_tenant from tenant where id = c.tenant_id;
	select sum(capture_kept_bytes(o)), sum(capture_kept_bytes(o)) filter (where o.tenant_id = c.tenant_id) into v_all, v_own
	from capture o where o.collector = c.collector and (o.state <> 'ended' or o.files in ('kept', 'removing'));
	if v_own > k.tenant_bytes then
		raise exception 'tenant % would have % of packets kept', v_tenant, size_text(v_own) using errcode = 'HA409', detail = format('%s is the most', size_text(k.tenant_bytes)),
			hint = format('haasctl capture list --all --tenant %s; haasctl capture remove CAPTURE, or ask for less: --size', v_tenant);
	elsif v_all > k.keep_bytes and not is_operator() then -- how much others keep is not a tenant's to know
		raise exception 'there is no room for its packets now' using errcode = 'HA409', hint = 'ask for less: --size, or later';
	elsif v_all > k.keep_bytes then
		raise exception 'collector % would keep % of packets', k.name, size_text(v_all) using errcode = 'HA409', detail = format('%s is the most', size_text(k.keep_bytes)),
			hint = 'haasctl capture list --all; haasctl capture remove CAPTURE, or ask for less: --size';
	end if;
end
$$;

-- The door to a capture: capture_start, with a case (NULL: the open one), and with the room that the collector has left.
create function capture_ask(p_spec jsonb, p_case bigint, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
	c capture%rowtype;
begin
	if p_case is not null then
		perform case_for_entry(p_case);
	end if;
	-- two at once would not see each other
	perform pg_advisory_xact_lock(hashtext('haas.capture_fits'));
	v_id := capture_start(p_spec, p_actor);
	select * into c from capture where id = v_id;
	perform capture_fits(c.id);
	c.case_id := p_case;
	c.case_id := capture_case(c);
	update capture set case_id = c.case_id where id = c.id;
	perform capture_note(c, p_actor, format('%s asked for%s: %s', capture_name(c), coalesce(' (' || nullif(c.reason, '') || ')', ''),
		case when c.consent is null then 'it waits for consent' when c.consent = 'tenant' then 'its tenant asks itself' else 'its tenant has granted it' end));
	return c.id;
end
$$;

-- A capture that was asked for by a drill path names a VLAN: it is one of its tenant's, or the capture is refused.
create function capture_vlan(p_tenant text, p_vlan integer)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not exists (select from network_vlan v join network n on n.id = v.network_id join tenant t on t.id = n.tenant_id
		       where t.name = p_tenant and v.vlan = p_vlan and in_scope(t.id)) then
		raise exception 'VLAN % does not belong to tenant %', p_vlan, p_tenant using errcode = 'HA409', hint = 'haasctl network list shows its VLANs';
	end if;
end
$$;

-- ==== triggers, views, rights ====
create trigger capture_in_case after update of state on capture for each row when (new.state is distinct from old.state and new.state in ('running', 'ended'))
	execute function capture_in_case();

-- The work of a collector: rows with the order for a process (peregrine/capture/capture_order.h).
create view capture_work as
select c.id, c.collector, c.state, c.wanted, c.files,
       jsonb_build_object('interface', p.interface, 'kind', p.kind, 'session', p.session, 'filter', c.filter, 'macs_a', to_jsonb(c.macs), 'macs_b', to_jsonb(c.peer_macs),
			  'snap_length', c.snap_length, 'seconds', c.seconds + 120, 'files', 4, 'file_bytes', greatest(262144, c.max_bytes / 4), 'wrap', c.wrap,
			  'comment', left(format('capture %s: %s%s of %s, asked for by %s, consent of %s', c.id, c.node, coalesce(' ~ ' || nullif(c.peer, ''), ''), t.name,
						 c.requester, c.consent_by), 250)) as "order"
from capture c join tenant t on t.id = c.tenant_id left join capture_point p on p.switch_id = c.switch_id
where c.state in ('approved', 'listening', 'running') or c.files = 'removing';

create policy capture_grant_portald on capture_grant for select to portald using (in_scope(tenant_id));
create policy capture_portald on capture for select to portald using (in_scope(tenant_id));
create policy capture_daemon on capture to peregrined using (true) with check (true);
create policy capture_collector on capture for select to peregrine_captured using (true);

grant select on capture_grant to portald;
grant select on capture to portald, peregrine_captured;
grant select, update (mirrored, problem) on capture to peregrined;
grant select on capture_work to peregrine_captured;
grant execute on function capture_grant_put(text,timestamptz,text) to portald;
grant execute on function capture_grant_withdraw(bigint,text) to portald;
grant execute on function capture_approve(bigint,text) to portald;
grant execute on function capture_stop(bigint,text) to portald;
grant execute on function capture_remove(bigint,text) to portald;
grant execute on function capture_read(bigint,boolean,text) to portald;
grant execute on function capture_watch(bigint,boolean,text) to portald;
grant execute on function capture_sweep() to peregrined, peregrine_captured;
grant execute on function capture_told(bigint,text,text,jsonb,jsonb) to peregrine_captured;
grant execute on function capture_ask(jsonb,bigint,text) to portald;
grant execute on function capture_vlan(text,integer) to portald;
