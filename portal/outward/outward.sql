-- What receivers outside are told of alerts (db/schema/notice.sql).

-- :statement notice_take
-- :columns alerts, states, body
-- $1 target $2 seconds until an open alert is told again, or null $3 recipients of mail
select alerts, states, body from haas.notice_take($1, $2::integer, $3)

-- :statement notice_done
-- $1 target $2 alerts $3 states $4 problem, or null
select haas.notice_done($1, $2::bigint[], $3::text[], $4::jsonb)
