-- What counters say of a window, by when their intervals are (peregrine/flowd/flow/port_counters.h).

-- As in 056_live_scale, and when they began.
drop function live_minutes(jsonb);
create function live_minutes(p_live jsonb)
returns table (at timestamptz, seconds double precision, link jsonb, ports jsonb) stable language sql rows 6 set search_path = haas, pg_temp as $$
	select to_timestamp(m.at), m.seconds, m.link, m.ports from jsonb_to_recordset(p_live -> 'minutes') as m(at bigint, cut boolean, seconds double precision, link jsonb, ports jsonb)
	where m.cut or not exists (select from traffic_bucket b where b.step = 60 and b.at = to_timestamp(m.at) and starts_with(b.writer, (p_live ->> 'writer') || ':'))
$$;
grant execute on function live_minutes(jsonb) to portald;

-- As in 056_live_scale, but `covered` is of the window's own seconds. A stored reading's interval counts where it ended: up to one of them is of before the window, and up to one is missing at its end. Of what is in memory it is known where intervals begin and end: what they have before the window (`head`), and what of the window they do not have. Of these the estimate alone speaks.
-- `shift`: by how much the seconds at its ends differ in bytes. Samples come up to a second after their frames, so a burst that begins or ends there may be on either side.
drop function port_scale(integer, timestamptz, timestamptz, bigint, text, jsonb);
create function port_scale(p_step integer, p_from timestamptz, p_to timestamptz, p_switch bigint, p_port text, p_live jsonb default null)
returns table (switch_id bigint, port text, exact bigint, seconds double precision, scale double precision, covered double precision, shift double precision)
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
		case when x.usable then 1 / (1 + (abs(v_collected - x.both_seconds) + x.beside) / (x.both_seconds + x.head)) end,
		case when v_all then coalesce(x.high - x.low, 0) end
	from (select y.*, y.both_seconds > v_collected / 2 and y.both_seconds <= v_collected * 3 as usable from (
		select t.switch_id, t.port, sum(t.out_bytes)::bigint as exact, sum(t.seconds) filter (where t.out_bytes is not null) as seconds,
			sum(t.seconds) filter (where t.out_bytes is not null and t.out_sampled is not null) - (array_agg(t.head order by t.at))[1] as both_seconds,
			(sum(t.out_bytes) filter (where t.out_sampled is not null))::double precision as counted,
			nullif((sum(t.out_sampled) filter (where t.out_bytes is not null))::double precision, 0) as sampled,
			(array_agg(t.head order by t.at))[1] as head, (array_agg(t.before order by t.at))[1] + (array_agg(t.after order by t.at desc))[1] as beside,
			greatest((array_agg(t.begin_high order by t.at))[1], (array_agg(t.end_high order by t.at desc))[1]) as high,
			least((array_agg(t.begin_low order by t.at))[1], (array_agg(t.end_low order by t.at desc))[1]) as low
		from (select p.switch_id, p.port, p.at, p.seconds, p.out_bytes, p.out_sampled, 0::double precision as head,
				reading_interval(p.interval_s)::double precision as before, reading_interval(p.interval_s)::double precision as after,
				null::double precision as begin_low, null::double precision as begin_high, null::double precision as end_low, null::double precision as end_high
		      from traffic_port p where p.step = p_step and p.at >= p_from and p.at < p_to
		      union all select r.switch_id, r.port, m.at, r.seconds + coalesce(r.head, 0), r.counted, r.sampled, coalesce(r.head, 0), coalesce(r.head, 0), 0,
				r.begin_low, r.begin_high, r.end_low, r.end_high
		      from live_minutes(p_live) m
		      cross join lateral jsonb_to_recordset(m.ports) as r(switch_id bigint, port text, seconds double precision, head double precision, counted bigint, sampled bigint,
				begin_low double precision, begin_high double precision, end_low double precision, end_high double precision)) t
		where p_switch is null or (t.switch_id = p_switch and t.port = p_port)
		group by t.switch_id, t.port) y) x;
end
$$;
revoke execute on function port_scale(integer, timestamptz, timestamptz, bigint, text, jsonb) from public;
grant execute on function port_scale(integer, timestamptz, timestamptz, bigint, text, jsonb) to portald;
