-- A port is one node's: whoever else is found there is not let into a network at it, and none comes to it while a tenant's OS may still run behind it.

alter table port_intent add column if not exists node_id bigint references node on delete set null;   -- 058_port_holder

-- Whose a port is: of the node that it was given to, else of one that was found there and has, or may still run, what a tenant left. null = nobody's.
create function port_holder(p_switch bigint, p_port text)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select i.node_id from port_intent i where i.switch_id = p_switch and i.port = p_port),
			(select d.id from nic_location l join nic c on c.mac = l.mac join node d on d.id = c.node_id
			 where l.switch_id = p_switch and l.certainty >= 50 and (d.tenant_id is not null or d.dirty)
			   and (l.port = p_port or l.port = (select nullif(o.lag, '') from port_observed o where o.switch_id = p_switch and o.name = p_port))
			 order by d.state <> 'active', d.tenant_id is null, d.id limit 1))
$$;
grant execute on function port_holder(bigint, text) to portald, bampid, peregrined;

-- All nodes that a port is given to or that were found there, not the first only. A node in which a tenant's OS may run is in no network but its tenant's; one that is
-- known to be off runs none, and one whose place is the provisioning network is there to be installed or erased.
create function attachment_one_node() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_network network%rowtype;
	r record;
begin
	select * into v_network from network where id = new.network_id;
	select d.name, d.tenant_id, s.name as switch into r
	from node d join switch s on s.id = new.switch_id left join node_place p on p.node_id = d.id left join bmc b on b.node_id = d.id
	where d.id in (select i.node_id from port_intent i where i.switch_id = new.switch_id and i.port = new.port
		       union all
		       select c.node_id from nic_location l join nic c on c.mac = l.mac
		       where l.switch_id = new.switch_id and l.certainty >= 50
			 and (l.port = new.port or l.port = (select nullif(o.lag, '') from port_observed o where o.switch_id = new.switch_id and o.name = new.port)))
	  and (d.tenant_id is not null or (d.dirty and coalesce(b.observed_power, 'unknown') <> 'off'))
	  and case v_network.kind when 'bmc' then false   -- port_bmc asks
				  when 'tenant' then d.tenant_id is distinct from v_network.tenant_id
				  when 'provisioning' then coalesce(p.place, 'parking') <> 'provisioning'
				  else d.tenant_id is not null end
	order by d.name limit 1;
	if found then
		raise exception 'port %:% is node %''s, which % may use: not in network %', r.switch, new.port, r.name,
			coalesce('tenant ' || (select t.name from tenant t where t.id = r.tenant_id), 'a tenant that had it'), v_network.name
			using errcode = 'HA409', hint = format('haasctl nic locate; correct the wiring plan, or release node %1$s first (haasctl node delete %1$s, if it is gone)', r.name);
	end if;
	return new;
end
$$;
create trigger attachment_one_node before insert on attachment for each row execute function attachment_one_node();
