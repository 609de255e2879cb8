#include "bampi/control/endpoints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash_table.h"
#include "common/base/text.h"
#include "common/db/seal_rotation.h"
#include "common/io/log.h"

#include "bampi/control/endpoint_store.h"

LEAKS_LEFT_TO_SANITIZER

#define ENDPOINTS_SUBJECT "bmc"
#define GAP_MS            100
#define PERIOD_MS         60000
#define ENDPOINTS_TICK_MS 250

struct endpoint;

/* One class of one BMC. */
struct endpoints_look {
	struct endpoint *endpoint;
	int64_t due_ms;
	uint64_t ticket; /* 0 = not under way */
};

struct endpoint {
	struct endpoints *owner;
	char node[64]; /* key */
	int64_t node_id;
	bool kept; /* found by the read under way */
	struct loop_timer *timer;
	struct endpoints_look looks[REFRESH_COUNT];
	struct bmc_sel_mark sel_mark;
	UT_hash_handle hh;
};

struct listener {
	struct bmc_listener face;
	struct listener *next;
};

struct endpoints {
	struct loop *loop;
	struct endpoints_options options;
	struct seal_key *secret;
	struct seal_key_file key_file;
	char key_path[4096];
	struct seal_rotation *rotation;
	struct loop_timer *read_timer;
	struct loop_timer *tick_timer;
	struct endpoint *table;
	struct listener *listeners;
	bool connected, reading, again;
	int64_t read_ms; /* start of the last read */

	bool observing;
	uint64_t written; /* observations up to this version are in the database */
	uint64_t writing; /* up to this one when the statement under way succeeds */
	struct endpoint_seen *seen;
	size_t seen_count, seen_room;
};

/* --- looking at BMCs --- */

static void endpoint_arm(struct endpoint *endpoint)
{
	int64_t next_ms = INT64_MAX;
	int64_t now_ms = loop_now_ms(endpoint->owner->loop);

	for (int which = 0; which < REFRESH_COUNT; which++) {
		if (endpoint->looks[which].due_ms < next_ms)
			next_ms = endpoint->looks[which].due_ms;
	}
	if (next_ms < INT64_MAX)
		loop_timer_arm(endpoint->timer, next_ms > now_ms ? next_ms - now_ms : 0);
}

static void endpoints_on_looked(void *context, int rc, const struct bmc_result *result,
				const struct problem *problem)
{
	struct endpoints_look *look = context;
	struct endpoint *endpoint = look->endpoint;
	const struct bmc_note note = {
		.node_id = endpoint->node_id,
		.node = endpoint->node,
		.which = (enum refresh_class)(look - endpoint->looks),
		.rc = rc,
		.result = result,
		.problem = problem,
	};

	look->ticket = 0;
	if (rc == 0 && result->op == BMC_SEL_NEW)
		endpoint->sel_mark = result->sel.mark;
	for (struct listener *one = endpoint->owner->listeners; one; one = one->next)
		one->face.note(one->face.context, &note);
}

static const struct bmc_sel_mark *sel_mark(struct endpoint *endpoint)
{
	struct bmc_sel_mark *mark = &endpoint->sel_mark;

	for (struct listener *one = endpoint->owner->listeners; one && !mark->known;
	     one = one->next) {
		if (one->face.sel_known)
			mark->known =
				one->face.sel_known(one->face.context, endpoint->node_id, mark);
	}
	return mark;
}

/* One that is still under way is not asked again: a slow BMC gets no second helping. */
static void look_start(struct endpoints_look *look, enum refresh_class which, int64_t period_ms)
{
	struct endpoint *endpoint = look->endpoint;
	struct bmc_request request = {.op = refresh_table[which].op};
	const struct bmc_ask ask = {
		.bmc_id = endpoint->node_id,
		.request = &request,
		.priority = CALL_POLL,
		/* What must wait for a thread may do so until the next would begin. */
		.deadline_ms = period_ms > bmc_op_table[request.op].deadline_ms
				       ? (uint32_t)(period_ms < INT32_MAX ? period_ms : INT32_MAX)
				       : 0,
	};

	if (request.op == BMC_SEL_NEW)
		request.after = *sel_mark(endpoint);
	if (!look->ticket && bmc_queue_submit(endpoint->owner->options.queue, &ask,
					      endpoints_on_looked, look, &look->ticket) != 0)
		look->ticket = 0; /* no memory: the next time comes */
}

static void endpoint_due(void *context)
{
	struct endpoint *endpoint = context;
	int64_t now_ms = loop_now_ms(endpoint->owner->loop);

	for (int which = 0; which < REFRESH_COUNT; which++) {
		int64_t period_ms = endpoint->owner->options.period_ms[which];
		struct endpoints_look *look = &endpoint->looks[which];

		if (look->due_ms > now_ms)
			continue;
		look_start(look, (enum refresh_class)which, period_ms);
		look->due_ms = refresh_next_ms(endpoint->node_id, (enum refresh_class)which,
					       period_ms, now_ms);
	}
	endpoint_arm(endpoint);
}

static void endpoint_free(struct endpoint *endpoint)
{
	struct endpoints *endpoints = endpoint->owner;

	for (int which = 0; which < REFRESH_COUNT; which++) {
		if (endpoint->looks[which].ticket)
			bmc_queue_cancel(endpoints->options.queue, endpoint->looks[which].ticket);
	}
	HASH_DEL(endpoints->table, endpoint);
	loop_timer_free(endpoint->timer);
	free(endpoint);
}

static struct endpoint *endpoint_new(struct endpoints *endpoints, const struct bmc_endpoint *row)
{
	struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
	int64_t now_ms = loop_now_ms(endpoints->loop);

	if (!endpoint)
		return NULL;
	endpoint->owner = endpoints;
	if (loop_timer_new(endpoints->loop, endpoint_due, endpoint, &endpoint->timer) != 0) {
		free(endpoint);
		return NULL;
	}
	(void)text_copy(endpoint->node, sizeof(endpoint->node), row->node);
	endpoint->node_id = row->id;
	for (int which = 0; which < REFRESH_COUNT; which++)
		endpoint->looks[which] = (struct endpoints_look){
			.endpoint = endpoint,
			.due_ms = refresh_first_ms(row->id, (enum refresh_class)which,
						   endpoints->options.period_ms[which], now_ms),
		};
	HASH_ADD_STR(endpoints->table, node, endpoint);
	endpoint_arm(endpoint);
	return endpoint;
}

int endpoints_listen(struct endpoints *endpoints, const struct bmc_listener *listener)
{
	struct listener *one = calloc(1, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = (struct listener){*listener, endpoints->listeners};
	endpoints->listeners = one;
	return 0;
}

/* --- reading --- */

static void endpoints_put(struct endpoints *endpoints, const struct bmc_endpoint *row)
{
	struct endpoint *endpoint;
	struct problem problem = {0};

	if (bmc_queue_put(endpoints->options.queue, row, &problem) != 0) {
		log_problem(LOG_LEVEL_WARN, ENDPOINTS_SUBJECT, &problem);
		return;
	}
	HASH_FIND_STR(endpoints->table, row->node, endpoint);
	if (endpoint && endpoint->node_id != row->id) {
		bmc_queue_remove(endpoints->options.queue, endpoint->node_id);
		endpoint_free(endpoint);
		endpoint = NULL;
	}
	if (!endpoint)
		endpoint = endpoint_new(endpoints, row);
	if (!endpoint)
		return;
	endpoint->kept = true;
	if (endpoints->options.change)
		endpoints->options.change(endpoints->options.context, row->id, row);
}

static void endpoints_drop_gone(struct endpoints *endpoints)
{
	struct endpoint *endpoint;
	struct endpoint *next;

	HASH_ITER(hh, endpoints->table, endpoint, next)
	{
		if (endpoint->kept)
			continue;
		if (endpoints->options.change)
			endpoints->options.change(endpoints->options.context, endpoint->node_id,
						  NULL);
		bmc_queue_remove(endpoints->options.queue, endpoint->node_id);
		endpoint_free(endpoint);
	}
}

static void endpoints_on_read(void *context, int rc, const PGresult *result,
			      const struct problem *problem)
{
	struct endpoints *endpoints = context;
	int rows = rc ? 0 : PQntuples(result);

	endpoints->reading = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, ENDPOINTS_SUBJECT, problem);
	for (struct endpoint *endpoint = endpoints->table; rc == 0 && endpoint;
	     endpoint = endpoint->hh.next)
		endpoint->kept = false;
	for (int row = 0; row < rows; row++) {
		struct bmc_endpoint endpoint;
		struct problem why = {0};

		if (endpoint_row_read(result, row, endpoints->secret, &endpoint, &why) == 0) {
			endpoints_put(endpoints, &endpoint);
			bmc_endpoint_wipe(&endpoint);
		} else {
			log_problem(LOG_LEVEL_WARN, ENDPOINTS_SUBJECT, &why);
		}
	}
	if (rc == 0)
		endpoints_drop_gone(endpoints);
	if (rc == 0 && endpoints->options.read)
		endpoints->options.read(endpoints->options.read_context);
	loop_timer_arm(endpoints->read_timer, endpoints->again ? GAP_MS : PERIOD_MS);
	endpoints->again = false;
}

static void endpoints_start_read(void *context)
{
	struct endpoints *endpoints = context;

	if (endpoints->reading || !endpoints->connected)
		return;
	endpoints->read_ms = loop_now_ms(endpoints->loop);
	if (endpoint_store_read(endpoints->options.db, endpoints_on_read, endpoints) == 0)
		endpoints->reading = true;
	else
		loop_timer_arm(endpoints->read_timer, PERIOD_MS);
}

void endpoints_wake(struct endpoints *endpoints)
{
	int64_t wait_ms = endpoints->read_ms + GAP_MS - loop_now_ms(endpoints->loop);

	if (endpoints->reading)
		endpoints->again = true;
	else
		loop_timer_arm(endpoints->read_timer, wait_ms > 0 ? wait_ms : 0);
}

/* --- writing what was seen --- */

static void on_observed(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	struct endpoints *endpoints = context;

	(void)result;
	endpoints->observing = false;
	if (rc == 0)
		endpoints->written = endpoints->writing;
	else if (rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_WARN, ENDPOINTS_SUBJECT, problem);
}

static void endpoints_collect(void *context, int64_t node_id,
			      const struct bmc_observation *observation)
{
	struct endpoints *endpoints = context;

	if (endpoints->seen_count < endpoints->seen_room)
		endpoints->seen[endpoints->seen_count++] =
			(struct endpoint_seen){node_id, *observation};
}

static void endpoints_observe(struct endpoints *endpoints)
{
	struct bmc_queue_stats stats;

	if (endpoints->observing || !endpoints->connected)
		return;
	bmc_queue_stats(endpoints->options.queue, &stats);
	if (stats.bmcs > endpoints->seen_room) {
		free(endpoints->seen);
		endpoints->seen = calloc(stats.bmcs, sizeof(*endpoints->seen));
		endpoints->seen_room = endpoints->seen ? stats.bmcs : 0;
	}
	endpoints->seen_count = 0;
	endpoints->writing = bmc_queue_each_changed(endpoints->options.queue, endpoints->written,
						    endpoints_collect, endpoints);
	if (endpoints->seen_count > 0 &&
	    endpoint_store_observe(endpoints->options.db, endpoints->seen, endpoints->seen_count,
				   on_observed, endpoints) == 0)
		endpoints->observing = true;
}

static void endpoints_tick(void *context)
{
	struct endpoints *endpoints = context;

	endpoints_observe(endpoints);
	loop_timer_arm(endpoints->tick_timer, ENDPOINTS_TICK_MS);
}

/* --- life --- */

void endpoints_db_state(struct endpoints *endpoints, bool connected)
{
	endpoints->connected = connected;
	seal_rotation_db_state(endpoints->rotation, connected);
	if (!connected)
		return;
	if (endpoint_store_publish(endpoints->options.db, endpoints->secret, NULL, NULL) != 0)
		log_warn(ENDPOINTS_SUBJECT, "the public key for BMC passwords was not published");
	endpoints_wake(endpoints);
}

void endpoints_rotate(struct endpoints *endpoints)
{
	seal_rotation_wake(endpoints->rotation);
}

int64_t endpoints_find(const struct endpoints *endpoints, const char *node)
{
	const struct endpoint *endpoint;

	HASH_FIND_STR(endpoints->table, node, endpoint);
	return endpoint ? endpoint->node_id : -1;
}

const struct seal_key *endpoints_key(const struct endpoints *endpoints)
{
	return endpoints->secret;
}

static const struct seal_key *endpoints_present_key(void *context)
{
	return endpoints_key(context);
}

/* Passwords are opened anew with it, and portald seals to it from now on. */
static int endpoints_reload_key(void *context, struct problem *problem)
{
	struct endpoints *endpoints = context;
	int rc = seal_key_reload(&endpoints->key_file, &endpoints->secret, problem);

	if (rc)
		return rc;
	rc = endpoint_store_publish(endpoints->options.db, endpoints->secret, NULL, NULL);
	endpoints_wake(endpoints);
	return rc ? problem_set(problem, rc, "the public key for BMC passwords was not published")
		  : 0;
}

static int endpoints_start_rotation(struct endpoints *endpoints)
{
	const struct seal_rotation_options options = {.db = endpoints->options.db,
						      .daemon = "bampid",
						      .file = &endpoints->key_file,
						      .key = endpoints_present_key,
						      .reload = endpoints_reload_key,
						      .context = endpoints};

	return seal_rotation_new(endpoints->loop, &options, &endpoints->rotation);
}

int endpoints_new(struct loop *loop, const struct endpoints_options *options,
		  struct endpoints **ret, struct problem *problem)
{
	struct endpoints *endpoints = calloc(1, sizeof(*endpoints));
	int rc;

	if (!endpoints)
		return problem_set(problem, -ENOMEM, "no memory");
	*endpoints = (struct endpoints){.loop = loop, .options = *options};
	endpoints->key_file = (struct seal_key_file){
		.path = endpoints->key_path,
		.what = "BMC password key",
		.exposed_hint = "chmod 600 it; if others may have read it, make a new one and "
				"import the BMC passwords again"};
	rc = text_copy(endpoints->key_path, sizeof(endpoints->key_path), options->key_path)
		     ? seal_key_load(&endpoints->key_file, &endpoints->secret, problem)
		     : problem_set(problem, E_LIMIT, "key_dir is too long");
	if (rc == 0)
		rc = endpoints_start_rotation(endpoints);
	if (rc == 0)
		rc = loop_timer_new(loop, endpoints_start_read, endpoints, &endpoints->read_timer);
	if (rc == 0)
		rc = loop_timer_new(loop, endpoints_tick, endpoints, &endpoints->tick_timer);
	if (rc) {
		endpoints_free(endpoints);
		return rc;
	}
	loop_timer_arm(endpoints->tick_timer, ENDPOINTS_TICK_MS);
	*ret = endpoints;
	return 0;
}

void endpoints_free(struct endpoints *endpoints)
{
	struct endpoint *endpoint;
	struct endpoint *next;

	if (!endpoints)
		return;
	HASH_ITER(hh, endpoints->table, endpoint, next)
	endpoint_free(endpoint);
	while (endpoints->listeners) {
		struct listener *one = endpoints->listeners;

		endpoints->listeners = one->next;
		free(one);
	}
	seal_rotation_free(endpoints->rotation);
	loop_timer_free(endpoints->read_timer);
	loop_timer_free(endpoints->tick_timer);
	seal_key_free(endpoints->secret);
	free(endpoints->seen);
	free(endpoints);
}
