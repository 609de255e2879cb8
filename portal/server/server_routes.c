/* The server itself: is it there, is its database, what has it counted, what can it be asked. */
#include <stddef.h>
#include <string.h>

#include "common/base/embedded.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/metrics.h"

#include "portal/server/exchange.h"
#include "portal/server/read_pool.h"

extern const struct embedded portald_files[];

#define CONNECTIONS(outcome)                                                  \
	METRIC_COUNTED("haas_portald_connections_total", "outcome", #outcome, \
		       offsetof(struct portal_counters, strangers.outcome),   \
		       "connections by TLS and the edge")

#define DEMAND(why)                                                  \
	METRIC_COUNTED("haas_portald_slowed_total", "why", #why,     \
		       offsetof(struct portal_counters, demand.why), \
		       "requests that were answered with 429")

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
	CONNECTIONS(accepted), CONNECTIONS(refused), CONNECTIONS(evicted), CONNECTIONS(late_head), CONNECTIONS(late_handshake),
	CONNECTIONS(throttled_handshake), CONNECTIONS(failed_handshake), CONNECTIONS(late_body), CONNECTIONS(late_answer),
	CONNECTIONS(malformed), CONNECTIONS(too_large),
	{"haas_portald_connections_open", METRIC_GAUGE, NULL, offsetof(struct portal_counters, strangers.open), "connections by TLS and the edge that are open"},
	{"haas_portald_certificate_end_seconds", METRIC_GAUGE, NULL, offsetof(struct portal_counters, certificate_end_s), "when the certificate of listen.tls ends (0 = none)"},
	DEMAND(too_fast), DEMAND(too_many), DEMAND(too_many_streams), DEMAND(too_large), DEMAND(strangers),
	{"haas_portald_reads_waiting", METRIC_GAUGE, NULL, offsetof(struct portal_counters, reads_waiting), "reads that wait for a connection to the database"},
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

	const struct db *away = portal_database_away(exchange->portal);

	if (!away) {
		answer_health(exchange);
		return;
	}
	(void)problem_set(&problem, E_UNAVAILABLE, "the database is away");
	problem_detail(&problem, "%s", db_away(away)->message);
	problem_hint(&problem, "portald connects again by itself; is PostgreSQL running?");
	exchange_problem(exchange, 503, &problem);
}

static void server_routes_metrics(struct exchange *exchange)
{
	struct portal *portal = exchange->portal;
	struct text body = {0};

	portal->counters.reads_waiting =
		read_pool_waiting(portal->reads) + read_pool_waiting(portal->tenant_reads);
	metrics_write(&body, metric_rows, COUNT_OF(metric_rows), &portal->counters);
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
	{HTTP_GET, "/metrics", ROLE_ANYONE, BODY_NONE, ROUTE_LOCAL, server_routes_metrics, NULL, NULL, {NULL}},
	{HTTP_GET, "/openapi.yaml", ROLE_ANYONE, BODY_NONE, 0, server_routes_openapi, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
