-- A cable that is moved while a tenant has the node: its old port is blocked, its new one is let in only when plan and finding agree.

-- A port whose attachments do not count for now: it is parked like a free one. Only while the port's intent is the one that it was then; whoever states another
-- one has thought of it.
create table port_block (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	kind text not null check (kind in ('moved', 'foreign')),  -- its NIC is plugged in elsewhere; a NIC of another tenant is plugged in here
	mac macaddr not null,                                     -- that NIC
	wanted_version bigint not null,                           -- of port_intent
	message text not null,
	since timestamptz not null default now(),
	primary key (switch_id, port)
);
grant select on port_block to portald, bampid;
grant select, insert, update, delete on port_block to peregrined;

-- A node that is off has silent cables, which nobody has to look for.
grant select (node_id, observed_power) on bmc to peregrined;

-- All that are blocked now; what is not told any more is free again. Returns how many events were written.
create function port_block_put(p_rows jsonb)
returns integer language plpgsql set search_path = haas, pg_temp as $$
declare
	r record;
	v_events integer := 0;
begin
	for r in
		delete from port_block b using switch s where s.id = b.switch_id
		and not exists (select from jsonb_to_recordset(p_rows) as x (switch_id bigint, port text, kind text, mac macaddr, version bigint)
				where (x.switch_id, x.port, x.kind, x.mac, x.version) = (b.switch_id, b.port, b.kind, b.mac, b.wanted_version))
		returning s.name || ':' || b.port as subject
	loop
		perform event_add('peregrined', 'port.unblocked', 'port', r.subject, null, 'what it is meant for counts again', '{}');
		v_events := v_events + 1;
	end loop;
	for r in
		insert into port_block (switch_id, port, kind, mac, wanted_version, message)
		select x.switch_id, x.port, x.kind, x.mac, x.version, x.message
		from jsonb_to_recordset(p_rows) as x (switch_id bigint, port text, kind text, mac macaddr, version bigint, message text)
		join switch s on s.id = x.switch_id on conflict (switch_id, port) do nothing
		returning switch_id, port, kind, mac, message
	loop
		perform event_add('peregrined', 'port.blocked', 'port', (select name from switch where id = r.switch_id) || ':' || r.port, null, r.message,
				  jsonb_build_object('kind', r.kind, 'mac', r.mac));
		v_events := v_events + 1;
	end loop;
	if v_events > 0 then
		perform pg_notify('network', '');
	end if;
	return v_events;
end
$$;
grant execute on function port_block_put(jsonb) to peregrined;

-- A NIC of a tenant's node that is where the plan says, and was somewhere else: what is meant for it goes there, and its old port is free. Plan and finding have to
-- agree: a MAC alone can be anybody's.
create function node_follow(p_mac macaddr)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node node%rowtype;
	r record;
begin
	select d.* into v_node from nic c join node d on d.id = c.node_id join node_place p on p.node_id = d.id and p.place = 'tenant'
	join nic_location l on l.mac = c.mac and l.certainty >= 50
	join wiring w on w.node_id = d.id and w.nic = c.name and (w.switch_id, w.port) = (l.switch_id, l.port)
	where c.mac = p_mac and exists (select from port_block b where b.mac = c.mac and b.kind = 'moved' and (b.switch_id, b.port) <> (l.switch_id, l.port));
	if not found or exists (select from node_ports(v_node.id) where conflict is not null) then
		return;
	end if;
	for r in select b.switch_id, b.port from port_block b where b.mac = p_mac and b.kind = 'moved' order by 1, 2 loop
		perform port_networks_apply(r.switch_id, r.port, '{}', '{}', 'peregrined');
	end loop;
	perform node_network_apply(v_node.id, 'tenant', 'peregrined');
exception when sqlstate 'HA404' or sqlstate 'HA409' or sqlstate 'HA422' then   -- it stays where it is let in now; the block holds
	perform event_add('peregrined', 'node.not_followed', 'node', v_node.name, v_node.tenant_id, sqlerrm, jsonb_build_object('mac', p_mac));
end
$$;

create function node_follow_wiring()
returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if tg_op <> 'DELETE' then
		perform node_follow(c.mac) from nic c where c.node_id = new.node_id and c.name = new.nic;
	else   -- the plan of where it was goes last
		perform node_follow(c.mac) from nic c where c.node_id = old.node_id and c.name = old.nic;
	end if;
	return null;
end
$$;
create trigger wiring_follow after insert or update or delete on wiring for each row execute function node_follow_wiring();

create function node_follow_block()
returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform node_follow(new.mac);
	return null;
end
$$;
create trigger port_block_follow after insert on port_block for each row when (new.kind = 'moved') execute function node_follow_block();

-- What reconcile tells is its own to clear: before, a drift or a broken isolation was taken for over as soon as the fabric told its own alerts anew.
create or replace function fabric_alert_put(p_rows jsonb, p_seen_s integer)
returns integer language plpgsql set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	r record;
	v_events integer := 0;
begin
	for r in
		select distinct on (x.key) x.*, a.id from jsonb_to_recordset(p_rows) as x (key text, kind text, severity text, subject_kind text, subject text,
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
		and not exists (select from jsonb_to_recordset(p_rows) as x (key text) where x.key = a.key)
		returning a.subject_kind, a.subject, a.kind, a.message
	loop
		perform event_add('peregrined', 'alert.cleared', r.subject_kind, r.subject, null, r.message, jsonb_build_object('kind', r.kind));
		v_events := v_events + 1;
	end loop;
	delete from alert where cleared_at < now() - interval '90 days';
	return v_events;
end
$$;
