-- Who fits a request, for thousands of free nodes at once: nothing reads all cables for each node, and nothing is planned anew for each. 2,000 nodes of two NICs: 20 s before, 2 s so.

create index wiring_node on wiring (node_id);

-- As in 058. A function in SQL is planned by each statement that calls it (2 ms for this one); one in PL/pgSQL once in a session.
create or replace function node_ports(p_node bigint)
returns table (nic text, boot boolean, switch_id bigint, port text, carrier text, conflict text)
stable language plpgsql security definer set search_path = haas, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
	return query
	select p.nic, p.boot, p.switch_id, p.port, case when ours.name is null then coalesce(nullif(o.lag, ''), p.port) else p.port end, p.conflict
	from (
		select c.name as nic, c.boot, coalesce(w.switch_id, l.switch_id) as switch_id, coalesce(w.port, l.port) as port,
		       case when w.switch_id is not null and l.switch_id is not null and (w.switch_id, w.port) <> (l.switch_id, l.port)
				 and not exists (select from port_observed x where x.switch_id = w.switch_id and x.name = w.port and x.switch_id = l.switch_id
						 and (x.lag = l.port or x.lag = (select y.lag from port_observed y where y.switch_id = l.switch_id and y.name = l.port and y.lag <> '')))
				 and not exists (select from switch_aggregate g where g.switch_id = l.switch_id and g.name = l.port and g.switch_id = w.switch_id and w.port = any (g.members))
				 and not (exists (select from switch_aggregate g where g.switch_id = l.switch_id and g.switch_id = w.switch_id and l.port = any (g.members) and w.port = any (g.members))
					  and exists (select from wiring v where v.node_id = p_node and v.switch_id = l.switch_id and v.port = l.port))
			    then format('%s was found at %s:%s and planned at %s:%s', c.name, ls.name, l.port, ws.name, w.port)
			    -- found only: not where a switch was, nor where others are heard, too: there is something between them and the port
			    when w.switch_id is null and l.switch_id is not null then port_found_doubt(p_node, c.name, l.switch_id, l.port) end as conflict
		from nic c
		left join lateral (select * from wiring w where w.node_id = p_node and w.nic = c.name order by w.switch_id, w.port limit 1) w on true
		left join lateral (select * from nic_location l where l.mac = c.mac and l.certainty >= 50) l on true
		left join switch ws on ws.id = w.switch_id left join switch ls on ls.id = l.switch_id
		where c.node_id = p_node
		union all
		-- a cable that was planned for any of its NICs, when that tells nothing about which: counts for a node without a cable of its own
		select 'any', true, w.switch_id, w.port, null
		from wiring w
		where w.node_id = p_node and w.nic is null
		  and not exists (select from nic c join nic_location l on l.mac = c.mac and l.certainty >= 50
				  where c.node_id = p_node and (l.switch_id, l.port) = (w.switch_id, w.port))
		  and not exists (select from wiring o where o.node_id = p_node and o.nic is not null and (o.switch_id, o.port) = (w.switch_id, w.port))
	) p left join port_observed o on o.switch_id = p.switch_id and o.name = p.port
	left join switch_aggregate ours on ours.switch_id = p.switch_id and ours.name = o.lag and p.port = any (ours.members);
end
$$;

-- Planned once in a session, also where all else is planned anew (bampid).
alter function node_fits(bigint, text, jsonb) set plan_cache_mode = force_generic_plan;
