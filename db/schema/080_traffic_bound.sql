-- Bounds that hold where traffic is not steady, and where pairs were given up.

-- How far apart the readings are that a row is of; null = written before this was, 0 = not known.
alter table traffic_port add column interval_s real;

-- Readings that come when they come: as they were ordered, so that it is the same from one to the next. Where nobody told, as `haasctl sampling set` orders them.
create function reading_interval(p_seconds double precision)
returns integer immutable language sql as $$
	select case when coalesce(p_seconds, 0) <= 0 then 20 when p_seconds < 2.5 then 1 when p_seconds < 7.5 then 5 when p_seconds < 12.5 then 10 when p_seconds < 17.5 then 15
		when p_seconds < 25 then 20 when p_seconds < 45 then 30 when p_seconds < 90 then 60 else 300 end
$$;

-- As in 056_live_scale, but `covered` is of the window's own seconds. A reading's interval counts where it ended: up to one of them is of before the window, and up to one is missing at its end; and what memory has is
-- in slots, which lie beside the window by so many seconds (`beside`). Of these the estimate alone speaks.
create or replace function port_scale(p_step integer, p_from timestamptz, p_to timestamptz, p_switch bigint, p_port text, p_live jsonb default null)
returns table (switch_id bigint, port text, exact bigint, seconds double precision, scale double precision, covered double precision)
stable language plpgsql security definer set search_path = haas, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
	v_collected double precision;
	v_all boolean := is_operator();
begin
	select sum(extract(epoch from x.upper - x.lower)) into v_collected
	from (select min(b.from_at) as lower, max(b.to_at) as upper from traffic_bucket b where b.step = p_step and b.at >= p_from and b.at < p_to group by b.at) x;
	if p_live is not null then
		v_collected := coalesce(v_collected, 0) + coalesce((select sum(m.seconds) from live_minutes(p_live) m), 0);
	end if;
	return query
	select x.switch_id, x.port, case when v_all then x.exact end, case when v_all then x.seconds end, case when x.usable then nullif(x.counted, 0) / x.sampled end,
		case when not x.usable then null else 1 / (case when x.both_seconds <= v_collected then v_collected / x.both_seconds else (2 * x.both_seconds - v_collected) / x.both_seconds end
			+ x.elsewhere / x.both_seconds) end
	from (select y.*, y.both_seconds > v_collected / 2 and y.both_seconds <= v_collected * 3 as usable from (
		select t.switch_id, t.port, sum(t.out_bytes)::bigint as exact, sum(t.seconds) filter (where t.out_bytes is not null) as seconds,
			sum(t.seconds) filter (where t.out_bytes is not null and t.out_sampled is not null) as both_seconds,
			(sum(t.out_bytes) filter (where t.out_sampled is not null))::double precision as counted,
			nullif((sum(t.out_sampled) filter (where t.out_bytes is not null))::double precision, 0) as sampled,
			2 * max(reading_interval(t.interval_s)) + sum(t.beside) as elsewhere
		from (select p.switch_id, p.port, p.seconds, p.out_bytes, p.out_sampled, p.interval_s::double precision, 0 as beside from traffic_port p
		      where p.step = p_step and p.at >= p_from and p.at < p_to
		      union all select r.switch_id, r.port, r.seconds, r.counted, r.sampled, r."interval", coalesce(r.beside, 0) from live_minutes(p_live) m
		      cross join lateral jsonb_to_recordset(m.ports) as r(switch_id bigint, port text, seconds double precision, counted bigint, sampled bigint, "interval" double precision, beside integer)) t
		where p_switch is null or (t.switch_id = p_switch and t.port = p_port)
		group by t.switch_id, t.port) y) x;
end
$$;
revoke execute on function port_scale(integer, timestamptz, timestamptz, bigint, text, jsonb) from public;
grant execute on function port_scale(integer, timestamptz, timestamptz, bigint, text, jsonb) to portald;

-- A bucket that waited so long for the database that its pairs and flows were given up: each pair may have had all of a share, and what is told of it has that in its bound.
create function traffic_cut(p_step integer, p_at timestamptz)
returns void language sql security definer set search_path = haas, pg_temp as $$
	update traffic_share set floor = bytes where step = p_step and at = p_at and floor < bytes
$$;
revoke execute on function traffic_cut(integer, timestamptz) from public;
grant execute on function traffic_cut(integer, timestamptz) to peregrine_flowd;
