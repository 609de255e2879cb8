-- SQL of the image routes.
-- :use portal/server/store_text.sql

-- :part image_item
jsonb_build_object('name', i.name, 'version', i.version, 'tenant', (select t.name from haas.tenant t where t.id = i.tenant_id),
'public', i.public, 'key_id', i.key_id, 'digest', i.digest, 'stored_digest', i.stored_digest, 'size_bytes', i.size_bytes,
'stored_bytes', i.stored_bytes, 'root_partition', i.root_partition, 'firmware', to_jsonb(i.firmware), 'state', i.state,
'received_bytes', i.received_bytes, 'grants', (select coalesce(jsonb_agg(t.name order by t.name collate haas.natural_order), '[]') from haas.object_grant g
join haas.tenant t on t.id = g.tenant_id where g.image_id = i.id), 'version_number', i.version_number, 'created_at', i.created_at)

-- :part image_whole
${image_item}
 || jsonb_build_object('manifest', i.manifest, 'signature', encode(i.signature, 'hex'))

-- :statement image_list
-- :columns = document
-- :list bigint
--   name          natural        i.name
--   version       natural        i.version
--   tenant        natural        (select t.name from haas.tenant t where t.id = i.tenant_id)
--   public        bool           i.public
--   key_id        text           i.key_id
--   size_bytes    number         i.size_bytes
--   stored_bytes  number         i.stored_bytes
--   firmware      text           array_to_string(i.firmware, ' ')
--   state         text           i.state::text
--   digest        text unsorted  i.digest
--   created_at    time           i.created_at
-- $1 limit $2 cursor $3 state $4 name LIKE -> (page)
${store_page i.id ;; ${image_item} ;; haas.image i where ($2::bigint is null or i.id > $2::bigint) and ($3::text is null or i.state = $3)
and ($4::text is null or i.name like $4) ;; i.id}

-- :statement image_get
-- :columns = resource
-- $1 name $2 version -> (body, version, whole)
select (${image_whole}
)::text as body, i.version_number as version, true as whole from haas.image i where i.name = $1 and i.version = $2

-- :statement image_create
-- :columns = answer
-- The members of the manifest were checked; its text is kept byte by byte.
-- $1 manifest (exact text) $2 signature hex $3 key id $4 owner or NULL $5 public -> answer
${store_answer_with owner as (select (select t.id from haas.tenant t where t.name = $4) as named, haas.current_tenant() as own),
i as (insert into haas.image (name, version, tenant_id, public, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes,
root_partition, firmware) select m ->> 'name', m ->> 'version', case when $4::text is not null then owner.named when not haas.is_operator()
then owner.own end, $5::boolean, $1::text, decode($2, 'hex'), $3, m ->> 'digest', m ->> 'stored_digest', (m ->> 'size_bytes')::bigint,
(m ->> 'stored_bytes')::bigint, (m ->> 'root_partition')::int, array(select jsonb_array_elements_text(m -> 'firmware'))
from owner, (select $1::text::jsonb as m) x where $4::text is null or owner.named is not null returning *),
told as (select haas.event_told('image.created', 'image', i.name || ':' || i.version, i.tenant_id, 'image announced',
jsonb_build_object('stored_digest', i.stored_digest, 'key_id', i.key_id)) from i) ;; select 201 as status, '/api/v1/images/' || i.name || '/' || i.version as location, i.version_number as version, ${image_whole}
 as body
from i, told union all select 404, null, null, ${store_problem 404 ;; not_found ;; format('tenant %s does not exist', $4::text) ;; 'haasctl tenant list shows the tenants' ;; null} from owner where $4::text is not null and owner.named is null}

-- :statement image_state_set
-- $1 name $2 version $3 state $4 older $5 actor
select haas.image_state_set($1, $2, $3, $4::boolean, $5)

-- :statement image_changed
-- :columns = answer
-- $1 name $2 version -> answer; 204: the image is gone, and only what was said of its older ones has changed
${store_answer select 200 as status, null as location, i.version_number as version, ${image_item}
 as body from haas.image i where i.name = $1 and i.version = $2
union all select 204, null, null, null where not exists (select from haas.image i where i.name = $1 and i.version = $2)}

-- :statement image_delete
-- :columns = answer
-- $1 name $2 version $3 actor -> answer
${store_answer_with gone as materialized (select haas.image_delete($1, $2, $3) as done) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}

-- :statement image_manifest
-- :columns manifest
-- $1 name $2 version
select i.manifest from haas.image i where i.name = $1 and i.version = $2

-- :statement image_upload
-- :columns = upload
-- $1 name $2 version -> (id, state, received_bytes, stored_bytes, stored_digest, may be written to)
select i.id, i.state, i.received_bytes, i.stored_bytes as size_bytes, i.stored_digest as digest, haas.in_scope(i.tenant_id) from haas.image i
where i.name = $1 and i.version = $2

-- :statement image_received
-- :columns = answer
-- $1 id $2 received before $3 received now $4 state -> answer
${store_answer_with i as (update haas.image set received_bytes = $3::bigint, state = $4, version_number = version_number + 1
where id = $1::bigint and received_bytes = $2::bigint and state = 'uploading' returning *),
told as (select case when i.state = 'ready' then haas.event_told('image.ready', 'image', i.name || ':' || i.version, i.tenant_id,
'image is whole and its digest fits') when i.received_bytes = 0 then haas.event_told('image.discarded', 'image', i.name || ':' || i.version,
i.tenant_id, 'the upload was discarded') end from i) ;; select 200 as status, null as location, i.version_number as version, ${image_item}
 as body from i, told
union all select 409, null, null, ${store_problem 409 ;; conflict ;; 'the image was changed meanwhile' ;; 'read it again and go on at its received_bytes' ;; null} where not exists (select from i)}

-- :statement grant_put
-- :columns = answer
-- The one grant model (/grants) under the path that images have always had.
-- $1 name $2 version $3 tenant $4 actor -> answer
${store_answer_with made as materialized (select haas.grant_put('image', $1 || ':' || $2, null, $3, null, $4) as id) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from made where made.id is not null}

-- :statement grant_drop
-- :columns = answer
-- $1 name $2 version $3 tenant $4 actor -> answer
${store_answer_with gone as materialized (select haas.grant_remove(coalesce((select g.id from haas.object_grant g join haas.image i on i.id = g.image_id
join haas.tenant t on t.id = g.tenant_id where i.name = $1 and i.version = $2 and t.name = $3), 0), $4) as done) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}
