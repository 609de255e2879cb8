-- SQL of the volume, archive and storage routes. What one statement found or made, haas.result keeps for the next, as in pdci_store.
-- :use portal/server/store_text.sql

-- :part told problem
-- Where a file lies on the storage is for operators.
case when haas.is_operator() then ${problem} else ${problem} - 'detail' end

-- :part volume_item
-- v is volume_view.
jsonb_build_object('id', v.id, 'name', v.name, 'kind', v.kind, 'tenant', v.tenant, 'pdci', v.pdci, 'size_bytes', v.size_bytes,
'node', v.node, 'disk', v.disk, 'storage', v.storage, 'state', v.state, 'keep', v.keep, 'done_bytes', v.done_bytes,
'archive', v.archive, 'problem', ${told v.problem}, 'version', v.version, 'actor', v.actor, 'created_at', v.created_at,
'ready_at', v.ready_at, 'ended_at', v.ended_at)

-- :part volume_whole
-- How nodes reach it; the secret is told by the action of that name only.
${volume_item} || jsonb_build_object('target', v.target, 'portal', v.portal, 'unit', 1, 'user', 'v' || v.id || '-' || v.secret_number,
'initiators', coalesce(v.served, '[]'))

-- :part volume_key
v.tenant || ' ' || coalesce(v.pdci, '') || ' ' || v.kind || ' ' || v.name || ' ' || coalesce(v.id::text, '')

-- :statement volume_list
-- :columns = document
-- :list text
--   id          number         v.id
--   name        natural        v.name
--   kind        text           v.kind::text
--   tenant      natural        v.tenant
--   pdci        natural        v.pdci
--   size_bytes  number         v.size_bytes
--   node        natural        v.node
--   disk        natural        nullif(concat_ws(' ', v.disk ->> 'model', v.disk ->> 'serial'), '')
--   storage     natural        v.storage
--   state       text           v.state::text
--   keep        bool           v.keep
--   archive     natural        v.archive
--   problem     text unsorted  v.problem ->> 'message'
--   actor       text           v.actor
--   created_at  time           v.created_at
--   ready_at    time           v.ready_at
--   ended_at    time           v.ended_at
-- $1 limit $2 cursor $3 tenant $4 PDCI's name $5 kind $6 state $7 name $8 active -> (page)
${store_page ${volume_key} ;; ${volume_item} ;; haas.volume_view v where ($2::text is null or (${volume_key}) collate haas.natural_order > $2) and ($3::text is null or v.tenant = $3)
and ($4::text is null or v.pdci = $4) and ($5::text is null or v.kind = $5) and ($6::text is null or v.state = $6)
and ($7::text is null or v.name = $7) and ($8::boolean is null or (v.state <> 'deleted') = $8::boolean) ;; (${volume_key}) collate haas.natural_order}

-- :statement pdci_volumes
-- :columns = document
-- $1 limit $2 cursor $3 PDCI $4 tenant -> (page)
${store_page ${volume_key} ;; ${volume_item} ;; haas.volume_view v where ($2::text is null or (${volume_key}) collate haas.natural_order > $2) and v.pdci_id = haas.pdci_find($3, $4) ;; (${volume_key}) collate haas.natural_order}

-- :statement volume_get
-- :columns = document
-- $1 id or name $2 tenant -> (body)
-- A local disk has no id, but a name of its own: NODE/DISK.
select (${volume_whole})::text as body from haas.volume_view v
where case when strpos($1, '/') > 0 then v.kind = 'local' and v.name = $1 and ($2::text is null or v.tenant = $2) else v.id = haas.volume_find($1, $2) end

-- :statement volume_create
-- $1 tenant $2 name $3 size_bytes $4 archive $5 storage $6 PDCI $7 keep $8 actor
select set_config('haas.result', haas.volume_create($1, jsonb_strip_nulls(jsonb_build_object('name', $2::text, 'size_bytes', $3::bigint,
'archive', case when $4::text is not null then haas.archive_find($4, null) end, 'storage', $5::text,
'pdci', case when $6::text is not null then haas.pdci_find($6, $1) end, 'keep', $7::boolean)), $8)::text, true)

-- :part changed status
${store_answer select ${status} as status, '/api/v1/volumes/' || v.id as location, null::bigint as version, ${volume_whole}
 as body from haas.volume_view v where v.id = ${kept}::bigint}

-- :statement volume_created
-- :columns = answer
-- -> answer 201
${changed 201}

-- :statement volume_changed
-- :columns = answer
-- -> answer 202
${changed 202}

-- :part on_volume call
select set_config('haas.result', f.id::text, true), haas.${call} from (select haas.volume_find($1, $2) as id offset 0) f

-- :statement volume_attach
-- All: $1 id or name $2 tenant $3 actor, and $4 where they need one: PDCI, size_bytes, name of the archive, the sealed secret in hex.
${on_volume volume_attach(f.id, haas.pdci_find($4, $2), $3)}

-- :statement volume_detach
-- All: $1 id or name $2 tenant $3 actor, and $4 where they need one: PDCI, size_bytes, name of the archive, the sealed secret in hex.
${on_volume volume_detach(f.id, $3)}

-- :statement volume_resize
-- All: $1 id or name $2 tenant $3 actor, and $4 where they need one: PDCI, size_bytes, name of the archive, the sealed secret in hex.
${on_volume volume_resize(f.id, $4::bigint, $3)}

-- :statement volume_delete
-- All: $1 id or name $2 tenant $3 actor, and $4 where they need one: PDCI, size_bytes, name of the archive, the sealed secret in hex.
${on_volume volume_delete(f.id, $3)}

-- :statement volume_secret
-- All: $1 id or name $2 tenant $3 actor, and $4 where they need one: PDCI, size_bytes, name of the archive, the sealed secret in hex.
${on_volume volume_secret_set(f.id, $4, $3)}

-- :statement volume_archive
-- All: $1 id or name $2 tenant $3 actor, and $4 where they need one: PDCI, size_bytes, name of the archive, the sealed secret in hex.
select set_config('haas.result', haas.archive_create(haas.volume_find($1, $2), $4, $3)::text, true)

-- :statement volume_key
-- :columns = public_key
-- $1 id or name $2 tenant -> (key of its storage)
select encode(s.public_key, 'hex') as public_key from haas.volume v join haas.storage s on s.id = v.storage_id where v.id = haas.volume_find($1, $2)

-- :part archive_item
-- a is archive. The tenant of one that was granted is not told.
jsonb_build_object('id', a.id, 'name', a.name, 'tenant', (select t.name from haas.tenant t where t.id = a.tenant_id),
'volume', a.volume, 'storage', (select s.name from haas.storage s where s.id = a.storage_id), 'size_bytes', a.size_bytes,
'stored_bytes', a.stored_bytes, 'digest', a.digest, 'stored_digest', a.stored_digest, 'state', case when a.wanted = 'absent'
and a.state <> 'deleted' then 'deleting' else a.state end, 'done_bytes', a.done_bytes, 'problem', ${told a.problem},
'granted', not haas.in_scope(a.tenant_id), 'actor', a.actor, 'version', a.version, 'created_at', a.created_at,
'ready_at', a.ready_at, 'ended_at', a.ended_at)

-- :statement archive_list
-- :columns = document
-- :list bigint
--   id            number         a.id
--   name          natural        a.name
--   tenant        natural        (select t.name from haas.tenant t where t.id = a.tenant_id)
--   volume        natural        a.volume
--   storage       natural        (select s.name from haas.storage s where s.id = a.storage_id)
--   size_bytes    number         a.size_bytes
--   stored_bytes  number         a.stored_bytes
--   state         text           case when a.wanted = 'absent' and a.state <> 'deleted' then 'deleting' else a.state end
--   problem       text unsorted  a.problem ->> 'message'
--   actor         text           a.actor
--   created_at    time           a.created_at
--   ready_at      time           a.ready_at
--   ended_at      time           a.ended_at
-- $1 limit $2 cursor $3 tenant $4 state $5 name $6 active -> (page)
${store_page a.id ;; ${archive_item} ;; haas.archive a where ($2::bigint is null or a.id < $2::bigint)
and ($3::text is null or a.tenant_id = (select t.id from haas.tenant t where t.name = $3)) and ($4::text is null or a.state = $4)
and ($5::text is null or a.name = $5) and ($6::boolean is null or (a.state <> 'deleted') = $6::boolean) ;; a.id desc}

-- :statement archive_get
-- :columns = document
-- $1 id or name $2 tenant -> (body)
select (${archive_item})::text as body from haas.archive a where a.id = haas.archive_find($1, $2)

-- :statement archive_delete
-- $1 id or name $2 tenant $3 actor
select set_config('haas.result', f.id::text, true), haas.archive_delete(f.id, $3) from (select haas.archive_find($1, $2) as id offset 0) f

-- :statement archive_changed
-- :columns = answer
-- -> answer 202
${store_answer select 202 as status, '/api/v1/archives/' || a.id as location, null::bigint as version, ${archive_item}
 as body from haas.archive a where a.id = ${kept}::bigint}

-- :part storage_item
-- s is storage.
jsonb_build_object('name', s.name, 'driver', s.driver, 'portal', s.portal, 'iqn', s.iqn, 'login', s.login,
'port', (select w.name || ':' || s.port from haas.switch w where w.id = s.switch_id), 'prefix', s.prefix::text,
'capacity_bytes', s.capacity_bytes, 'used_bytes', haas.storage_used(s.id), 'total_bytes', s.total_bytes, 'free_bytes', s.free_bytes,
'accepts', s.accepts, 'state', case when s.seen_at is null then 'never_seen' when s.seen_at < now() - interval '1 minute' then 'silent'
when s.problem is not null then 'degraded' else 'ready' end, 'problem', s.problem, 'seen_at', s.seen_at, 'created_at', s.created_at, 'version', haas.edit_version('storage', s.name))

-- :statement storage_list
-- :columns = document
-- :list text
--   name            natural        s.name
--   driver          text           s.driver::text
--   portal          text           s.portal
--   iqn             text           s.iqn
--   port            natural        (select w.name || ':' || s.port from haas.switch w where w.id = s.switch_id)
--   capacity_bytes  number         s.capacity_bytes
--   used_bytes      number         haas.storage_used(s.id)
--   free_bytes      number         s.free_bytes
--   accepts         bool           s.accepts
--   problem         text unsorted  s.problem ->> 'message'
--   seen_at         time           s.seen_at
--   created_at      time           s.created_at
-- $1 limit $2 cursor -> (page)
${store_page s.name ;; ${storage_item} ;; haas.storage s where ($2::text is null or s.name collate haas.natural_order > $2) ;; s.name collate haas.natural_order}

-- :statement storage_get
-- :columns = resource
-- $1 name -> (body, version, whole)
select (${storage_item})::text as body, haas.edit_version('storage', s.name) as version, false as whole from haas.storage s where s.name = $1

-- :statement storage_put
-- $1 name $2 spec $3 actor
select haas.storage_put($1, $2::jsonb, $3)

-- :statement storage_done
-- :columns = answer
-- $1 name -> answer 200
${store_answer select 200 as status, null as location, haas.edit_version('storage', s.name) as version, ${storage_item} as body from haas.storage s where s.name = $1}
