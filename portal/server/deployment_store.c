#include "portal/server/deployment_store.h"

#include "portal/server/store_text.h"

#define DEPLOYMENT_WHOLE \
	DEPLOYMENT_ITEM  \
	" || jsonb_build_object('params', v.params, 'steps', coalesce(v.steps, '[]'))"

const struct db_query store_deployment_list = {
	"deployment_list",
	STORE_PAGE(
		"v.id", DEPLOYMENT_ITEM,
		"haas.deployment_view v where ($2::bigint is null or v.id < $2::bigint) "
		"and ($3::text is null or v.state = $3::haas.deployment_state) "
		"and ($4::boolean is null or (v.state in ('queued', 'waiting', 'cancelling')) = $4::boolean) "
		"and ($5::text is null or v.plan = $5) and ($6::text is null or v.node = $6) and ($7::bigint is null or v.job_id = $7::bigint)",
		"v.id desc"),
	7};

const struct db_query store_deployment_get = {
	"deployment_get",
	"select (" DEPLOYMENT_WHOLE ")::text from haas.deployment_view v where v.id = $1::bigint",
	1};

const struct db_query store_deployment_create = {
	"deployment_create",
	STORE_ANSWER(
		"select case when r.refused = 0 then 202 else 409 end as status, case when r.refused = 0 then '/api/v1/jobs/' || r.job end as location, "
		"null as version, case when r.refused = 0 then jsonb_build_object('job', r.job, 'deployments', r.made) else " STORE_PROBLEM(
			"409", "conflict",
			"case when r.refused = 1 then r.why else r.refused || ' nodes refuse; nothing was started' end",
			"r.hint",
			"r.wrong") " end as body from (select count(refused) as refused, max(job_id) as job, max(refused) as why, max(hint) as hint, "
				   "jsonb_agg(jsonb_build_object('id', deployment_id, 'node', node)) as made, "
				   "jsonb_agg(jsonb_build_object('node', node, 'message', refused, 'hint', hint)) filter (where refused is not null) as wrong "
				   "from haas.deployment_ask($1, $2::text[], $3, $4, $5::jsonb, $6, $7::boolean)) r"),
	7};

const struct db_query store_deployment_ask = {
	"deployment_ask",
	"select set_config('haas.result', coalesce(haas.deployment_request($1::bigint, $2, $3), ''), true)",
	3};

const struct db_query store_deployment_asked = {
	"deployment_asked",
	STORE_ANSWER(
		"select case when r.why is null then 200 else 409 end as status, null as location, null as version, "
		"case when r.why is null then " DEPLOYMENT_WHOLE " else " STORE_PROBLEM(
			"409", "conflict", "r.why", "'haasctl deployment show tells its state'",
			"null") " end as body from (select nullif(current_setting('haas.result', true), '') as why) r, "
				"haas.deployment_view v where v.id = $1::bigint"),
	1};
