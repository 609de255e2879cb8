-- Bounds that hold where traffic is not steady, and where pairs were given up.

-- How far apart the readings are that a row is of; null = written before this was, 0 = not known.
alter table traffic_port add column interval_s real;

-- Readings that come when they come: as they were ordered, so that it is the same from one to the next. Where nobody told, as `haasctl sampling set` orders them.
create function reading_interval(p_seconds double precision)
returns integer immutable language sql as $$
	select case when coalesce(p_seconds, 0) <= 0 then 20 when p_seconds < 2.5 then 1 when p_seconds < 7.5 then 5 when p_seconds < 12.5 then 10 when p_seconds < 17.5 then 15
		when p_seconds < 25 then 20 when p_seconds < 45 then 30 when p_seconds < 90 then 60 else 300 end
$$;

-- A bucket that waited so long for the database that its pairs and flows were given up: each pair may have had all of a share, and what is told of it has that in its bound.
create function traffic_cut(p_step integer, p_at timestamptz)
returns void language sql security definer set search_path = haas, pg_temp as $$
	update traffic_share set floor = bytes where step = p_step and at = p_at and floor < bytes
$$;
revoke execute on function traffic_cut(integer, timestamptz) from public;
grant execute on function traffic_cut(integer, timestamptz) to peregrine_flowd;
