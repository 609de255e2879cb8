-- Statements around every request: whose rows it sees, and its Idempotency-Key.

-- :statement scope_operator
-- No parameters: all rows, times in UTC.
select set_config('haas.scope', 'operator', true), set_config('TimeZone', 'UTC', true)

-- :statement scope_tenant
-- $1 = name of the tenant; no row when it does not exist. Comes after store_scope_operator.
select set_config('haas.tenant', id::text, true) from haas.tenant where name = $1

-- :statement scope_narrow
-- Tenant 0 never exists: an unknown name sees nothing, and what it writes breaks a foreign key.
-- No parameters: from here on only the tenant's rows.
select set_config('haas.scope', 'tenant', true),
set_config('haas.tenant', coalesce(nullif(current_setting('haas.tenant', true), ''), '0'), true)

-- :statement key_sweep
-- No parameters: forgets keys older than 24 hours.
delete from haas.idempotency where (principal, key) in (select principal, key from haas.idempotency
where created_at < now() - interval '24 hours' for update skip locked)

-- :statement key_claim
-- $1 principal, $2 key, $3 route, $4 digest of the body; a conflict when the key was used.
insert into haas.idempotency (principal, key, route, body_digest) values ($1, $2, $3, $4)

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
