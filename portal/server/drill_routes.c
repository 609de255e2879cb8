/* /drill: traffic from the links down to a flow; each level's rows and "other" add up to it.
 * /drill/series: the same place bucket by bucket, and second by second where memory has it. What
 * is not stored yet is asked of peregrine-flowd and given to the statement that reads what is
 * stored: its snapshot decides which minutes are whose (drill_store.sql). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"
#include "common/model/drill_path.h"

#include "portal/server/alert_store_sql.h"
#include "portal/server/daemon_call.h"
#include "portal/server/drill_answer.h"
#include "portal/server/drill_store_sql.h"
#include "portal/server/exchange.h"

LEAKS_LEFT_TO_SANITIZER

/* What a collector tells of the last minutes is bounded by it; this is many times that. */
#define DRILL_ROUTES_LIVE_LIMIT ((size_t)32 << 20)
#define DRILL_ROUTES_LIVE_MS    5000 /* it waits for seconds that are just over */
/* Of longer windows a series is told in minutes. */
#define DRILL_ROUTES_SECONDS_MAX 900

static void drill_routes_drill_free(void *data)
{
	struct drill *drill = data;

	if (!drill)
		return;
	free(drill->tenants);
	free(drill->live);
	text_done(&drill->body);
	free(drill);
}

static void keep_window(struct drill *drill, const PGresult *result)
{
	struct drill_window *window = &drill->window;

	(void)text_copy(window->from, sizeof(window->from),
			db_text(result, 0, DRILL_WINDOW_FROM, NULL));
	(void)text_copy(window->to, sizeof(window->to), db_text(result, 0, DRILL_WINDOW_TO, NULL));
	window->step = window->length = db_int(result, 0, DRILL_WINDOW_STEP, 0);
	window->kept = db_bool(result, 0, DRILL_WINDOW_KEPT);
	window->buckets = db_int(result, 0, DRILL_WINDOW_BUCKETS, 0);
	window->present = db_int(result, 0, DRILL_WINDOW_PRESENT, 0);
	window->seconds = strtod(db_text(result, 0, DRILL_WINDOW_SECONDS, "0"), NULL);
	window->bytes = db_int(result, 0, DRILL_WINDOW_BYTES, 0);
	window->nobodys = db_int(result, 0, DRILL_WINDOW_NOBODYS, 0);
	window->lost = db_int(result, 0, DRILL_WINDOW_LOST, 0);
	window->pending = db_int(result, 0, DRILL_WINDOW_PENDING, 0);
	(void)text_copy(window->until, sizeof(window->until),
			db_text(result, 0, DRILL_WINDOW_UNTIL, ""));
	window->asked = window->buckets * window->step;
	window->is_operator = db_bool(result, 0, DRILL_WINDOW_OPERATOR);
	drill->at_s = db_int(result, 0, DRILL_WINDOW_AT, 0);
	window->recent = db_bool(result, 0, DRILL_WINDOW_RECENT);
	window->thinned = strtod(db_text(result, 0, DRILL_WINDOW_THINNED, "1"), NULL);
	(void)text_copy(drill->stored_from, sizeof(drill->stored_from), window->from);
	(void)text_copy(drill->stored_to, sizeof(drill->stored_to), window->to);
	(void)text_copy(drill->switch_id, sizeof(drill->switch_id),
			db_text(result, 0, DRILL_WINDOW_SWITCH, ""));
	free(drill->tenants);
	drill->tenants = NULL;
	if (!db_is_null(result, 0, DRILL_WINDOW_TENANTS))
		drill->tenants = strdup(db_text(result, 0, DRILL_WINDOW_TENANTS, ""));
}

static void answer_unknown(struct exchange *exchange, const char *kind, const char *name,
			   const char *list)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_NOT_FOUND, "there is no traffic of a %s %.100s", kind, name);
	problem_hint(&problem, "%s shows the known ones", list);
	exchange_problem(exchange, 404, &problem);
}

static void answer_recorded(struct exchange *exchange, const PGresult *result)
{
	struct drill *drill = exchange->data;

	(void)result;
	exchange_answer(exchange, 200, text_get(&drill->body));
}

/* What is looked at for a case is in the case, or it is not told. */
static void drill_routes_tell(struct exchange *exchange)
{
	struct drill *drill = exchange->data;
	const char *number = exchange_arg(exchange, "?case");
	struct problem problem = {0};

	if (!drill->body.failed) {
		const char *const params[] = {number, text_get(&drill->body), exchange->actor};

		if (number)
			exchange_query(exchange, &case_query_query, params, answer_recorded);
		else
			exchange_answer(exchange, 200, text_get(&drill->body));
		return;
	}
	(void)problem_set(&problem, -ENOMEM, "no memory for the answer");
	exchange_problem(exchange, 500, &problem);
}

static void answer_unknown_part(struct exchange *exchange, const PGresult *result)
{
	if (!exchange->request)
		return;
	if (PQntuples(result) > 0)
		answer_unknown(exchange, db_text(result, 0, DRILL_UNKNOWN_KIND, ""),
			       db_text(result, 0, DRILL_UNKNOWN_NAME, ""),
			       db_text(result, 0, DRILL_UNKNOWN_LIST, ""));
	else
		drill_routes_tell(exchange);
}

/* Nothing was seen at the place: then, or it is none. */
static void ask_unknown_part(struct exchange *exchange)
{
	const struct drill *drill = exchange->data;
	const struct drill_path *path = &drill->path;
	bool pair = path->level >= DRILL_PAIR;
	char vlan[12];
	const char *const params[] = {
		path->at_link ? drill->switch_id : NULL,
		path->at_link ? path->port : NULL,
		path->nobody ? NULL : drill->tenants,
		path->level >= DRILL_VLAN && !path->nobody ? vlan : NULL,
		pair && !path->nobody ? path->a : NULL,
		pair && !path->nobody ? path->b : NULL,
	};

	(void)text_format(vlan, sizeof(vlan), "%d", path->vlan);
	if (path->level == DRILL_ALL)
		drill_routes_tell(exchange);
	else
		exchange_query(exchange, &drill_unknown_query, params, answer_unknown_part);
}

static void answer_present(struct exchange *exchange, const PGresult *result)
{
	const struct drill *drill = exchange->data;

	if (!exchange->request)
		return;
	if (PQntuples(result) > 0)
		ask_unknown_part(exchange);
	else
		answer_unknown(exchange, "switch", drill->path.switch_name, "haasctl switch list");
}

static void answer_level(struct exchange *exchange, const PGresult *result)
{
	struct drill *drill = exchange->data;

	if (!exchange->request)
		return;
	bool any = drill->series ? drill_series_has_traffic(result) : drill_has_traffic(result);

	if (drill->series)
		drill_answer_series(drill, result, &drill->body);
	else
		drill_answer(drill, result, &drill->body);
	/* To a tenant a switch that has nothing of its own is none: looked for only when there is
	 * nothing at the place. */
	if (!drill->window.is_operator && drill->path.at_link && !any) {
		const char *const params[] = {drill->step, drill->stored_from, drill->stored_to,
					      drill->switch_id};

		exchange_query(exchange, &drill_present_query, params, answer_present);
		return;
	}
	if (any)
		drill_routes_tell(exchange);
	else
		ask_unknown_part(exchange);
}

/* Numbers of the path as the statements take them. */
struct path_numbers {
	char vlan[12], source_port[12], target_port[12], protocol[12], ethertype[12];
};

/* Each level takes as many of these as it counts (drill_store.sql). */
#define DRILL_PARAMS 19

static const struct db_query *const drill_levels[DRILL_LEVEL_COUNT] = {
	[DRILL_ALL] = &drill_all_query,     [DRILL_LINK] = &drill_link_query,
	[DRILL_OWNER] = &drill_owner_query, [DRILL_VLAN] = &drill_vlan_query,
	[DRILL_PAIR] = &drill_pair_query,   [DRILL_FLOW] = &drill_flow_query,
};

static const struct db_query *const drill_series_levels[DRILL_LEVEL_COUNT] = {
	[DRILL_ALL] = &series_all_query,     [DRILL_LINK] = &series_link_query,
	[DRILL_OWNER] = &series_owner_query, [DRILL_VLAN] = &series_vlan_query,
	[DRILL_PAIR] = &series_pair_query,   [DRILL_FLOW] = &series_flow_query,
};

static void ask_level(struct exchange *exchange)
{
	const struct drill *drill = exchange->data;
	const struct drill_path *path = &drill->path;
	struct path_numbers n;

	(void)text_format(n.vlan, sizeof(n.vlan), "%d", path->vlan);
	(void)text_format(n.source_port, sizeof(n.source_port), "%d", path->flow.source_port);
	(void)text_format(n.target_port, sizeof(n.target_port), "%d", path->flow.target_port);
	(void)text_format(n.protocol, sizeof(n.protocol), "%d", path->flow.protocol);
	(void)text_format(n.ethertype, sizeof(n.ethertype), "%d", path->flow.ethertype);
	const char *reason = strcmp(path->owner, DRILL_NO_TENANT) == 0 ? "" : path->owner;
	const char *const params[DRILL_PARAMS] = {
		drill->step,
		drill->stored_from,
		drill->stored_to,
		drill->series ? "1" : exchange_arg(exchange, "?limit"),
		drill->live,
		path->at_link ? drill->switch_id : NULL,
		path->at_link ? path->port : NULL,
		path->nobody ? NULL : drill->tenants,
		path->nobody ? reason : NULL,
		n.vlan,
		path->a,
		path->b,
		path->flow.source,
		n.source_port,
		path->flow.target,
		n.target_port,
		n.protocol,
		n.ethertype,
		path->flow.forward ? "t" : "f",
	};

	exchange_query(exchange,
		       drill->series ? drill_series_levels[path->level] : drill_levels[path->level],
		       params, answer_level);
}

static void on_scale(struct exchange *exchange, const PGresult *result)
{
	struct drill *drill = exchange->data;

	if (!exchange->request)
		return;
	if (!db_is_null(result, 0, DRILL_SCALE_EXACT)) {
		drill->exact_bytes = db_int(result, 0, DRILL_SCALE_EXACT, 0);
		drill->exact_seconds = strtod(db_text(result, 0, DRILL_SCALE_SECONDS, "0"), NULL);
	}
	drill->scale = (struct link_scale){
		.known = !db_is_null(result, 0, DRILL_SCALE_FACTOR) &&
			 !db_is_null(result, 0, DRILL_SCALE_BYTES),
		.factor = strtod(db_text(result, 0, DRILL_SCALE_FACTOR, "1"), NULL),
		.covered = strtod(db_text(result, 0, DRILL_SCALE_COVERED, "1"), NULL),
		.link = {.bytes = (uint64_t)db_int(result, 0, DRILL_SCALE_BYTES, 0),
			 .square = strtod(db_text(result, 0, DRILL_SCALE_SQUARE, "0"), NULL)}};
	ask_level(exchange);
}

/* A link is asked first what its counters say. */
static void ask_scale(struct exchange *exchange)
{
	struct drill *drill = exchange->data;
	const char *const params[] = {drill->step,      drill->stored_from, drill->stored_to,
				      drill->switch_id, drill->path.port,   drill->live};

	(void)text_format(drill->step, sizeof(drill->step), "%" PRId64, drill->window.length);
	drill->exact_bytes = -1;
	if (drill->path.at_link)
		exchange_query(exchange, &drill_scale_query, params, on_scale);
	else
		ask_level(exchange);
}

/* The path must name what there is: also what only memory has traffic of. */
static void answer_path(struct exchange *exchange, bool in_memory)
{
	struct drill *drill = exchange->data;
	const struct drill_path *path = &drill->path;

	if (path->at_link && !drill->switch_id[0] && in_memory)
		(void)text_copy(drill->switch_id, sizeof(drill->switch_id), "0");
	if (path->at_link && !drill->switch_id[0])
		answer_unknown(exchange, "switch", path->switch_name, "haasctl switch list");
	else if (path->level >= DRILL_OWNER && !path->nobody && !drill->tenants)
		answer_unknown(exchange, "tenant", path->owner, "haasctl tenant list");
	else
		ask_scale(exchange);
}

/* --- with what a collector has in memory --- */

static void on_joined(struct exchange *exchange, const PGresult *result)
{
	struct drill *drill = exchange->data;
	struct drill_window *window = &drill->window;

	if (!exchange->request)
		return;
	window->present = db_int(result, 0, DRILL_JOINED_PRESENT, 0);
	window->seconds = strtod(db_text(result, 0, DRILL_JOINED_SECONDS, "0"), NULL);
	window->memory = db_int(result, 0, DRILL_JOINED_MEMORY, 0);
	window->bytes = db_int(result, 0, DRILL_JOINED_BYTES, 0);
	window->nobodys = db_int(result, 0, DRILL_JOINED_NOBODYS, 0);
	window->lost = db_int(result, 0, DRILL_JOINED_LOST, 0);
	window->thinned = strtod(db_text(result, 0, DRILL_JOINED_THINNED, "1"), NULL);
	answer_path(exchange, drill->in_memory);
}

static void drill_routes_time_text(int64_t at_s, char ret[32])
{
	time_t at = (time_t)at_s;
	struct tm parts;

	ret[0] = '\0';
	if (gmtime_r(&at, &parts))
		(void)strftime(ret, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static int64_t drill_routes_number_of(const json_t *answer, const char *key)
{
	return json_integer_value(json_object_get(answer, key));
}

/* Does memory have traffic of the place, and not only seconds in which there was none? */
static bool has_traffic(const json_t *answer)
{
	const json_t *minute;
	size_t i;

	json_array_foreach(json_object_get(answer, "minutes"), i, minute)
	{
		if (drill_routes_number_of(json_object_get(minute, "total"), "bytes") > 0)
			return true;
	}
	return false;
}

/* Says what of the window is stored minutes; false: the answer is none. */
static bool drill_routes_join(struct drill *drill, const json_t *answer)
{
	struct drill_window *window = &drill->window;
	int64_t from_s = drill_routes_number_of(answer, "from");
	int64_t to_s = drill_routes_number_of(answer, "to");
	int64_t stored_from_s = drill_routes_number_of(answer, "stored_from");
	int64_t stored_to_s = drill_routes_number_of(answer, "stored_to");

	if (from_s <= 0 || to_s <= from_s || stored_from_s > stored_to_s || stored_from_s % 60 ||
	    stored_to_s % 60 || !json_is_array(json_object_get(answer, "minutes")))
		return false;
	drill_routes_time_text(from_s, window->from);
	drill_routes_time_text(to_s, window->to);
	drill_routes_time_text(stored_from_s, drill->stored_from);
	drill_routes_time_text(stored_to_s, drill->stored_to);
	window->step = stored_from_s < stored_to_s ? 60 : 1;
	window->asked = to_s - from_s;
	window->early = to_s < drill->at_s;
	drill->in_memory = has_traffic(answer);
	window->buckets = (to_s + 59) / 60 - from_s / 60;
	window->pending = 0; /* memory has them */
	return true;
}

static void drill_routes_without_memory(struct exchange *exchange, const char *reason)
{
	struct drill *drill = exchange->data;

	if (!exchange->request)
		return;
	(void)text_copy(drill->absent, sizeof(drill->absent), reason);
	drill->window.absent = drill->absent;
	answer_path(exchange, false);
}

static void drill_routes_with_memory(struct exchange *exchange,
				     const struct http_response *response)
{
	struct drill *drill = exchange->data;
	CLEANUP(json_decrefp) json_t *answer = NULL;
	struct problem problem = {0};

	if (!exchange->request)
		return;
	if (!response->body ||
	    json_read(response->body, response->size, DRILL_ROUTES_LIVE_LIMIT, &answer, &problem)) {
		drill_routes_without_memory(exchange,
					    "the answer of peregrine-flowd cannot be parsed");
		return;
	}
	if (!drill_routes_number_of(answer, "last")) {
		drill_routes_without_memory(exchange, "peregrine-flowd has only just begun");
		return;
	}
	drill->live = strndup(response->body, response->size);
	if (!drill->live || !drill_routes_join(drill, answer)) {
		free(drill->live);
		drill->live = NULL;
		drill_routes_without_memory(
			exchange, "the answer of peregrine-flowd is for another question");
		return;
	}
	const char *const params[] = {drill->stored_from, drill->stored_to, drill->live};

	exchange_query(exchange, &drill_joined_query, params, on_joined);
}

static void drill_routes_add_escaped(struct text *target, const char *value)
{
	for (; *value; value++) {
		if (strchr("%&+#= \"~", *value))
			text_addf(target, "%%%02X", (unsigned)(unsigned char)*value);
		else
			text_add_bytes(target, value, 1);
	}
}

static void drill_routes_ask_memory(struct exchange *exchange, const PGresult *known)
{
	const struct drill *drill = exchange->data;
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text path = {0};
	const char *tenants = drill->tenants ? drill->tenants : "{}";

	drill_path_print(&drill->path, &path);
	text_addf(&target, "/drill?window=%s&turned=%s&path=", exchange_arg(exchange, "?window"),
		  db_text(known, 0, DRILL_WINDOW_TURNED, "f"));
	drill_routes_add_escaped(&target, text_get(&path));
	if (!db_is_null(known, 0, DRILL_WINDOW_AT))
		text_addf(&target, "&at=%s", db_text(known, 0, DRILL_WINDOW_AT, ""));
	if (!db_is_null(known, 0, DRILL_WINDOW_SCOPE))
		text_addf(&target, "&scope=%s", db_text(known, 0, DRILL_WINDOW_SCOPE, ""));
	if (drill->series && drill->window.asked <= DRILL_ROUTES_SECONDS_MAX)
		text_add(&target, "&seconds=t");
	/* PostgreSQL's {1,2} without its braces. */
	text_addf(&target, "&tenants=%.*s", (int)strlen(tenants) - 2, tenants + 1);
	daemon_pass_on(exchange,
		       &(struct daemon_ask){.daemon = "peregrine-flowd",
					    .socket = exchange->portal->conf->flowd_socket,
					    .timeout_ms = DRILL_ROUTES_LIVE_MS,
					    .response_limit = DRILL_ROUTES_LIVE_LIMIT,
					    .method = "GET",
					    .target = text_get(&target),
					    .answered = drill_routes_with_memory,
					    .failed = drill_routes_without_memory});
}

static void on_window(struct exchange *exchange, const PGresult *result)
{
	struct drill *drill = exchange->data;

	if (!exchange->request)
		return;
	keep_window(drill, result);
	if (drill->window.recent)
		drill_routes_ask_memory(exchange, result);
	else
		answer_path(exchange, false);
}

static void drill_routes_ask(struct exchange *exchange, bool series)
{
	const char *text = exchange_arg(exchange, "?path");
	struct problem problem = {0};
	struct drill *drill = calloc(1, sizeof(*drill));
	int rc = drill ? drill_path_parse(text ? text : "", &drill->path, &problem)
		       : problem_set(&problem, -ENOMEM, "no memory for the request");

	exchange->data = drill;
	exchange->data_free = drill_routes_drill_free;
	if (drill)
		drill->series = series;
	if (!drill || rc) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return;
	}
	const struct drill_path *path = &drill->path;
	const char *const params[] = {
		exchange_arg(exchange, "?at"),
		exchange_arg(exchange, "?window"),
		path->at_link ? path->switch_name : NULL,
		path->level >= DRILL_OWNER && !path->nobody ? path->owner : NULL,
		path->level >= DRILL_PAIR ? "t" : "f",
		path->level >= DRILL_PAIR ? path->a : NULL,
		path->level >= DRILL_PAIR ? path->b : NULL,
	};

	exchange_query(exchange, &drill_window_query, params, on_window);
}

static void drill_get(struct exchange *exchange)
{
	drill_routes_ask(exchange, false);
}

static void drill_series_get(struct exchange *exchange)
{
	drill_routes_ask(exchange, true);
}

static const struct query_row drill_series_rows[] = {
	{"path", QUERY_TEXT, DRILL_PATH_SIZE - 1, NULL, NULL, false, NULL},
	{"at", QUERY_CLOCK, 0, NULL, NULL, false, NULL},
	{"window", QUERY_WINDOW, 0, NULL, "5m", false, NULL},
	{0},
};
static const struct query_row drill_query[] = {
	{"path", QUERY_TEXT, DRILL_PATH_SIZE - 1, NULL, NULL, false, NULL},
	{"at", QUERY_CLOCK, 0, NULL, NULL, false, NULL},
	{"window", QUERY_WINDOW, 0, NULL, "5m", false, NULL},
	{"limit", QUERY_LIMIT, 0, NULL, "100", false, NULL},
	{"case", QUERY_ID, 0, NULL, NULL, false, "X-Haas-Case"},
	{0},
};

/* clang-format off */
const struct route drill_routes[] = {
	{HTTP_GET, "/api/v1/drill", ROLE_TENANT, BODY_NONE, 0, drill_get, drill_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/drill/series", ROLE_TENANT, BODY_NONE, 0, drill_series_get, drill_series_rows, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
