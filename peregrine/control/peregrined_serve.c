/* The socket of peregrined: what cannot be a row, for portald (a reading now, a blinking LED), and
 * metrics and health for whoever watches. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/http/local_server.h"
#include "common/http/metrics.h"
#include "common/io/log.h"

#include "peregrine/control/peregrined_private.h"
#include "peregrine/switch/switch_family_table.h"

#define BODY_LIMIT  4096
#define WAITING_MAX 256
#define SECONDS_MAX 600
#define LOCATE_MS   20000

/* A request whose answer a switch has to give. */
struct waiting {
	struct peregrined *peregrined;
	struct http_request *request;
	char name[64];   /* of the switch */
	uint64_t ticket; /* of the queue; 0 = a reading */
	int64_t switch_id;
	struct switch_request wanted; /* of a LED that is to blink */
	bool is_writing;              /* its row first; the client may have gone meanwhile */
	bool is_written;
	struct waiting *next;
};

/* --- numbers --- */

struct numbers {
	struct switch_queue_stats queue;
	struct discovery_stats discovery;
	struct reconcile_stats reconcile;
	uint64_t database_up;
};

#define PEREGRINED_SERVE_AT(member) offsetof(struct numbers, member)

/* clang-format off */
static const struct metric_row metric_rows[] = {
	{"haas_switches",                       METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(discovery.switches),      "switches managed"},
	{"haas_switches_reachable",             METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(discovery.reachable),     "of them those that answered last"},
	{"haas_switch_calls_total",             METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(queue.calls),             "calls made"},
	{"haas_switch_failed_calls_total",      METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(queue.failed_calls),      "calls that failed"},
	{"haas_switch_preempted_calls_total",   METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(queue.preempted),         "polls broken off for an urgent call"},
	{"haas_switch_refused_calls_total",     METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(queue.refused_open),      "calls not made while a breaker is open"},
	{"haas_switch_expired_calls_total",     METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(queue.expired),           "calls that missed their deadline"},
	{"haas_switch_calls_waiting",           METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(queue.waiting),           "calls in line"},
	{"haas_switch_calls_in_flight",         METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(queue.in_flight),         "calls under way"},
	{"haas_switch_breakers_open",           METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(queue.breakers_open),     "transports of switches with an open breaker"},
	{"haas_fabric_looks_total",             METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(discovery.looks),         "polls of switches"},
	{"haas_fabric_full_readings_total",     METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(discovery.full_readings), "full readings of switches"},
	{"haas_fabric_neighbor_readings_total", METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(discovery.neighbor_readings), "readings of LLDP alone, because it had heard something"},
	{"haas_fabric_failed_looks_total",      METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(discovery.failed),        "looks that failed"},
	{"haas_fabric_conclusions_total",       METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(discovery.conclusions),   "times that cables and places were concluded"},
	{"haas_fabric_writes_total",            METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(discovery.writes),        "statements that wrote conclusions"},
	{"haas_fabric_failed_writes_total",     METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(discovery.failed_writes), "of them those that PostgreSQL refused"},
	{"haas_fabric_links",                   METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(discovery.links),         "cables between switches"},
	{"haas_fabric_places",                  METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(discovery.places),        "MACs with a known port"},
	{"haas_fabric_problems",                METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(discovery.problems),      "conflicts and differences from the plan"},
	{"haas_reconcile_cycles_total",         METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.cycles),        "times that wanted and observed were compared"},
	{"haas_reconcile_batches_total",        METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.batches),       "batches of changes begun"},
	{"haas_reconcile_applied_total",        METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.applied),       "of them those that were read back as wanted"},
	{"haas_reconcile_undone_total",         METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.undone),        "of them those that were undone"},
	{"haas_reconcile_failed_total",         METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.failed),        "of them those that could not be undone"},
	{"haas_reconcile_edits_total",          METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.edits_sent),    "edits sent to switches"},
	{"haas_reconcile_proofs_total",         METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.proofs),        "states of a fabric that were to be proven isolated"},
	{"haas_reconcile_failed_proofs_total",  METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.proofs_failed), "of them those that were not, so no edit was sent"},
	{"haas_reconcile_drifts_total",         METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.drifts),        "switches with a foreign change"},
	{"haas_reconcile_repaired_total",       METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.repaired),      "of them those that are as applied again"},
	{"haas_reconcile_lost_claims_total",    METRIC_COUNTER, NULL, PEREGRINED_SERVE_AT(reconcile.lost_claims),   "times that a fabric was lost to another peregrined, or PostgreSQL was away"},
	{"haas_database_up",                    METRIC_GAUGE,   NULL, PEREGRINED_SERVE_AT(database_up),             "1 = PostgreSQL is there"},
};
/* clang-format on */

static void peregrined_serve_get_metrics(void *context, struct http_request *request)
{
	struct peregrined *peregrined = context;
	CLEANUP(text_done) struct text body = {0};
	struct numbers numbers = {.discovery = *discovery_stats(peregrined->discovery),
				  .reconcile = *reconcile_stats(peregrined->reconcile),
				  .database_up = db_connected(peregrined->db)};

	switch_queue_stats(peregrined->queue, &numbers.queue);
	metrics_write(&body, metric_rows, COUNT_OF(metric_rows), &numbers);
	local_server_answer_metrics(request, &body);
}

static void peregrined_serve_get_health(void *context, struct http_request *request)
{
	const struct peregrined *peregrined = context;

	local_server_answer_health(request,
				   db_connected(peregrined->db) || db_stands_by(peregrined->db));
}

/* --- requests that wait --- */

static void waiting_unlink(struct waiting *waiting)
{
	for (struct waiting **link = &waiting->peregrined->waiting; *link; link = &(*link)->next) {
		if (*link == waiting) {
			*link = waiting->next;
			break;
		}
	}
}

static void waiting_free(struct waiting *waiting)
{
	waiting_unlink(waiting);
	free(waiting);
}

/* Nobody hears the answer any more. */
static void waiting_drop(struct waiting *waiting)
{
	if (waiting->is_writing) { /* PostgreSQL still answers to it */
		waiting_unlink(waiting);
		waiting->request = NULL;
		return;
	}
	if (waiting->ticket)
		switch_queue_cancel(waiting->peregrined->queue, waiting->ticket);
	else
		discovery_forget(waiting->peregrined->discovery, waiting);
	waiting_free(waiting);
}

static void peregrined_serve_on_client_gone(void *context)
{
	waiting_drop(context);
}

static void peregrined_serve_answer(struct waiting *waiting, int rc, const struct text *json,
				    const struct problem *problem)
{
	struct http_request *request = waiting->request;

	http_request_on_close(request, NULL, NULL);
	waiting_free(waiting);
	if (rc)
		http_answer_problem(request, http_status_of(rc), problem);
	else
		http_answer_json(request, 200, json);
}

static size_t waiting_count(const struct peregrined *peregrined)
{
	size_t count = 0;

	for (const struct waiting *waiting = peregrined->waiting; waiting; waiting = waiting->next)
		count++;
	return count;
}

/* Answers by itself when it gives NULL. */
static struct waiting *waiting_new(struct peregrined *peregrined, struct http_request *request,
				   const struct switch_row *row)
{
	struct waiting *waiting =
		waiting_count(peregrined) < WAITING_MAX ? calloc(1, sizeof(*waiting)) : NULL;
	struct problem problem = {0};

	if (!waiting) {
		(void)problem_set(&problem, E_UNAVAILABLE,
				  "too many requests wait for switches already");
		http_answer_problem(request, 503, &problem);
		return NULL;
	}
	waiting->peregrined = peregrined;
	waiting->request = request;
	(void)text_copy(waiting->name, sizeof(waiting->name), row->name);
	waiting->next = peregrined->waiting;
	peregrined->waiting = waiting;
	http_request_on_close(request, peregrined_serve_on_client_gone, waiting);
	return waiting;
}

static const struct switch_row *peregrined_serve_find_switch(const struct peregrined *peregrined,
							     struct http_request *request)
{
	const char *name = http_request_param(request, "switch");
	const struct switch_row *row = switches_find(peregrined->switches, name);
	struct problem problem = {0};

	if (row && !problem_is_set(&row->problem))
		return row;
	if (row)
		problem = row->problem;
	else
		(void)problem_set(&problem, E_NOT_FOUND, "switch %s is not managed", name);
	http_answer_problem(request, http_status_of(problem.code), &problem);
	return NULL;
}

static void peregrined_serve_refuse(struct waiting *waiting, int rc, const char *what)
{
	struct problem problem = {0};

	(void)problem_set(&problem, rc, "switch %s: %s: %s", waiting->name, what, error_text(rc));
	peregrined_serve_answer(waiting, rc, NULL, &problem);
}

/* --- POST /switches/{switch}/read --- */

static void peregrined_serve_on_read(void *context, int rc, const struct switch_reading *reading,
				     const struct problem *problem)
{
	struct waiting *waiting = context;
	CLEANUP(text_done) struct text json = {0};
	CLEANUP(text_done) struct text incomplete = {0};

	if (rc == 0) {
		json_begin_object(&json, NULL);
		json_put_string(&json, "switch", waiting->name);
		json_put_string(&json, "family", reading->identity.family);
		json_put_string(&json, "system", reading->identity.system);
		json_put_string(&json, "text", reading->identity.text);
		json_put_int(&json, "ports", (int64_t)reading->port_count);
		json_put_int(&json, "vlans", (int64_t)reading->vlan_count);
		json_put_int(&json, "neighbors", (int64_t)reading->neighbor_count);
		json_put_int(&json, "fdb", (int64_t)reading->fdb_count);
		json_put_int(&json, "requests", reading->requests);
		json_put_int(&json, "odd", reading->odd);
		json_put_string(&json, "odd_text", reading->odd_text);
		switch_told_text(&incomplete, reading->told);
		json_put_string(&json, "incomplete", text_get(&incomplete));
		switch_told_json(&json, "parts", reading->told);
		json_end_object(&json);
	}
	peregrined_serve_answer(waiting, rc, &json, problem);
}

static void post_read(void *context, struct http_request *request)
{
	struct peregrined *peregrined = context;
	const struct switch_row *row = peregrined_serve_find_switch(peregrined, request);
	struct waiting *waiting = row ? waiting_new(peregrined, request, row) : NULL;
	int rc;

	if (!waiting)
		return;
	rc = discovery_read(peregrined->discovery, row->id, peregrined_serve_on_read, waiting);
	if (rc)
		peregrined_serve_refuse(waiting, rc, "it cannot be read");
}

/* --- POST /switches/{switch}/locate {"port","seconds"} --- */

/* What the switch's way of writing brings about; false: it will say so itself. */
static bool located_of(const struct waiting *waiting, struct switch_located *ret)
{
	struct switch_state state;
	const struct switch_driver *driver;

	if (!switch_queue_state(waiting->peregrined->queue, waiting->switch_id, &state) ||
	    !state.family)
		return false;
	driver = switch_driver_find(state.family->write_driver);
	return driver && driver->locates &&
	       driver->locates(state.family, waiting->wanted.seconds, ret);
}

static void late_row(struct waiting *waiting)
{
	struct beacons *beacons = waiting->peregrined->beacons;

	if (beacons_put(beacons, waiting->switch_id, waiting->wanted.port, waiting->wanted.seconds,
			NULL, NULL) != 0)
		log_warn("beacons",
			 "switch %s: the end of its LED was not stored, so it may blink on",
			 waiting->name);
	beacons_wake(beacons);
}

static void on_located(void *context, const struct switch_answer *heard)
{
	struct waiting *waiting = context;
	CLEANUP(text_done) struct text json = {0};
	struct switch_located located = {0};

	json_begin_object(&json, NULL);
	json_put_string(&json, "switch", waiting->name);
	if (located_of(waiting, &located)) {
		json_put_string(&json, "blinks", located.of_port ? "port" : "switch");
		json_put_int(&json, "seconds", located.seconds);
		/* Its family was not known before: the row comes after. */
		if (heard->rc == 0 && located.seconds > 0 && !located.ends_itself &&
		    !waiting->is_written)
			late_row(waiting);
	}
	json_end_object(&json);
	peregrined_serve_answer(waiting, heard->rc, &json, heard->problem);
}

static void tell_led(struct waiting *waiting)
{
	const struct switch_ask ask = {.switch_id = waiting->switch_id,
				       .request = &waiting->wanted,
				       .priority = CALL_PERSON,
				       .person = true,
				       .now = true,
				       .deadline_ms = LOCATE_MS};
	int rc = switch_queue_submit(waiting->peregrined->queue, &ask, on_located, waiting,
				     &waiting->ticket);

	if (rc)
		peregrined_serve_refuse(waiting, rc, "it cannot be asked");
}

static void on_beacon(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct waiting *waiting = context;

	(void)result;
	waiting->is_writing = false;
	waiting->is_written = rc == 0;
	if (!waiting->request) {
		waiting_free(waiting);
	} else if (rc) {
		peregrined_serve_answer(waiting, rc, NULL, problem);
	} else {
		beacons_wake(waiting->peregrined->beacons);
		tell_led(waiting);
	}
}

static int read_locate(struct http_request *request, struct switch_request *ret,
		       struct problem *problem)
{
	size_t size;
	const char *body = http_request_body(request, &size);
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct json_reader reader;
	const char *port;
	int rc = json_read(body, size, BODY_LIMIT, &json, problem);

	if (rc)
		return rc;
	reader = json_reader(json);
	port = json_get_string(&reader, "port", true);
	ret->op = SWITCH_LOCATE;
	ret->seconds = (uint16_t)json_get_int(&reader, "seconds", 0, SECONDS_MAX, 30, false);
	if (port && !text_copy(ret->port, sizeof(ret->port), port))
		(void)problem_set(&reader.problem, E_INVALID, "the name of the port is too long");
	*problem = reader.problem;
	return reader.problem.code;
}

static void post_locate(void *context, struct http_request *request)
{
	struct peregrined *peregrined = context;
	const struct switch_row *row = peregrined_serve_find_switch(peregrined, request);
	struct switch_request wanted = {0};
	struct switch_located located;
	struct problem problem = {0};
	struct waiting *waiting;
	int rc;

	if (!row)
		return;
	rc = read_locate(request, &wanted, &problem);
	if (rc) {
		http_answer_problem(request, http_status_of(rc), &problem);
		return;
	}
	waiting = waiting_new(peregrined, request, row);
	if (!waiting)
		return;

	waiting->switch_id = row->id;
	waiting->wanted = wanted;
	/* What does not end by itself is written down before it begins. */
	if (wanted.seconds == 0 || !located_of(waiting, &located) || located.ends_itself) {
		tell_led(waiting);
		return;
	}
	rc = beacons_put(peregrined->beacons, row->id, wanted.port, wanted.seconds, on_beacon,
			 waiting);
	waiting->is_writing = rc == 0;
	if (rc)
		peregrined_serve_refuse(waiting, rc, "the end of the LED could not be stored");
}

/* --- GET /switches/{switch} --- */

static void get_switch(void *context, struct http_request *request)
{
	struct peregrined *peregrined = context;
	const struct switch_row *row = peregrined_serve_find_switch(peregrined, request);
	CLEANUP(text_done) struct text json = {0};
	struct switch_state state;
	int64_t now_ms = loop_now_ms(peregrined->loop);

	if (!row)
		return;
	if (!switch_queue_state(peregrined->queue, row->id, &state))
		state = (struct switch_state){0};
	json_begin_object(&json, NULL);
	json_put_string(&json, "switch", row->name);
	json_put_string(&json, "family", state.family ? state.family->name : "");
	json_put_bool(&json, "left_alone", state.open);
	json_put_int(&json, "retry_in_ms", state.open ? state.retry_ms - now_ms : 0);
	json_put_bool(&json, "busy", state.busy);
	json_put_int(&json, "waiting", state.waiting);
	json_put_string(&json, "problem", state.problem.message);
	json_end_object(&json);
	http_answer_json(request, 200, &json);
}

/* --- what differs, and its repair --- */

static void get_diff(void *context, struct http_request *request)
{
	const struct peregrined *peregrined = context;
	CLEANUP(text_done) struct text json = {0};
	struct problem problem = {0};
	int rc = reconcile_diff(peregrined->reconcile, http_request_param(request, "switch"), &json,
				&problem);

	if (rc && !problem_is_set(&problem))
		(void)problem_set(&problem, rc, "nothing can be compared: %s", error_text(rc));
	if (rc)
		http_answer_problem(request, http_status_of(rc), &problem);
	else
		http_answer_json(request, 200, &json);
}

static void post_reconcile(void *context, struct http_request *request)
{
	struct peregrined *peregrined = context;
	const char *name = http_request_param(request, "switch");
	CLEANUP(text_done) struct text json = {0};
	struct problem problem = {0};
	int rc = reconcile_request(peregrined->reconcile, name, &problem);

	json_begin_object(&json, NULL);
	json_put_string(&json, "switch", name);
	json_end_object(&json);
	if (rc)
		http_answer_problem(request, http_status_of(rc), &problem);
	else
		http_answer_json(request, 202, &json);
}

/* --- life --- */

/* What this one knows is known where it works. */
static const struct problem *peregrined_serve_refuses(void *context)
{
	const struct peregrined *peregrined = context;

	return db_stands_by(peregrined->db) ? db_away(peregrined->db) : NULL;
}

static const struct http_route peregrined_serve_routes[] = {
	{HTTP_GET, "/healthz", peregrined_serve_get_health},
	{HTTP_GET, "/metrics", peregrined_serve_get_metrics},
	{HTTP_GET, "/switches/{switch}", get_switch},
	{HTTP_POST, "/switches/{switch}/read", post_read},
	{HTTP_POST, "/switches/{switch}/locate", post_locate},
	{HTTP_GET, "/switches/{switch}/diff", get_diff},
	{HTTP_POST, "/switches/{switch}/reconcile", post_reconcile},
};

int peregrined_serve(struct peregrined *peregrined, struct problem *problem)
{
	const struct http_server_options options = {
		.routes = peregrined_serve_routes,
		.route_count = COUNT_OF(peregrined_serve_routes),
		.context = peregrined,
		.body_limit = BODY_LIMIT,
		.connection_limit = 512,
		.refuses = peregrined_serve_refuses,
		.caller = peregrined->conf->socket_caller,
	};

	return local_server_new(peregrined->loop, &options, peregrined->conf->socket_path,
				&peregrined->server, problem);
}

void peregrined_serve_end(struct peregrined *peregrined)
{
	while (peregrined->waiting)
		waiting_drop(peregrined->waiting);
}
