-- How long a capture may go on, for daemons that end it by their own clocks while the database is away: until then only capture_sweep() knew. Its time, or the end of the grant that it rests on.
create function capture_left_ms(p_capture bigint)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select floor(extract(epoch from least(c.deadline, g.expires_at) - now()) * 1000)::bigint
	from capture c left join capture_grant g on g.id = c.grant_id and c.consent = 'grant' where c.id = p_capture
$$;
revoke execute on function capture_left_ms(bigint) from public;
grant execute on function capture_left_ms(bigint) to peregrined, peregrine_captured;
