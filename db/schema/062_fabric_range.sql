-- A change of a fabric's numbers takes nothing silently: VLANs that its switches have already, and that become ours by it, would be taken off their ports;
-- numbers that networks have cannot be left out. `take` in the request says that the first is meant.

create function fabric_range_check(p_old fabric, p_new fabric, p_take boolean)
returns void language plpgsql stable set search_path = haas, pg_temp as $$
declare
	v_text text;
begin
	select string_agg(v.vlan || coalesce(' (' || n.name || ')', ''), ', ' order by v.vlan) into v_text
	from network_vlan v left join network n on n.id = v.network_id
	where v.fabric_id = p_new.id and v.vlan not between p_new.vlan_low and p_new.vlan_high;
	if v_text is not null then
		raise exception 'fabric % has VLANs in use that the new range leaves out: %', p_new.name, v_text using errcode = 'HA409',
			hint = 'delete these networks first, or take a range that has them; a returned number rests for the quarantine';
	end if;
	if p_take then
		return;
	end if;
	select string_agg(vlan || ' (' || switches || ')', ', ' order by vlan) into v_text from (
		select v.vlan, string_agg(s.name, ' ' order by s.name) as switches
		from switch_endpoint e join switch s on s.id = e.switch_id join switch_observed o on o.switch_id = e.switch_id cross join lateral unnest(o.vlans) as v(vlan)
		where e.fabric_id = p_new.id
		  and (v.vlan between p_new.vlan_low and p_new.vlan_high or v.vlan between p_new.parking_vlan and p_new.parking_vlan + p_new.parking_count - 1)
		  and v.vlan not between p_old.vlan_low and p_old.vlan_high
		  and v.vlan not between p_old.parking_vlan and p_old.parking_vlan + p_old.parking_count - 1
		group by v.vlan order by v.vlan limit 8) x;
	if v_text is not null then
		raise exception 'VLANs that are somebody''s would become fabric %''s, and be taken off their ports: %', p_new.name, v_text using errcode = 'HA409',
			hint = 'choose a range without them, or say that it is meant: --take';
	end if;
end
$$;

create or replace function fabric_put(p_name text, p_spec jsonb, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_old fabric;
	v_new fabric;
begin
	if not is_operator() then
		raise exception 'only an operator may change fabrics' using errcode = 'HA403';
	end if;
	select * into v_old from fabric where name = p_name for update;
	if v_old.id is null and not (p_spec ? 'vlan_low' and p_spec ? 'vlan_high' and p_spec ? 'parking_vlan') then
		raise exception 'a new fabric needs vlan_low, vlan_high and parking_vlan' using errcode = 'HA422',
			hint = 'the numbers that are ours in it, and the one of a free port';
	end if;
	-- Free ports of one switch do not meet either: each is in a parking VLAN of its own, as far as there are any. Many by default.
	insert into fabric (name, parking_count, vlan_low, vlan_high, parking_vlan, quarantine_s, repair)
	values (p_name, coalesce((p_spec ->> 'parking_count')::integer, v_old.parking_count, case when p_spec ?& '{parking_vlan,vlan_low}' then
			least(64, case when (p_spec ->> 'parking_vlan')::integer < (p_spec ->> 'vlan_low')::integer then (p_spec ->> 'vlan_low')::integer else 4095 end
				  - (p_spec ->> 'parking_vlan')::integer) end, 1), coalesce((p_spec ->> 'vlan_low')::integer, v_old.vlan_low),
		coalesce((p_spec ->> 'vlan_high')::integer, v_old.vlan_high), coalesce((p_spec ->> 'parking_vlan')::integer, v_old.parking_vlan),
		coalesce((p_spec ->> 'quarantine_s')::integer, v_old.quarantine_s, 600), coalesce(p_spec ->> 'repair', v_old.repair, 'repair'))
	on conflict (name) do update set vlan_low = excluded.vlan_low, vlan_high = excluded.vlan_high, parking_vlan = excluded.parking_vlan,
		parking_count = excluded.parking_count, quarantine_s = excluded.quarantine_s, repair = excluded.repair, version = fabric.version + 1
	returning * into v_new;
	if v_old.id is not null then
		perform fabric_range_check(v_old, v_new, coalesce((p_spec ->> 'take')::boolean, false));
	end if;
	perform event_add(p_actor, case when v_old.id is null then 'fabric.created' else 'fabric.changed' end, 'fabric', p_name, null,
			  case when v_old.id is null then 'fabric created' else 'fabric changed' end, p_spec);
	perform pg_notify('fabric', '');
	perform pg_notify('network', '');
	return v_old.id is null;
exception when check_violation then
	raise exception 'the VLANs of fabric % make no sense', p_name using errcode = 'HA422',
		hint = 'vlan_low <= vlan_high, both 2..4094, and the parking VLANs outside of them';
end
$$;
