#include "portal/server/exchange_store.h"

const struct db_query store_scope_operator = {
	"scope_operator",
	"select set_config('haas.scope', 'operator', true), set_config('TimeZone', 'UTC', true)",
	0};

const struct db_query store_scope_tenant = {
	"scope_tenant",
	"select set_config('haas.tenant', id::text, true) from haas.tenant where name = $1", 1};

/* Tenant 0 never exists: an unknown name sees nothing, and what it writes breaks a foreign key. */
const struct db_query store_scope_narrow = {
	"scope_narrow",
	"select set_config('haas.scope', 'tenant', true), "
	"set_config('haas.tenant', coalesce(nullif(current_setting('haas.tenant', true), ''), '0'), true)",
	0};

const struct db_query store_key_sweep = {
	"key_sweep",
	"delete from haas.idempotency where (principal, key) in (select principal, key from haas.idempotency "
	"where created_at < now() - interval '24 hours' for update skip locked)",
	0};

const struct db_query store_key_claim = {
	"key_claim",
	"insert into haas.idempotency (principal, key, route, body_digest) values ($1, $2, $3, $4)",
	4};

const struct db_query store_key_answer = {
	"key_answer",
	"with answer as (select nullif(current_setting('haas.answer', true), '')::jsonb as a), "
	"given_back as (delete from haas.idempotency i using answer where i.principal = $1 and i.key = $2 and answer.a is null) "
	"update haas.idempotency i set status = (a ->> 'status')::int, location = a ->> 'location', body = a ->> 'body' "
	"from answer where i.principal = $1 and i.key = $2 and a is not null",
	2};

const struct db_query store_key_stored = {
	"key_stored",
	"select route, body_digest, status, location, body from haas.idempotency where principal = $1 and key = $2",
	2};
