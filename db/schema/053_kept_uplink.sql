-- Uplinks on ports that nodes had before. Since a port that was given to nodes is no end of a cable, whoever says so by LLDP, such a port would be parked, and the fabric cut.

-- Left as they are, and nothing more is put on them, until somebody says what they are: only what was an uplink by our own doing, after it was a node's, when this rule came. No row is ever added.
create table kept_uplink (
	switch_id bigint not null,
	port text not null,
	wanted_version bigint not null,     -- of its intent then: another one ends it
	primary key (switch_id, port),
	foreign key (switch_id, port) references port_intent on delete cascade
);
grant select on kept_uplink to portald, peregrined;

insert into kept_uplink (switch_id, port, wanted_version)
select i.switch_id, i.port, i.wanted_version from port_intent i left join port_observed o on o.switch_id = i.switch_id and o.name = i.port
where not exists (select from attachment a where a.switch_id = i.switch_id and a.port = i.port)
  and exists (select from uplink_applied u where u.switch_id = i.switch_id and u.port in (i.port, o.lag) and u.applied_at > coalesce(i.applied_at, '-infinity'))
  and exists (select from link l where l.state <> 'gone'
	      and ((l.a_switch = i.switch_id and l.a_port in (i.port, o.lag)) or (l.b_switch = i.switch_id and l.b_port in (i.port, o.lag))));

-- As before; and what was kept is a free port like others from now on.
create or replace function port_park(p_switch text, p_port text, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint := switch_id_of(p_switch);
	v_changed boolean := port_networks_apply(v_switch, p_port, '{}', '{}', p_actor);
begin
	delete from kept_uplink where switch_id = v_switch and port = p_port;
	if found and not v_changed then
		update port_intent set wanted_version = wanted_version + 1, problem = null where switch_id = v_switch and port = p_port;
		perform pg_notify('network', '');
		return true;
	end if;
	return v_changed;
end
$$;
