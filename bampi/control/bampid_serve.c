/* The socket of bampid: consoles for portald, metrics and health for whoever watches. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/local_server.h"
#include "common/http/metrics.h"

#include "bampi/control/bampid_private.h"

#define INPUT_LIMIT ((size_t)1 << 16) /* console input; a request for a PDCI */

struct numbers {
	struct runner_stats runner;
	struct action_runner_stats actions;
	struct health_stats health;
	struct pdci_runner_stats pdcis;
	uint64_t bmcs, bmc_waiting, bmc_in_flight, bmc_breakers_open, bmc_calls, bmc_failed_calls,
		bmc_retries, bmc_thread_calls, bmc_sessions, bmc_resent, bmc_lost, bmc_forged;
	struct console_hub_stats consoles;
	uint64_t console_viewers, database_up;
};

#define BAMPID_SERVE_AT(member) offsetof(struct numbers, member)

/* clang-format off */
static const struct metric_row metric_rows[] = {
	{"haas_runner_cycles_total",             METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(runner.cycles),                "claim and save cycles"},
	{"haas_runner_claimed_total",            METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(runner.claimed),               "deployments looked at"},
	{"haas_runner_claims_lost_total",        METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(runner.lost),                  "claims that another bampid had taken over"},
	{"haas_runner_failed_saves_total",       METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(runner.failed_saves),          "batches that PostgreSQL refused"},
	{"haas_runner_certificate_races_total",  METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(runner.certificate_races),     "certificates appended anew because another bampid was first"},
	{"haas_steps_total",                     METRIC_COUNTER, "state=\"done\"",      BAMPID_SERVE_AT(runner.steps_done),            "steps that ended"},
	{"haas_steps_total",                     METRIC_COUNTER, "state=\"failed\"",    BAMPID_SERVE_AT(runner.steps_failed),          "steps that ended"},
	{"haas_deployments_total",               METRIC_COUNTER, "state=\"done\"",      BAMPID_SERVE_AT(runner.deployments_done),      "deployments that ended"},
	{"haas_deployments_total",               METRIC_COUNTER, "state=\"failed\"",    BAMPID_SERVE_AT(runner.deployments_failed),    "deployments that ended"},
	{"haas_deployments_total",               METRIC_COUNTER, "state=\"cancelled\"", BAMPID_SERVE_AT(runner.deployments_cancelled), "deployments that ended"},
	{"haas_node_actions_total",              METRIC_COUNTER, "state=\"done\"",      BAMPID_SERVE_AT(actions.done),                 "node actions that ended"},
	{"haas_node_actions_total",              METRIC_COUNTER, "state=\"failed\"",    BAMPID_SERVE_AT(actions.failed),               "node actions that ended"},
	{"haas_pdci_claims_total",               METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(pdcis.claimed),                "PDCIs looked at"},
	{"haas_pdci_total",                      METRIC_COUNTER, "result=\"allocated\"",  BAMPID_SERVE_AT(pdcis.allocated),              "choices of nodes"},
	{"haas_pdci_total",                      METRIC_COUNTER, "result=\"infeasible\"", BAMPID_SERVE_AT(pdcis.infeasible),             "choices of nodes"},
	{"haas_pdci_total",                      METRIC_COUNTER, "result=\"replaced\"",   BAMPID_SERVE_AT(pdcis.replaced),               "choices of nodes"},
	{"haas_pdci_total",                      METRIC_COUNTER, "result=\"race\"",       BAMPID_SERVE_AT(pdcis.races),                  "choices of nodes"},
	{"haas_pdci_released_total",             METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(pdcis.released),               "PDCIs that are released completely"},
	{"haas_bmcs",                            METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(bmcs),                         "BMCs known"},
	{"haas_bmc_operations_waiting",          METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(bmc_waiting),                  "operations in line"},
	{"haas_bmc_calls_in_flight",             METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(bmc_in_flight),                "calls under way"},
	{"haas_bmc_breakers_open",               METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(bmc_breakers_open),            "BMCs that are left alone for a while"},
	{"haas_bmc_calls_total",                 METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(bmc_calls),                    "calls made"},
	{"haas_bmc_failed_calls_total",          METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(bmc_failed_calls),             "calls that failed"},
	{"haas_bmc_retries_total",               METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(bmc_retries),                  "calls made again"},
	{"haas_health_readings_total",           METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(health.readings),              "readings of a BMC's sensors"},
	{"haas_health_log_entries_total",        METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(health.entries),               "new entries of event logs"},
	{"haas_health_decided_total",            METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(health.decided),               "decisions on a node's labels"},
	{"haas_health_changes_total",            METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(health.changes),               "health labels that came or went"},
	{"haas_health_dropped_total",            METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(health.dropped),               "readings lost while PostgreSQL was away"},
	{"haas_bmc_thread_calls_total",          METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(bmc_thread_calls),             "calls that held a thread"},
	{"haas_bmc_sessions",                    METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(bmc_sessions),                 "IPMI sessions open"},
	{"haas_bmc_packets_resent_total",        METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(bmc_resent),                   "IPMI packets sent again"},
	{"haas_bmc_sessions_lost_total",         METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(bmc_lost),                     "IPMI sessions that the BMC had forgotten"},
	{"haas_bmc_packets_forged_total",        METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(bmc_forged),                   "IPMI packets with a wrong seal"},
	{"haas_console_sessions",                METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(consoles.sessions),            "consoles listened to"},
	{"haas_console_waiting",                 METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(consoles.waiting),             "consoles that wait for a session (console_sessions)"},
	{"haas_console_reopened_total",          METRIC_COUNTER, NULL,                 BAMPID_SERVE_AT(consoles.reopened),            "sessions opened anew: mute after a start, or by hand"},
	{"haas_console_viewers",                 METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(console_viewers),              "console streams open"},
	{"haas_database_up",                     METRIC_GAUGE,   NULL,                 BAMPID_SERVE_AT(database_up),                  "1 = PostgreSQL is there"},
};
/* clang-format on */

static bool database_up(const struct bampid *bampid)
{
	return db_connected(bampid->db) && db_connected(bampid->watch_db);
}

static void bampid_serve_get_metrics(void *context, struct http_request *request)
{
	const struct bampid *bampid = context;
	CLEANUP(text_done) struct text body = {0};
	struct bmc_queue_stats queue;
	struct numbers numbers;

	bmc_queue_stats(bampid->queue, &queue);
	numbers = (struct numbers){
		.runner = *runner_stats(bampid->runner),
		.actions = *action_runner_stats(bampid->actions),
		.health = *health_stats(bampid->health),
		.pdcis = *pdci_runner_stats(bampid->pdcis),
		.bmcs = queue.bmcs,
		.bmc_waiting = queue.waiting,
		.bmc_in_flight = queue.in_flight,
		.bmc_breakers_open = queue.breakers_open,
		.bmc_calls = queue.calls,
		.bmc_failed_calls = queue.failed_calls,
		.bmc_retries = queue.retries,
		.bmc_thread_calls = queue.thread_calls,
		.bmc_sessions = queue.rmcp.sessions,
		.bmc_resent = queue.rmcp.resent,
		.bmc_lost = queue.rmcp.lost,
		.bmc_forged = queue.rmcp.forged,
		.console_viewers = consoles_viewers(bampid->consoles),
		.database_up = database_up(bampid),
	};
	consoles_stats(bampid->consoles, &numbers.consoles);
	metrics_write(&body, metric_rows, COUNT_OF(metric_rows), &numbers);
	local_server_answer_metrics(request, &body);
}

static void bampid_serve_get_health(void *context, struct http_request *request)
{
	const struct bampid *bampid = context;

	local_server_answer_health(request, database_up(bampid) || db_stands_by(bampid->db));
}

static bool bampid_serve_find_node(const struct bampid *bampid, struct http_request *request,
				   int64_t *ret)
{
	struct problem problem = {0};

	*ret = endpoints_find(bampid->endpoints, http_request_param(request, "node"));
	if (*ret >= 0)
		return true;
	(void)problem_set(&problem, E_NOT_FOUND, "node %s has no BMC that we know",
			  http_request_param(request, "node"));
	http_answer_problem(request, 404, &problem);
	return false;
}

/* Portald says in whose name. A number that is none is no operator's. */
static struct console_reader bampid_serve_reader(struct http_request *request)
{
	const char *tenant = http_request_query(request, "tenant");
	const char *since = http_request_query(request, "since");
	struct console_reader reader = {0};

	if (!tenant)
		return reader;
	reader.tenant = strtoll(tenant, NULL, 10);
	reader.since_ms = since ? strtoll(since, NULL, 10) : INT64_MAX;
	if (reader.tenant <= 0)
		reader.tenant = -1;
	return reader;
}

static void get_raw_stream(void *context, struct http_request *request)
{
	const struct bampid *bampid = context;
	int64_t node_id;

	if (bampid_serve_find_node(bampid, request, &node_id))
		consoles_stream(bampid->consoles, request, node_id, CONSOLE_RAW,
				bampid_serve_reader(request));
}

static void get_event_stream(void *context, struct http_request *request)
{
	const struct bampid *bampid = context;
	int64_t node_id;

	if (bampid_serve_find_node(bampid, request, &node_id))
		consoles_stream(bampid->consoles, request, node_id, CONSOLE_SSE,
				bampid_serve_reader(request));
}

static void get_log(void *context, struct http_request *request)
{
	const struct bampid *bampid = context;
	int64_t node_id;

	if (bampid_serve_find_node(bampid, request, &node_id))
		consoles_log(bampid->consoles, request, node_id, bampid_serve_reader(request));
}

static void post_input(void *context, struct http_request *request)
{
	const struct bampid *bampid = context;
	int64_t node_id;

	if (bampid_serve_find_node(bampid, request, &node_id))
		consoles_input(bampid->consoles, request, node_id, bampid_serve_reader(request));
}

static void post_reopen(void *context, struct http_request *request)
{
	const struct bampid *bampid = context;
	int64_t node_id;

	if (bampid_serve_find_node(bampid, request, &node_id))
		consoles_reopen(bampid->consoles, request, node_id);
}

static void post_feasibility(void *context, struct http_request *request)
{
	const struct bampid *bampid = context;

	pdci_feasibility(bampid->pdcis, request);
}

/* What this one knows is known where it works. */
static const struct problem *bampid_serve_refuses(void *context)
{
	const struct bampid *bampid = context;

	return db_stands_by(bampid->db) ? db_away(bampid->db) : NULL;
}

static const struct http_route bampid_serve_routes[] = {
	{HTTP_GET, "/healthz", bampid_serve_get_health},
	{HTTP_GET, "/metrics", bampid_serve_get_metrics},
	{HTTP_GET, "/console/{node}/stream", get_raw_stream},
	{HTTP_POST, "/console/{node}/input", post_input},
	{HTTP_POST, "/feasibility", post_feasibility},
	{HTTP_GET, "/nodes/{node}/console/stream", get_event_stream},
	{HTTP_GET, "/nodes/{node}/console/log", get_log},
	{HTTP_POST, "/nodes/{node}/console/input", post_input},
	{HTTP_POST, "/nodes/{node}/console/reopen", post_reopen},
};

int bampid_serve(struct bampid *bampid, struct problem *problem)
{
	const struct http_server_options options = {
		.routes = bampid_serve_routes,
		.route_count = COUNT_OF(bampid_serve_routes),
		.context = bampid,
		.body_limit = INPUT_LIMIT,
		.connection_limit = 512,
		.refuses = bampid_serve_refuses,
		.caller = bampid->conf->socket_caller,
	};

	return local_server_new(bampid->loop, &options, bampid->conf->socket_path, &bampid->server,
				problem);
}
