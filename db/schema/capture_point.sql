-- Where a switch's mirror sessions deliver (by a port, or by a tunnel: ERSPAN), the collectors there, and which session runs.
--
-- `capture_look` is the time when captures were last looked at: peregrined and every collector look each second. A gap says that the
-- database stood still.

-- ==== shape ====

-- Where a switch's mirror sessions deliver: a port of it that leads to the host of a collector, or a tunnel to there.
create table capture_point (
	switch_id bigint primary key references switch on delete cascade,
	collector text not null default 'main' check (collector ~ '^[a-z0-9][a-z0-9-]{0,62}$'),  -- `name` of its peregrine-captured
	port text not null default '',  -- of the switch; frames of the session go out there
	interface text not null check (length(interface) between 1 and 15), -- of the collector's host; they come in there
	kind text not null default 'port' check (kind in ('port', 'gre', 'erspan', 'vxlan')),
	session bigint not null default 0 check (session between 0 and 4294967295),  -- GRE key, ERSPAN session or VNI; 0 = any
	address inet check (family(address) = 4 and masklen(address) = 32),  -- of the collector; null = out of `port`
	origin inet check (family(origin) = 4 and masklen(origin) = 32),  -- of the switch
	constraint capture_point_is_one check (
		case when address is null then origin is null and length(port) between 1 and 63
		     else origin is not null and port = '' and kind = 'erspan' and session <= 1023 end)
);

create table capture_collector (
	name text primary key check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	keep_days integer not null check (keep_days between 1 and 3650),
	keep_bytes bigint not null check (keep_bytes > 0),        -- of all tenants
	tenant_bytes bigint not null check (tenant_bytes > 0),    -- of one
	told_at timestamptz not null default now()
);

-- The time of the last look at captures, and the begin of the series of looks without a gap. peregrined and every collector look each
-- second. A gap says that the database stood still. The first look after a gap may come before a collector could report. A crash loses this
-- row, which counts as a gap.
create unlogged table capture_look (
	one boolean primary key default true check (one),
	looked_at timestamptz not null default clock_timestamp(),
	since timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- ==== functions ====

-- What could not be taken back, or not be removed, afterwards: the row of the capture goes with its switch.
create function capture_holds_switch() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := (to_jsonb(old) ->> tg_argv[0])::bigint;
	v_id bigint;
begin
	select min(id) into v_id from capture where switch_id = v_switch and (state <> 'ended' or mirrored or files in ('kept', 'removing'));
	if v_id is not null then
		raise exception 'switch % has capture %', (select name from switch where id = v_switch), v_id using errcode = 'HA409',
			detail = 'it is running, or its packets are kept', hint = format('haasctl capture stop %1$s; haasctl capture remove %1$s', v_id);
	end if;
	return case when tg_op = 'DELETE' then old else new end;
end
$$;

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
		raise exception 'node % is behind port %:%', v_node, v_switch, p_port using errcode = 'HA409', hint = 'name a port that leads to a collector: haasctl capture point';
	elsif exists (select from attachment where switch_id = p_switch and port = any (v_ports)) then
		raise exception 'port %:% is in a network', v_switch, p_port using errcode = 'HA409', hint = 'name a port that leads to a collector: haasctl capture point';
	end if;
	-- one that was never read may have any port
	if exists (select from port_observed where switch_id = p_switch) and not exists (select from port_observed where switch_id = p_switch and (name = p_port or lag = p_port)) then
		raise exception 'switch % has no port %', v_switch, p_port using errcode = 'HA404', hint = 'haasctl switch ports ' || v_switch;
	end if;
end
$$;

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

-- The switch has exactly these: it has none of the others.
create function capture_unmirrored(p_switch bigint, p_captures bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	update capture set mirrored = false where switch_id = p_switch and mirrored and id <> all (p_captures);
	select capture_sweep();
$$;

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
	v_tunnel boolean := p_spec ->> 'address' is not null;
begin
	if exists (select from capture where switch_id = v_switch and state not in ('waiting', 'ended')) then
		raise exception 'switch % has running captures', p_switch using errcode = 'HA409', hint = 'haasctl capture list';
	elsif (p_spec ->> 'port' is null) <> v_tunnel or (p_spec ->> 'origin' is not null) <> v_tunnel then
		raise exception 'mirrors go out of a port, or are sent to an address' using errcode = 'HA422',
			hint = 'either --port PORT; or --address COLLECTOR and --origin SWITCH''S, where the switch can send them itself';
	elsif v_tunnel and coalesce(p_spec ->> 'kind', 'erspan') <> 'erspan' then
		raise exception 'a switch itself sends ERSPAN only' using errcode = 'HA422', hint = 'gre and vxlan are made by a device behind a port';
	elsif not v_tunnel then
		perform capture_point_check(v_switch, p_spec ->> 'port');
	end if;
	insert into capture_point (switch_id, port, address, origin, interface, collector, kind, session)
	values (v_switch, coalesce(p_spec ->> 'port', ''), (p_spec ->> 'address')::inet, (p_spec ->> 'origin')::inet, p_spec ->> 'interface', coalesce(p_spec ->> 'collector', 'main'),
		coalesce(p_spec ->> 'kind', case when v_tunnel then 'erspan' else 'port' end), coalesce((p_spec ->> 'session')::bigint, 0))
	on conflict (switch_id) do update set port = excluded.port, address = excluded.address, origin = excluded.origin, interface = excluded.interface,
		collector = excluded.collector, kind = excluded.kind, session = excluded.session;
	perform event_add(p_actor, 'capture.point', 'switch', p_switch, null,
			  case when v_tunnel then format('mirrors are sent to %s', p_spec ->> 'address') else format('mirrors go to port %s', p_spec ->> 'port') end, p_spec);
	perform pg_notify('capture', '');
exception
	when check_violation or invalid_text_representation then
		raise exception 'these cannot be' using errcode = 'HA422', hint = 'addresses are IPv4; an ERSPAN session is 1 to 1023, 0 = as the switch has it';
end
$$;

create function capture_point_remove(p_switch text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := capture_switch(p_switch);
begin
	if exists (select from capture where switch_id = v_switch and (mirrored or state not in ('waiting', 'ended'))) then
		raise exception 'switch % has running captures', p_switch using errcode = 'HA409', hint = 'haasctl capture list';
	end if;
	delete from capture_point where switch_id = v_switch;
	if not found then
		raise exception 'switch % has no mirror port', p_switch using errcode = 'HA404';
	end if;
	perform event_add(p_actor, 'capture.point', 'switch', p_switch, null, 'the mirror port was removed');
end
$$;

create function capture_kept_bytes(c capture)
returns numeric immutable language sql set search_path = haas, pg_temp as $$
	select case when c.state <> 'ended' then c.max_bytes when c.files in ('kept', 'removing') then coalesce(nullif(capture_count(c.result -> 'stored_bytes'), 0), c.max_bytes) else 0 end
$$;

-- A collector: what it keeps, and what of it is too old now. How many captures are to be deleted.
create function capture_keep(p_collector text, p_days integer, p_bytes bigint, p_tenant_bytes bigint)
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
	v_count integer := 0;
begin
	insert into capture_collector (name, keep_days, keep_bytes, tenant_bytes) values (p_collector, p_days, p_bytes, p_tenant_bytes)
	on conflict (name) do update set keep_days = excluded.keep_days, keep_bytes = excluded.keep_bytes, tenant_bytes = excluded.tenant_bytes, told_at = now()
	where (capture_collector.keep_days, capture_collector.keep_bytes, capture_collector.tenant_bytes) is distinct from (excluded.keep_days, excluded.keep_bytes, excluded.tenant_bytes);
	for c in select * from capture where collector = p_collector and state = 'ended' and files = 'kept' and ended_at < now() - make_interval(days => p_days)
		order by id limit 100 for update skip locked loop
		update capture set files = 'removing' where id = c.id;
		perform capture_event(c, 'system', 'removed', format('its packets were kept for %s', count_text(p_days, 'day')));
		v_count := v_count + 1;
	end loop;
	return v_count;
end
$$;

-- Returns the end of a capture: its own, or the end of the grant that it rests on. Daemons end it by their own clocks while the database is
-- away.
create function capture_left_ms(p_capture bigint)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select floor(extract(epoch from least(c.deadline, g.expires_at) - now()) * 1000)::bigint
	from capture c left join capture_grant g on g.id = c.grant_id and c.consent = 'grant' where c.id = p_capture
$$;

-- The silence of a collector is not told from the database's own before it was there, and asked, for 20 s.
create function capture_judges()
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

-- Finds the port that sees all packets of a node: the port given to the node, or the port where it was found. A port that leads to another
-- switch does not count. Such a port is all that remains visible while the switch behind it does not answer. The port of the tenant's
-- network comes first. A planned port counts only while the node is heard nowhere, or no switch could hear it there. `away`: the switch
-- that does not answer. `behind`: the port that leads to the switch `beyond`. port null: nothing else is known.
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

-- ==== triggers, views, rights ====

create view capture_session as
select s.id as switch_id, c.id, c.port, coalesce(host(p.address), p.port) as target, host(p.address) as tunnel_to, host(p.origin) as tunnel_from, p.session
from switch s join switch_endpoint e on e.switch_id = s.id
left join capture_point p on p.switch_id = s.id
left join capture c on c.switch_id = s.id and p.switch_id is not null and c.state in ('listening', 'running') and c.wanted = 'present' and c.deadline > now()
where e.managed and (select not restoration_waits()) and (p.switch_id is not null or exists (select from capture m where m.switch_id = s.id and m.mirrored));

grant select on capture_point to portald, peregrined, peregrine_captured;
grant select on capture_session to peregrined;
grant execute on function capture_mirrored(bigint,boolean,jsonb) to peregrined;
grant execute on function capture_unmirrored(bigint,bigint[]) to peregrined;
grant execute on function capture_point_put(text,jsonb,text) to portald;
grant execute on function capture_point_remove(text,text) to portald;
grant execute on function capture_keep(text,integer,bigint,bigint) to peregrine_captured;
grant execute on function capture_left_ms(bigint) to peregrined, peregrine_captured;
grant execute on function capture_judges() to portald, peregrined, peregrine_captured;
