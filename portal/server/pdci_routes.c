/* /pdcis and /usage: what tenants rent as a whole, whether they could, and what they had. */
#include <stdlib.h>
#include <string.h>

#include "portal/server/daemon_call.h"
#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/pdci_body.h"
#include "portal/server/pdci_store_sql.h"
#include "portal/server/store_text_sql.h"
#include "portal/server/word_table.h"

#define FEASIBILITY_MS    10000
#define FEASIBILITY_LIMIT ((size_t)4 << 20)

static const struct member_row pdci_routes_action_members[] = {
	{"action", MEMBER_WORD, MEMBER_REQUIRED, 0, 0, pdci_action_words},
	{"node", MEMBER_NAME, 0, 0, 0, NULL},
};

/* Whose PDCI the body asks for: the scope says it when the body doesn't. */
static const char *pdci_routes_tenant_of(const struct exchange *exchange)
{
	const char *tenant = exchange_text(exchange, "tenant");

	return tenant ? tenant : exchange->tenant[0] != '\0' ? exchange->tenant : NULL;
}

/* --- could it be? --- */

static void tried_free(void *data)
{
	json_decref(data);
}

static bool all_possible(const json_t *volumes)
{
	const json_t *volume;
	size_t i;

	json_array_foreach(volumes, i, volume)
	{
		if (!json_is_true(json_object_get(volume, "possible")))
			return false;
	}
	return true;
}

/* bampid's answer about nodes, and what was tried of the rest. Names of nodes that are not theirs
 * are not for tenants. */
static void answer_feasibility(struct exchange *exchange, const struct http_response *response)
{
	json_t *volumes = json_object_get(exchange->data, "volumes");
	CLEANUP(json_decrefp) json_t *answer = NULL;
	CLEANUP(freep) char *text = NULL;
	struct problem problem = {0};

	if (!response->body ||
	    json_read(response->body, response->size, FEASIBILITY_LIMIT, &answer, &problem) != 0 ||
	    !json_is_boolean(json_object_get(answer, "feasible"))) {
		daemon_refused(exchange, "bampid", response);
		return;
	}
	if (exchange->tenant[0] != '\0')
		(void)json_object_del(answer, "nodes");
	if (!all_possible(volumes))
		(void)json_object_set_new(answer, "feasible", json_false());
	(void)json_object_set(answer, "volumes", volumes);
	text = json_dumps(answer, JSON_COMPACT);
	if (text)
		exchange_answer(exchange, 200, text);
}

/* The database has taken it, as it would when it is asked for: now the nodes. */
static void ask_feasibility(struct exchange *exchange, const PGresult *result)
{
	CLEANUP(freep) char *request = pdci_request_text(exchange->body);
	CLEANUP(freep) char *text = NULL;
	CLEANUP(json_decrefp) json_t *question = NULL;
	const char *tried_text = db_text(result, 0, PDCI_TRY_FEASIBILITY, "{}");
	struct problem problem = {0};
	json_t *tried = NULL;
	json_t *inner = NULL;

	if (json_read(tried_text, strlen(tried_text), FEASIBILITY_LIMIT, &tried, &problem) != 0)
		return; /* the last release answers */
	exchange->data = tried;
	exchange->data_free = tried_free;
	if (!request ||
	    json_read(request, strlen(request), FEASIBILITY_LIMIT, &inner, &problem) != 0)
		return;
	(void)json_object_del(inner, "sheet"); /* it asks for no other nodes */
	question = json_pack("{s:s, s:b, s:I, s:o}", "tenant", pdci_routes_tenant_of(exchange),
			     "names", exchange->tenant[0] == '\0', "links",
			     json_integer_value(json_object_get(tried, "links")), "request", inner);
	text = question ? json_dumps(question, JSON_COMPACT) : NULL;
	if (text)
		daemon_pass_on(exchange, &(struct daemon_ask){
						 .daemon = "bampid",
						 .socket = exchange->portal->conf->bampid_socket,
						 .method = "POST",
						 .target = "/feasibility",
						 .body = text,
						 .timeout_ms = FEASIBILITY_MS,
						 .answered = answer_feasibility,
					 });
}

static void dry_run(struct exchange *exchange)
{
	CLEANUP(freep) char *request = pdci_request_text(exchange->body);
	const char *params[] = {pdci_routes_tenant_of(exchange), exchange_text(exchange, "name"),
				request, exchange->actor};

	if (request) /* else the last release answers */
		exchange_query(exchange, &pdci_try_query, params, ask_feasibility);
}

/* --- asked for, given back --- */

static void pdci_routes_pdci_create(struct exchange *exchange)
{
	CLEANUP(freep) char *request = NULL;
	struct error_list errors = {0};

	pdci_body_check(exchange->body, exchange->tenant[0] == '\0', &errors);
	if (exchange_refused(exchange, &errors))
		return;
	if (strcmp(exchange_arg(exchange, "?dry_run"), "true") == 0) {
		dry_run(exchange);
		return;
	}
	request = pdci_request_text(exchange->body);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&pdci_create_query,
				{pdci_routes_tenant_of(exchange), exchange_text(exchange, "name"),
				 request, exchange->actor}},
			       {&pdci_created_query, {NULL}},
		       },
		       2);
}

static void pdci_action(struct exchange *exchange)
{
	static const struct {
		const struct db_query *query;
		const char *argument; /* NULL: the node */
	} asks[] = {
		/* in the order of pdci_action_words */
		{&pdci_release_ask_query, NULL},
		{&pdci_replace_ask_query, NULL},
		{&pdci_lock_ask_query, "true"},
		{&pdci_lock_ask_query, "false"},
	};
	struct error_list errors = {0};
	const char *action = exchange_text(exchange, "action");
	bool replace = action && strcmp(action, "replace") == 0;
	size_t at = 0;

	members_check(exchange->body, pdci_routes_action_members,
		      COUNT_OF(pdci_routes_action_members), "", &errors);
	if (errors.count == 0 && replace != (json_object_get(exchange->body, "node") != NULL))
		error_list_pointer(&errors, "/node",
				   replace ? "is needed" : "a release returns the whole PDCI",
				   replace ? "a node of the PDCI" : NULL);
	if (exchange_refused(exchange, &errors))
		return;
	while (at + 1 < COUNT_OF(asks) && action && strcmp(pdci_action_words[at], action) != 0)
		at++;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{asks[at].query,
			 {exchange_arg(exchange, "{pdci}"), exchange_arg(exchange, "?tenant"),
			  exchange->actor,
			  asks[at].argument ? asks[at].argument : exchange_text(exchange, "node")}},
			{&pdci_released_query, {NULL}},
		},
		2);
}

/* --- routes --- */

static const char *const usage_kind_words[] = {"node", "volume", NULL};
static const struct query_row pdci_routes_list_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, pdci_state_words, NULL, false, NULL},
	{"active", QUERY_BOOL, 0, NULL, NULL, false, NULL},
	QUERY_TENANT,
	{"name", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row pdci_routes_one_query[] = {
	QUERY_TENANT,
	{0},
};
static const struct query_row create_query[] = {
	{"dry_run", QUERY_BOOL, 0, NULL, "false", false, NULL},
	{0},
};
static const struct query_row usage_query[] = {
	QUERY_LIST,
	QUERY_TENANT,
	{"from", QUERY_TIME, 0, NULL, NULL, false, NULL},
	{"to", QUERY_TIME, 0, NULL, NULL, false, NULL},
	{"kind", QUERY_WORD, 0, usage_kind_words, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route pdci_routes[] = {
	{HTTP_GET, "/api/v1/pdcis", ROLE_TENANT, BODY_NONE, 0, exchange_list, pdci_routes_list_query,
	 &pdci_list_query, {"?limit", "?cursor", "?state", "?active", "?tenant", "?name"}},
	{HTTP_POST, "/api/v1/pdcis", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, pdci_routes_pdci_create, create_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/pdcis/{pdci}", ROLE_TENANT, BODY_NONE, 0, exchange_read, pdci_routes_one_query, &pdci_get_query, {"{pdci}", "?tenant"}},
	{HTTP_POST, "/api/v1/pdcis/{pdci}/actions", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, pdci_action, pdci_routes_one_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/classes", ROLE_TENANT, BODY_NONE, 0, exchange_read, pdci_routes_one_query, &class_list_query, {"?tenant"}},
	{HTTP_GET, "/api/v1/usage", ROLE_TENANT, BODY_NONE, 0, exchange_list, usage_query,
	 &usage_list_query, {"?limit", "?cursor", "?tenant", "?from", "?to", "?kind"}},
	{.pattern = NULL},
};
/* clang-format on */
