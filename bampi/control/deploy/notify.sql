-- Statements of bampi/control/deploy/notify.c.

-- :statement deploy_notify
select pg_notify(c, '') from unnest($1::text[]) c
