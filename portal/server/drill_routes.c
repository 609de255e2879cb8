/* /drill: stored traffic from the links down to a flow. Each level's rows and "other" add up to it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/model/drill_path.h"

#include "portal/server/drill_answer.h"
#include "portal/server/drill_store.h"
#include "portal/server/exchange.h"

static void keep_window(struct drill *drill, const PGresult *result)
{
	struct drill_window *window = &drill->window;

	(void)text_copy(window->from, sizeof(window->from), db_text(result, 0, WINDOW_FROM, NULL));
	(void)text_copy(window->to, sizeof(window->to), db_text(result, 0, WINDOW_TO, NULL));
	window->step = db_int(result, 0, WINDOW_STEP, 0);
	window->kept = db_bool(result, 0, WINDOW_KEPT);
	window->buckets = db_int(result, 0, WINDOW_BUCKETS, 0);
	window->present = db_int(result, 0, WINDOW_PRESENT, 0);
	window->seconds = strtod(db_text(result, 0, WINDOW_SECONDS, "0"), NULL);
	window->bytes = db_int(result, 0, WINDOW_BYTES, 0);
	window->nobodys = db_int(result, 0, WINDOW_NOBODYS, 0);
	window->lost = db_int(result, 0, WINDOW_LOST, 0);
	window->is_operator = db_bool(result, 0, WINDOW_OPERATOR);
}

static void answer_unknown(struct exchange *exchange, const char *kind, const char *name,
			   const char *list)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_NOT_FOUND, "there is no traffic of a %s %.100s", kind, name);
	problem_hint(&problem, "%s shows what there is", list);
	exchange_problem(exchange, 404, &problem);
}

static void answer_level(struct exchange *exchange, const PGresult *result)
{
	CLEANUP(text_done) struct text body = {0};

	if (!exchange->request)
		return;
	drill_answer(exchange->data, result, &body);
	if (!body.failed) {
		exchange_answer(exchange, 200, text_get(&body));
		return;
	}
	struct problem problem = {0};

	(void)problem_set(&problem, -ENOMEM, "no memory for the answer");
	exchange_problem(exchange, 500, &problem);
}

/* Numbers of the path as the statements take them. */
struct path_numbers {
	char step[24], vlan[12], source_port[12], target_port[12], protocol[12], ethertype[12];
};

static void ask_level(struct exchange *exchange, const PGresult *known)
{
	const struct drill *drill = exchange->data;
	const struct drill_path *path = &drill->path;
	struct path_numbers n;

	(void)text_format(n.step, sizeof(n.step), "%" PRId64, drill->window.step);
	(void)text_format(n.vlan, sizeof(n.vlan), "%d", path->vlan);
	(void)text_format(n.source_port, sizeof(n.source_port), "%d", path->flow.source_port);
	(void)text_format(n.target_port, sizeof(n.target_port), "%d", path->flow.target_port);
	(void)text_format(n.protocol, sizeof(n.protocol), "%d", path->flow.protocol);
	(void)text_format(n.ethertype, sizeof(n.ethertype), "%d", path->flow.ethertype);
	const char *reason = strcmp(path->owner, DRILL_NO_TENANT) == 0 ? "" : path->owner;
	const char *const params[DRILL_PARAMS] = {
		n.step,
		drill->window.from,
		drill->window.to,
		exchange_arg(exchange, "?limit"),
		path->at_link ? db_text(known, 0, WINDOW_SWITCH, NULL) : NULL,
		path->at_link ? path->port : NULL,
		path->nobody ? NULL : db_text(known, 0, WINDOW_TENANTS, NULL),
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

	exchange_query(exchange, &store_drill_levels[path->level], params, answer_level);
}

static void on_window(struct exchange *exchange, const PGresult *result)
{
	struct drill *drill = exchange->data;
	const struct drill_path *path = &drill->path;

	if (!exchange->request)
		return;
	keep_window(drill, result);
	if (path->at_link && !db_text(result, 0, WINDOW_SWITCH, NULL))
		answer_unknown(exchange, "switch", path->switch_name, "haasctl switch list");
	else if (path->level >= DRILL_OWNER && !path->nobody &&
		 !db_text(result, 0, WINDOW_TENANTS, NULL))
		answer_unknown(exchange, "tenant", path->owner, "haasctl tenant list");
	else
		ask_level(exchange, result);
}

static void drill_get(struct exchange *exchange)
{
	const char *text = exchange_arg(exchange, "?path");
	struct problem problem = {0};
	struct drill *drill = calloc(1, sizeof(*drill));
	int rc = drill ? drill_path_parse(text ? text : "", &drill->path, &problem)
		       : problem_set(&problem, -ENOMEM, "no memory for the request");

	exchange->data = drill;
	exchange->data_free = free;
	if (rc) {
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
	};

	exchange_query(exchange, &store_drill_window, params, on_window);
}

static const struct query_row drill_query[] = {
	{"path", QUERY_TEXT, DRILL_PATH_SIZE - 1, NULL, NULL, false, NULL},
	{"at", QUERY_CLOCK, 0, NULL, NULL, false, NULL},
	{"window", QUERY_WINDOW, 0, NULL, "5m", false, NULL},
	{"limit", QUERY_LIMIT, 0, NULL, "100", false, NULL},
	{0},
};

/* clang-format off */
const struct route drill_routes[] = {
	{HTTP_GET, "/api/v1/drill", ROLE_TENANT, BODY_NONE, 0, drill_get, drill_query, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
