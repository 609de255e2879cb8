-- How switches and links are: what their interface counters say, asked by SNMP once a minute, and what each switch says of itself; and the way through the fabric between two nodes
-- of a tenant.

-- --- counters -----------------------------------------------------------------------------------------------------------------------------

-- What the interfaces of a switch counted between two looks of peregrined (peregrine/control/health). A row is the difference: wraps of 32 bits are taken out of it, and an interval in
-- which an agent or a counter began anew (sysUpTime, ifCounterDiscontinuityTime) has no row, or a null. A port without a link that counted nothing has none either.
-- Partitions, retention and names are those of traffic_port's minutes; COPY does not go with row policies, so whoever may not see all of it reads port_counter.
create table traffic_60_counter (
	at timestamptz not null,               -- end of the interval: when the later answer came
	switch_id bigint not null,
	port text not null,
	seconds double precision not null,     -- its length by the switch's own clock
	in_bytes bigint,                       -- null where this counter is not there, or began anew
	out_bytes bigint,
	in_packets bigint,                     -- unicast, multicast and broadcast
	out_packets bigint,
	in_errors bigint,
	out_errors bigint,
	in_discards bigint,
	out_discards bigint,
	speed_bps bigint not null default 0,   -- 0 = unknown
	up boolean not null
) partition by range (at);
create index traffic_60_counter_port on traffic_60_counter (switch_id, port, at);
create index traffic_60_counter_at on traffic_60_counter (at);
grant select on traffic_60_counter to peregrined, peregrine_flowd;
grant insert on traffic_60_counter to peregrined;
-- Of all tenants: the operators'.
create view port_counter with (security_barrier = true) as select * from traffic_60_counter where (select is_operator());
grant select on port_counter to portald;

-- As in 030_traffic, and the counters of SNMP with them. Called by peregrined too.
create or replace function traffic_partitions_turn(p_now timestamptz)
returns integer language plpgsql security definer set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	r record;
	v_parent text;
	v_name text;
	v_begin timestamptz;
	v_width bigint;
	v_count integer := 0;
	v_parents text[] := array['share', 'pair', 'flow', 'port', 'counter'];
begin
	-- One at a time: two daemons would make the same one.
	perform pg_advisory_xact_lock(hashtext('traffic_partitions_turn'));
	for r in select * from traffic_retention order by step loop
		v_width := extract(epoch from r.width)::bigint;
		foreach v_parent in array v_parents loop
			continue when to_regclass(format('traffic_%s_%s', r.step, v_parent)) is null;
			for i in -1 .. 2 loop
				v_begin := to_timestamp((extract(epoch from p_now)::bigint / v_width + i) * v_width);
				v_name := format('traffic_%s_%s_%s', r.step, v_parent, to_char(v_begin at time zone 'UTC', 'YYYYMMDDHH24MI'));
				continue when to_regclass(v_name) is not null;
				execute format('create table %I partition of %I for values from (%L) to (%L)', v_name, format('traffic_%s_%s', r.step, v_parent),
					       v_begin, v_begin + r.width);
				v_count := v_count + 1;
			end loop;
		end loop;
	end loop;
	delete from traffic_bucket b using traffic_retention t where b.step = t.step and b.at < p_now - t.keep;
	for r in
		select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
		join traffic_retention t on p.relname in (select format('traffic_%s_%s', t.step, x) from unnest(v_parents) x)
		where c.relnamespace = 'haas'::regnamespace
			and to_timestamp(substring(c.relname from '[0-9]{12}$') || ' +00', 'YYYYMMDDHH24MI TZH') + t.width < p_now - t.keep
	loop
		execute format('drop table %I', r.name);
		v_count := v_count + 1;
	end loop;
	return v_count;
end
$$;
grant execute on function traffic_partitions_turn(timestamptz) to peregrined;
select traffic_partitions_turn(now());

-- --- health -------------------------------------------------------------------------------------------------------------------------------

-- The last look at each switch. Documents are what one table of its MIBs says, whole; null = it does not have it, or was not asked yet.
create table switch_health (
	switch_id bigint primary key references switch on delete cascade,
	asked_at timestamptz not null,
	heard_at timestamptz,                  -- when it answered last
	response_ms integer,                   -- of the first question of the last look that was answered, waiting excluded
	problem jsonb,                         -- why the last look failed
	counters_at timestamptz,               -- the last interval of its counters
	stp jsonb,                             -- {protocol, bridge, priority, root, root_cost, root_port, changes, changed_at, ports: [{port, state, role..}]} (BRIDGE-MIB)
	lags jsonb,                            -- [{lag, partner, members: [{port, state, synchronized, ...}]}] (IEEE8023-LAG-MIB)
	sensors jsonb                          -- [{name, port, kind, value, unit, status, emulated}] (ENTITY-SENSOR-MIB)
);
grant select, insert, update, delete on switch_health to peregrined;
grant select on switch_health to portald;
