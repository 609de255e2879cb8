-- One conclusion of peregrined, written: what switches said of themselves, which parts of it came, and the rows of many switches, of which one
-- may say what PostgreSQL does not take.

-- ==== shape ====

-- Which parts of a switch's last full reading came. An empty table and a table that was not read look alike elsewhere.
create table switch_part (
	switch_id bigint not null references switch on delete cascade,
	part text not null check (part in ('ports', 'vlans', 'addresses', 'neighbors', 'aggregates')),
	state text not null check (state in ('whole', 'partial', 'missing')),
	reason text not null default '',       -- why it is not whole
	since timestamptz not null,            -- of this state
	primary key (switch_id, part)
);

-- Ports where the MAC of a node's NIC is heard although it is plugged in elsewhere: somebody else uses it. As of the last conclusion.
create table nic_stray (
	mac macaddr not null,
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	seen_at timestamptz not null,          -- the reading of the switch
	primary key (mac, switch_id, port)
);

-- ==== functions ====

-- All strays there are now; what is not told any more is gone.
create function nic_stray_put(p_rows jsonb)
returns integer language plpgsql set search_path = haas, pg_temp as $$
begin
	delete from nic_stray o where not exists (select from jsonb_to_recordset(p_rows) as x (mac macaddr, switch_id bigint, port text)
						  where (x.mac, x.switch_id, x.port) = (o.mac, o.switch_id, o.port));
	insert into nic_stray (mac, switch_id, port, seen_at)
	select distinct on (x.mac, x.switch_id, x.port) x.mac, x.switch_id, x.port, to_timestamp(x.seen_us / 1e6)
	from jsonb_to_recordset(p_rows) as x (mac macaddr, switch_id bigint, port text, seen_us bigint) join switch s on s.id = x.switch_id
	order by x.mac, x.switch_id, x.port, x.seen_us desc
	on conflict (mac, switch_id, port) do update set seen_at = excluded.seen_at;
	return 0;
end
$$;

-- Why the node that speaks under this MAC may be another machine, by the switches' address tables; null = nothing speaks against it. A switch
-- that was not read lately says nothing, and neither does a site without switches of ours. An address table forgets within 5 minutes.
create function nic_elsewhere(p_mac macaddr)
returns text stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_heard text;
	v_own text;
begin
	select format('%s:%s', s.name, x.port) || coalesce(', the port of node ' || h.name, ''), format('%s:%s', f.name, l.port) into v_heard, v_own
	from nic_stray x join switch s on s.id = x.switch_id left join port_intent i on i.switch_id = x.switch_id and i.port = x.port left join node h on h.id = i.node_id
	left join nic_location l on l.mac = x.mac and (l.switch_id, l.port) <> (x.switch_id, x.port) left join switch f on f.id = l.switch_id
	where x.mac = p_mac and x.seen_at > now() - interval '5 minutes' order by x.seen_at desc, s.name, x.port limit 1;
	if found then
		return format('its MAC %s is heard at %s; its own port is %s', p_mac, v_heard, coalesce(v_own, 'not known'));
	end if;
	return (select p.conflict from nic c join nic_location l on l.mac = c.mac and l.certainty >= 50 and l.sources && '{fdb,lldp}' and l.seen_at > now() - interval '5 minutes'
		join wiring w on w.node_id = c.node_id and w.nic = c.name and (w.switch_id, w.port) <> (l.switch_id, l.port)
		join node_ports(c.node_id) p on p.nic = c.name where c.mac = p_mac limit 1);
end
$$;

create function switch_observed_put(p_rows jsonb)
returns integer language plpgsql set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	r record;
	o switch_observed%rowtype;
	v_events integer := 0;
begin
	for r in
		select x.*, s.name from jsonb_to_recordset(p_rows) as x (switch_id bigint, reachable boolean, problem jsonb, asked_us bigint, family text,
			object_id text, text text, system text, chassis text, uptime_ms bigint, vlan_changes bigint, vlans jsonb, requests bigint,
			odd bigint, odd_text text, read_us bigint, parts jsonb)
		join switch s on s.id = x.switch_id order by x.switch_id
	loop
		select * into o from switch_observed where switch_id = r.switch_id;
		if found and o.reachable <> r.reachable or not found and not r.reachable then
			perform event_told(case when r.reachable then 'switch.answers' else 'switch.silent' end, 'switch', r.name, null,
					  case when r.reachable then 'it answers again' else coalesce(r.problem ->> 'message', 'it does not answer') end,
					  coalesce(nullif(r.problem, 'null'), '{}'));
			v_events := v_events + 1;
		end if;
		if o.switch_id is not null and o.read_at is not null and r.uptime_ms < o.uptime_ms then
			perform event_told('switch.rebooted', 'switch', r.name, null, 'it has restarted',
					  jsonb_build_object('uptime_ms', r.uptime_ms));
			v_events := v_events + 1;
		end if;
		insert into switch_observed as w (switch_id, family, object_id, text, system, chassis, uptime_ms, vlan_changes, vlans, requests, odd,
						  odd_text, reachable, problem, read_at, asked_at)
		values (r.switch_id, coalesce(r.family, ''), coalesce(r.object_id, ''), coalesce(r.text, ''), coalesce(r.system, ''),
			coalesce(r.chassis, ''), coalesce(r.uptime_ms, 0), coalesce(r.vlan_changes, 0),
			array(select jsonb_array_elements_text(coalesce(nullif(r.vlans, 'null'), '[]'))::integer), coalesce(r.requests, 0),
			coalesce(r.odd, 0), coalesce(r.odd_text, ''), r.reachable, nullif(r.problem, 'null'), to_timestamp(r.read_us / 1e6),
			to_timestamp(r.asked_us / 1e6))
		on conflict (switch_id) do update set
			family = coalesce(r.family, w.family), object_id = coalesce(r.object_id, w.object_id), text = coalesce(r.text, w.text),
			system = coalesce(r.system, w.system), chassis = coalesce(r.chassis, w.chassis), uptime_ms = coalesce(r.uptime_ms, w.uptime_ms),
			vlan_changes = coalesce(r.vlan_changes, w.vlan_changes),
			vlans = case when r.read_us is null then w.vlans else excluded.vlans end,
			requests = coalesce(r.requests, w.requests), odd = coalesce(r.odd, w.odd), odd_text = coalesce(r.odd_text, w.odd_text),
			reachable = excluded.reachable, problem = excluded.problem, read_at = coalesce(excluded.read_at, w.read_at),
			asked_at = excluded.asked_at;
		insert into switch_part as p (switch_id, part, state, reason, since)
		select r.switch_id, x.part, x.state, x.reason, now() from jsonb_to_recordset(coalesce(nullif(r.parts, 'null'), '[]')) as x (part text, state text, reason text)
		on conflict (switch_id, part) do update set state = excluded.state, reason = excluded.reason,
			since = case when p.state = excluded.state then p.since else excluded.since end
		where (p.state, p.reason) is distinct from (excluded.state, excluded.reason);
	end loop;
	return v_events;
end
$$;

-- Rows of one of the four functions X_put of fabric.sql.
create function fabric_rows_put(p_table text, p_switches bigint[], p_rows jsonb, p_seen_s integer)
returns integer language plpgsql set search_path = haas, pg_temp as $$
begin
	case p_table
	when 'observed' then return switch_observed_put(p_rows);
	when 'ports' then return port_observed_put(p_switches, p_rows, p_seen_s);
	when 'links' then return link_put(p_switches, p_rows, p_seen_s);
	when 'places' then return nic_location_put(p_rows, p_seen_s);
	end case;
end
$$;

-- One switch's bad row never harms another's. PostgreSQL refuses a value: each switch's rows are tried alone and taken back. Then those of all
-- others are written; the refused switch keeps the rows that it had. `refused`: [{switch_id, message}], and the message names the value.
-- HA000 is no error: it ends a trial.
create function fabric_rows_write(p_table text, p_switches bigint[], p_rows jsonb, p_seen_s integer, out events integer, out refused jsonb)
returns record language plpgsql set search_path = haas, pg_temp as $$
declare
	r record;
	v_bad bigint[] := '{}';
	v_whole boolean := true;
	v_detail text;
begin
	refused := '[]';
	begin
		events := fabric_rows_put(p_table, p_switches, p_rows, p_seen_s);
	exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
		v_whole := false;
	end;
	if v_whole then
		return;
	end if;
	for r in
		select coalesce(e -> 'switch_id', e -> 'a_switch')::bigint as id, jsonb_agg(e) as rows from jsonb_array_elements(p_rows) e group by 1 order by 1
	loop
		begin
			perform fabric_rows_put(p_table, array[r.id], r.rows, p_seen_s);
			raise exception using errcode = 'HA000';
		exception
		when sqlstate 'HA000' then null;
		when data_exception or integrity_constraint_violation or program_limit_exceeded then
			get stacked diagnostics v_detail = pg_exception_detail;   -- of a constraint: the failing row
			v_bad := v_bad || r.id;
			refused := refused || jsonb_build_object('switch_id', r.id, 'message', sqlerrm || coalesce('. ' || nullif(v_detail, ''), ''));
		end;
	end loop;
	if v_bad = '{}' then
		raise exception 'PostgreSQL takes the % of each switch, and not those of all', p_table;
	end if;
	events := fabric_rows_put(p_table, array(select unnest(p_switches) except select unnest(v_bad)),
				  (select coalesce(jsonb_agg(e), '[]') from jsonb_array_elements(p_rows) e
				   where coalesce(e -> 'switch_id', e -> 'a_switch')::bigint <> all (v_bad)), p_seen_s);
end
$$;

-- ==== triggers, views, rights ====
grant select on switch_part to portald;
grant insert, select, update on switch_part to peregrined;
grant insert, select, update, delete on nic_stray to peregrined;
grant execute on function nic_stray_put(jsonb) to peregrined;
grant execute on function switch_observed_put(jsonb) to peregrined;
grant execute on function fabric_rows_put(text,bigint[],jsonb,integer) to peregrined;
grant execute on function fabric_rows_write(text,bigint[],jsonb,integer) to peregrined;
