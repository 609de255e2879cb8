-- SQL of the status of the site (db/schema/operation.sql).
-- :use portal/server/store_text.sql

-- :statement status_show
-- :columns body
select haas.site_status()::text as body
