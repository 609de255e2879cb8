-- What a switch calls its ports in samples of traffic is their ifIndex. Command lines and some data models do not tell it; port_observed.if_index is 0 there. The agent that is asked for the
-- health of switches by SNMP does: it is kept for ports of these switches alone, as it said at its last look. A port without either has no samples: they are nobody's (unknown_port).

create table port_number (
	switch_id bigint not null references switch on delete cascade,
	port text not null,                    -- in lower case: a command line may spell it otherwise than ifName
	if_index bigint not null check (if_index > 0),
	primary key (switch_id, port)
);
grant select on port_number to peregrined, peregrine_flowd, portald;

-- What stood there until now was counted by us where a reading tells no numbers. True ones of a data model come again with its next reading.
update port_observed p set if_index = 0
from switch_endpoint e left join switch_observed o on o.switch_id = e.switch_id
where e.switch_id = p.switch_id and p.if_index <> 0 and coalesce(nullif(e.family, ''), o.family) in ('cisco-nxos', 'aruba-cx', 'dell-os10', 'sonic',
	'cisco-nxos-netconf', 'cisco-iosxe-netconf', 'hpe-comware-netconf', 'openconfig');

-- Its numbers as of now, [{port, if_index}], of a switch that has ports without. How many rows changed; those of other switches none. A name that has two is left out: nobody knows which is the port's.
create function port_number_put(p_switch bigint, p_rows jsonb)
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
	select jsonb_object_agg(y.port, y.if_index) into v_rows
	from (select lower(x.port) as port, min(x.if_index) as if_index from jsonb_to_recordset(p_rows) as x (port text, if_index bigint)
	      where x.if_index > 0 group by lower(x.port) having min(x.if_index) = max(x.if_index)) y;
	v_rows := coalesce(v_rows, '{}');
	delete from port_number n where n.switch_id = p_switch and not v_rows ? n.port;
	get diagnostics v_gone = row_count;
	insert into port_number as n
	select p_switch, x.key, x.value::bigint from jsonb_each_text(v_rows) x order by x.key
	on conflict (switch_id, port) do update set if_index = excluded.if_index where n.if_index <> excluded.if_index;
	get diagnostics v_count = row_count;
	return v_gone + v_count;
end
$$;
revoke execute on function port_number_put(bigint, jsonb) from public;
grant execute on function port_number_put(bigint, jsonb) to peregrined;

-- Ports by the number that their samples name; 0 = nobody told it.
create view port_index as
select p.switch_id, p.name, p.lag, coalesce(nullif(p.if_index, 0), n.if_index, 0) as if_index, p.kind, p.speed_bps
from port_observed p left join port_number n on p.if_index = 0 and n.switch_id = p.switch_id and n.port = lower(p.name);
grant select on port_index to peregrine_flowd, portald;

-- As in 056_live_scale, but of when the alert began, however long ago that is: what was changed since is no cause, who has come since was not there, who has gone was. Counters are read, logs of
-- BMCs fetched, and labels of health set, a little later. Of a switch as a whole (no port) what was changed anywhere on it. Only links, and the VLANs on uplinks (uplink_applied), have no history:
-- these are as of now.
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
		union select t.name, coalesce(nw.name, 'a network that is gone'), b.tag from port_binding b join tenant t on t.id = b.tenant_id left join network nw on nw.id = b.network_id
		where b.switch_id = p_switch and b.port = p_port and b.valid_from <= p_at and (b.valid_to is null or b.valid_to > p_at)),
	counters as (
		select n.name, 'sflow' as source, t.in_errors, t.out_errors, t.in_discards, t.out_discards, t.seconds from named n join traffic_port t on t.switch_id = n.switch_id and t.port = n.port
		where t.step = 60 and t.at > p_at - interval '10 minutes' and t.at <= p_at + interval '1 minute'
		union all select n.name, 'snmp', t.in_errors, t.out_errors, t.in_discards, t.out_discards, t.seconds from named n join traffic_60_counter t on t.switch_id = n.switch_id and t.port = n.port
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

-- flowd asks whether a switch that is told to sample sends sFlow: IOS exports flows instead.
grant select on switch_observed to peregrine_flowd;
