-- SQL of the deployment routes.
-- :use portal/server/store_text.sql

-- :part deployment_item
jsonb_build_object('id', v.id, 'job', v.job_id, 'plan', v.plan, 'node', v.node, 'tenant', v.tenant, 'image', v.image,
'image_version', v.image_version, 'actor', v.actor, 'state', v.state, 'step', v.step, 'step_index', v.step_index,
'attempt', v.attempt, 'problem', v.problem, 'class', v.class, 'waiting', v.waiting, 'last_problem', v.last_problem, 'percent', v.percent, 'eta', v.eta, 'done_bytes', v.done_bytes, 'total_bytes', v.total_bytes,
'progress', v.progress, 'version', v.version, 'created_at', v.created_at, 'started_at', v.started_at, 'ended_at', v.ended_at,
'step_started_at', v.step_started_at, 'step_deadline_at', v.step_deadline_at)

-- :part deployment_whole
${deployment_item}
 || jsonb_build_object('params', v.params, 'steps', coalesce(v.steps, '[]'),
'ahead', case when v.ended_at is null and v.state not in ('cancelling', 'failed') then coalesce(haas.deployment_ahead(v.plan, v.class, case when v.step = '' then -1 else v.step_index end), '[]') else '[]' end)

-- :statement deployment_list
-- :columns = document
-- :list bigint
--   id            number                    v.id
--   node          natural                   v.node
--   plan          text                      v.plan::text
--   state         text                      v.state::text
--   step          text                      nullif(v.step, '')
--   percent       number                    v.percent
--   tenant        natural                   v.tenant
--   image         natural                   v.image || coalesce(':' || v.image_version, '')
--   class         natural                   v.class
--   job           number                    v.job_id
--   attempt       number                    v.attempt
--   actor         text                      v.actor
--   problem       text unsorted             v.problem ->> 'message'
--   last_problem  text unsorted             v.last_problem ->> 'message'
--   waiting       text unsorted unsearched  v.waiting ->> 'message'
--   created_at    time                      v.created_at
--   started_at    time                      v.started_at
--   ended_at      time                      v.ended_at
-- $1 limit $2 cursor $3 state $4 active $5 plan $6 node $7 job $8 class -> (page)
${store_page v.id ;; ${deployment_item} ;; haas.deployment_view v where ($2::bigint is null or v.id < $2::bigint)
and ($3::text is null or v.state = $3::haas.deployment_state)
and ($4::boolean is null or (v.state in ('queued', 'waiting', 'cancelling')) = $4::boolean)
and ($5::text is null or v.plan = $5) and ($6::text is null or v.node = $6) and ($7::bigint is null or v.job_id = $7::bigint) and ($8::text is null or v.class = $8) ;; v.id desc}

-- :statement deployment_get
-- :columns = document
-- $1 id -> (body)
select (${deployment_whole})::text as body from haas.deployment_view v where v.id = $1::bigint

-- :statement deployment_create
-- :columns = answer
-- $1 plan $2 names[] or null: the chosen $3 image $4 tenant $5 params $6 actor -> answer
${store_answer select case when r.refused = 0 then 202 when r.known then 409 else 404 end as status, case when r.refused = 0 then '/api/v1/jobs/' || r.job end as location,
null as version, case when r.refused = 0 then jsonb_build_object('job', r.job, 'deployments', r.made) else ${store_refused r.known ;; case when r.refused = 1 then r.why else r.refused || ' nodes refuse; nothing was started' end ;; r.hint ;; r.wrong} end as body from (select count(a.refused) as refused, max(a.job_id) as job, max(a.refused) as why, max(a.hint) as hint,
coalesce(bool_or(${store_known a.node ;; a.refused}), false) as known,
jsonb_agg(jsonb_build_object('id', a.deployment_id, 'node', a.node)) as made,
jsonb_agg(jsonb_build_object('node', a.node, 'message', a.refused, 'hint', a.hint)) filter (where a.refused is not null) as wrong
from haas.deployment_ask($1, ${chosen $2}, $3, $4, $5::jsonb, $6, $7::boolean) a) r}

-- :statement deployment_ask_many
-- $1 ids[] or null: the chosen $2 verb $3 actor: kept for the next in haas.result. All of their nodes are locked first, in one order.
select set_config('haas.result', (with locked as materialized (select haas.deployment_lock_seen((${chosen $1})::bigint[]))
select jsonb_agg(jsonb_build_object('id', x.id, 'refused', haas.deployment_request(x.id::bigint, $2, $3)) order by x.n)::text
from locked, unnest(${chosen $1}) with ordinality x (id, n)), true)

-- :statement deployment_asked_many
-- :columns = answer
-- -> answer
${store_answer select case when r.done > 0 then 200 else 409 end as status, null as location, null as version,
case when r.done > 0 then jsonb_build_object('deployments', r.rows)
else ${store_problem 409 ;; conflict ;; case when r.refused = 1 then r.why else 'all deployments refuse' end ;; 'haasctl deployment show shows its state' ;; r.wrong} end as body
from (select count(*) filter (where e.e ->> 'refused' is null) as done, count(e.e ->> 'refused') as refused, max(e.e ->> 'refused') as why,
jsonb_agg(jsonb_build_object('id', v.id, 'node', v.node, 'plan', v.plan, 'state', v.state, 'refused', e.e ->> 'refused') order by e.n) as rows,
jsonb_agg(jsonb_build_object('node', v.node, 'message', e.e ->> 'refused')) filter (where e.e ->> 'refused' is not null) as wrong
from jsonb_array_elements(${kept}::jsonb) with ordinality e (e, n) join haas.deployment_view v on v.id = (e.e ->> 'id')::bigint) r}

-- :statement deployment_ask
-- $1 id $2 verb $3 actor: kept for the next in haas.result
select set_config('haas.result', coalesce(haas.deployment_request($1::bigint, $2, $3), ''), true)

-- :statement deployment_asked
-- :columns = answer
-- $1 id -> answer
${store_answer select case when r.why is null then 200 else 409 end as status, null as location, null as version,
case when r.why is null then ${deployment_whole} else ${store_problem 409 ;; conflict ;; r.why ;; 'haasctl deployment show shows its state' ;; null} end as body from (select nullif(current_setting('haas.result', true), '') as why) r,
haas.deployment_view v where v.id = $1::bigint}
