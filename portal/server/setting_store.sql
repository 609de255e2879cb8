-- SQL of settings (db/schema/setting.sql).
-- :use portal/server/store_text.sql

-- :part own_item
jsonb_build_object('scheme', o.scheme, 'hidden', o.hidden, 'version', o.version)

-- :statement setting_list
-- :columns = resource
-- -> (body): of the site
select s.body::text as body, (s.body ->> 'version')::bigint as version, true as whole from (select haas.site_settings() as body) s where s.body is not null

-- :statement setting_change
-- $1 version $2 values $3 actor
select haas.site_setting_change($1::bigint, $2::jsonb, $3)

-- :statement setting_changed
-- :columns = answer
-- -> answer
${store_answer select 200 as status, null as location, (s.body ->> 'version')::bigint as version, s.body from (select haas.site_settings() as body) s}

-- :statement own_setting_get
-- :columns = resource
-- -> (body): of who asks
select (${own_item})::text as body, o.version, true as whole from haas.own_settings() o

-- :statement own_setting_change
-- $1 version $2 scheme, or null $3 hidden columns by screen, or null
select haas.own_setting_change($1::bigint, $2, $3::jsonb)

-- :statement own_setting_changed
-- :columns = answer
-- -> answer
${store_answer select 200 as status, null as location, o.version, ${own_item} as body from haas.own_settings() o}
