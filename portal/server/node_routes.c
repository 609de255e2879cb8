/* /nodes: the inventory, what people do to nodes, what is known of them. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/wipe.h"

#include "portal/server/console.h"
#include "portal/server/event_store_sql.h"
#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/node_sheet.h"
#include "portal/server/node_spec.h"
#include "portal/server/node_store_sql.h"
#include "portal/server/selection.h"
#include "portal/server/store_text_sql.h"
#include "portal/server/word_table.h"

#define SHEET_LIMIT ((size_t)8 << 20)

/* --- bodies that may hold a password: the key to seal to comes first --- */

/* Seals what is in `specs` and takes the digest of the rest. Answers when that cannot be. */
static int prepare_specs(struct exchange *exchange, json_t *specs, const PGresult *key)
{
	CLEANUP(freep) char *plain = node_specs_digest_text(specs);
	struct problem problem = {0};
	int rc = plain ? 0 : problem_set(&problem, -ENOMEM, "out of memory");

	if (plain)
		exchange_digest(exchange, plain, strlen(plain));
	if (rc == 0)
		rc = node_specs_seal(
			specs,
			PQntuples(key) > 0 ? db_text(key, 0, PUBLIC_KEY_PUBLIC_KEY, NULL) : NULL,
			&problem);
	if (rc != 0)
		exchange_problem(exchange, exchange_status_of(rc), &problem);
	return rc;
}

/* Parses, checks and seals the body of create and patch. *ret is one spec as JSON text, the caller
 * frees. Non-zero = answered. */
static int read_spec(struct exchange *exchange, bool patch, const PGresult *key, char **ret)
{
	CLEANUP(json_decrefp) json_t *specs = json_array();
	struct error_list errors = {0};
	struct problem problem = {0};
	int rc;

	if (!exchange->request)
		return -EPIPE;
	rc = exchange_read_body(exchange, &problem);
	if (rc != 0) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return rc;
	}
	node_body_check(exchange->body, patch, &errors);
	if (exchange_refused(exchange, &errors))
		return E_INVALID;
	(void)json_array_append(specs, exchange->body);
	rc = prepare_specs(exchange, specs, key);
	if (rc == 0)
		*ret = json_dumps(exchange->body, JSON_COMPACT);
	return rc == 0 && !*ret ? -ENOMEM : rc;
}

static void create_with_key(struct exchange *exchange, const PGresult *key)
{
	CLEANUP(freep) char *spec = NULL;
	const char *name;

	if (read_spec(exchange, false, key, &spec) != 0)
		return;
	name = json_string_value(json_object_get(exchange->body, "name"));
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&node_create_query, {spec, exchange->actor}},
			       {&node_created_query, {name}},
		       },
		       2);
}

static void node_create(struct exchange *exchange)
{
	exchange_query(exchange, &seal_key_query, NULL, create_with_key);
}

static void patch_with_key(struct exchange *exchange, const PGresult *key)
{
	CLEANUP(freep) char *spec = NULL;
	const char *name = exchange_arg(exchange, "{node}");

	if (read_spec(exchange, true, key, &spec) != 0)
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&node_lock_query, {name, exchange->actor}},
			{&node_patch_query, {name, exchange->version, spec, exchange->actor}},
			{&node_patched_query, {name}},
		},
		3);
}

static void node_patch(struct exchange *exchange)
{
	exchange_query(exchange, &seal_key_query, NULL, patch_with_key);
}

/* --- sheets --- */

/* *ret: array of specs. The clear text of the sheet is gone when this returns. Non-zero = answered.
 */
static int node_routes_read_sheet(struct exchange *exchange, json_t **ret)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	struct sheet sheet = {0};
	size_t size;
	const char *body = http_request_body(exchange->request, &size);
	char *copy = size <= SHEET_LIMIT ? malloc(size + 1) : NULL;
	int rc = size <= SHEET_LIMIT
			 ? -ENOMEM
			 : problem_set(&problem, E_LIMIT, "the sheet is larger than 8 MiB");

	if (copy) {
		memcpy(copy, body, size);
		copy[size] = '\0';
		wipe_borrowed(body, size);
		rc = sheet_parse(copy, size, &sheet, &problem);
		if (rc == 0)
			rc = node_sheet_read(&sheet, ret, &errors);
		sodium_memzero(copy, size);
	}
	if (rc == E_INVALID)
		exchange_refuse(exchange, &errors);
	else if (rc != 0)
		exchange_problem(exchange, exchange_status_of(rc), &problem);
	sheet_done(&sheet);
	free(copy);
	return rc;
}

static void import_with_key(struct exchange *exchange, const PGresult *key)
{
	CLEANUP(json_decrefp) json_t *specs = NULL;
	CLEANUP(freep) char *text = NULL;
	const char *dry_run = exchange_arg(exchange, "?dry_run");

	if (!exchange->request || node_routes_read_sheet(exchange, &specs) != 0 ||
	    prepare_specs(exchange, specs, key) != 0)
		return;
	text = json_dumps(specs, JSON_COMPACT);
	if (!text)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&node_check_query, {text, exchange->actor}},
			       {&node_import_query, {text, exchange->actor, dry_run}},
			       {&node_imported_query, {dry_run}},
		       },
		       3);
}

static void node_routes_node_import(struct exchange *exchange)
{
	exchange_query(exchange, &seal_key_query, NULL, import_with_key);
}

/* --- what people do to nodes --- */

/* clang-format off */
static const struct member_row node_routes_action_members[] = {
	{"nodes",  MEMBER_LIST,   0,               1, 1000, NULL},
	SELECTION_MEMBERS,
	{"action", MEMBER_WORD,   MEMBER_REQUIRED, 0, 0,    node_action_words},
	{"params", MEMBER_OBJECT, 0,               0, 0,    NULL},
	{"force",  MEMBER_BOOL,   0,               0, 0,    NULL},
};
static const struct member_row action_param_members[] = {
	{"device",     MEMBER_WORD, 0, 0, 0,   boot_device_words},
	{"persistent", MEMBER_BOOL, 0, 0, 0,   NULL},
	{"firmware",   MEMBER_WORD, 0, 0, 0,   node_firmware_words},
	{"seconds",    MEMBER_INT,  0, 0, 255, NULL},
};
static const struct member_row state_members[] = {
	{"nodes",  MEMBER_LIST, 0,               1, 1000, NULL},
	SELECTION_MEMBERS,
	{"event",  MEMBER_WORD, MEMBER_REQUIRED, 0, 0,    node_event_request_words},
	{"reason", MEMBER_TEXT, 0,               0, 255,  NULL},
};
/* clang-format on */

static void node_action(struct exchange *exchange)
{
	struct error_list errors = {0};
	struct text nodes = {0};
	json_t *params = json_object_get(exchange->body, "params");
	CLEANUP(freep) char *params_text = NULL;
	struct exchange_step steps[SELECTION_STEPS + 1];
	size_t count;

	members_check(exchange->body, node_routes_action_members,
		      COUNT_OF(node_routes_action_members), "", &errors);
	node_names_check(exchange->body, &errors);
	selection_check(exchange, "nodes", &errors);
	if (json_is_object(params))
		members_check(params, action_param_members, COUNT_OF(action_param_members),
			      "/params", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	if (selection_steps(exchange, &selection_nodes, steps, &count) != 0)
		return;
	node_names_array(exchange->body, &nodes);
	params_text = params ? json_dumps(params, JSON_COMPACT) : NULL;
	steps[count] = (struct exchange_step){
		.query = &node_action_query,
		.params = {count > 0 ? NULL : text_get(&nodes), exchange_text(exchange, "action"),
			   params_text,
			   json_is_true(json_object_get(exchange->body, "force")) ? "true"
										  : "false",
			   exchange->actor},
	};
	exchange_write(exchange, steps, count + 1);
	text_done(&nodes);
}

static void node_state(struct exchange *exchange)
{
	struct error_list errors = {0};
	struct text nodes = {0};
	const char *event = json_string_value(json_object_get(exchange->body, "event"));
	const char *reason = json_string_value(json_object_get(exchange->body, "reason"));
	struct exchange_step steps[SELECTION_STEPS + 2];
	size_t count;

	members_check(exchange->body, state_members, COUNT_OF(state_members), "", &errors);
	node_names_check(exchange->body, &errors);
	selection_check(exchange, "nodes", &errors);
	if (exchange_refused(exchange, &errors) ||
	    selection_steps(exchange, &selection_nodes, steps, &count) != 0)
		return;
	node_names_array(exchange->body, &nodes);
	steps[count] = (struct exchange_step){
		.query = &node_fire_query,
		.params = {count > 0 ? NULL : text_get(&nodes), event, exchange->actor, reason}};
	steps[count + 1] = (struct exchange_step){.query = &node_fired_query, .params = {event}};
	exchange_write(exchange, steps, count + 2);
	text_done(&nodes);
}

/* --- routes --- */

static const struct query_row node_routes_list_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, node_state_words, NULL, false, NULL},
	{"class", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"rack", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"name", QUERY_GLOB, 63, NULL, NULL, false, NULL},
	QUERY_TENANT,
	{0},
};
static const struct query_row import_query[] = {
	{"dry_run", QUERY_BOOL, 0, NULL, "false", false, NULL}, {0}};
static const struct query_row story_query[] = {
	QUERY_PAGE_ID,
	{"after", QUERY_ID, 0, NULL, NULL, false, NULL},
	{"order", QUERY_WORD, 0, order_words, "oldest", false, NULL},
	{0},
};

/* The order decides on the statement: each needs its own comparison with the cursor. */
static void node_story(struct exchange *exchange)
{
	bool newest = exchange_arg(exchange, "?order")[0] == 'n';
	const char *params[ROUTE_ARGS];

	exchange_args(exchange, params);
	exchange_query(exchange, newest ? &node_events_newest_query : &node_events_query, params,
		       exchange_answer_body);
}

/* clang-format off */
const struct route node_routes[] = {
	{HTTP_GET, "/api/v1/nodes", ROLE_TENANT, BODY_NONE, ROUTE_SHARED, exchange_list, node_routes_list_query,
	 &node_list_query, {"?limit", "?cursor", "?state", "?class", "?rack", "?name", "?tenant"}},
	{HTTP_POST, "/api/v1/nodes", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_SECRET, node_create, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/nodes/import", ROLE_OPERATOR, BODY_CSV, ROUTE_IDEMPOTENT | ROUTE_SECRET, node_routes_node_import, import_query, NULL, {NULL}},
	{HTTP_POST, "/api/v1/nodes/actions", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, node_action, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/nodes/state", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, node_state, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/nodes/{node}", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, NULL, &node_get_query, {"{node}"}},
	{HTTP_PATCH, "/api/v1/nodes/{node}", ROLE_OPERATOR, BODY_PATCH, ROUTE_IF_MATCH | ROUTE_SECRET, node_patch, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/nodes/{node}", ROLE_OPERATOR, BODY_NONE, ROUTE_IF_MATCH, exchange_change, NULL,
	 &node_delete_query, {"{node}", "@version", "@actor"}},
	{HTTP_GET, "/api/v1/nodes/{node}/inventory", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &node_inventory_query, {"{node}"}},
	{HTTP_GET, "/api/v1/nodes/{node}/drives", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &node_drives_query, {"{node}"}},
	{HTTP_GET, "/api/v1/nodes/{node}/events", ROLE_TENANT, BODY_NONE, 0, node_story, story_query,
	 NULL, {"?limit", "?cursor", "{node}", "?after"}},
	{HTTP_GET, "/api/v1/nodes/{node}/console/stream", ROLE_TENANT, BODY_NONE, ROUTE_PRIVATE | ROUTE_STREAM, console_stream, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/nodes/{node}/console/log", ROLE_TENANT, BODY_NONE, ROUTE_PRIVATE, console_log, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/nodes/{node}/console/reopen", ROLE_TENANT, BODY_NONE, ROUTE_ON_CALL, console_reopen, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/nodes/{node}/console/input", ROLE_TENANT, BODY_BYTES, ROUTE_ON_CALL, console_input, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
