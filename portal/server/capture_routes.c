/* /captures, /capture-grants, /capture-points: packets of a tenant, with its consent. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/model/drill_path.h"

#include "portal/server/capture_store_sql.h"
#include "portal/server/daemon_call.h"
#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/query_policy.h"
#include "portal/server/word_table.h"

#define CAPTURE_ROUTES_COLLECTOR_MS 15000

static const char *const action_words[] = {"approve", "stop", "remove", NULL};
static const char *const state_words[] = {"waiting", "approved", "listening", "running",
					  "ending",  "ended",    NULL};
static const char *const kind_words[] = {"port", "gre", "erspan", "vxlan", NULL};

/* clang-format off */
static const struct member_row capture_members[] = {
	{"path",        MEMBER_TEXT, 0, 1, DRILL_PATH_SIZE - 1, NULL},
	{"node",        MEMBER_NAME, 0, 0, 0,                   NULL},
	{"peer",        MEMBER_NAME, 0, 0, 0,                   NULL},
	{"filter",      MEMBER_TEXT, 0, 0, 512,                 NULL},
	{"snap_length", MEMBER_INT,  0, 14, 65535,              NULL},
	{"seconds",     MEMBER_INT,  0, 1, 3600,                NULL},
	{"max_bytes",   MEMBER_INT,  0, 1 << 20, INT64_C(1) << 34, NULL},
	{"wrap",        MEMBER_BOOL, 0, 0, 0,                   NULL},
	{"reason",      MEMBER_TEXT, 0, 0, 200,                 NULL},
};
static const struct member_row capture_routes_action_members[] = {
	{"action", MEMBER_WORD, MEMBER_REQUIRED, 0, 0, action_words},
};
static const struct member_row capture_routes_grant_members[] = {
	{"node",       MEMBER_NAME, 0,               0, 0,  NULL},
	{"expires_at", MEMBER_TEXT, MEMBER_REQUIRED, 1, 40, NULL},
};
static const struct member_row point_members[] = {
	{"port",      MEMBER_TEXT, 0,               1, 63,         NULL},
	{"address",   MEMBER_IPV4, 0,               0, 0,          NULL},
	{"origin",    MEMBER_IPV4, 0,               0, 0,          NULL},
	{"interface", MEMBER_TEXT, MEMBER_REQUIRED, 1, 15,         NULL},
	{"collector", MEMBER_NAME, 0,               0, 0,          NULL},
	{"kind",      MEMBER_WORD, 0,               0, 0,          kind_words},
	{"session",   MEMBER_INT,  0,               0, UINT32_MAX, NULL},
};
/* clang-format on */

/* --- asking for one --- */

/* A pair of the drill-down, or one of its flows: then that is the filter. */
static int take_path(json_t *spec, const char *text, struct problem *problem)
{
	struct drill_path path;
	char filter[2 * DRILL_NAME_SIZE + 64] = "";
	int rc = drill_path_parse(text, &path, problem);

	if (rc)
		return rc;
	if (path.level < DRILL_PAIR || path.nobody) {
		(void)problem_set(problem, E_INVALID,
				  "a capture is of a pair of nodes of a tenant");
		problem_hint(problem, "a path like tenant:acme/vlan:1301/pair:n1~n2");
		return E_INVALID;
	}
	if (path.level == DRILL_FLOW && path.flow.source[0])
		(void)text_format(filter, sizeof(filter), "host %s and host %s", path.flow.source,
				  path.flow.target);
	if (filter[0] && path.flow.source_port && path.flow.target_port) {
		size_t length = strlen(filter);

		(void)text_format(filter + length, sizeof(filter) - length,
				  " and port %d and port %d", path.flow.source_port,
				  path.flow.target_port);
	}
	if (filter[0] && !json_object_get(spec, "filter"))
		(void)json_object_set_new(spec, "filter", json_pack("s", filter));
	(void)json_object_set_new(spec, "node", json_pack("s", path.a));
	(void)json_object_set_new(spec, "peer", json_pack("s", path.b));
	(void)json_object_set_new(spec, "tenant", json_pack("s", path.owner));
	(void)json_object_set_new(spec, "vlan", json_integer(path.vlan));
	(void)json_object_del(spec, "path");
	return 0;
}

static void check_capture(const struct exchange *exchange, struct error_list *errors)
{
	bool path = exchange_text(exchange, "path");

	members_check(exchange->body, capture_members, COUNT_OF(capture_members), "", errors);
	if (errors->count > 0)
		return;
	if (path == !!exchange_text(exchange, "node"))
		error_list_pointer(errors, "/node", "either a node or a path is needed", NULL);
	if (path && exchange_text(exchange, "peer"))
		error_list_pointer(errors, "/peer", "the path names both ends", NULL);
}

static void capture_routes_capture_start(struct exchange *exchange)
{
	CLEANUP(json_decrefp) json_t *spec = NULL;
	CLEANUP(freep) char *text = NULL;
	struct problem problem = {0};
	struct error_list errors = {0};
	char vlan[24];
	int rc = 0;

	check_capture(exchange, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	spec = json_copy(exchange->body);
	if (spec && exchange_text(exchange, "path"))
		rc = take_path(spec, exchange_text(exchange, "path"), &problem);
	if (rc) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return;
	}
	(void)text_format(vlan, sizeof(vlan), "%" JSON_INTEGER_FORMAT,
			  json_integer_value(json_object_get(spec, "vlan")));
	bool tagged = strcmp(vlan, "0") != 0;
	text = spec ? json_dumps(spec, JSON_COMPACT) : NULL;
	/* After it, which says first whose the nodes are. */
	const struct exchange_step steps[] = {
		{&capture_start_query, {text, exchange_arg(exchange, "?case"), exchange->actor}},
		{&capture_started_query, {NULL}},
	};
	const struct exchange_step steps_of_vlan[] = {
		steps[0],
		{&capture_vlan_query, {json_string_value(json_object_get(spec, "tenant")), vlan}},
		steps[1],
	};

	exchange_write(exchange, tagged ? steps_of_vlan : steps,
		       tagged ? COUNT_OF(steps_of_vlan) : COUNT_OF(steps));
}

static void capture_act(struct exchange *exchange)
{
	static const struct db_query *const stores[] = {&capture_approve_query, &capture_stop_query,
							&capture_remove_query};
	const char *id = exchange_arg(exchange, "{capture}");
	const char *word = exchange_text(exchange, "action");
	struct error_list errors = {0};

	members_check(exchange->body, capture_routes_action_members,
		      COUNT_OF(capture_routes_action_members), "", &errors);
	for (size_t i = 0; errors.count == 0 && word && i < COUNT_OF(stores); i++) {
		if (strcmp(action_words[i], word) != 0)
			continue;
		exchange_write(exchange,
			       (const struct exchange_step[]){
				       {stores[i], {id, exchange->actor}},
				       {&capture_changed_query, {id}},
			       },
			       2);
		return;
	}
	exchange_refuse(exchange, &errors);
}

/* --- packets, from its collector --- */

static void hand_on_piece(struct exchange *exchange, const struct http_response *response)
{
	exchange_answer_as(exchange, "application/octet-stream",
			   response->body ? response->body : "", response->size);
}

static void hand_on_lines(struct exchange *exchange, const struct http_response *response)
{
	exchange_answer(exchange, 200, response->body ? response->body : "{}");
}

static void ask_collector(struct exchange *exchange, const char *target,
			  void (*answered)(struct exchange *, const struct http_response *))
{
	daemon_pass_on(exchange,
		       &(struct daemon_ask){.daemon = "peregrine-captured",
					    .socket = exchange->portal->conf->captured_socket,
					    .timeout_ms = CAPTURE_ROUTES_COLLECTOR_MS,
					    .method = "GET",
					    .target = target,
					    .answered = answered});
}

static void on_may_read(struct exchange *exchange, const PGresult *result)
{
	char target[128];

	if (!exchange->request)
		return;
	(void)text_format(
		target, sizeof(target), "/captures/%" PRId64 "/file?first=%" PRId64 "&offset=%s",
		db_int(result, 0, CAPTURE_READ_ID, 0),
		db_int(result, 0, CAPTURE_READ_OLDEST_FILE, 0), exchange_arg(exchange, "?offset"));
	ask_collector(exchange, target, hand_on_piece);
}

static void capture_file(struct exchange *exchange)
{
	const char *const params[] = {exchange_arg(exchange, "{capture}"),
				      exchange_arg(exchange, "?offset"), exchange->actor};

	exchange_query(exchange, &capture_read_query, params, on_may_read);
}

static void on_may_watch(struct exchange *exchange, const PGresult *result)
{
	char target[128];

	if (!exchange->request)
		return;
	(void)text_format(target, sizeof(target), "/captures/%" PRId64 "/live?after=%s",
			  db_int(result, 0, CAPTURE_WATCH_ID, 0), exchange_arg(exchange, "?after"));
	ask_collector(exchange, target, hand_on_lines);
}

static void capture_live(struct exchange *exchange)
{
	const char *const params[] = {exchange_arg(exchange, "{capture}"),
				      exchange_arg(exchange, "?after"), exchange->actor};

	exchange_query(exchange, &capture_watch_query, params, on_may_watch);
}

/* --- consent, mirror ports --- */

static void capture_routes_grant_create(struct exchange *exchange)
{
	static const struct query_row row = {"expires_at", QUERY_TIME, 0, NULL, NULL, false, NULL};
	CLEANUP(freep) char *expires = NULL;
	struct error_list errors = {0};
	char allowed[QUERY_ALLOWED_SIZE];

	members_check(exchange->body, capture_routes_grant_members,
		      COUNT_OF(capture_routes_grant_members), "", &errors);
	if (errors.count == 0 &&
	    query_check(&row, exchange_text(exchange, "expires_at"), &expires, allowed) != 0)
		error_list_value(&errors, "/expires_at", allowed);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&capture_grant_put_query,
				{exchange_text(exchange, "node"), expires, exchange->actor}},
			       {&capture_grant_made_query, {NULL}},
		       },
		       2);
}

static void point_put(struct exchange *exchange)
{
	const char *name = exchange_arg(exchange, "{switch}");
	const char *kind = exchange_text(exchange, "kind");
	CLEANUP(freep) char *spec = NULL;
	struct error_list errors = {0};

	/* docs/decision/no-rspan.md */
	if (kind && strcmp(kind, "rspan") == 0) {
		error_list_pointer(
			&errors, "/kind",
			"mirrors by a VLAN (RSPAN) are not supported: switches on the path would learn the nodes' addresses in it, and no proof covers its floods; use a port or ERSPAN",
			"erspan");
		exchange_refuse(exchange, &errors);
		return;
	}
	spec = exchange_checked_body(exchange, point_members, COUNT_OF(point_members));
	if (!spec)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&capture_point_put_query, {name, spec, exchange->actor}},
			       {&capture_point_done_query, {name}},
		       },
		       2);
}

static const struct query_row capture_routes_list_query[] = {
	QUERY_LIST,
	QUERY_TENANT,
	{"state", QUERY_WORD, 0, state_words, NULL, false, NULL},
	{"active", QUERY_BOOL, 0, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row start_query[] = {
	{"case", QUERY_ID, 0, NULL, NULL, false, "X-Haas-Case"}, {0}};
static const struct query_row file_query[] = {{"offset", QUERY_OFFSET, 0, NULL, "0", false, NULL},
					      {0}};
static const struct query_row live_query[] = {{"after", QUERY_OFFSET, 0, NULL, "0", false, NULL},
					      {0}};
static const struct query_row capture_routes_grant_query[] = {QUERY_PAGE_ID, {0}};
static const struct query_row point_query[] = {QUERY_PAGE_TEXT, {0}};

/* clang-format off */
const struct route capture_routes[] = {
	{HTTP_GET, "/api/v1/captures", ROLE_TENANT, BODY_NONE, 0, exchange_list, capture_routes_list_query,
	 &capture_list_query, {"?limit", "?cursor", "?tenant", "?state", "?active"}},
	{HTTP_POST, "/api/v1/captures", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, capture_routes_capture_start, start_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/captures/{capture}", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &capture_get_query, {"{capture}"}},
	{HTTP_POST, "/api/v1/captures/{capture}/actions", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, capture_act, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/captures/{capture}/file", ROLE_TENANT, BODY_NONE, ROUTE_PRIVATE | ROUTE_STREAM, capture_file, file_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/captures/{capture}/live", ROLE_TENANT, BODY_NONE, ROUTE_PRIVATE | ROUTE_STREAM, capture_live, live_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/capture-grants", ROLE_TENANT, BODY_NONE, 0, exchange_read, capture_routes_grant_query, &capture_grants_query, {"?limit", "?cursor"}},
	{HTTP_POST, "/api/v1/capture-grants", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_CONSENT, capture_routes_grant_create, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/capture-grants/{grant}", ROLE_TENANT, BODY_NONE, 0, exchange_change, NULL, &capture_grant_withdraw_query, {"{grant}", "@actor"}},
	{HTTP_GET, "/api/v1/capture-points", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, point_query, &capture_points_query, {"?limit", "?cursor"}},
	{HTTP_GET, "/api/v1/capture-points/{switch}", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &capture_point_get_query, {"{switch}"}},
	{HTTP_PUT, "/api/v1/capture-points/{switch}", ROLE_OPERATOR, BODY_JSON, 0, point_put, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/capture-points/{switch}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL, &capture_point_remove_query, {"{switch}", "@actor"}},
	{.pattern = NULL},
};
/* clang-format on */
