-- SQL of the grant and package routes.
-- :use portal/server/store_text.sql

-- :part grant_object
-- g is object_grant. A row whose object the reader may not see has no name for it.
coalesce((select i.name || ':' || i.version from haas.image i where i.id = g.image_id),
(select p.name || ':' || p.version from haas.package p where p.id = g.package_id),
(select a.name from haas.archive a where a.id = g.archive_id), '')

-- :part grant_item
jsonb_build_object('id', g.id, 'kind', g.kind, 'object', ${grant_object}, 'tenant', (select t.name from haas.tenant t
where t.id = g.tenant_id), 'granted_by', g.granted_by, 'created_at', g.created_at, 'expires_at', g.expires_at,
'valid', g.expires_at is null or g.expires_at > now())

-- :statement grants
-- :columns = document
-- :list bigint
--   id          number   g.id
--   kind        text     g.kind::text
--   object      natural  ${grant_object}
--   tenant      natural  (select t.name from haas.tenant t where t.id = g.tenant_id)
--   granted_by  text     g.granted_by
--   valid       bool     g.expires_at is null or g.expires_at > now()
--   created_at  time     g.created_at
--   expires_at  time     g.expires_at
-- $1 limit $2 cursor $3 kind $4 tenant $5 object -> (page)
${store_page g.id ;; ${grant_item} ;; haas.object_grant g where ($2::bigint is null or g.id > $2::bigint) and ($3::text is null or g.kind = $3)
and ($4::text is null or g.tenant_id = (select t.id from haas.tenant t where t.name = $4))
and ($5::text is null or ${grant_object} = $5) ;; g.id}

-- :statement grants_put
-- $1 kind $2 object $3 owner $4 tenant $5 expires_at $6 actor
select set_config('haas.result', haas.grant_put($1, $2, $3, $4, $5::timestamptz, $6)::text, true)

-- :statement grants_made
-- :columns = answer
-- -> answer 201
${store_answer select 201 as status, '/api/v1/grants/' || g.id as location, null::bigint as version, ${grant_item}
 as body from haas.object_grant g where g.id = ${kept}::bigint}

-- :statement grants_remove
-- :columns = answer
-- $1 id $2 actor -> answer
${store_answer_with gone as materialized (select haas.grant_remove($1::bigint, $2) as done) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}

-- :part package_item
-- p is package.
jsonb_build_object('name', p.name, 'version', p.version, 'kind', p.kind, 'tenant', (select t.name from haas.tenant t
where t.id = p.tenant_id), 'public', p.public, 'digest', p.digest, 'size_bytes', p.size_bytes, 'state', p.state,
'received_bytes', p.received_bytes, 'grants', (select coalesce(jsonb_agg(t.name order by t.name collate haas.natural_order), '[]') from haas.object_grant g
join haas.tenant t on t.id = g.tenant_id where g.package_id = p.id), 'version_number', p.version_number, 'created_at', p.created_at)

-- :statement package_list
-- :columns = document
-- :list bigint
--   name        natural        p.name
--   version     natural        p.version
--   kind        text           p.kind::text
--   tenant      natural        (select t.name from haas.tenant t where t.id = p.tenant_id)
--   public      bool           p.public
--   size_bytes  number         p.size_bytes
--   state       text           p.state::text
--   digest      text unsorted  p.digest
--   created_at  time           p.created_at
-- $1 limit $2 cursor $3 state $4 name LIKE -> (page)
${store_page p.id ;; ${package_item} ;; haas.package p where ($2::bigint is null or p.id > $2::bigint) and ($3::text is null or p.state = $3) and ($4::text is null or p.name like $4) ;; p.id}

-- :statement package_get
-- :columns = resource
-- $1 name $2 version -> (body, version, whole)
select (${package_item})::text as body, p.version_number as version, false as whole from haas.package p where p.name = $1 and p.version = $2

-- :statement package_create
-- :columns = answer
-- $1 name $2 version $3 kind $4 digest $5 size_bytes $6 owner or NULL $7 public -> answer
${store_answer_with owner as (select (select t.id from haas.tenant t where t.name = $6) as named, haas.current_tenant() as own),
p as (insert into haas.package (name, version, kind, digest, size_bytes, tenant_id, public) select $1, $2, $3, $4, $5::bigint,
case when $6::text is not null then owner.named when not haas.is_operator() then owner.own end, $7::boolean from owner
where $6::text is null or owner.named is not null returning *),
told as (select haas.event_told('package.created', 'package', p.name || ':' || p.version, p.tenant_id, 'package announced',
jsonb_build_object('digest', p.digest, 'kind', p.kind)) from p) ;; select 201 as status, '/api/v1/packages/' || p.name || '/' || p.version as location, p.version_number as version, ${package_item}
 as body from p, told union all select 404, null, null, ${store_problem 404 ;; not_found ;; format('tenant %s does not exist', $6::text) ;; 'haasctl tenant list shows the tenants' ;; null} from owner where $6::text is not null and owner.named is null}

-- :statement package_upload
-- :columns = upload
-- of content_kind
select p.id, p.state, p.received_bytes, p.size_bytes, p.digest, haas.in_scope(p.tenant_id) from haas.package p where p.name = $1 and p.version = $2

-- :statement package_received
-- :columns = answer
-- of content_kind
${store_answer_with p as (update haas.package set received_bytes = $3::bigint, state = $4, version_number = version_number + 1
where id = $1::bigint and received_bytes = $2::bigint and state = 'uploading' returning *),
told as (select case when p.state = 'ready' then haas.event_told('package.ready', 'package', p.name || ':' || p.version, p.tenant_id,
'package is whole and its digest fits') end from p) ;; select 200 as status, null as location, p.version_number as version, ${package_item} as body from p, told
union all select 409, null, null, ${store_problem 409 ;; conflict ;; 'the package was changed meanwhile' ;; 'read it again and go on at its received_bytes' ;; null} where not exists (select from p)}

-- :statement package_delete
-- :columns = answer
-- $1 name $2 version $3 actor
${store_answer_with gone as materialized (select haas.package_delete($1, $2, $3) as done) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}
