-- SQL of webhooks and their deliveries (db/schema/webhook.sql).
-- :use portal/server/store_text.sql

-- :part webhook_item
jsonb_build_object('id', w.id, 'name', w.name, 'tenant', t.name, 'url', haas.webhook_url_seen(w.url), 'kinds', to_jsonb(w.kinds), 'subject_kind', w.subject_kind,
'subject', w.subject, 'disabled', w.disabled, 'state', case when w.disabled then 'disabled' when w.failures > 0 then 'failing' else 'ok' end,
'failing_since', w.failing_since, 'next_at', case when w.failures > 0 and not w.disabled then w.next_at end,
'waiting', (select count(*) from haas.webhook_delivery d where d.webhook_id = w.id and d.state = 'waiting'),
'delivered_at', (select max(d.attempted_at) from haas.webhook_delivery d where d.webhook_id = w.id and d.state = 'delivered'),
'created_by', w.created_by, 'created_at', w.created_at, 'version', w.version_number)

-- :part webhook_from
haas.webhook w left join haas.tenant t on t.id = w.tenant_id

-- :part delivery_item
jsonb_build_object('id', d.id, 'event', d.event_id, 'kind', e.kind, 'subject_kind', e.subject_kind, 'subject', e.subject, 'message', e.message, 'at', e.at,
'state', d.state, 'attempts', d.attempts, 'attempted_at', d.attempted_at, 'status', d.status, 'duration_ms', d.duration_ms, 'problem', d.problem,
'next_at', case when d.state = 'waiting' then d.next_at end)

-- :statement webhook_list
-- :columns = document
-- $1 limit $2 cursor -> (page)
${store_page w.id ;; ${webhook_item} ;; ${webhook_from} where ($2::bigint is null or w.id > $2::bigint) ;; w.id}

-- :statement webhook_get
-- :columns = resource
-- $1 id -> (body): its state is no part of the version
select (${webhook_item})::text as body, w.version_number as version, false as whole from ${webhook_from} where w.id = $1::bigint

-- :statement webhook_key
-- :columns = public_key
-- -> (public key of portal-outward)
select haas.webhook_key() as public_key

-- :statement webhook_add
-- $1 tenant, or null $2 body $3 sealed secret in hex $4 actor
select set_config('haas.result', haas.webhook_add($1, $2::jsonb, decode($3, 'hex'), $4)::text, true)

-- :statement webhook_change
-- $1 id $2 version $3 body $4 actor
select set_config('haas.result', haas.webhook_change($1::bigint, $2::bigint, $3::jsonb, $4)::text, true)

-- :statement webhook_secret_put
-- $1 id $2 sealed secret in hex $3 actor
select set_config('haas.result', haas.webhook_secret_put($1::bigint, decode($2, 'hex'), $3)::text, true)

-- :statement webhook_added
-- :columns = answer
-- What webhook_add made -> answer
${store_answer select 201 as status, '/api/v1/webhooks/' || w.id as location, w.version_number as version, ${webhook_item} as body
from ${webhook_from} where w.id = ${kept}::bigint}

-- :statement webhook_changed
-- :columns = answer
-- What an earlier statement changed -> answer
${store_answer select 200 as status, null as location, w.version_number as version, ${webhook_item} as body
from ${webhook_from} where w.id = ${kept}::bigint}

-- :statement webhook_remove
-- :columns = answer
-- $1 id $2 actor -> answer
${store_answer_with gone as materialized (select haas.webhook_remove($1::bigint, $2)) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone}

-- :statement delivery_list
-- :columns = document
-- $1 limit $2 cursor $3 webhook $4 state -> (page), the newest first; no row: there is no such webhook
select p.body from (${store_page d.id ;; ${delivery_item} ;; haas.webhook_delivery d join haas.event e on e.id = d.event_id
where d.webhook_id = $3::bigint and ($2::bigint is null or d.id < $2::bigint) and ($4::text is null or d.state = $4) ;; d.id desc}) p
where exists (select from haas.webhook w where w.id = $3::bigint)

-- :statement delivery_again
-- $1 webhook $2 delivery $3 actor
select set_config('haas.result', haas.webhook_redeliver($1::bigint, $2::bigint, $3)::text, true)

-- :statement delivery_now
-- :columns = answer
-- What delivery_again changed -> answer
${store_answer select 200 as status, null as location, null::bigint as version, ${delivery_item} as body
from haas.webhook_delivery d join haas.event e on e.id = d.event_id where d.id = ${kept}::bigint}
