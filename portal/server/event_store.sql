-- SQL of the event list and the event stream.
-- :use portal/server/store_text.sql

-- :part event_item
jsonb_build_object('id', e.id, 'at', e.at, 'actor', e.actor, 'kind', e.kind, 'subject_kind', e.subject_kind,
'subject', e.subject, 'tenant', e.tenant, 'request', e.request, 'message', e.message, 'detail', e.detail)

-- :part event_filter
($3::text is null or e.subject_kind = $3) and ($4::text is null or e.subject = $4) and ($5::text is null or e.kind like $5)
and ($6::bigint is null or e.id > $6::bigint)

-- :part of_node
e.subject_kind = 'node' and e.subject = $3 and ($4::bigint is null or e.id > $4::bigint)

-- :statement node_events
-- :columns = document
-- $1 limit $2 cursor $3 node $4 after -> (page), oldest first
${store_page e.id ;; ${event_item} ;; haas.event e where ($2::bigint is null or e.id > $2::bigint) and ${of_node} ;; e.id}

-- :statement node_events_newest
-- :columns = document
${store_page e.id ;; ${event_item} ;; haas.event e where ($2::bigint is null or e.id < $2::bigint) and ${of_node} ;; e.id desc}

-- :statement event_newest
-- :columns = document
-- :list bigint
--   id            number unsorted   e.id
--   at            time unsorted     e.at
--   actor         text unsorted     e.actor
--   kind          text unsorted     e.kind
--   subject_kind  text unsorted     e.subject_kind
--   subject       natural unsorted  e.subject
--   tenant        natural unsorted  e.tenant
--   request       text unsorted     e.request
--   message       text unsorted     e.message
-- $1 limit $2 cursor $3 subject_kind $4 subject $5 kind LIKE $6 after -> (page)
${store_page e.id ;; ${event_item} ;; haas.event e where ($2::bigint is null or e.id < $2::bigint) and ${event_filter} ;; e.id desc}

-- :statement event_oldest
-- :columns = document
-- :list bigint
--   id            number unsorted   e.id
--   at            time unsorted     e.at
--   actor         text unsorted     e.actor
--   kind          text unsorted     e.kind
--   subject_kind  text unsorted     e.subject_kind
--   subject       natural unsorted  e.subject
--   tenant        natural unsorted  e.tenant
--   request       text unsorted     e.request
--   message       text unsorted     e.message
${store_page e.id ;; ${event_item} ;; haas.event e where ($2::bigint is null or e.id > $2::bigint) and ${event_filter} ;; e.id}

-- :statement stream_start
-- :columns xid, tenant
-- -> (xid: everything below it has ended; id of the tenant whose scope it is, or "").
select pg_snapshot_xmin(pg_current_snapshot())::text as xid, coalesce(haas.current_tenant()::text, '') as tenant

-- :statement stream_stands
-- :columns xid
-- $1 tenant of stream_start -> a row while the scope is still this tenant's, and not that of another of its name.
select pg_snapshot_xmin(pg_current_snapshot())::text as xid where coalesce(haas.current_tenant()::text, '') = $1

-- :statement stream_begin
-- :columns xid, floor_xid, floor_id
-- $1 how many events memory takes -> (xid: as stream_start; the event before the newest of them, or 0, 0 when there are no more).
select pg_snapshot_xmin(pg_current_snapshot())::text as xid, coalesce(e.xid::text, '0') as floor_xid, coalesce(e.id, 0)::text as floor_id
from (values (true)) o left join lateral (select x.xid, x.id from haas.event x order by x.xid desc, x.id desc offset $1::bigint limit 1) e on true

-- :statement stream_after
-- :columns xid, id, tenant, subject_kind, subject, kind, body
-- $1 xid $2 id of the last row had, $3 limit -> (xid, id, id of the tenant or "", subject_kind, subject, kind, body), in the order of the stream; only
-- rows that no running transaction can still precede.
select e.xid::text, e.id, coalesce(e.tenant_id::text, '') as tenant, e.subject_kind, e.subject, e.kind, (${event_item}
)::text as body
from haas.event e
where (e.xid, e.id) > ($1::xid8, $2::bigint) and e.xid < pg_snapshot_xmin(pg_current_snapshot())
order by e.xid, e.id limit $3::int
