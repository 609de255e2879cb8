-- SQL of limits (db/schema/limit.sql).
-- :use portal/server/store_text.sql

-- :statement limit_list
-- :columns = document
-- $1 tenant
select jsonb_build_object('items', haas.tenant_limits($1))::text as body

-- :statement limit_site
-- :columns = document
-- -> (body): of the site
select jsonb_build_object('items', haas.tenant_limits(null))::text as body

-- :statement limit_put
-- $1 tenant, or NULL: of the site $2 limits $3 actor
select haas.tenant_limit_put($1, $2::jsonb, $3)

-- :statement limit_now
-- :columns = answer
-- $1 tenant, or NULL: of the site
${store_answer select 200 as status, null as location, null::bigint as version, jsonb_build_object('items', haas.tenant_limits($1)) as body}
