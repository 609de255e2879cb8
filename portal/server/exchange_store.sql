-- Statements around every request: whose rows it sees, and its Idempotency-Key.

-- :part scope_request request, reason
-- What events of this transaction say beside who did it.
set_config('haas.request', ${request}, true), set_config('haas.reason', coalesce(${reason}, ''), true)

-- :part stream_now
-- The position of the stream before anything that a later statement of the transaction does not see: whatever ended before it, that one sees.
pg_snapshot_xmin(pg_current_snapshot())::text as position

-- :statement scope_operator
-- :columns scope, zone, position
-- No parameters: all rows, times in UTC. For the connections of portald.
select set_config('haas.scope', 'operator', true) as scope, set_config('TimeZone', 'UTC', true) as zone, ${stream_now}

-- :statement scope_kernel
-- $1 request, $2 reason or null, $3 actor, $4 role, $5 id of its account or null, $6 whether the operators' group makes it one: who asks, as the kernel said.
select ${scope_request $1 ;; $2}, haas.kernel_enter($3, $4::haas.account_role, $5::bigint, $6::boolean)

-- :statement scope_proven
-- $1 request, $2 reason or null, $3 digest in hex: who asks, as its session or token proves.
select ${scope_request $1 ;; $2}, haas.identity_enter(decode($3, 'hex'))

-- :statement scope_nobody
-- $1 request, $2 reason or null: nobody is logged in. Comes after scope_operator.
select ${scope_request $1 ;; $2}

-- :statement scope_tenant
-- :columns scope, zone, position
-- $1 = name of the tenant: its rows, times in UTC. For the connections of portald_tenant.
select haas.scope_as($1)::text as scope, set_config('TimeZone', 'UTC', true) as zone, ${stream_now}

-- :statement edit_expect
-- $1 kind, $2 name, $3 version of If-Match or null: another version ends the transaction.
select haas.edit_expect($1, $2, $3::bigint)

-- :statement key_sweep
-- No parameters: forgets keys older than 24 hours.
delete from haas.idempotency where (principal, key) in (select principal, key from haas.idempotency
where created_at < now() - interval '24 hours' for update skip locked)

-- :statement key_claim
-- $1 principal, $2 key, $3 route, $4 digest of the body; a conflict when the key was used.
insert into haas.idempotency (principal, key, route, body_digest, tenant_id) values ($1, $2, $3, $4, haas.current_tenant())

-- :statement key_answer
-- $1 principal, $2 key: keeps the answer that STORE_ANSWER left, or gives the key back when there is none.
with answer as (select nullif(current_setting('haas.answer', true), '')::jsonb as a),
given_back as (delete from haas.idempotency i using answer where i.principal = $1 and i.key = $2 and answer.a is null)
update haas.idempotency i set status = (a ->> 'status')::int, location = a ->> 'location', body = a ->> 'body'
from answer where i.principal = $1 and i.key = $2 and a is not null

-- :statement key_stored
-- :columns route, body_digest, status, location, body
-- $1 principal, $2 key -> (route, digest, status, location, body).
select route, body_digest, status, location, body from haas.idempotency where principal = $1 and key = $2
