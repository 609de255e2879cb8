-- Who consented to a capture is in the case; and what is nobody's is not in what a tenant reads.

-- As in 037_capture, and in the case: by whom stands beside it, for operators.
create or replace function capture_approve(p_capture bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype := capture_lock(p_capture);
begin
	if c.state <> 'waiting' then
		raise exception 'capture % is %', c.id, c.state using errcode = 'HA409';
	elsif p_actor = c.requester then
		raise exception 'capture % was asked for by yourself', c.id using errcode = 'HA403', hint = 'another operator approves it, or its tenant grants it';
	end if;
	update capture set consent = case when is_operator() then 'approver' else 'tenant' end, consent_by = p_actor, state = 'approved', approved_at = now()
	where id = c.id returning * into c;
	perform capture_event(c, p_actor, 'approved', format('asked for by %s', c.requester));
	perform capture_note(c, p_actor, format('%s: %s', capture_name(c), case c.consent when 'tenant' then 'its tenant consents' else 'a second operator consents' end));
end
$$;
revoke execute on function capture_approve(bigint, text) from public;
grant execute on function capture_approve(bigint, text) to portald;

-- As in 068_case_look; also of what is nobody's only the reason is told: below are addresses of others.
create or replace function case_line(p_opened timestamptz, e case_entry, p_public boolean, p_for text)
returns text immutable language sql set search_path = haas, pg_temp as $$
	with p as (select e.detail ->> 'path' as path, coalesce(substring(e.detail ->> 'path' from '(?:^|/)tenant:([^/]*)'), p_for) as of_tenant),
	q as (select case when p_public and of_tenant <> p_for then regexp_replace(path, '(^|/)tenant:.*$', '\1(another tenant)')
			  when p_public then regexp_replace(path, '((?:^|/)nobody:[^/]*)/.*$', '\1') else path end as path,
		     p_public and (of_tenant <> p_for or path !~ '(^|/)tenant:') as hidden from p)
	select format('- %s %s: %s', case_clock(p_opened, e.at), e.kind,
		case when e.kind = 'query' and not e.detail ? 'look' then format('`%s`%s', concat_ws(' ', 'drill', nullif(q.path, '')), ' ' || (e.detail ->> 'from') || ' to ' || (e.detail ->> 'to')
			|| case when q.hidden then '' else ', ' || case_rate((e.detail ->> 'bits_per_second')::numeric) end
			|| coalesce((select ', most: ' || string_agg(format('%s %s %%', r ->> 'name', round((r ->> 'share')::numeric * 100, 1)), ', ' order by n)
				     from jsonb_array_elements(e.detail -> 'rows') with ordinality x (r, n) where not q.hidden), ''))
		else e.text end)
	from q where not p_public or e.kind <> 'note' and ((e.kind <> 'capture' and not e.detail ? 'look') or e.detail ->> 'tenant' = p_for)
$$;
