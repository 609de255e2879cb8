-- A node without a health row is locked, too: a trigger may be about to make that row (a drive's verdict), while health_sensors_put, which makes the
-- missing rows of its batch in order, waits for one that the first has locked. One pass in order, so that making and locking cannot make a ring.
create or replace function node_health_lock(p_nodes bigint[])
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node bigint;
begin
	if not exists (select from unnest(p_nodes) x (id) where not exists (select from node_health h where h.node_id = x.id)) then
		perform from node_health where node_id = any (p_nodes) order by node_id for no key update;
		return;
	end if;
	for v_node in select distinct x.id from unnest(p_nodes) x (id) order by x.id loop
		insert into node_health (node_id) select id from node where id = v_node on conflict (node_id) do nothing;
		perform from node_health where node_id = v_node for no key update;
	end loop;
end
$$;
