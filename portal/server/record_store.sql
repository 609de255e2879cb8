-- SQL of tenants, jobs and certificates.
-- :use portal/server/store_text.sql

-- :part job_item
jsonb_build_object('id', v.id, 'kind', v.kind, 'actor', v.actor, 'state', v.state, 'total', v.total, 'done', v.done,
'failed', v.failed, 'created_at', v.created_at, 'ended_at', v.ended_at)

-- :part certificate_item
jsonb_build_object('id', c.id, 'node', c.node, 'deployment', c.deployment_id, 'body', c.body, 'previous_hash', c.previous_hash,
'hash', c.hash, 'signature', c.signature, 'public_key', c.public_key, 'created_at', c.created_at)

-- :part record_moment time
-- As bampid writes times into certificates: verify compares them as texts.
to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')

-- :statement tenant_list
-- :columns = document
-- :list text
--   name        natural  t.name
--   created_at  time     t.created_at
-- $1 limit $2 cursor -> (page)
${store_page t.name ;; jsonb_build_object('name', t.name, 'created_at', t.created_at) ;; haas.tenant t where ($2::text is null or t.name collate haas.natural_order > $2) ;; t.name collate haas.natural_order}

-- :statement tenant_create
-- :columns = answer
-- $1 name -> answer
${store_answer_with made as (insert into haas.tenant (name) values ($1) returning id, name, created_at),
told as (select haas.event_told('tenant.created', 'tenant', name, null, 'tenant created') from made) ;; select 201 as status, null as location, null::bigint as version,
jsonb_build_object('name', made.name, 'created_at', made.created_at) as body from made, told}

-- :statement tenant_get
-- :columns = document
-- $1 name -> (body)
select jsonb_build_object('name', t.name, 'created_at', t.created_at, 'left', (select coalesce(jsonb_object_agg(l.kind, l.count), '{}')
from haas.tenant_left(t.id) l))::text as body from haas.tenant t where t.name = $1

-- :statement tenant_delete
-- :columns = answer
-- $1 name $2 actor -> answer
${store_answer_with gone as materialized (select haas.tenant_delete($1, $2) as done) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}

-- :statement job_list
-- :columns = document
-- :list bigint
--   id          number  v.id
--   kind        text    v.kind::text
--   actor       text    v.actor
--   state       text    v.state
--   total       number  v.total
--   done        number  v.done
--   failed      number  v.failed
--   created_at  time    v.created_at
--   ended_at    time    v.ended_at
-- $1 limit $2 cursor $3 state -> (page)
${store_page v.id ;; ${job_item} ;; haas.job_view v where ($2::bigint is null or v.id < $2::bigint) and ($3::text is null or v.state = $3) ;; v.id desc}

-- :statement job_get
-- :columns = document
-- $1 id -> (body)
select (${job_item}
 || jsonb_build_object('items', coalesce(v.items, '[]')))::text as body from haas.job_view v where v.id = $1::bigint

-- :statement certificate_list
-- :columns = document
-- :list bigint
--   id          number         c.id
--   node        natural        c.node
--   deployment  number         c.deployment_id
--   hash        text unsorted  c.hash
--   created_at  time           c.created_at
-- $1 limit $2 cursor $3 node -> (page)
${store_page c.id ;; ${certificate_item} ;; haas.certificate c where ($2::bigint is null or c.id > $2::bigint) and ($3::text is null or c.node = $3) ;; c.id}

-- :statement certificate_get
-- :columns = document
-- $1 id -> (body)
select (${certificate_item}
)::text as body from haas.certificate c where c.id = $1::bigint

-- :statement certificate_keys
-- :columns = document
-- -> (body)
select jsonb_build_object('items', coalesce(jsonb_agg(jsonb_build_object('algorithm', 'ed25519', 'public_key', k.public_key,
'since', ${record_moment k.since}, 'until', ${record_moment k.until}, 'follows', k.follows, 'statement', k.statement, 'signature', k.signature) order by k.since desc), '[]'))::text as body
from haas.certificate_key k
