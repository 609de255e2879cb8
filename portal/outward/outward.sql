-- What receivers outside are told of alerts (db/schema/notice.sql).

-- :statement notice_take
-- :columns alerts, states, body, closed
-- $1 target $2 seconds until an open alert is told again, or null $3 recipients of mail
select alerts, states, body, case when body is not null then haas.outward_closed() end as closed from haas.notice_take($1, $2::integer, $3)

-- :statement notice_done
-- $1 target $2 alerts $3 states $4 problem, or null
select haas.notice_done($1, $2::bigint[], $3::text[], $4::jsonb)

-- :statement outward_closed
-- :columns closed
-- No parameters: addresses of ours that nobody outside may have us call.
select haas.outward_closed() as closed

-- :statement webhook_key_put
-- $1 our public key in hex
select haas.webhook_key_put(decode($1, 'hex'))

-- :statement webhook_fill
-- :columns due
-- No parameters: deliveries of what has happened; is one due?
select haas.webhook_fill() as due

-- :statement webhook_take
-- :columns delivery, generation, webhook, of_tenant, url, secret, kind, body, closed
-- No parameters: the next delivery; delivery null: none is due.
select delivery, generation, webhook, of_tenant, url, secret, kind, body, closed from haas.webhook_take()

-- :statement webhook_done
-- $1 delivery $2 generation $3 status of the answer, or null $4 milliseconds $5 problem, or null
select haas.webhook_done($1::bigint, $2::bigint, $3::integer, $4::integer, $5::jsonb)
