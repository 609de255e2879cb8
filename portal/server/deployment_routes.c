/* /deployments: asking for plans on nodes, and following them. */
#include <stdlib.h>

#include "common/db/array.h"

#include "portal/server/deployment_store_sql.h"
#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/node_spec.h"
#include "portal/server/node_store_sql.h"
#include "portal/server/selection.h"
#include "portal/server/word_table.h"

/* clang-format off */
static const struct member_row deployment_routes_create_members[] = {
	{"plan",   MEMBER_WORD,   MEMBER_REQUIRED, 0, 0,    plan_request_words},
	{"nodes",  MEMBER_LIST,   0,               1, 1000, NULL},
	SELECTION_MEMBERS,
	{"image",  MEMBER_IMAGE,  0,               0, 0,    NULL},
	{"tenant", MEMBER_NAME,   0,               0, 0,    NULL},
	{"params", MEMBER_OBJECT, 0,               0, 0,    NULL},
	{"force",  MEMBER_BOOL,   0,               0, 0,    NULL},
};
static const struct member_row deployment_routes_param_members[] = {
	{"hostname",  MEMBER_TEXT, 0, 1, 63,    NULL},
	{"ssh_keys",  MEMBER_LIST, 0, 0, SSH_KEYS_MAX, NULL},
	{"user_data", MEMBER_TEXT, 0, 0, 65536, NULL},
	{"addresses", MEMBER_LIST, 0, 0, 32,    NULL},
	{"disk",      MEMBER_TEXT, 0, 1, 127,   NULL},
	{"lost_drives", MEMBER_LIST, 0, 0, 256, NULL},
	{"packages",  MEMBER_LIST, 0, 0, PACKAGES_MAX, NULL},
};
static const struct member_row address_members[] = {
	{"mac",     MEMBER_MAC,     MEMBER_REQUIRED, 0, 0, NULL},
	{"address", MEMBER_ADDRESS, MEMBER_REQUIRED, 0, 0, NULL},
	{"gateway", MEMBER_IPV4,    0,               0, 0, NULL},
};
static const struct member_row deployment_routes_action_members[] = {
	{"action", MEMBER_WORD, MEMBER_REQUIRED, 0, 0, deployment_action_words},
};
static const struct member_row deployment_routes_many_members[] = {
	{"deployments", MEMBER_LIST, 0,               1, 1000, NULL},
	SELECTION_MEMBERS,
	{"action",      MEMBER_WORD, MEMBER_REQUIRED, 0, 0,    deployment_action_words},
};
/* clang-format on */

static void deployment_routes_check_params(json_t *params, struct error_list *errors)
{
	const json_t *keys = json_object_get(params, "ssh_keys");
	const json_t *addresses = json_object_get(params, "addresses");
	const struct member_row serial = {.kind = MEMBER_TEXT, .min = 1, .max = 127};
	const json_t *lost = json_object_get(params, "lost_drives");

	members_check(params, deployment_routes_param_members,
		      COUNT_OF(deployment_routes_param_members), "/params", errors);
	ssh_keys_check(keys, errors);
	if (json_is_array(lost))
		elements_check(lost, &serial, false, "/params/lost_drives", errors);
	packages_check(json_object_get(params, "packages"), errors);
	if (json_is_array(addresses))
		objects_check(addresses, address_members, COUNT_OF(address_members),
			      "/params/addresses", errors);
}

static void deployment_routes_deployment_create(struct exchange *exchange)
{
	const json_t *body = exchange->body;
	json_t *params = json_object_get(body, "params");
	CLEANUP(freep) char *params_text = NULL;
	struct error_list errors = {0};
	struct text nodes = {0};
	struct exchange_step steps[SELECTION_STEPS + 1];
	size_t count;

	members_check(exchange->body, deployment_routes_create_members,
		      COUNT_OF(deployment_routes_create_members), "", &errors);
	node_names_check(body, &errors);
	selection_check(exchange, "nodes", &errors);
	if (json_is_object(params))
		deployment_routes_check_params(params, &errors);
	if (exchange_refused(exchange, &errors) ||
	    selection_steps(exchange, &selection_nodes, steps, &count) != 0)
		return;
	node_names_array(body, &nodes);
	params_text = params ? json_dumps(params, JSON_COMPACT) : NULL;
	steps[count] = (struct exchange_step){
		.query = &deployment_create_query,
		.params = {exchange_text(exchange, "plan"), count > 0 ? NULL : text_get(&nodes),
			   exchange_text(exchange, "image"), exchange_text(exchange, "tenant"),
			   params_text, exchange->actor,
			   json_is_true(json_object_get(body, "force")) ? "true" : "false"},
	};
	exchange_write(exchange, steps, count + 1);
	text_done(&nodes);
}

static void deployment_action(struct exchange *exchange)
{
	struct error_list errors = {0};
	const char *id = exchange_arg(exchange, "{deployment}");

	members_check(exchange->body, deployment_routes_action_members,
		      COUNT_OF(deployment_routes_action_members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&deployment_ask_query,
				{id, json_string_value(json_object_get(exchange->body, "action")),
				 exchange->actor}},
			       {&deployment_asked_query, {id}},
		       },
		       2);
}

static void deployment_actions(struct exchange *exchange)
{
	static const struct member_row id = {.kind = MEMBER_INT, .min = 1, .max = INT64_MAX};
	const json_t *ids = json_object_get(exchange->body, "deployments");
	struct error_list errors = {0};
	struct text names = {0};
	struct exchange_step steps[SELECTION_STEPS + 2];
	size_t count;

	members_check(exchange->body, deployment_routes_many_members,
		      COUNT_OF(deployment_routes_many_members), "", &errors);
	if (json_is_array(ids))
		elements_check(ids, &id, true, "/deployments", &errors);
	selection_check(exchange, "deployments", &errors);
	if (exchange_refused(exchange, &errors) ||
	    selection_steps(exchange, &selection_deployments, steps, &count) != 0)
		return;
	array_begin(&names);
	for (size_t i = 0; i < json_array_size(ids); i++)
		array_add_int(&names, json_integer_value(json_array_get(ids, i)));
	array_end(&names);
	steps[count] = (struct exchange_step){.query = &deployment_ask_many_query,
					      .params = {count > 0 ? NULL : text_get(&names),
							 exchange_text(exchange, "action"),
							 exchange->actor}};
	steps[count + 1] = (struct exchange_step){.query = &deployment_asked_many_query};
	exchange_write(exchange, steps, count + 2);
	text_done(&names);
}

static const struct query_row deployment_routes_list_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, deployment_state_words, NULL, false, NULL},
	{"active", QUERY_BOOL, 0, NULL, NULL, false, NULL},
	{"plan", QUERY_WORD, 0, plan_request_words, NULL, false, NULL},
	{"node", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"job", QUERY_ID, 0, NULL, NULL, false, NULL},
	{"class", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route deployment_routes[] = {
	{HTTP_GET, "/api/v1/deployments", ROLE_TENANT, BODY_NONE, ROUTE_SHARED, exchange_list, deployment_routes_list_query,
	 &deployment_list_query, {"?limit", "?cursor", "?state", "?active", "?plan", "?node", "?job", "?class"}},
	{HTTP_POST, "/api/v1/deployments", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, deployment_routes_deployment_create, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/deployments/actions", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, deployment_actions, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/deployments/{deployment}", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL,
	 &deployment_get_query, {"{deployment}"}},
	{HTTP_POST, "/api/v1/deployments/{deployment}/actions", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, deployment_action, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
