/* /tenants/{tenant}/path: which links a tenant's networks use between two of its nodes, and what
 * these carry now: the last seconds from the memory of peregrine-flowd, else what counters said. A
 * tenant is told of its own traffic only. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/json_reader.h"

#include "portal/server/alert_store_sql.h"
#include "portal/server/daemon_call.h"
#include "portal/server/exchange.h"
#include "portal/server/path_store_sql.h"

#define PATH_ROUTES_LIVE_LIMIT ((size_t)32 << 20)
#define PATH_ROUTES_LIVE_MS    3000
#define WINDOW_S               "10"

static void ask_load(struct exchange *exchange, const char *live, const char *problem)
{
	const char *const params[] = {exchange->data, live, problem};

	if (exchange->request)
		exchange_query(exchange, &path_load_query, params, exchange_answer_body);
}

static void path_routes_without_memory(struct exchange *exchange, const char *reason)
{
	ask_load(exchange, NULL, reason);
}

static void path_routes_with_memory(struct exchange *exchange, const struct http_response *response)
{
	CLEANUP(json_decrefp) json_t *answer = NULL;
	CLEANUP(freep) char *live = NULL;
	struct problem problem = {0};

	if (!response->body ||
	    json_read(response->body, response->size, PATH_ROUTES_LIVE_LIMIT, &answer, &problem) ||
	    !json_is_array(json_object_get(answer, "minutes")))
		ask_load(exchange, NULL, "the answer of peregrine-flowd cannot be parsed");
	else if ((live = strndup(response->body, response->size)) != NULL)
		ask_load(exchange, live, NULL);
	else
		ask_load(exchange, NULL, "no memory for the answer of peregrine-flowd");
}

static void path_routes_ask_memory(struct exchange *exchange, const char *scope)
{
	CLEANUP(text_done) struct text target = {0};

	if (!exchange->request)
		return;
	text_add(&target, "/drill?window=" WINDOW_S "&path=&tenants=");
	if (scope)
		text_addf(&target, "&scope=%s", scope);
	daemon_pass_on(exchange,
		       &(struct daemon_ask){.daemon = "peregrine-flowd",
					    .socket = exchange->portal->conf->flowd_socket,
					    .timeout_ms = PATH_ROUTES_LIVE_MS,
					    .response_limit = PATH_ROUTES_LIVE_LIMIT,
					    .method = "GET",
					    .target = text_get(&target),
					    .answered = path_routes_with_memory,
					    .failed = path_routes_without_memory});
}

/* Cases are the operators': nothing narrows what they see. */
static void on_recorded(struct exchange *exchange, const PGresult *result)
{
	(void)result;
	path_routes_ask_memory(exchange, NULL);
}

static void on_path(struct exchange *exchange, const PGresult *result)
{
	const char *number = exchange_arg(exchange, "?case");

	if (!exchange->request)
		return;
	exchange->data = strdup(db_text(result, 0, PATH_GET_PATH, "{}"));
	exchange->data_free = free;
	if (!exchange->data) {
		struct problem problem = {0};

		(void)problem_set(&problem, -ENOMEM, "no memory for the answer");
		exchange_problem(exchange, 500, &problem);
		return;
	}
	const char *const params[] = {number, exchange->data, exchange->actor};

	if (number)
		exchange_query(exchange, &case_path_query, params, on_recorded);
	else
		path_routes_ask_memory(exchange, db_is_null(result, 0, PATH_GET_SCOPE)
							 ? NULL
							 : db_text(result, 0, PATH_GET_SCOPE, ""));
}

static void path_get(struct exchange *exchange)
{
	const char *const params[] = {exchange_arg(exchange, "{tenant}"),
				      exchange_arg(exchange, "?a"), exchange_arg(exchange, "?b"),
				      exchange_arg(exchange, "?network")};

	exchange_query(exchange, &path_get_query, params, on_path);
}

static const struct query_row path_query[] = {
	{"a", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{"b", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{"network", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"case", QUERY_ID, 0, NULL, NULL, false, "X-Haas-Case"},
	{0},
};

/* clang-format off */
const struct route path_routes[] = {
	{HTTP_GET, "/api/v1/tenants/{tenant}/path", ROLE_TENANT, BODY_NONE, 0, path_get, path_query, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
