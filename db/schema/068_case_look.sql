-- What was looked at besides traffic is in the case, too: the way between two nodes, an alert with its suspects.

-- One such look. The same again within a minute is the entry that is there, as with case_query.
create function case_look(p_case bigint, p_look text, p_seen text, p_tenant text, p_actor text)
returns bigint language sql set search_path = haas, pg_temp as $$
	select coalesce((select e.id from case_entry e where e.case_id = p_case and e.kind = 'query' and e.actor = p_actor and e.detail ->> 'look' = p_look
			 and e.text = format('`%s`: %s', p_look, p_seen) and clock_timestamp() - e.at < interval '1 minute'
			 and e.id = (select max(l.id) from case_entry l where l.case_id = p_case)),
			case_note(p_case, 'query', format('`%s`: %s', p_look, p_seen), jsonb_strip_nulls(jsonb_build_object('look', p_look, 'tenant', p_tenant)), p_actor))
$$;

-- p_answer is network_path's.
create function case_path(p_case bigint, p_answer jsonb, p_actor text)
returns bigint language sql set search_path = haas, pg_temp as $$
	select case_look(p_case, format('network path %s %s %s', p_answer ->> 'tenant', p_answer ->> 'a', p_answer ->> 'b'),
		coalesce((select string_agg(format('%s %s, %s links', p ->> 'network', coalesce(nullif(p ->> 'problem', ''), 'whole'), jsonb_array_length(p -> 'hops')), '; ' order by n)
			  from jsonb_array_elements(p_answer -> 'paths') with ordinality x (p, n)), 'no network'), p_answer ->> 'tenant', p_actor)
$$;

-- Nothing where there is no such alert. Its suspects may be others: for operators only, whose alert it may be.
create function case_alert(p_case bigint, p_alert bigint, p_actor text)
returns bigint language sql set search_path = haas, pg_temp as $$
	select case_look(p_case, 'alert show ' || a.id, concat_ws(', ', a.subject, a.message,
			'suspects: ' || (select string_agg(format('%s %s', s ->> 'kind', s ->> 'name'), ', ' order by n)
					 from jsonb_array_elements(a.detail -> 'suspects') with ordinality x (s, n) where n <= 3)), null, p_actor)
	from alert a where a.id = p_alert
$$;
grant execute on function case_look(bigint, text, text, text, text), case_path(bigint, jsonb, text), case_alert(bigint, bigint, text) to portald;

-- As in 045; a look at what is not the tenant's own is not in what a tenant reads.
create or replace function case_line(p_opened timestamptz, e case_entry, p_public boolean, p_for text)
returns text immutable language sql set search_path = haas, pg_temp as $$
	with p as (select e.detail ->> 'path' as path, coalesce(substring(e.detail ->> 'path' from '(?:^|/)tenant:([^/]*)'), p_for) as of_tenant),
	q as (select case when p_public and of_tenant <> p_for then regexp_replace(path, '(^|/)tenant:.*$', '\1(another tenant)') else path end as path,
		     p_public and (of_tenant <> p_for or path !~ '(^|/)tenant:') as hidden from p)
	select format('- %s %s: %s', case_clock(p_opened, e.at), e.kind,
		case when e.kind = 'query' and not e.detail ? 'look' then format('`drill %s`%s', coalesce(nullif(q.path, ''), '""'), ' ' || (e.detail ->> 'from') || ' to ' || (e.detail ->> 'to')
			|| case when q.hidden then '' else ', ' || case_rate((e.detail ->> 'bits_per_second')::numeric) end
			|| coalesce((select ', most: ' || string_agg(format('%s %s %%', r ->> 'name', round((r ->> 'share')::numeric * 100, 1)), ', ' order by n)
				     from jsonb_array_elements(e.detail -> 'rows') with ordinality x (r, n) where not q.hidden), ''))
		else e.text end)
	from q where not p_public or e.kind <> 'note' and ((e.kind <> 'capture' and not e.detail ? 'look') or e.detail ->> 'tenant' = p_for)
$$;
