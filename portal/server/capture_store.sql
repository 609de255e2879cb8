-- Captures of packets, whose consent they have, where mirrors deliver.
-- :use portal/server/store_text.sql

-- :part capture_item
-- c is capture. Where its collector keeps files is for operators.
jsonb_build_object('id', c.id, 'tenant', (select t.name from haas.tenant t where t.id = c.tenant_id), 'node', c.node, 'peer', nullif(c.peer, ''),
'switch', (select s.name from haas.switch s where s.id = c.switch_id), 'port', c.port, 'filter', c.filter, 'snap_length', c.snap_length,
'seconds', c.seconds, 'max_bytes', c.max_bytes, 'wrap', c.wrap, 'reason', c.reason, 'requester', c.requester, 'consent', c.consent,
'consent_by', c.consent_by, 'state', c.state, 'because', c.because, 'problem', case when haas.is_operator() then c.problem else c.problem - 'detail' end,
'files', c.files, 'packets', coalesce((c.result ->> 'packets')::bigint, 0), 'bytes', coalesce((c.result ->> 'bytes')::bigint, 0),
'stored_bytes', coalesce((c.result ->> 'stored_bytes')::bigint, 0), 'dropped', coalesce((c.result ->> 'dropped')::bigint, 0),
'case', case when haas.is_operator() then c.case_id end, 'created_at', c.created_at, 'approved_at', c.approved_at, 'started_at', c.started_at, 'deadline', c.deadline, 'ended_at', c.ended_at)

-- :part capture_whole
${capture_item} || jsonb_build_object('result', c.result)

-- :statement capture_list
-- :columns = document
-- :list bigint
--   id          number         c.id
--   tenant      natural        (select t.name from haas.tenant t where t.id = c.tenant_id)
--   node        natural        c.node
--   peer        natural        nullif(c.peer, '')
--   switch      natural        (select s.name from haas.switch s where s.id = c.switch_id)
--   port        natural        c.port
--   filter      text unsorted  c.filter
--   state       text           c.state
--   because     text           c.because
--   reason      text unsorted  c.reason
--   requester   text           c.requester
--   consent     text           c.consent
--   consent_by  text           c.consent_by
--   packets     number         coalesce((c.result ->> 'packets')::bigint, 0)
--   bytes       number         coalesce((c.result ->> 'bytes')::bigint, 0)
--   case        number site    c.case_id
--   created_at  time           c.created_at
--   started_at  time           c.started_at
--   ended_at    time           c.ended_at
${store_page c.id ;; ${capture_item} ;; haas.capture c where ($2::bigint is null or c.id < $2::bigint) and ($3::text is null or c.tenant_id = (select t.id from haas.tenant t where t.name = $3))
and ($4::text is null or c.state = $4) and ($5::boolean is null or (c.state <> 'ended') = $5::boolean) ;; c.id desc}

-- :statement capture_get
-- :columns = document
select (${capture_whole})::text as body from haas.capture c where c.id = $1::bigint

-- :statement capture_start
-- spec, actor; keeps the id
select set_config('haas.result', haas.capture_ask($1::jsonb, $2::bigint, $3)::text, true)

-- :statement capture_vlan
-- refuses one that is not the tenant's
select haas.capture_vlan($1, $2::integer)

-- :part changed status, id
${store_answer select ${status} as status, '/api/v1/captures/' || c.id as location, null::bigint as version, ${capture_whole}
 as body from haas.capture c where c.id = ${id}}

-- :statement capture_started
-- :columns = answer
${changed 201 ;; ${kept}::bigint}

-- :statement capture_changed
-- :columns = answer
-- id
${changed 202 ;; $1::bigint}

-- :statement capture_approve
-- id, actor
select haas.capture_approve($1::bigint, $2)

-- :statement capture_stop
select haas.capture_stop($1::bigint, $2)

-- :statement capture_remove
select haas.capture_remove($1::bigint, $2)

-- :statement capture_read
-- :columns oldest_file, id
-- id, offset, actor -> (oldest file, id): may he?
with may as materialized (select haas.capture_read($1::bigint, $2::bigint = 0, $3) as done)
select coalesce((c.result ->> 'oldest_file')::integer, 0) as oldest_file, c.id from may, haas.capture c where may.done is not null and c.id = $1::bigint

-- :statement capture_watch
-- :columns id
-- id, after, actor -> (id)
with may as materialized (select haas.capture_watch($1::bigint, $2::bigint = 0, $3) as done)
select c.id from may, haas.capture c where may.done is not null and c.id = $1::bigint

-- :part grant_item
-- g is capture_grant.
jsonb_build_object('id', g.id, 'tenant', (select t.name from haas.tenant t where t.id = g.tenant_id), 'node', nullif(g.node, ''),
'granted_by', g.granted_by, 'created_at', g.created_at, 'expires_at', g.expires_at, 'withdrawn_at', g.withdrawn_at,
'valid', g.withdrawn_at is null and g.expires_at > now())

-- :statement capture_grants
-- :columns = document
${store_page g.id ;; ${grant_item} ;; haas.capture_grant g where ($2::bigint is null or g.id < $2::bigint) ;; g.id desc}

-- :statement capture_grant_put
-- node, expires, actor; keeps the id
select set_config('haas.result', haas.capture_grant_put($1, $2::timestamptz, $3)::text, true)

-- :statement capture_grant_made
-- :columns = answer
${store_answer select 201 as status, '/api/v1/capture-grants/' || g.id as location, null::bigint as version, ${grant_item}
 as body from haas.capture_grant g where g.id = ${kept}::bigint}

-- :statement capture_grant_withdraw
-- :columns = answer
-- id, actor
${store_answer_with gone as materialized (select haas.capture_grant_withdraw($1::bigint, $2) as done) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}

-- :part point_item
-- p is capture_point, s its switch.
jsonb_build_object('switch', s.name, 'collector', p.collector, 'port', p.port, 'interface', p.interface, 'kind', p.kind, 'session', p.session,
'address', host(p.address), 'origin', host(p.origin),
'there', p.address is not null or exists (select from haas.port_observed o where o.switch_id = p.switch_id and o.name = p.port))

-- :statement capture_points
-- :columns = document
${store_page s.name ;; ${point_item} ;; haas.capture_point p join haas.switch s on s.id = p.switch_id where ($2::text is null or s.name collate haas.natural_order > $2) ;; s.name collate haas.natural_order}

-- :statement capture_point_get
-- :columns = resource
-- $1 switch -> (body, version, whole)
select (${point_item})::text as body, haas.edit_version('mirror port of switch', s.name) as version, false as whole
from haas.capture_point p join haas.switch s on s.id = p.switch_id where s.name = $1

-- :statement capture_point_put
-- switch, spec, actor
select haas.capture_point_put($1, $2::jsonb, $3)

-- :statement capture_point_done
-- :columns = answer
${store_answer select 200 as status, null as location, haas.edit_version('mirror port of switch', $1) as version, ${point_item}
 as body from haas.capture_point p join haas.switch s on s.id = p.switch_id where s.name = $1}

-- :statement capture_point_remove
-- :columns = answer
-- switch, actor
${store_answer_with gone as materialized (select haas.capture_point_remove($1, $2) as done) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}
