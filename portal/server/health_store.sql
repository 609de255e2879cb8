-- Health: labels, sensors and event logs as the API shows them, and what operators do to labels.
-- :use portal/server/store_text.sql

-- :part label_item
-- v is health_label_view.
jsonb_build_object('node', v.node, 'state', v.node_state, 'tenant', v.tenant, 'label', v.label, 'severity', v.severity,
'effects', to_jsonb(v.effects), 'effective', to_jsonb(v.effective), 'reason', v.reason, 'hint', v.hint, 'source', v.source,
'actor', v.actor, 'raised_at', v.since, 'expires_at', v.expires_at,
'acknowledged', case when v.acknowledged_by is not null then jsonb_build_object('actor', v.acknowledged_by, 'reason',
v.acknowledged_reason, 'until', v.acknowledged_until) end,
'silenced', case when v.silenced_by is not null then jsonb_build_object('actor', v.silenced_by, 'reason', v.silenced_reason,
'until', v.silenced_until) end)

-- :part sel_item
jsonb_build_object('record', s.record, 'at', case when s.bmc_time_s > 0 then to_timestamp(s.bmc_time_s) end,
'seen_at', s.seen_at, 'type', s.type, 'sensor', s.sensor, 'event', s.event, 'asserted', s.asserted)

-- :statement node_health
-- :columns = document
-- $1 = node.
select jsonb_build_object('node', n.name, 'state', n.state, 'power', coalesce(b.observed_power, 'unknown'),
'labels', coalesce((select jsonb_agg(${label_item}
 order by v.severity = 'critical' desc, v.since, v.label)
from haas.health_label_view v where v.node_id = n.id), '[]'),
'sensors', coalesce(h.sensors, '[]'), 'sensors_at', h.sensors_at,
'sel', coalesce((select jsonb_agg(${sel_item} order by s.id desc) from
(select * from haas.sel_entry e where e.node_id = n.id order by e.id desc limit 10) s), '[]'), 'sel_at', h.sel_at,
'bmc_failing_since', h.bmc_failing_since)::text as body
from haas.node n left join haas.node_health h on h.node_id = n.id left join haas.bmc b on b.node_id = n.id where n.name = $1

-- :statement node_sel
-- :columns = document
-- $1 limit, $2 cursor (id), $3 node.
${store_page s.id ;; ${sel_item} ;; haas.sel_entry s where s.node_id = (select n.id from haas.node n where n.name = $3) and ($2::bigint is null or s.id < $2::bigint) ;; s.id desc} having exists (select from haas.node n where n.name = $3)

-- :statement node_sensors
-- :columns = document
-- $1 = node, $2 = seconds, $3 = points, $4 = sensor.
select (jsonb_build_object('node', n.name) || haas.sensor_series(n.id, now() - least($2::bigint, 86400) * interval '1 s', $3::integer,
case when $4::text is not null then array[$4::text] end))::text as body
from haas.node n where n.name = $1

-- :part label_key
v.node || ' ' || v.label || ' ' || v.source

-- :statement label_list
-- :columns = document
-- :list text
--   node          natural        v.node
--   state         text           v.node_state::text
--   tenant        natural        v.tenant
--   label         text           v.label
--   severity      text           v.severity
--   effects       text           array_to_string(v.effects, ' ')
--   reason        text unsorted  v.reason
--   source        text           v.source
--   actor         text           v.actor
--   acknowledged  bool           v.acknowledged_by is not null
--   raised_at     time           v.since
--   expires_at    time           v.expires_at
-- $1 limit, $2 cursor, $3 node, $4 label, $5 severity, $6 effect.
${store_page ${label_key} ;; ${label_item} ;; haas.health_label_view v where ($2::text is null or (${label_key}
) collate haas.natural_order > $2) and ($3::text is null or v.node = $3)
and ($4::text is null or v.label = $4) and ($5::text is null or v.severity = $5)
and ($6::text is null or $6 = any (v.effective)) ;; (${label_key}) collate haas.natural_order}

-- :statement label_request
-- :columns = answer
-- $1 nodes, $2 action, $3 label, $4 severity, $5 effects, $6 reason, $7 seconds, $8 actor.
${store_answer select case when r.done > 0 then 200 when r.known then 409 else 404 end as status, null as location, null as version,
case when r.done > 0 then jsonb_build_object('nodes', r.rows) else ${store_refused r.known ;; case when r.refused = 1 then r.why else 'all nodes refuse' end ;; r.hint ;; r.wrong} end as body from (select count(*) filter (where x.refused is null) as done, count(x.refused) as refused,
max(x.refused) as why, max(x.hint) as hint, coalesce(bool_or(${store_known x.node ;; x.refused}), false) as known,
jsonb_agg(jsonb_build_object('node', x.node, 'refused', x.refused)) as rows,
jsonb_agg(jsonb_build_object('node', x.node, 'message', x.refused, 'hint', x.hint))
filter (where x.refused is not null) as wrong
from haas.health_request($1::text[], $2, $3, $4, $5::text[], $6, now() + $7::bigint * interval '1 s', $8) x) r}
