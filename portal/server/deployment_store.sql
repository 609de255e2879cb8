-- SQL of the deployment routes.
-- :use portal/server/store_text.sql

-- :part deployment_item
jsonb_build_object('id', v.id, 'job', v.job_id, 'plan', v.plan, 'node', v.node, 'tenant', v.tenant, 'image', v.image,
'image_version', v.image_version, 'actor', v.actor, 'state', v.state, 'step', v.step, 'step_index', v.step_index,
'attempt', v.attempt, 'problem', v.problem, 'class', v.class, 'waiting', v.waiting, 'last_problem', v.last_problem, 'percent', v.percent, 'done_bytes', v.done_bytes, 'total_bytes', v.total_bytes,
'progress', v.progress, 'version', v.version, 'created_at', v.created_at, 'started_at', v.started_at, 'ended_at', v.ended_at,
'step_started_at', v.step_started_at, 'step_deadline_at', v.step_deadline_at)

-- :part deployment_whole
${deployment_item}
 || jsonb_build_object('params', v.params, 'steps', coalesce(v.steps, '[]'))

-- :statement deployment_list
-- :columns = document
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
-- $1 plan $2 names[] $3 image $4 tenant $5 params $6 actor -> answer
${store_answer select case when r.refused = 0 then 202 when r.known then 409 else 404 end as status, case when r.refused = 0 then '/api/v1/jobs/' || r.job end as location,
null as version, case when r.refused = 0 then jsonb_build_object('job', r.job, 'deployments', r.made) else ${store_refused r.known ;; case when r.refused = 1 then r.why else r.refused || ' nodes refuse; nothing was started' end ;; r.hint ;; r.wrong} end as body from (select count(a.refused) as refused, max(a.job_id) as job, max(a.refused) as why, max(a.hint) as hint,
coalesce(bool_or(${store_known a.node ;; a.refused}), false) as known,
jsonb_agg(jsonb_build_object('id', a.deployment_id, 'node', a.node)) as made,
jsonb_agg(jsonb_build_object('node', a.node, 'message', a.refused, 'hint', a.hint)) filter (where a.refused is not null) as wrong
from haas.deployment_ask($1, $2::text[], $3, $4, $5::jsonb, $6, $7::boolean) a) r}

-- :statement deployment_ask
-- $1 id $2 verb $3 actor: kept for the next in haas.result
select set_config('haas.result', coalesce(haas.deployment_request($1::bigint, $2, $3), ''), true)

-- :statement deployment_asked
-- :columns = answer
-- $1 id -> answer
${store_answer select case when r.why is null then 200 else 409 end as status, null as location, null as version,
case when r.why is null then ${deployment_whole} else ${store_problem 409 ;; conflict ;; r.why ;; 'haasctl deployment show shows its state' ;; null} end as body from (select nullif(current_setting('haas.result', true), '') as why) r,
haas.deployment_view v where v.id = $1::bigint}
