-- SQL of rotations: passwords of BMCs and secrets of switches that are exchanged for new ones.
-- :use portal/server/store_text.sql

-- :part rotation_item
jsonb_build_object('id', r.id, 'node', r.node, 'switch', r.switch, 'state', r.state, 'actor', r.actor, 'begun_at', r.begun_at, 'proven_at', r.proven_at,
'keep_until', r.keep_until, 'ended_at', r.ended_at, 'problem', r.problem)

-- :statement rotation_list
-- :columns = document
-- :list bigint
--   id          number         r.id
--   node        natural        r.node
--   switch      natural        r.switch
--   state       text           r.state
--   actor       text           r.actor
--   problem     text unsorted  r.problem ->> 'message'
--   begun_at    time           r.begun_at
--   keep_until  time           r.keep_until
--   ended_at    time           r.ended_at
-- $1 limit, $2 cursor, $3 node, $4 open -> (page)
${store_page r.id ;; ${rotation_item} ;; haas.rotation r where ($2::bigint is null or r.id < $2::bigint) and ($3::text is null or r.node = $3)
and ($4::boolean is null or (r.ended_at is null) = $4::boolean) ;; r.id desc}

-- :statement rotation_request
-- :columns = answer
-- $1 nodes, $2 seconds, $3 actor -> answer
${store_answer select case when r.done > 0 then 200 when r.known then 409 else 404 end as status, null as location, null::bigint as version,
case when r.done > 0 then jsonb_build_object('nodes', r.rows) else ${store_refused r.known ;; case when r.refused = 1 then r.why else 'all nodes refuse' end ;; null ;; r.wrong} end as body
from (select count(*) filter (where x.refused is null) as done, count(x.refused) as refused, max(x.refused) as why,
coalesce(bool_or(${store_known x.node ;; x.refused}), false) as known, jsonb_agg(jsonb_build_object('node', x.node, 'refused', x.refused)) as rows,
jsonb_agg(jsonb_build_object('node', x.node, 'message', x.refused, 'hint', null)) filter (where x.refused is not null) as wrong
from haas.rotation_begin($1::text[], $2::integer, $3) x) r}

-- :statement key_rotation_list
-- :columns = document
-- $1 limit, $2 cursor -> (page)
${store_page r.id ;; jsonb_build_object('id', r.id, 'daemon', r.daemon, 'key', r.key, 'state', r.state, 'actor', r.actor, 'begun_at', r.begun_at, 'keep_until', r.keep_until,
'ended_at', r.ended_at, 'resealed', r.resealed, 'lost', r.lost, 'problem', r.problem, 'storage', (select s.name from haas.storage s where s.id = r.storage_id)) ;; haas.seal_rotation r where ($2::bigint is null or r.id < $2::bigint) ;; r.id desc}

-- :statement key_rotation_begin
-- :columns = answer
-- $1 daemon, $2 key, $3 seconds, $4 actor, $5 storage -> answer
${store_answer_with begun as materialized (select haas.seal_rotation_begin($1, $2, $3::integer, $4, $5) as id) ;; select 202 as status, null as location, null::bigint as version,
jsonb_build_object('daemon', $1::text, 'key', $2::text) as body from begun where begun.id is not null}

-- :statement ca_rotation_told
-- :columns = answer
-- $1 step, $2 fingerprint -> answer
${store_answer_with told as materialized (select haas.event_told('site_ca.' || $1, 'site_ca', $2, null, case $1 when 'believed' then 'this CA is believed beside the other'
when 'issued' then 'certificates of the controller are of this CA' else 'only this CA is believed' end) as id) ;; select 200 as status, null as location, null::bigint as version,
jsonb_build_object('step', $1::text) as body from told where told.id is not null}
