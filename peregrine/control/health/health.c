#include "peregrine/control/health/health.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/hash_table.h"
#include "common/base/json_text.h"
#include "common/base/sorted.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/control/health/counter_policy.h"
#include "peregrine/control/health/counter_writer.h"
#include "peregrine/control/health/health_sql.h"
#include "peregrine/control/health/health_text.h"

LEAKS_LEFT_TO_SANITIZER

#define HEALTH_SUBJECT "health"
#define TICK_MS        500
#define FIRST_MS       5000            /* switches of a start are spread over so long */
#define TURN_MS        INT64_C(600000) /* partitions */
#define CALL_MS        50000
#define WHOLE          5 /* of so many looks one is at everything */

struct health_switch {
	struct health *health;
	int64_t id, fabric_id;
	char name[64];
	int64_t due_ms;
	uint64_t ticket; /* of the call under way */
	bool asking;
	bool complained;
	bool renumbered; /* it began anew, and that its numbers were written nobody knows yet */
	unsigned looks;
	/* The last look at its counters, and by which claim: what another peregrined counted since
	 * is in its rows. */
	struct counter_look look;
	int64_t claim;
	struct port_health *ports; /* owned, sorted by if_index */
	size_t port_count;
	UT_hash_handle hh;
};

struct health {
	struct loop *loop;
	struct loop_timer *timer;
	struct db *db;
	struct switch_queue *queue;
	struct counter_writer *writer;
	struct health_switch *switches;
	int64_t period_ms, turn_ms;
	int64_t (*claim)(void *context, int64_t fabric_id);
	void *context;
	bool connected;
};

/* --- counters --- */

static const struct port_health *health_port_before(const struct health_switch *one,
						    const struct port_health *port)
{
	size_t at = SORTED_FIRST(i, 0, one->port_count, one->ports[i].if_index < port->if_index);

	/* A number may have become another port's when the switch began anew. */
	return at < one->port_count && one->ports[at].if_index == port->if_index &&
			       strcmp(one->ports[at].name, port->name) == 0
		       ? &one->ports[at]
		       : NULL;
}

static bool health_is_silent(const struct port_health *port,
			     const struct counter_interval *interval)
{
	for (unsigned i = 0; i < PORT_COUNTS; i++)
		if (interval->values[i])
			return false;
	return !port->up;
}

/* Rows of what was counted since the last look. True: there were some. */
static bool health_count(struct health_switch *one, const struct switch_health *read)
{
	const struct counter_look now = {.at_ms = loop_now_ms(one->health->loop),
					 .uptime_ms = read->uptime_ms};
	double seconds = one->port_count ? counter_seconds(&one->look, &now) : 0;
	CLEANUP(text_done) struct text rows = {0};
	int64_t at_us = clock_wall_us();

	for (size_t i = 0; seconds > 0 && i < read->port_count; i++) {
		const struct port_health *port = &read->ports[i];
		const struct port_health *before = health_port_before(one, port);
		struct counter_interval interval;
		if (port->is_port && port->name[0] && before &&
		    counter_interval(before, port, seconds, &interval) &&
		    !health_is_silent(port, &interval))
			/* Ports of some switches share a name: a microsecond apart, lest the
			 * whole COPY is refused as one that is there already. */
			health_counter_row(&rows, at_us + (int64_t)i, one->id, port, &interval);
	}
	one->look = now;
	if (rows.size && !rows.failed)
		counter_writer_put(one->health->writer, &rows);
	return seconds > 0;
}

static void health_keep(struct health_switch *one, struct switch_health *read)
{
	free(one->ports);
	one->ports = TAKE(read->ports);
	one->port_count = read->port_count;
	read->port_count = 0;
}

/* --- a look --- */

static void health_on_written(void *context, int rc, const PGresult *result,
			      const struct problem *problem)
{
	(void)context;
	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, HEALTH_SUBJECT, problem);
}

/* Numbers under way. Their switch may be gone before it is known whether they were written. */
struct number_write {
	struct health *health;
	int64_t switch_id;
};

static void on_numbers_written(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct number_write *write = context;
	struct health_switch *one = NULL;

	health_on_written(NULL, rc, result, problem);
	HASH_FIND(hh, write->health->switches, &write->switch_id, sizeof(write->switch_id), one);
	if (rc && one)
		one->renumbered = true;
	free(write);
}

static void write_down(const struct health_switch *one, const struct switch_answer *answer,
		       const struct switch_health *read, bool counted)
{
	struct health *health = one->health;
	CLEANUP(text_done) struct text problem = {0};
	CLEANUP(text_done) struct text stp = {0};
	CLEANUP(text_done) struct text lags = {0};
	CLEANUP(text_done) struct text sensors = {0};
	char id[24];
	char response[24];
	const char *params[7] = {id};

	if (!health->connected)
		return;
	(void)text_format(id, sizeof(id), "%" PRId64, one->id);
	params[3] = counted ? "t" : "f";
	if (read) {
		(void)text_format(response, sizeof(response), "%u", read->response_ms);
		params[2] = response;
	} else {
		json_put_problem(&problem, NULL, answer->problem);
		params[1] = text_get(&problem);
	}
	if (read && one->looks % WHOLE == 0) {
		health_stp_text(read, clock_wall_us(), &stp);
		health_lags_text(read, &lags);
		health_sensors_text(read, &sensors);
		params[4] = text_get(&stp);
		params[5] = text_get(&lags);
		params[6] = text_get(&sensors);
	}
	if (db_submit(health->db, &health_put_query, params, health_on_written, health) != 0)
		log_warn(HEALTH_SUBJECT, "the health of switch %s could not be written", one->name);
}

/* What its ports are called in samples of traffic, for those whose way of reading does not tell it
 * (port_number). While little is known of it each time: its ports may be read later than this. */
static void write_numbers(struct health_switch *one, const struct switch_health *read)
{
	CLEANUP(text_done) struct text rows = {0};
	struct number_write *write;
	char id[24];
	const char *params[2] = {id};

	if (!one->health->connected ||
	    (one->looks >= WHOLE && one->looks % WHOLE != 0 && !one->renumbered))
		return;
	health_numbers_text(read, &rows);
	(void)text_format(id, sizeof(id), "%" PRId64, one->id);
	params[1] = text_get(&rows);
	write = malloc(sizeof(*write));
	if (write)
		*write = (struct number_write){one->health, one->id};
	one->renumbered = !write || db_submit(one->health->db, &health_numbers_query, params,
					      on_numbers_written, write) != 0;
	if (!one->renumbered)
		return;
	free(write);
	log_warn(HEALTH_SUBJECT, "the numbers of switch %s's ports could not be written",
		 one->name);
}

static void switch_free(struct health_switch *one)
{
	free(one->ports);
	free(one);
}

static int64_t health_claim_of(const struct health_switch *one)
{
	return one->health->claim(one->health->context, one->fabric_id);
}

static void health_on_looked(void *context, const struct switch_answer *answer)
{
	struct health_switch *one = context;
	int64_t claim = health_claim_of(one);
	struct switch_health *read =
		answer->rc || !answer->reading ? NULL : &answer->reading->health;
	bool counted = false;

	one->asking = false;
	if (!claim || (!read && answer->rc == 0))
		return;
	if (claim != one->claim)
		one->port_count = 0;
	one->claim = claim;
	if (read) {
		one->renumbered |= read->uptime_ms < one->look.uptime_ms;
		counted = health_count(one, read);
	}
	if (!read && !one->complained)
		log_info(HEALTH_SUBJECT, "switch %s: %s (detail=\"%s\")", one->name,
			 answer->problem->message, answer->problem->detail);
	one->complained = !read;
	write_down(one, answer, read, counted);
	if (read) {
		write_numbers(one, read);
		health_keep(one, read);
		one->looks++;
	}
}

static void health_ask(struct health_switch *one, int64_t now_ms)
{
	const struct switch_request request = {
		.op = SWITCH_HEALTH,
		.health = one->looks % WHOLE == 0 ? HEALTH_ALL : HEALTH_COUNTERS,
	};
	const struct switch_ask question = {.switch_id = one->id,
					    .request = &request,
					    .priority = CALL_POLL,
					    .deadline_ms = CALL_MS};

	one->due_ms += one->health->period_ms;
	if (one->due_ms <= now_ms)
		one->due_ms = now_ms + one->health->period_ms;
	one->asking = switch_queue_submit(one->health->queue, &question, health_on_looked, one,
					  &one->ticket) == 0;
}

/* First looks are spread over so long, also where a claim has just become ours. */
static int64_t spread_ms(const struct health *health)
{
	return health->period_ms < FIRST_MS ? health->period_ms : FIRST_MS;
}

static void health_on_timer(void *context)
{
	struct health *health = context;
	int64_t now_ms = loop_now_ms(health->loop);
	struct health_switch *one = NULL;
	struct health_switch *next = NULL;

	HASH_ITER(hh, health->switches, one, next)
	{
		if (one->asking || one->due_ms > now_ms)
			continue;
		if (health_claim_of(one))
			health_ask(one, now_ms);
		else
			one->due_ms += spread_ms(health);
	}
	if (health->connected && health->turn_ms <= now_ms) {
		health->turn_ms = now_ms + TURN_MS;
		(void)!db_submit(health->db, &health_turn_query, NULL, health_on_written, health);
	}
	loop_timer_arm(health->timer, TICK_MS);
}

/* --- life --- */

int health_put(struct health *health, int64_t switch_id, int64_t fabric_id, const char *name)
{
	struct health_switch *one = NULL;

	HASH_FIND(hh, health->switches, &switch_id, sizeof(switch_id), one);
	if (!one) {
		one = calloc(1, sizeof(*one));
		if (!one)
			return -ENOMEM;
		one->health = health;
		one->id = switch_id;
		one->due_ms = loop_now_ms(health->loop) +
			      (int64_t)hash_even((uint64_t)switch_id, (uint64_t)spread_ms(health));
		HASH_ADD(hh, health->switches, id, sizeof(one->id), one);
	}
	one->fabric_id = fabric_id;
	(void)text_copy(one->name, sizeof(one->name), name);
	return 0;
}

static void health_forget(struct health *health, struct health_switch *one)
{
	HASH_DELETE(hh, health->switches, one);
	if (one->asking)
		switch_queue_cancel(health->queue, one->ticket);
	switch_free(one);
}

void health_remove(struct health *health, int64_t switch_id)
{
	struct health_switch *one = NULL;

	HASH_FIND(hh, health->switches, &switch_id, sizeof(switch_id), one);
	if (one)
		health_forget(health, one);
}

void health_db_state(struct health *health, bool connected)
{
	health->connected = connected;
}

int health_new(struct loop *loop, const struct health_options *options, struct health **ret)
{
	struct health *health = calloc(1, sizeof(*health));
	int rc;

	if (!health)
		return -ENOMEM;
	*health = (struct health){.loop = loop,
				  .db = options->db,
				  .queue = options->queue,
				  .period_ms = options->period_ms,
				  .claim = options->claim,
				  .context = options->context};
	rc = loop_timer_new(loop, health_on_timer, health, &health->timer);
	if (rc == 0)
		rc = counter_writer_new(loop, options->worker, options->conninfo, &health->writer);
	if (rc) {
		health_free(health);
		return rc;
	}
	loop_timer_arm(health->timer, TICK_MS);
	*ret = health;
	return 0;
}

/* The queue is gone: nothing of it is under way. */
void health_free(struct health *health)
{
	struct health_switch *one = NULL;
	struct health_switch *next = NULL;

	if (!health)
		return;
	HASH_ITER(hh, health->switches, one, next)
	{
		HASH_DELETE(hh, health->switches, one);
		switch_free(one);
	}
	counter_writer_free(health->writer);
	loop_timer_free(health->timer);
	free(health);
}
