/* The server itself: is it there, is its database, what has it counted, what can it be asked. */
#include <stddef.h>
#include <string.h>

#include "common/base/embedded.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/metrics.h"

#include "portal/server/exchange.h"

extern const struct embedded portald_files[];

/* clang-format off */
static const struct metric_row metric_rows[] = {
	{"haas_portald_requests_total", METRIC_COUNTER, "kind=\"read\"", offsetof(struct portal_counters, reads), "requests answered"},
	{"haas_portald_requests_total", METRIC_COUNTER, "kind=\"write\"", offsetof(struct portal_counters, writes), "requests answered"},
	{"haas_portald_requests_total", METRIC_COUNTER, "kind=\"refused\"", offsetof(struct portal_counters, refused), "requests answered"},
	{"haas_portald_requests_total", METRIC_COUNTER, "kind=\"failed\"", offsetof(struct portal_counters, failed), "requests answered"},
	{"haas_sse_clients", METRIC_GAUGE, NULL, offsetof(struct portal_counters, streams), "open event streams"},
	{"haas_portald_streamed_events_total", METRIC_COUNTER, NULL, offsetof(struct portal_counters, streamed_events), "events sent to streams"},
	{"haas_portald_consoles", METRIC_GAUGE, NULL, offsetof(struct portal_counters, consoles), "open console relays"},
	{"haas_portald_upload_bytes_total", METRIC_COUNTER, NULL, offsetof(struct portal_counters, upload_bytes), "image bytes taken"},
	{"haas_portald_database_connected", METRIC_GAUGE, NULL, offsetof(struct portal_counters, database_connected), "1 while connected"},
};
/* clang-format on */

static void answer_health(struct exchange *exchange)
{
	struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "status", "ok");
	json_put_string(&body, "version", HAAS_VERSION);
	json_end_object(&body);
	exchange_answer(exchange, 200, text_get(&body));
	text_done(&body);
}

static void server_routes_readyz(struct exchange *exchange)
{
	struct problem problem = {0};

	if (db_connected(exchange->portal->db) && db_connected(exchange->portal->reads)) {
		answer_health(exchange);
		return;
	}
	(void)problem_set(&problem, E_UNAVAILABLE, "the database is away");
	problem_detail(&problem, "%s",
		       db_away(db_connected(exchange->portal->db) ? exchange->portal->reads
								  : exchange->portal->db)
			       ->message);
	problem_hint(&problem, "portald connects again by itself; is PostgreSQL running?");
	exchange_problem(exchange, 503, &problem);
}

static void server_routes_metrics(struct exchange *exchange)
{
	struct text body = {0};

	metrics_write(&body, metric_rows, COUNT_OF(metric_rows), &exchange->portal->counters);
	exchange_answer_as(exchange, METRICS_CONTENT_TYPE, text_get(&body), body.size);
	text_done(&body);
}

static void server_routes_openapi(struct exchange *exchange)
{
	exchange_answer_as(exchange, "application/yaml", portald_files[0].data,
			   portald_files[0].size);
}

/* clang-format off */
const struct route server_routes[] = {
	{HTTP_GET, "/healthz", ROLE_ANYONE, BODY_NONE, 0, answer_health, NULL, NULL, {NULL}},
	{HTTP_GET, "/readyz", ROLE_ANYONE, BODY_NONE, 0, server_routes_readyz, NULL, NULL, {NULL}},
	{HTTP_GET, "/metrics", ROLE_ANYONE, BODY_NONE, 0, server_routes_metrics, NULL, NULL, {NULL}},
	{HTTP_GET, "/openapi.yaml", ROLE_ANYONE, BODY_NONE, 0, server_routes_openapi, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
