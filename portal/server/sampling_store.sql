-- SQL of sampling: what switches shall send (db/schema/sampling.sql).
-- :use portal/server/store_text.sql

-- :part sampling_item
-- v is sampling_view.
jsonb_build_object('switch', v.switch, 'fabric', v.fabric, 'setting', case when v.setting_id is not null then
jsonb_build_object('of', case when v.own then 'switch' else 'fabric' end, 'enabled', v.enabled, 'collector', v.collector,
'port', v.port, 'rate', v.rate, 'header', v.header, 'poll_s', v.poll_s) end, 'state', v.state, 'sources', coalesce(v.sources, 0),
'rate_low', v.rate_low, 'rate_high', v.rate_high, 'told_rate', v.told_rate, 'told_at', v.told_at,
'backoff', nullif(v.backoff, ''), 'problem', v.problem, 'checked_at', v.checked_at)

-- :statement sampling_list
-- :columns = document
-- :list text
--   switch      natural        v.switch
--   fabric      natural        v.fabric
--   state       text           v.state
--   enabled     bool           v.enabled
--   collector   natural        v.collector
--   port        number         v.port
--   rate        number         v.rate
--   sources     number         coalesce(v.sources, 0)
--   rate_low    number         v.rate_low
--   rate_high   number         v.rate_high
--   problem     text unsorted  v.problem ->> 'message'
--   checked_at  time           v.checked_at
-- $1 limit $2 cursor $3 fabric $4 switch
${store_page v.switch ;; ${sampling_item} ;; haas.sampling_view v where ($2::text is null or v.switch collate haas.natural_order > $2) and ($3::text is null or v.fabric = $3) and ($4::text is null or v.switch = $4) ;; v.switch collate haas.natural_order}

-- :part sampling_of of, name
jsonb_build_object('items', coalesce((select jsonb_agg(${sampling_item} order by v.switch collate haas.natural_order) from haas.sampling_view v
where case ${of} when 'fabric' then v.fabric else v.switch end = ${name}), '[]'))

-- :statement sampling_get_fabric
-- :columns = resource
-- $1 fabric -> (body, version, whole); version 0: nothing is set
select (${sampling_of 'fabric' ;; f.name})::text as body, coalesce(haas.edit_version('sampling of fabric', f.name), 0) as version, false as whole
from haas.fabric f where f.name = $1

-- :statement sampling_get_switch
-- :columns = resource
-- $1 switch -> (body, version, whole); version 0: it has none of its own
select (${sampling_of 'switch' ;; s.name})::text as body, coalesce(haas.edit_version('sampling of switch', s.name), 0) as version, false as whole
from haas.switch s where s.name = $1

-- :statement sampling_set
-- $1 fabric|switch $2 name $3 spec $4 actor
select haas.sampling_set($1, $2, $3::jsonb, $4)

-- :statement sampling_now
-- :columns = answer
-- $1 fabric|switch $2 name
${store_answer select 200 as status, null as location, haas.edit_version('sampling of ' || $1, $2) as version, ${sampling_of $1 ;; $2} as body}
