#include "portal/server/record_store.h"

#include "portal/server/store_text.h"

#define JOB_ITEM                                                                                                                \
	"jsonb_build_object('id', v.id, 'kind', v.kind, 'actor', v.actor, 'state', v.state, 'total', v.total, 'done', v.done, " \
	"'failed', v.failed, 'created_at', v.created_at, 'ended_at', v.ended_at)"

#define CERTIFICATE_ITEM                                                                                                                   \
	"jsonb_build_object('id', c.id, 'node', c.node, 'deployment', c.deployment_id, 'body', c.body, 'previous_hash', c.previous_hash, " \
	"'hash', c.hash, 'signature', c.signature, 'public_key', c.public_key, 'created_at', c.created_at)"

/* The table has no row policy of its own: a tenant sees the certificates of the deployments that it
 * sees. */
#define CERTIFICATE_SEEN \
	"(haas.is_operator() or exists (select from haas.deployment d where d.id = c.deployment_id))"

const struct db_query store_tenant_list = {
	"tenant_list",
	STORE_PAGE("t.name", "jsonb_build_object('name', t.name, 'created_at', t.created_at)",
		   "haas.tenant t where ($2::text is null or t.name > $2)", "t.name"),
	2};

const struct db_query store_tenant_create = {
	"tenant_create",
	STORE_ANSWER_WITH(
		"made as (insert into haas.tenant (name) values ($1) returning id, name, created_at), "
		"told as (select haas.event_add($2, 'tenant.created', 'tenant', name, null, 'tenant created') from made) ",
		"select 201 as status, null as location, null::bigint as version, "
		"jsonb_build_object('name', made.name, 'created_at', made.created_at) as body from made, told"),
	2};

const struct db_query store_job_list = {
	"job_list",
	STORE_PAGE(
		"v.id", JOB_ITEM,
		"haas.job_view v where ($2::bigint is null or v.id < $2::bigint) and ($3::text is null or v.state = $3)",
		"v.id desc"),
	3};

const struct db_query store_job_get = {
	"job_get",
	"select (" JOB_ITEM
	" || jsonb_build_object('items', coalesce(v.items, '[]')))::text from haas.job_view v where v.id = $1::bigint",
	1};

const struct db_query store_certificate_list = {
	"certificate_list",
	STORE_PAGE(
		"c.id", CERTIFICATE_ITEM,
		"haas.certificate c where ($2::bigint is null or c.id > $2::bigint) and ($3::text is null or c.node = $3) and " CERTIFICATE_SEEN,
		"c.id"),
	3};

const struct db_query store_certificate_get = {
	"certificate_get",
	"select (" CERTIFICATE_ITEM
	")::text from haas.certificate c where c.id = $1::bigint and " CERTIFICATE_SEEN,
	1};

const struct db_query store_certificate_keys = {
	"certificate_keys",
	"select jsonb_build_object('items', coalesce(jsonb_agg(jsonb_build_object('algorithm', 'ed25519', 'public_key', k.public_key, "
	"'since', k.since) order by k.since desc), '[]'))::text "
	"from (select public_key, min(created_at) as since from haas.certificate group by public_key) k",
	0};
