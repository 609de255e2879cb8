-- SQL of the event list and the event stream.
-- :use portal/server/store_text.sql

-- :part event_item
jsonb_build_object('id', e.id, 'at', e.at, 'actor', e.actor, 'kind', e.kind, 'subject_kind', e.subject_kind,
'subject', e.subject, 'tenant', (select t.name from haas.tenant t where t.id = e.tenant_id), 'message', e.message, 'detail', e.detail)

-- :part event_filter
($3::text is null or e.subject_kind = $3) and ($4::text is null or e.subject = $4) and ($5::text is null or e.kind like $5)
and ($6::bigint is null or e.id > $6::bigint)

-- :statement node_events
-- :columns = document
-- $1 limit $2 cursor $3 node $4 after -> (page), oldest first
${store_page e.id ;; ${event_item} ;; haas.event e where e.subject_kind = 'node' and e.subject = $3 and ($2::bigint is null or e.id > $2::bigint)
and ($4::bigint is null or e.id > $4::bigint) ;; e.id}

-- :statement event_newest
-- :columns = document
-- $1 limit $2 cursor $3 subject_kind $4 subject $5 kind LIKE $6 after -> (page)
${store_page e.id ;; ${event_item} ;; haas.event e where ($2::bigint is null or e.id < $2::bigint) and ${event_filter} ;; e.id desc}

-- :statement event_oldest
-- :columns = document
${store_page e.id ;; ${event_item} ;; haas.event e where ($2::bigint is null or e.id > $2::bigint) and ${event_filter} ;; e.id}

-- :statement stream_start
-- :columns xid
-- -> (xid): everything below it has ended.
select pg_snapshot_xmin(pg_current_snapshot())::text as xid

-- :statement stream_after
-- :columns xid, id, tenant, subject_kind, subject, kind, body
-- $1 xid $2 id of the last row had, $3 limit -> (xid, id, tenant or "", subject_kind, subject, kind, body), in the order of the stream; only
-- rows that no running transaction can still precede.
select e.xid::text, e.id, coalesce(t.name, '') as tenant, e.subject_kind, e.subject, e.kind, (${event_item}
)::text as body
from haas.event e left join haas.tenant t on t.id = e.tenant_id
where (e.xid, e.id) > ($1::xid8, $2::bigint) and e.xid < pg_snapshot_xmin(pg_current_snapshot())
order by e.xid, e.id limit $3::int
