-- A switch that sends what it mirrors itself (ERSPAN): to the collector's address, from one of its own. It needs no port for that.

alter table capture_point drop constraint capture_point_port_check;
alter table capture_point alter column port set default '';
alter table capture_point add column address inet check (family(address) = 4 and masklen(address) = 32), -- of the collector; null = out of `port`
	add column origin inet check (family(origin) = 4 and masklen(origin) = 32);                      -- of the switch
alter table capture_point add constraint capture_point_is_one check (
	case when address is null then origin is null and length(port) between 1 and 63
	     else origin is not null and port = '' and kind = 'erspan' and session <= 1023 end);

create or replace view capture_session as
select s.id as switch_id, c.id, c.port, coalesce(host(p.address), p.port) as target, host(p.address) as tunnel_to, host(p.origin) as tunnel_from, p.session
from switch s join switch_endpoint e on e.switch_id = s.id
left join capture_point p on p.switch_id = s.id
left join capture c on c.switch_id = s.id and p.switch_id is not null and c.state in ('listening', 'running') and c.wanted = 'present' and c.deadline > now()
where e.managed and (p.switch_id is not null or exists (select from capture m where m.switch_id = s.id and m.mirrored));

create or replace function capture_point_put(p_switch text, p_spec jsonb, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := capture_switch(p_switch);
	v_tunnel boolean := p_spec ->> 'address' is not null;
begin
	if exists (select from capture where switch_id = v_switch and state not in ('waiting', 'ended')) then
		raise exception 'switch % has captures under way', p_switch using errcode = 'HA409', hint = 'haasctl capture list';
	elsif (p_spec ->> 'port' is null) <> v_tunnel or (p_spec ->> 'origin' is not null) <> v_tunnel then
		raise exception 'mirrors go out of a port, or are sent to an address' using errcode = 'HA422',
			hint = 'either --port PORT; or --address COLLECTOR and --origin SWITCH''S, where the switch can send them itself';
	elsif v_tunnel and coalesce(p_spec ->> 'kind', 'erspan') <> 'erspan' then
		raise exception 'what a switch sends itself is erspan' using errcode = 'HA422', hint = 'other kinds are what is behind a port';
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

-- As before, but that a point need not be a port.
create or replace function capture_start(p_spec jsonb, p_actor text)
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
