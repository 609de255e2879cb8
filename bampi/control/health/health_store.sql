-- Statements of bampi/control/health/health_store.c.

-- :row changed
--   count  rows that the statement changed

-- :part ms column
floor(extract(epoch from ${column}) * 1000)::bigint

-- :part history_days
31
-- longer than every window of health_table.c

-- :part events_at_once
512

-- :statement health_sensors
-- :columns = changed
select haas.health_sensors_put($1::jsonb) as count

-- :statement health_log
-- :columns = changed
select haas.health_sel_put($1::jsonb) as count

-- :statement health_save
select haas.health_save($1::jsonb)

-- :statement health_expire
-- :columns = changed
select haas.health_expire() as count

-- :statement health_marks
-- :columns node_id, record, stamp
select node_id, sel_record as record, sel_stamp as stamp from haas.node_health where sel_record is not null and sel_stamp is not null

-- :statement health_due
-- :columns node_id, node, generation, alarms, failing_ms, problem, powered, memo, cleared, labels, log, drives, now_ms
select h.node_id, n.name as node, h.generation, h.alarms, ${ms h.bmc_failing_since} as failing_ms, b.problem ->> 'message' as problem, coalesce(b.observed_power = 'on', false) as powered,
 h.memo, h.cleared,
 (select jsonb_object_agg(l.label, ${ms l.since}) from haas.health_label l where l.node_id = h.node_id and l.source = 'rule') as labels,
 (select jsonb_agg(jsonb_build_object('type', s.type, 'sensor', s.sensor, 'event', s.event, 'asserted', s.asserted,
   'bmc_ms', s.bmc_time_s * 1000, 'seen_ms', ${ms s.seen_at}) order by s.id)
  from (select * from haas.sel_entry e where e.node_id = h.node_id and e.seen_at > now() - interval '${history_days} days'
        order by e.id desc limit ${events_at_once}) s) as log,
 (select jsonb_agg(jsonb_build_object('name', coalesce(nullif(d.name, ''), d.serial), 'reason', d.reason) order by d.name)
  from haas.drive d where d.node_id = h.node_id and d.verdict = 'failed') as drives,
 ${ms clock_timestamp()} as now_ms
from haas.node_health h join haas.node n on n.id = h.node_id left join haas.bmc b on b.node_id = h.node_id
where h.due_at <= now() order by h.due_at limit 64
