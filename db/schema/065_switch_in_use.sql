-- A switch in use is not given up by another door: neither moved to another fabric nor taken out of management. Fabrics whose numbers meet are told of. No port that is not there.

-- What is on its ports that somebody needs; null = nothing.
create function switch_ports_in_use(p_switch bigint)
returns text[] stable language sql security definer set search_path = haas, pg_temp as $$
	select array_agg(x.text order by x.port) from (
		select i.port, format('%s (node %s%s)', i.port, d.name, ' of PDCI ' || p.name) as text
		from port_intent i join node d on d.id = i.node_id left join pdci_node m on m.node_id = d.id and m.released_at is null left join pdci p on p.id = m.pdci_id
		where i.switch_id = p_switch
		union all
		select a.port, format('%s (network %s)', a.port, string_agg(n.name, ', ' order by n.name))
		from attachment a join network n on n.id = a.network_id
		where a.switch_id = p_switch and not exists (select from port_intent i where i.switch_id = a.switch_id and i.port = a.port and i.node_id is not null)
		group by a.port) x;
$$;

-- As before.
create or replace function switch_let_go(p_switch bigint, p_name text, p_actor text, p_force boolean)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_ports text[];
	v_text text;
begin
	v_ports := switch_ports_in_use(p_switch);
	v_text := array_to_string(v_ports[1:4], ', ') || case when cardinality(v_ports) > 4 then format(' and %s more', cardinality(v_ports) - 4) else '' end;
	if v_ports is not null and not p_force then
		raise exception 'switch % is in use: %', p_name, v_text using errcode = 'HA409',
			hint = 'release its nodes (haasctl pdci release, pdci replace), detach the rest (haasctl network detach); --force if it is gone for good';
	elsif v_ports is not null then
		perform event_add(p_actor, 'switch.abandoned', 'switch', p_name, null, 'given up with what is on its ports: ' || v_text, jsonb_build_object('ports', to_jsonb(v_ports)));
	end if;
	delete from port_intent i where i.switch_id = p_switch   -- not ours: known again, it is not parked under whoever is there
		and (i.node_id is not null or exists (select from attachment a where a.switch_id = i.switch_id and a.port = i.port));
	delete from attachment where switch_id = p_switch;
	insert into port_former (switch_id, port, peer)
	select case when l.a_switch = p_switch then l.b_switch else l.a_switch end, case when l.a_switch = p_switch then l.b_port else l.a_port end, p_name
	from link l where p_switch in (l.a_switch, l.b_switch) and l.a_switch <> l.b_switch
	on conflict (switch_id, port) do update set peer = excluded.peer, since = now();
end
$$;

-- As before; not while anything of its ports is in use, unless `force` in p_spec says that it is meant. Then they stay as they are.
create or replace function switch_manage(p_name text, p_spec jsonb, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint;
	v_fabric bigint;
	e switch_endpoint%rowtype;
	v_other text;
	v_ports text[];
begin
	if not is_operator() then
		raise exception 'only an operator may manage switches' using errcode = 'HA403';
	end if;
	insert into switch (name) values (p_name) on conflict (name) do nothing;
	select id into v_id from switch where name = p_name for update;
	select * into e from switch_endpoint where switch_id = v_id;
	if p_spec ? 'fabric' then
		select id into v_fabric from fabric where name = p_spec ->> 'fabric';
		if not found then
			raise exception 'fabric % does not exist', p_spec ->> 'fabric' using errcode = 'HA404', hint = 'haasctl fabric list shows the fabrics';
		end if;
	elsif e.switch_id is null then
		if (select count(*) from fabric) <> 1 then
			raise exception 'switch % needs a fabric', p_name using errcode = 'HA422', hint = 'haasctl fabric list shows the fabrics';
		end if;
		select id into v_fabric from fabric;
	end if;
	if e.switch_id is null and not p_spec ? 'address' then
		raise exception 'switch % needs a management address', p_name using errcode = 'HA422';
	end if;
	select s.name into v_other from switch_endpoint x join switch s on s.id = x.switch_id
	where x.address = (p_spec ->> 'address')::inet and x.switch_id <> v_id;
	if found then
		raise exception '% is the address of switch %', p_spec ->> 'address', v_other using errcode = 'HA409';
	end if;
	if e.switch_id is not null and not coalesce((p_spec ->> 'force')::boolean, false)
	   and (v_fabric <> e.fabric_id or (e.managed and not (p_spec ->> 'managed')::boolean)) then
		v_ports := switch_ports_in_use(v_id);
		if v_ports is not null then
			raise exception 'switch % is in use: %', p_name, array_to_string(v_ports[1:4], ', ')
				|| case when cardinality(v_ports) > 4 then format(' and %s more', cardinality(v_ports) - 4) else '' end using errcode = 'HA409',
				hint = case when v_fabric <> e.fabric_id then 'its networks would be cut in two, one in each fabric' else 'nothing would be set on its ports any more' end
				|| ': release its nodes (haasctl pdci release, pdci replace), detach the rest (haasctl network detach); --force if that is meant';
		end if;
	end if;
	insert into switch_endpoint as x (switch_id, fabric_id, role, family, address, ports, credentials, secrets_sealed, managed, poll_s)
	values (v_id, coalesce(v_fabric, e.fabric_id), coalesce(p_spec ->> 'role', e.role, 'leaf'), coalesce(p_spec ->> 'family', e.family, ''),
		coalesce((p_spec ->> 'address')::inet, e.address), coalesce(p_spec -> 'ports', e.ports, '{}'),
		coalesce(p_spec -> 'credentials', e.credentials, '{}'), coalesce(decode(p_spec ->> 'secrets_sealed', 'hex'), e.secrets_sealed),
		coalesce((p_spec ->> 'managed')::boolean, e.managed, true), coalesce((p_spec ->> 'poll_s')::integer, e.poll_s, 30))
	on conflict (switch_id) do update set fabric_id = excluded.fabric_id, role = excluded.role, family = excluded.family, address = excluded.address,
		ports = excluded.ports, credentials = excluded.credentials, secrets_sealed = excluded.secrets_sealed, managed = excluded.managed,
		poll_s = excluded.poll_s, version = x.version + 1;
	perform event_add(p_actor, case when e.switch_id is null then 'switch.managed' else 'switch.changed' end, 'switch', p_name, null,
			  case when e.switch_id is null then 'managed from now on' else 'management changed' end, p_spec - 'secrets_sealed');
	perform pg_notify('fabric', '');
	perform pg_notify('network', '');
	return e.switch_id is null;
end
$$;

-- --- fabrics whose numbers meet ------------------------------------------------------------------------------------------------------------

-- Two fabrics that have numbers in common, and a cable or a switch, as alerts. A number is given out in each by itself: what keeps their networks apart is then only
-- that a cable to a switch of another fabric is not ours and carries nothing of ours.
create function fabric_overlaps()
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	with used as (select id, name, int4range(vlan_low, vlan_high, '[]') as vlans from fabric
		      union all select id, name, int4range(parking_vlan, parking_vlan + parking_count - 1, '[]') from fabric),
	     pair as (select a.id as a, b.id as b, a.name as a_name, b.name as b_name,
			     string_agg(lower(a.vlans * b.vlans) || case when upper(a.vlans * b.vlans) - 1 > lower(a.vlans * b.vlans) then '-' || upper(a.vlans * b.vlans) - 1 else '' end,
					', ' order by lower(a.vlans * b.vlans)) as vlans
		      from used a join used b on b.id > a.id and a.vlans && b.vlans group by 1, 2, 3, 4)
	select coalesce(jsonb_agg(jsonb_build_object('key', format('fabric.numbers_meet:%s:%s', p.a_name, p.b_name), 'kind', 'fabric.numbers_meet', 'severity', 'warning',
		'subject_kind', 'fabric', 'subject', p.a_name, 'message', format('fabrics %s and %s both use VLANs %s, and %s', p.a_name, p.b_name, p.vlans, w.way),
		'hint', 'give each a range of its own: haasctl fabric create NAME --vlans') order by p.a, p.b), '[]')
	from pair p cross join lateral (
		select x.way from (
			select 1 as rank, format('%s:%s leads to %s:%s', s.name, l.a_port, t.name, l.b_port) as way
			from link l join switch_endpoint e on e.switch_id = l.a_switch join switch_endpoint f on f.switch_id = l.b_switch
			join switch s on s.id = l.a_switch join switch t on t.id = l.b_switch
			where l.state <> 'gone' and (e.fabric_id, f.fabric_id) in ((p.a, p.b), (p.b, p.a))
			union all
			select 2, format('%s:%s is planned to lead to %s', s.name, w.port, t.name)
			from wiring w join switch_endpoint e on e.switch_id = w.switch_id join switch_endpoint f on f.switch_id = w.peer_switch_id
			join switch s on s.id = w.switch_id join switch t on t.id = w.peer_switch_id
			where (e.fabric_id, f.fabric_id) in ((p.a, p.b), (p.b, p.a))
			union all
			select 3, format('%s and %s are one switch', s.name, t.name)
			from switch_endpoint e join switch_observed o on o.switch_id = e.switch_id join switch s on s.id = e.switch_id
			join switch_observed q on lower(q.chassis) = lower(o.chassis) and q.switch_id <> o.switch_id join switch_endpoint f on f.switch_id = q.switch_id
			join switch t on t.id = f.switch_id
			where o.chassis <> '' and e.fabric_id = p.a and f.fabric_id = p.b) x
		order by x.rank, x.way limit 1) w
$$;
revoke execute on function fabric_overlaps() from public;
grant execute on function fabric_overlaps() to peregrined;

-- As before, and these.
create or replace function fabric_alert_put(p_rows jsonb, p_seen_s integer)
returns integer language plpgsql set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	r record;
	v_events integer := 0;
	v_rows jsonb := p_rows || fabric_overlaps();
begin
	for r in
		select distinct on (x.key) x.*, a.id from jsonb_to_recordset(v_rows) as x (key text, kind text, severity text, subject_kind text, subject text,
			message text, hint text)
		left join alert a on a.key = x.key and a.cleared_at is null order by x.key
	loop
		if r.id is not null then
			update alert set seen_at = now(), severity = r.severity, message = r.message, detail = jsonb_build_object('hint', r.hint)
			where id = r.id and (seen_at < now() - make_interval(secs => p_seen_s)
					     or (severity, message, detail) is distinct from (r.severity, r.message, jsonb_build_object('hint', r.hint)));
			continue;
		end if;
		insert into alert (key, kind, severity, subject_kind, subject, message, detail)
		values (r.key, r.kind, r.severity, r.subject_kind, r.subject, r.message, jsonb_build_object('hint', r.hint));
		perform event_add('peregrined', 'alert.raised', r.subject_kind, r.subject, null, r.message,
				  jsonb_build_object('kind', r.kind, 'severity', r.severity, 'hint', r.hint));
		v_events := v_events + 1;
	end loop;
	for r in
		update alert a set cleared_at = now()
		where a.cleared_at is null and (split_part(a.kind, '.', 1) in ('fabric', 'nic', 'wiring') or a.kind = 'switch.unreachable') and a.kind <> 'fabric.isolation'
		and not exists (select from jsonb_to_recordset(v_rows) as x (key text) where x.key = a.key)
		returning a.subject_kind, a.subject, a.kind, a.message
	loop
		perform event_add('peregrined', 'alert.cleared', r.subject_kind, r.subject, null, r.message, jsonb_build_object('kind', r.kind));
		v_events := v_events + 1;
	end loop;
	delete from alert where cleared_at < now() - interval '90 days';
	return v_events;
end
$$;

-- --- ports that are not there --------------------------------------------------------------------------------------------------------------

-- A person's word on a port of a switch that was read and shows no such port is a slip.
create function port_is_there(p_switch bigint, p_name text, p_port text)
returns void stable language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if exists (select from switch_observed o where o.switch_id = p_switch and o.read_at is not null)
	   and exists (select from port_observed o where o.switch_id = p_switch)
	   and not exists (select from port_observed o where o.switch_id = p_switch and o.name = p_port) then
		raise exception 'switch % shows no port %', p_name, p_port using errcode = 'HA404', hint = format('haasctl switch ports %s lists its ports', p_name);
	end if;
end
$$;

-- As before, each for a port that is there.
create or replace function attachment_put(p_switch text, p_port text, p_network bigint, p_mode text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
	v_networks bigint[];
	v_modes text[];
	v_node text;
begin
	perform port_is_there(v_switch, p_switch, p_port);
	perform from port_intent where switch_id = v_switch and port = p_port for no key update;
	select d.name into v_node from node d, network n where d.id = port_node(v_switch, p_port) and n.id = p_network and n.kind = 'provisioning' and d.state = 'active';
	if found then
		raise exception 'node % behind port %:% is in use by its tenant: not in a provisioning network', v_node, p_switch, p_port
			using errcode = 'HA409', hint = 'haasctl nic locate shows what is behind the port';
	end if;
	select coalesce(array_agg(network_id order by id), '{}'), coalesce(array_agg(mode order by id), '{}') into v_networks, v_modes
	from attachment where switch_id = v_switch and port = p_port and network_id <> p_network;
	return port_networks_ask(v_switch, p_port, v_networks || p_network, v_modes || p_mode, p_actor);
end
$$;

create or replace function port_park(p_switch text, p_port text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
	v_changed boolean;
begin
	perform port_is_there(v_switch, p_switch, p_port);
	v_changed := port_networks_ask(v_switch, p_port, '{}', '{}', p_actor);
	delete from kept_uplink where switch_id = v_switch and port = p_port;
	if found and not v_changed then
		update port_intent set wanted_version = wanted_version + 1, problem = null where switch_id = v_switch and port = p_port;
		perform pg_notify('network', '');
		return true;
	end if;
	return v_changed;
end
$$;
