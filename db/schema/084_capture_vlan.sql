-- A capture that was asked for by a drill path names a VLAN: it is one of its tenant's, or the capture is refused.
create function capture_vlan(p_tenant text, p_vlan integer)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not exists (select from network_vlan v join network n on n.id = v.network_id join tenant t on t.id = n.tenant_id where t.name = p_tenant and v.vlan = p_vlan) then
		raise exception 'VLAN % is not tenant %''s', p_vlan, p_tenant using errcode = 'HA409', hint = 'haasctl network list shows its VLANs';
	end if;
end
$$;
revoke execute on function capture_vlan(text, integer) from public;
grant execute on function capture_vlan(text, integer) to portald;

-- As in 045_capture_case; an application that was guessed by a port's number or an address is not told as a fact.
create or replace function capture_summary(p_result jsonb)
returns text immutable language sql set search_path = haas, pg_temp as $$
	with r as (select case when jsonb_typeof(p_result) = 'object' then p_result else '{}' end as told),
	t as (select case when jsonb_typeof(told -> 'tcp') = 'object' then told -> 'tcp' else '{}' end as tcp,
		     case when jsonb_typeof(told -> 'applications') = 'array' then told -> 'applications' else '[]' end as applications, told from r),
	a as (select left(regexp_replace(coalesce(x ->> 'application', ''), '[^A-Za-z0-9 ._/+-]', '?', 'g'), 32)
		     || case when x -> 'guessed' = 'true' then ' (guessed by port or address)' else '' end as name, capture_count(x -> 'bytes') as bytes
	      from t, jsonb_array_elements(applications) x where jsonb_typeof(x) = 'object'),
	-- the largest of them
	m as (select string_agg(format('%s %s %%', name, round(bytes * 100 / (select sum(bytes) from a), 1)), ', ' order by bytes desc, name) as words
	      from (select * from a where bytes > 0 order by bytes desc, name limit 5) x)
	select format('%s packets, %s bytes', capture_count(told -> 'packets'), capture_count(told -> 'bytes'))
		|| case when capture_count(told -> 'dropped') > 0 then format(', %s more were lost on the way', capture_count(told -> 'dropped')) else '' end
		|| case when capture_count(tcp -> 'segments') > 0 then format('; TCP: %s segments, %s sent again (%s %%), %s closed windows', capture_count(tcp -> 'segments'),
			capture_count(tcp -> 'retransmissions'), round(capture_count(tcp -> 'retransmissions') * 100 / capture_count(tcp -> 'segments'), 1),
			capture_count(tcp -> 'zero_windows')) else '' end
		|| case when capture_count(tcp -> 'rtt_count') > 0 then format(', round trip %s/%s/%s ms', capture_ms(capture_count(tcp -> 'rtt_least_us')),
			capture_ms(capture_count(tcp -> 'rtt_mean_us')), capture_ms(capture_count(tcp -> 'rtt_most_us'))) else '' end
		|| coalesce('; applications: ' || words, '')
	from t, m
$$;
