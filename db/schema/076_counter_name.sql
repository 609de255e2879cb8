-- Counters of SNMP (traffic_60_counter) are by the names that the switch's agent has for its ports. Of a switch that is read another way ours may be others: IOS tells "GigabitEthernet1/0/1" by its
-- command line and "Gi1/0/1" by SNMP. One port is what has one number (port_number).

alter table port_number add column name text not null default ''; -- as it was told; '' = before this, until the next look

-- As in 075_port_number, and the names as they were told.
create or replace function port_number_put(p_switch bigint, p_rows jsonb)
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_gone integer;
	v_count integer;
	v_rows jsonb;
begin
	if not exists (select from port_observed where switch_id = p_switch and if_index = 0) then
		-- It is read another way now, or has none: nothing of then is left.
		delete from port_number where switch_id = p_switch;
		get diagnostics v_gone = row_count;
		return v_gone;
	end if;
	select jsonb_object_agg(y.port, jsonb_build_object('if_index', y.if_index, 'name', y.name)) into v_rows
	from (select lower(x.port) as port, min(x.if_index) as if_index, min(x.port) as name from jsonb_to_recordset(p_rows) as x (port text, if_index bigint)
	      where x.if_index > 0 group by lower(x.port) having min(x.if_index) = max(x.if_index)) y;
	v_rows := coalesce(v_rows, '{}');
	delete from port_number n where n.switch_id = p_switch and not v_rows ? n.port;
	get diagnostics v_gone = row_count;
	insert into port_number as n (switch_id, port, if_index, name)
	select p_switch, x.key, (x.value ->> 'if_index')::bigint, x.value ->> 'name' from jsonb_each(v_rows) x order by x.key
	on conflict (switch_id, port) do update set if_index = excluded.if_index, name = excluded.name where (n.if_index, n.name) <> (excluded.if_index, excluded.name);
	get diagnostics v_count = row_count;
	return v_gone + v_count;
end
$$;

-- What the counters of a port of ours are called, ours among them.
create function counter_names(p_switch bigint, p_port text)
returns text[] stable language sql set search_path = haas, pg_temp as $$
	select array(select p_port union select n.name from port_observed p join port_number m on m.switch_id = p.switch_id and m.port = lower(p.name)
		     join port_number n on n.switch_id = m.switch_id and n.if_index = m.if_index
		     where p.switch_id = p_switch and p.name = p_port and p.if_index = 0 and n.name <> '')
$$;
grant execute on function counter_names(bigint, text) to portald;

-- And whose they are, by their name in lower case, where that is known.
create view counter_port as
select n.switch_id, n.port as counted, p.name as port from port_number n join port_number m on m.switch_id = n.switch_id and m.if_index = n.if_index
join port_observed p on p.if_index = 0 and p.switch_id = m.switch_id and lower(p.name) = m.port;
grant select on counter_port to peregrine_flowd, portald;

-- As in 043_switch_health, by our names.
create or replace view port_errors with (security_barrier = true) as
select c.switch_id, coalesce(p.port, c.port) as port, 'snmp' as source, c.in_errors, c.out_errors, c.in_discards, c.out_discards, c.in_packets, c.out_packets, c.seconds
from (select switch_id, port, sum(in_errors)::bigint as in_errors, sum(out_errors)::bigint as out_errors, sum(in_discards)::bigint as in_discards,
	     sum(out_discards)::bigint as out_discards, sum(in_packets)::bigint as in_packets, sum(out_packets)::bigint as out_packets, sum(seconds) as seconds
      from traffic_60_counter where at > now() - interval '1 hour' and (select is_operator()) group by switch_id, port) c
left join counter_port p on p.switch_id = c.switch_id and p.counted = lower(c.port)
union all
select switch_id, port, 'sflow', sum(in_errors)::bigint, sum(out_errors)::bigint, sum(in_discards)::bigint, sum(out_discards)::bigint, sum(in_packets)::bigint, sum(out_packets)::bigint,
       sum(seconds)
from traffic_port p where step = 60 and at > now() - interval '1 hour' and (select is_operator())
	and not exists (select from traffic_60_counter c where c.switch_id = p.switch_id and c.at > now() - interval '1 hour')
group by switch_id, port;

-- As in 075_port_number; counters also by the agent's names, and a network that is gone has the name that it had.
create or replace function alert_candidates(p_switch bigint, p_port text, p_nodes text[], p_at timestamptz)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	with far as (
		select b_switch as switch_id, b_port as port from link where a_switch = p_switch and a_port = p_port and state <> 'gone'
		union all select a_switch, a_port from link where b_switch = p_switch and b_port = p_port and state <> 'gone'),
	ends as (select p_switch as switch_id, p_port as port where p_port <> '' union select * from far),
	named as (select e.*, s.name || ':' || e.port as name from ends e join switch s on s.id = e.switch_id),
	nodes as (select n.id, n.name from node n where n.name = any (p_nodes)
		  union select n.id, n.name from nic_binding b join node n on n.id = b.node_id where b.switch_id = p_switch and b.port = p_port
		  and b.valid_from <= p_at and (b.valid_to is null or b.valid_to > p_at)),
	located as (
		select t.name as tenant, nw.name as network, nv.vlan from uplink_applied u join switch_endpoint e on e.switch_id = u.switch_id
		cross join lateral vlan_numbers(u.tagged) v join network_vlan nv on nv.fabric_id = e.fabric_id and nv.vlan = v and nv.state = 'used'
		join network nw on nw.id = nv.network_id join tenant t on t.id = nw.tenant_id
		where u.switch_id = p_switch and u.port = p_port
		union select t.name, coalesce(nw.name, (select h.network from vlan_history h where h.network_id = b.network_id order by h.valid_from desc limit 1), 'a network that is gone'), b.tag from port_binding b join tenant t on t.id = b.tenant_id left join network nw on nw.id = b.network_id
		where b.switch_id = p_switch and b.port = p_port and b.valid_from <= p_at and (b.valid_to is null or b.valid_to > p_at)),
	counters as (
		select n.name, 'sflow' as source, t.in_errors, t.out_errors, t.in_discards, t.out_discards, t.seconds from named n join traffic_port t on t.switch_id = n.switch_id and t.port = n.port
		where t.step = 60 and t.at > p_at - interval '10 minutes' and t.at <= p_at + interval '1 minute'
		union all select n.name, 'snmp', t.in_errors, t.out_errors, t.in_discards, t.out_discards, t.seconds from named n join traffic_60_counter t on t.switch_id = n.switch_id
		and t.port = any (counter_names(n.switch_id, n.port))
		where t.at > p_at - interval '10 minutes' and t.at <= p_at + interval '1 minute'),
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
		(select jsonb_build_object('fact', 'changed', 'name', s.name || coalesce(':' || (c.edit ->> 'port'), ''), 'here', p_port = '' or coalesce(c.edit ->> 'port' = p_port, false),
			'text', concat_ws(' ', c.edit ->> 'kind', 'VLAN ' || nullif(c.edit ->> 'vlan', '0'), '(' || c.state || ')'),
			'age_s', extract(epoch from p_at - c.sent_at)::bigint)
		 from change c join switch s on s.id = c.switch_id
		 where (c.switch_id = p_switch or c.switch_id in (select switch_id from ends)) and c.sent_at between p_at - interval '1 hour' and p_at order by c.sent_at desc limit 8)
		union all
		(select jsonb_build_object('fact', 'changed', 'name', e.subject, 'here', p_port = '' or e.subject_kind in ('port', 'node'), 'text', e.message, 'age_s', extract(epoch from p_at - e.at)::bigint)
		 from event e where (e.subject_kind = 'port' and e.subject in (select name from named)
				     or e.subject_kind = 'switch' and e.subject = (select name from switch where id = p_switch)
				     or e.subject_kind = 'node' and e.subject in (select name from nodes))
		 and not starts_with(e.kind, 'alert.') and e.at between p_at - interval '1 hour' and p_at order by e.id desc limit 8)
		union all
		(select jsonb_build_object('fact', 'logged', 'name', n.name, 'text', concat_ws(' ', nullif(s.sensor, ''), s.event), 'asserted', s.asserted,
			'age_s', extract(epoch from p_at - s.seen_at)::bigint)
		 from sel_entry s join nodes n on n.id = s.node_id where s.seen_at > p_at - interval '1 day' and s.seen_at <= p_at + interval '5 minutes' order by s.id desc limit 8)
		union all
		(select jsonb_build_object('fact', 'ill', 'name', n.name, 'text', h.label || ': ' || h.reason, 'severity', h.severity)
		 from health_label h join nodes n on n.id = h.node_id where h.since <= p_at + interval '5 minutes' and (h.expires_at is null or h.expires_at > p_at) order by h.since desc limit 8))
	select coalesce(jsonb_agg(f), '[]') from facts
$$;
