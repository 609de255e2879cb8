-- SQL of limits (db/schema/limit.sql).
-- :use portal/server/store_text.sql

-- :statement limit_list
-- :columns = resource
-- $1 tenant -> (body, version, whole)
select jsonb_build_object('items', haas.tenant_limits($1), 'version', haas.edit_version('limits of tenant', $1))::text as body, haas.edit_version('limits of tenant', $1) as version, false as whole

-- :statement limit_site
-- :columns = resource
-- -> (body, version, whole): of the site
select jsonb_build_object('items', haas.tenant_limits(null), 'version', haas.edit_version('limits of', 'the site'))::text as body, haas.edit_version('limits of', 'the site') as version, false as whole

-- :statement limit_put
-- $1 tenant, or NULL: of the site $2 limits $3 actor
select haas.tenant_limit_put($1, $2::jsonb, $3)

-- :statement limit_now
-- :columns = answer
-- $1 tenant, or NULL: of the site
${store_answer select 200 as status, null as location, v.version, jsonb_build_object('items', haas.tenant_limits($1), 'version', v.version) as body
from (select case when $1::text is null then haas.edit_version('limits of', 'the site') else haas.edit_version('limits of tenant', $1) end as version) v}
