-- Who asks is found out once a statement instead of once a row. The planner, to whom a comparison with a setting is rare, now expects the rows that there are: it expected one, and
-- joined by loops.
alter policy traffic_share_portald on traffic_share using ((select is_operator()) or tenant_id = (select current_tenant()));
alter policy traffic_pair_portald on traffic_pair using ((select is_operator()) or tenant_id = (select current_tenant()));
alter policy traffic_flow_portald on traffic_flow using ((select is_operator()) or tenant_id = (select current_tenant()));
alter policy traffic_port_portald on traffic_port using ((select is_operator()));
