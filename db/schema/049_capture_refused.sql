-- Why a capture ended without what was hoped for is said where its end is: in its event and in the case. Before, a switch that refused the session was "refused" there, and its word in the row alone.

create or replace function capture_event(c capture, p_actor text, p_kind text, p_message text)
returns void language sql security definer set search_path = haas, pg_temp as $$
	select event_add(p_actor, 'capture.' || p_kind, 'capture', c.id::text, c.tenant_id,
			 p_message || case when p_kind = 'ended' then coalesce(': ' || nullif(c.problem ->> 'message', ''), '') else '' end,
			 jsonb_build_object('capture', c.id, 'node', c.node, 'peer', c.peer, 'filter', c.filter, 'snap_length', c.snap_length, 'seconds', c.seconds,
					    'requester', c.requester, 'consent', c.consent, 'consent_by', c.consent_by, 'reason', c.reason));
	select pg_notify('capture', '');
$$;

create or replace function capture_in_case() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.state = 'running' then
		perform capture_note(new, 'system', format('%s started: %s bytes of each frame, %s%s s at most', capture_name(new), new.snap_length,
			coalesce('filter ' || nullif(new.filter, '') || ', ', ''), new.seconds));
	elsif new.state = 'ended' then
		perform capture_note(new, 'system', format('%s ended (%s): %s', capture_name(new), new.because,
			case when new.consent is null then 'nobody consented'
			else case when new.result = '{}' then 'nothing was taken' else capture_summary(new.result) end || coalesce(', ' || nullif(new.problem ->> 'message', ''), '') end));
	end if;
	return null;
end
$$;
