-- Samples against counters, also of what is not stored yet; and what SNMP counts, wherever counters are asked for.

-- The minutes of a collector's answer (peregrine/flowd/flowd_drill.c) that count beside what is stored: those that the window cuts, and those that it has not stored.
create function live_minutes(p_live jsonb)
returns table (seconds double precision, link jsonb, ports jsonb) stable language sql rows 6 set search_path = haas, pg_temp as $$
	select m.seconds, m.link, m.ports from jsonb_to_recordset(p_live -> 'minutes') as m(at bigint, cut boolean, seconds double precision, link jsonb, ports jsonb)
	where m.cut or not exists (select from traffic_bucket b where b.step = 60 and b.at = to_timestamp(m.at) and starts_with(b.writer, (p_live ->> 'writer') || ':'))
$$;

-- As in 044_drill, and by what a collector has in memory, too (p_live: its answer; null = nothing).
drop function port_scale(integer, timestamptz, timestamptz, bigint, text);
create function port_scale(p_step integer, p_from timestamptz, p_to timestamptz, p_switch bigint, p_port text, p_live jsonb default null)
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
		case when not x.usable then null when x.both_seconds <= v_collected then x.both_seconds / v_collected else x.both_seconds / (2 * x.both_seconds - v_collected) end
	from (select y.*, y.both_seconds > v_collected / 2 and y.both_seconds <= v_collected * 3 as usable from (
		select t.switch_id, t.port, sum(t.out_bytes)::bigint as exact, sum(t.seconds) filter (where t.out_bytes is not null) as seconds,
			sum(t.seconds) filter (where t.out_bytes is not null and t.out_sampled is not null) as both_seconds,
			(sum(t.out_bytes) filter (where t.out_sampled is not null))::double precision as counted,
			nullif((sum(t.out_sampled) filter (where t.out_bytes is not null))::double precision, 0) as sampled
		from (select p.switch_id, p.port, p.seconds, p.out_bytes, p.out_sampled from traffic_port p where p.step = p_step and p.at >= p_from and p.at < p_to
		      union all select r.switch_id, r.port, r.seconds, r.counted, r.sampled from live_minutes(p_live) m
		      cross join lateral jsonb_to_recordset(m.ports) as r(switch_id bigint, port text, seconds double precision, counted bigint, sampled bigint)) t
		where p_switch is null or (t.switch_id = p_switch and t.port = p_port)
		group by t.switch_id, t.port) y) x;
end
$$;
revoke execute on function port_scale(integer, timestamptz, timestamptz, bigint, text, jsonb) from public;
grant execute on function port_scale(integer, timestamptz, timestamptz, bigint, text, jsonb) to portald;

-- Likewise. What a collector tells is of what the asking one may see.
drop function link_spread(integer, timestamptz, timestamptz, bigint, text);
create function link_spread(p_step integer, p_from timestamptz, p_to timestamptz, p_switch bigint, p_port text, p_live jsonb default null)
returns table (bytes bigint, square double precision)
stable language plpgsql set search_path = haas, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
	return query select sum(x.bytes)::bigint, sum(x.square) from (
		select t.bytes, t.square from traffic_share t
		where t.step = p_step and t.at >= p_from and t.at < p_to and t.switch_id = p_switch and t.port = p_port and t.direction = 'out'
		union all select (m.link ->> 'bytes')::bigint, (m.link ->> 'square')::double precision from live_minutes(p_live) m) x;
end
$$;
revoke execute on function link_spread(integer, timestamptz, timestamptz, bigint, text, jsonb) from public;
grant execute on function link_spread(integer, timestamptz, timestamptz, bigint, text, jsonb) to portald;
grant execute on function live_minutes(jsonb) to portald;
-- Rows of traffic_port are by the counters in sFlow; of a port whose switch sends none by those of SNMP, and what these do not count is 0 there (port_counter: null).

-- As in 036_alert_case; `counted` is by the counters in sFlow or by those of SNMP, whichever say more: one of them may not be there, or not be told yet. What one of them does not count is nothing.
create or replace function alert_candidates(p_switch bigint, p_port text, p_nodes text[], p_at timestamptz)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	with far as (
		select b_switch as switch_id, b_port as port from link where a_switch = p_switch and a_port = p_port and state <> 'gone'
		union all select a_switch, a_port from link where b_switch = p_switch and b_port = p_port and state <> 'gone'),
	ends as (select p_switch as switch_id, p_port as port where p_port <> '' union select * from far),
	named as (select e.*, s.name || ':' || e.port as name from ends e join switch s on s.id = e.switch_id),
	nodes as (select n.id, n.name from node n where n.name = any (p_nodes)
		  union select n.id, n.name from nic_binding b join node n on n.id = b.node_id where b.switch_id = p_switch and b.port = p_port and b.valid_to is null),
	located as (
		select t.name as tenant, nw.name as network, nv.vlan from uplink_applied u join switch_endpoint e on e.switch_id = u.switch_id
		cross join lateral vlan_numbers(u.tagged) v join network_vlan nv on nv.fabric_id = e.fabric_id and nv.vlan = v and nv.state = 'used'
		join network nw on nw.id = nv.network_id join tenant t on t.id = nw.tenant_id
		where u.switch_id = p_switch and u.port = p_port
		union select t.name, nw.name, b.tag from port_binding b join network nw on nw.id = b.network_id join tenant t on t.id = nw.tenant_id
		where b.switch_id = p_switch and b.port = p_port and b.valid_to is null),
	counters as (
		select n.name, 'sflow' as source, t.in_errors, t.out_errors, t.in_discards, t.out_discards, t.seconds from named n join traffic_port t on t.switch_id = n.switch_id and t.port = n.port
		where t.step = 60 and t.at > p_at - interval '10 minutes' and t.at <= p_at
		union all select n.name, 'snmp', t.in_errors, t.out_errors, t.in_discards, t.out_discards, t.seconds from named n join traffic_60_counter t on t.switch_id = n.switch_id and t.port = n.port
		where t.at > p_at - interval '10 minutes' and t.at <= p_at),
	counted as (
		select distinct on (x.name) x.* from (
			select c.name, c.source, sum(coalesce(c.in_errors, 0) + coalesce(c.out_errors, 0)) as errors, sum(coalesce(c.in_discards, 0) + coalesce(c.out_discards, 0)) as discards,
				nullif(sum(c.seconds), 0) as seconds from counters c group by c.name, c.source) x
		where x.seconds is not null order by x.name, (x.errors + x.discards) / x.seconds desc, x.source),
	facts as (
		(select jsonb_build_object('fact', 'located', 'name', l.tenant, 'text', string_agg(l.network || ' (VLAN ' || l.vlan || ')', ', ' order by l.vlan)) as f
		 from located l group by l.tenant order by l.tenant limit 64)
		union all
		(select jsonb_build_object('fact', 'counted', 'name', c.name, 'errors', c.errors, 'discards', c.discards, 'seconds', c.seconds)
		 from counted c where c.errors + c.discards > 0 limit 8)
		union all
		(select jsonb_build_object('fact', 'changed', 'name', s.name || coalesce(':' || (c.edit ->> 'port'), ''), 'here', coalesce(c.edit ->> 'port' = p_port, false),
			'text', concat_ws(' ', c.edit ->> 'kind', 'VLAN ' || nullif(c.edit ->> 'vlan', '0'), '(' || c.state || ')'),
			'age_s', extract(epoch from p_at - c.sent_at)::bigint)
		 from change c join switch s on s.id = c.switch_id
		 where c.switch_id in (select switch_id from ends) and c.sent_at between p_at - interval '1 hour' and p_at order by c.sent_at desc limit 8)
		union all
		(select jsonb_build_object('fact', 'changed', 'name', e.subject, 'here', e.subject_kind in ('port', 'node'), 'text', e.message, 'age_s', extract(epoch from p_at - e.at)::bigint)
		 from event e where (e.subject_kind = 'port' and e.subject in (select name from named)
				     or e.subject_kind = 'switch' and e.subject = (select name from switch where id = p_switch)
				     or e.subject_kind = 'node' and e.subject in (select name from nodes))
		 and not starts_with(e.kind, 'alert.') and e.at between p_at - interval '1 hour' and p_at order by e.id desc limit 8)
		union all
		(select jsonb_build_object('fact', 'logged', 'name', n.name, 'text', concat_ws(' ', nullif(s.sensor, ''), s.event), 'asserted', s.asserted,
			'age_s', extract(epoch from p_at - s.seen_at)::bigint)
		 from sel_entry s join nodes n on n.id = s.node_id where s.seen_at > p_at - interval '1 day' and s.seen_at <= p_at order by s.id desc limit 8)
		union all
		(select jsonb_build_object('fact', 'ill', 'name', n.name, 'text', h.label || ': ' || h.reason, 'severity', h.severity)
		 from health_label h join nodes n on n.id = h.node_id where h.expires_at is null or h.expires_at > p_at order by h.since desc limit 8))
	select coalesce(jsonb_agg(f), '[]') from facts
$$;
