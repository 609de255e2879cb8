-- SQL of the sealed audit: events as they are sealed, and the blocks that bampid has signed.
-- :use portal/server/store_text.sql

-- :part audit_block
jsonb_build_object('block', b.id, 'body', b.body, 'previous_hash', b.previous_hash, 'hash', b.hash, 'signature', b.signature, 'public_key', b.public_key)

-- :part audit_after position
-- A position "XID-ID" of the stream, as (xid, id).
(select split_part(p, '-', 1)::xid8 as xid, split_part(p, '-', 2)::bigint as id
from (select case when ${position} ~ '^[0-9]{1,18}-[0-9]{1,18}$' then ${position}
 else '0-0' end as p) y) a

-- :statement audit_events
-- :columns = document
-- $1 limit $2 cursor $3 position -> (page): what is after it, in the order of the stream, if nothing can precede it any more
${store_page e.xid::text || '-' || e.id ;; jsonb_build_object('position', e.xid::text || '-' || e.id, 'text', haas.event_text(e)) ;; haas.event e, ${audit_after coalesce($2, $3)}
where (e.xid, e.id) > (a.xid, a.id) and e.xid < pg_snapshot_xmin(pg_current_snapshot()) ;; e.xid, e.id}

-- :statement audit_blocks
-- :columns = document
-- $1 limit $2 cursor $3 position -> (page): the blocks that begin after it
${store_page b.id ;; ${audit_block} || jsonb_build_object('rows', to_jsonb(b.rows)) ;; haas.event_block b left join haas.event e on e.id = b.first_id, ${audit_after $3}
where ($2::bigint is null or b.id > $2::bigint) and (e.id is null or (e.xid, e.id) > (a.xid, a.id)) ;; b.id}

-- :statement audit_head
-- :columns = document
-- -> (body)
select (${audit_block})::text as body from haas.event_block b order by b.id desc limit 1
