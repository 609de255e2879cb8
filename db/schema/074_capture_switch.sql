-- Captures and a switch, or a database, that does not answer: a capture is of the node's own port, also while its leaf is away; nobody is told to be gone who could not be heard.

-- When captures were looked at last, and since when that went on without a gap: peregrined and every collector look each second. A database that stood still (stopped, or its machine was) has heard
-- nobody, and whoever looks first afterwards may be sooner than what a collector has to tell. Lost with a crash, which is a gap.
create unlogged table capture_look (
	one boolean primary key default true check (one),
	looked_at timestamptz not null default clock_timestamp(),
	since timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- The silence of a collector is not told from the database's own before it was there, and asked, for 20 s.
create or replace function capture_judges()
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select pg_postmaster_start_time() < now() - interval '20 seconds' and coalesce((select since < now() - interval '20 seconds' from capture_look), false)
$$;

create function capture_look_note()
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	-- Somebody else who is at it notes the same; nobody waits.
	update capture_look set since = case when looked_at < clock_timestamp() - interval '10 seconds' then clock_timestamp() else since end, looked_at = clock_timestamp()
	where one = (select one from capture_look where looked_at < clock_timestamp() - interval '1 second' for update skip locked);
	if not found then
		insert into capture_look default values on conflict do nothing;
	end if;
end
$$;

-- As in 071; that, and a switch that did not take the session in time is why nothing was captured (unless the database stood still: then nobody knows).
create or replace function capture_sweep()
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
				c.problem := jsonb_build_object('code', 'unavailable', 'message', 'no peregrine-captured takes it',
								'detail', 'collector ' || c.collector, 'hint', 'is peregrine-captured running there?');
			end if;
		end if;
		if c.state in ('listening', 'running') and v_judges and c.beat_at < now() - interval '20 seconds' then
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

-- Where packets of a node are seen whole: the port that it was given, or was found at. A port that leads to another switch is none, though its MAC is heard there: that is what is left to see while
-- the switch at its other end does not answer, or has not told yet. First where its tenant's network is, and where it is to be only while it is heard nowhere, or no switch could hear it there;
-- `away`: the switch that does not answer, `behind`: the port that leads to switch `beyond`; port null = nothing but that is known.
create function capture_port(p_node bigint)
returns table (switch_id bigint, port text, away text, behind text, beyond text)
stable language sql security definer set search_path = haas, pg_temp as $$
	with heard as (
		select l.switch_id, l.port, l.certainty, x.name,
		       exists (select from link k where k.state <> 'gone' and ((k.a_switch, k.a_port) = (l.switch_id, l.port) or (k.b_switch, k.b_port) = (l.switch_id, l.port))) as leads,
		       (select case when k.a_switch = l.switch_id then k.b_switch else k.a_switch end from link k
			-- what one end alone says may be said by the node; a cable that is gone with its switch leads there if the node was found there before
			where (k.state = 'confirmed'
			       or exists (select from switch_observed v where v.switch_id in (k.a_switch, k.b_switch) and v.switch_id <> l.switch_id and not v.reachable
					  and (k.state <> 'gone' or exists (select from nic_binding b where b.mac = l.mac and b.switch_id = v.switch_id))))
			  and ((k.a_switch, k.a_port) = (l.switch_id, l.port) or (k.b_switch, k.b_port) = (l.switch_id, l.port))
			order by k.certainty desc limit 1) as beyond
		from nic x join nic_location l on l.mac = x.mac where x.node_id = p_node
	), seen as (
		select switch_id, port, 1 as found, certainty, name from heard where beyond is null
		union all
		select i.switch_id, i.port, 0, 0, '' from port_intent i where i.node_id = p_node
		and not exists (select from heard h where h.beyond is null
				and ((h.switch_id, h.port) = (i.switch_id, i.port)
				     -- its only NIC is elsewhere; another that was not heard yet may be where it was to be
				     or not h.leads and not exists (select from switch_observed v where v.switch_id = i.switch_id and not v.reachable)
				     and not exists (select from nic y where y.node_id = p_node and y.name not in (select g.name from heard g where g.beyond is null))))
	)
	select c.switch_id, c.port, c.away, c.behind, c.beyond from (
		select s.switch_id, coalesce(nullif(o.lag, ''), s.port) as port, (select w.name from switch_observed v join switch w on w.id = v.switch_id where v.switch_id = s.switch_id and not v.reachable) as away,
		       null::text as behind, null::text as beyond,
		       exists (select from port_binding b join node n on n.id = p_node where b.switch_id = s.switch_id and b.port in (s.port, nullif(o.lag, '')) and b.valid_to is null
			       and b.tenant_id = n.tenant_id) as bound, s.found, s.certainty, s.name
		from seen s left join port_observed o on o.switch_id = s.switch_id and o.name = s.port
		union all
		select h.switch_id, null, case when exists (select from switch_observed v where v.switch_id = w.id and not v.reachable) then w.name end,
		       (select name from switch where id = h.switch_id) || ':' || h.port, w.name, false, -1, h.certainty, h.name from heard h join switch w on w.id = h.beyond
	) c order by c.bound desc, c.found desc, c.certainty desc, c.name, c.switch_id, c.port limit 1
$$;
revoke execute on function capture_port(bigint) from public;

-- As in 055; the node's port is found as above, and a switch that does not answer is said at once.
create or replace function capture_start(p_spec jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n node%rowtype := capture_node(p_spec ->> 'node');
	p node%rowtype;
	c capture%rowtype;
	v_switch text;
	v_point capture_point%rowtype;
	v_at record;
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
	select * into v_at from capture_port(n.id);
	c.switch_id := v_at.switch_id; c.port := v_at.port;
	if c.switch_id is null then
		raise exception 'no switch port of node % is known', n.name using errcode = 'HA409', hint = 'haasctl nic locate ' || n.name;
	elsif v_at.away is not null then
		raise exception 'switch %, where node % is, does not answer', v_at.away, n.name using errcode = 'HA409',
			detail = coalesce('it is heard behind ' || v_at.behind || ', which leads there', ''), hint = format('haasctl switch show %s says why; ask again when it answers', v_at.away);
	elsif v_at.port is null then
		raise exception 'no port of node % is known at switch %', n.name, v_at.beyond using errcode = 'HA409',
			detail = format('it is heard behind %s, which leads there', v_at.behind), hint = format('haasctl nic locate %s; ask again when %s tells of it', n.name, v_at.beyond);
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
