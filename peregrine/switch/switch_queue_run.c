/* The moving half of the queue: what a switch does next, and what an answer changes. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/switch_queue_private.h"

enum {
	PASS_LIMIT = 4,
	GRACE_MS = 1500,     /* after its deadline a driver may still say how far it came */
	AGAIN_MS = 50,       /* no room in the pool of threads */
	FAIR_MS = 1000,      /* a call with less time than that says nothing about the switch */
	OPEN_MAX_MS = 60000, /* a switch that rebooted is wanted back sooner than a BMC */
};

static int64_t switch_queue_run_now_of(const struct switch_queue *queue)
{
	return loop_now_ms(queue->options.host.loop);
}

/* --- ends of calls --- */

void call_free(struct call *call)
{
	HASH_DELETE(hh, call->queue->calls, call);
	loop_timer_free(call->deadline);
	switch_reading_done(&call->reading);
	for (char **port = call->only_ports; port && *port; port++)
		free(*port);
	free(call->only_ports);
	free(call->edits);
	free(call->mirrors);
	free(call->results);
	free(call);
}

void call_finish(struct call *call, int rc, const struct problem *problem)
{
	struct switch_queue *queue = call->queue;

	if (call->line && call->state == CALL_WAITING)
		DL_DELETE(call->line->waiting[call->priority], call);
	call->line = NULL;
	call->state = CALL_FINISHED;
	call->ended_ms = switch_queue_run_now_of(queue);
	call->rc = rc;
	if (rc && problem != &call->problem)
		call->problem = *problem;
	DL_APPEND(queue->finished, call);
	loop_timer_arm(queue->deliver, 0);
}

static void call_answer(struct call *call)
{
	int64_t started_ms = call->started_ms ? call->started_ms : call->ended_ms;
	const struct switch_answer answer = {
		.rc = call->rc,
		.problem = call->rc ? &call->problem : NULL,
		.reading = call->rc == 0 && (call->request.op == SWITCH_READ ||
					     call->request.op == SWITCH_SAMPLING ||
					     call->request.op == SWITCH_HEALTH)
				   ? &call->reading
				   : NULL,
		.results = call->results,
		.edit_count = call->request.edit_count + call->request.mirror_count,
		.waited_ms = (uint32_t)(started_ms - call->asked_ms),
		.took_ms = (uint32_t)(call->ended_ms - started_ms),
	};

	call->done(call->context, &answer);
}

void finished_deliver(void *context)
{
	struct switch_queue *queue = context;

	/* Callbacks may ask, and cancel what has not been delivered. */
	while (queue->finished) {
		struct call *call = queue->finished;

		DL_DELETE(queue->finished, call);
		call->unheard = true; /* it cannot be cancelled any more */
		call_answer(call);
		call_free(call);
	}
}

/* --- what is under way --- */

static void release_held(struct switch_queue *queue)
{
	struct line *line = NULL;
	struct line *next = NULL;

	HASH_ITER(hh, queue->lines, line, next)
	{
		if (line->held)
			loop_timer_arm(line->pump, 0);
		line->held = false;
	}
}

void line_landed(struct line *line)
{
	line->flying = NULL;
	line->flying_way = NULL;
	if (line->flying_fails) {
		line->flying_fails = false;
		line->queue->failing--;
		release_held(line->queue);
	}
}

bool line_recall(struct line *line)
{
	struct way *way = line->flying_way;

	if (!way->driver->cancel || !way->driver->cancel(way->session))
		return false;
	line_landed(line);
	return true;
}

void line_close(struct line *line)
{
	for (int kind = 0; kind < WAY_COUNT; kind++) {
		struct way *way = &line->ways[kind];

		if (way->session)
			way->driver->close(way->session);
		way->session = NULL;
		way->driver = NULL;
	}
}

void call_forget_results(const struct call *call)
{
	for (size_t i = 0; i < call->request.edit_count + call->request.mirror_count; i++) {
		if (call->results[i] == EDIT_NOT_TRIED)
			call->results[i] = EDIT_UNKNOWN;
	}
}

static void switch_queue_run_text_deadline(const struct call *call, const struct line *line,
					   struct problem *ret)
{
	bool sent = call->state == CALL_FLYING;

	(void)problem_set(ret, E_TIMEOUT, "switch %s: %s", line->endpoint.name,
			  sent ? "no end of the call in time" : "no turn in time");
	problem_detail(ret, "%lld ms were given%s", (long long)(call->deadline_ms - call->asked_ms),
		       sent && call->request.op == SWITCH_CHANGE ? "; the change may have been made"
								 : "");
}

void call_expired(void *context)
{
	struct call *call = context;
	struct line *line = call->line;

	if (call->state == CALL_FINISHED || call->unheard)
		return;
	if (call->state == CALL_FLYING && !call->late) {
		call->late = true;
		loop_timer_arm(call->deadline, GRACE_MS);
		return;
	}
	call->queue->stats.expired++;
	switch_queue_run_text_deadline(call, line, &call->problem);
	if (call->state == CALL_WAITING) {
		call_finish(call, E_TIMEOUT, &call->problem);
	} else if (line_recall(line)) {
		call_forget_results(call);
		call_finish(call, E_TIMEOUT, &call->problem);
		loop_timer_arm(line->pump, 0);
	} else {
		/* The driver holds it: its asker is told now, the call stays until it lands. */
		call->rc = E_TIMEOUT;
		call->ended_ms = switch_queue_run_now_of(call->queue);
		call_forget_results(call);
		call->unheard = true;
		call_answer(call);
	}
}

/* --- what an answer changes --- */

static void text_open(const struct line *line, const struct breaker *breaker, int64_t now_ms,
		      struct problem *ret)
{
	const struct problem why = line->problem;

	(void)problem_set(ret, E_UNAVAILABLE,
			  breaker->refused ? "switch %s refuses our credentials"
					   : "switch %s does not answer",
			  line->endpoint.name);
	problem_detail(ret, "since %lld s%s%s; tried again in %lld s",
		       (long long)((now_ms - breaker->since_ms) / 1000), why.message[0] ? ": " : "",
		       why.message, (long long)((breaker->retry_ms - now_ms + 999) / 1000));
	problem_hint(
		ret, "%s",
		breaker->refused
			? "haasctl switch add with the right credentials; a change of them is tried at once"
			: "is it up, and is its management address reachable from here?");
}

#define HEALTH_DRIVER "snmp"

/* Where the command line can set sampling up, the agent that is only read cannot (Dell OS9). */
static bool samples_as_written(const struct switch_family *family)
{
	return strcmp(family->write_driver, "cli") == 0 && family->cli && family->cli->sampling;
}

/* Sessions that the driver of changes has none of: by a command line that we know and may use. */
static bool is_mirrored_by_cli(const struct line *line)
{
	const struct switch_driver *writer =
		line->queue->options.catalog.find_driver(line->family->write_driver);

	return writer && !writer->mirrors && line->family->cli && line->endpoint.ssh_user[0];
}

/* Aggregates likewise. */
const struct switch_driver *line_lag_driver(const struct line *line)
{
	const struct switch_catalog *catalog = &line->queue->options.catalog;
	const struct switch_driver *writer = catalog->find_driver(line->family->write_driver);
	bool by_cli =
		writer && !writer->lag_name && line->family->cli && line->endpoint.ssh_user[0];

	return by_cli ? catalog->find_driver("cli") : writer;
}

static bool is_bonded_by_cli(const struct line *line)
{
	const struct switch_driver *driver = line_lag_driver(line);

	return driver && strcmp(driver->name, line->family->write_driver) != 0;
}

static enum way_kind way_of(const struct line *line, enum switch_op op)
{
	bool one = strcmp(line->family->read_driver, line->family->write_driver) == 0;
	bool reads =
		op == SWITCH_READ || (op == SWITCH_SAMPLING && !samples_as_written(line->family));

	if (op == SWITCH_HEALTH)
		return strcmp(line->family->read_driver, HEALTH_DRIVER) == 0 ? WAY_READ
									     : WAY_HEALTH;
	if ((op == SWITCH_MIRROR && is_mirrored_by_cli(line)) ||
	    (op == SWITCH_LAG && is_bonded_by_cli(line)))
		return WAY_CLI;
	return reads || one ? WAY_READ : WAY_WRITE;
}

/* What waits behind a switch that was just found dead is told so now, not at its deadline. */
static void switch_queue_run_refuse_waiting(struct line *line, const struct way *way)
{
	struct problem problem = {0};
	struct call *call = NULL;
	struct call *next = NULL;

	text_open(line, &way->breaker, switch_queue_run_now_of(line->queue), &problem);
	for (int priority = 0; priority < SWITCH_PRIORITY_COUNT; priority++) {
		DL_FOREACH_SAFE(line->waiting[priority], call, next)
		{
			if (&line->ways[way_of(line, call->request.op)] != way)
				continue;
			line->queue->stats.refused_open++;
			call_finish(call, problem.code, &problem);
		}
	}
}

static void breaker_hear(struct line *line, struct way *way, const struct call *call, int rc)
{
	int64_t now_ms = switch_queue_run_now_of(line->queue);

	if (rc == E_TIMEOUT && call->deadline_ms - call->started_ms < FAIR_MS)
		return;
	way->breaker = breaker_after(&way->breaker, rc,
				     (unsigned)((uint64_t)line->id * 2654435761U % 100), now_ms);
	if (way->breaker.open && !way->breaker.refused &&
	    way->breaker.retry_ms > now_ms + OPEN_MAX_MS)
		way->breaker.retry_ms = now_ms + OPEN_MAX_MS;
	if (way->breaker.open)
		switch_queue_run_refuse_waiting(line, way);
}

/* The family of a switch that was not told by an operator is what it says of itself. */
static void family_hear(struct line *line, struct switch_reading *reading)
{
	const struct switch_catalog *catalog = &line->queue->options.catalog;
	const struct switch_family *family = line->family;

	if (!(reading->parts & PART_IDENTITY))
		return;
	if (!line->endpoint.family[0] && reading->identity.object_id[0])
		family =
			catalog->detect_family(reading->identity.object_id, reading->identity.text);
	(void)text_copy(reading->identity.family, sizeof(reading->identity.family), family->name);
	if (family == line->family)
		return;
	line_close(line);
	line->family = family;
}

static void on_landed(void *context, int rc, struct switch_reading *reading,
		      const struct problem *problem)
{
	struct call *call = context;
	struct line *line = call->line;
	struct way *way = line->flying_way;

	line_landed(line);
	line->queue->stats.failed_calls += rc != 0;
	/* That SNMP fails is nothing to whoever reads the switch in another way. */
	if (way != &line->ways[WAY_HEALTH])
		line->problem = rc ? *problem : (struct problem){0};
	if (rc != E_TIMEOUT)
		line->answered_ms = switch_queue_run_now_of(line->queue);
	breaker_hear(line, way, call, rc);
	if (rc == 0 && reading) {
		/* What the driver read is ours now. */
		struct switch_reading read = *reading;

		*reading = (struct switch_reading){0};
		family_hear(line, &read);
		call->reading = read;
	}
	if (call->unheard) {
		call->line = NULL;
		call_free(call);
	} else {
		call_finish(call, rc, problem);
	}
	loop_timer_arm(line->pump, 0);
}

/* --- who is next --- */

/* *ret_passes: one of lower priority waits behind it. */
static struct call *line_next(const struct line *line, bool *ret_passes)
{
	struct call *first = NULL;
	struct call *later = NULL;

	for (int priority = 0; priority < SWITCH_PRIORITY_COUNT; priority++) {
		struct call *call = line->waiting[priority];

		if (call && !first)
			first = call;
		else if (call && !later)
			later = call;
	}
	*ret_passes = later && line->passed < PASS_LIMIT;
	return later && !*ret_passes ? later : first;
}

static int way_open(struct line *line, struct way *way, enum way_kind kind, struct problem *problem)
{
	const struct switch_family *family = line->family;
	const char *const names[WAY_COUNT] = {[WAY_READ] = family->read_driver,
					      [WAY_WRITE] = family->write_driver,
					      [WAY_HEALTH] = HEALTH_DRIVER,
					      [WAY_CLI] = "cli"};
	const char *name = names[kind];

	if (way->session)
		return 0;
	way->driver = line->queue->options.catalog.find_driver(name);
	if (!way->driver)
		return problem_set(problem, E_UNSUPPORTED, "switch %s: there is no driver %s",
				   line->endpoint.name, name);
	return way->driver->open(&line->endpoint, family, &line->queue->options.host, &way->session,
				 problem);
}

/* Some say so of all their families, some of a few. The command line says itself why not. */
static int lag_check(const struct line *line, const struct way *way, struct problem *problem)
{
	char name[64];

	if (way->driver->lag_name &&
	    (strcmp(way->driver->name, "cli") == 0 || way->driver->lag_name(line->family, 1, name)))
		return 0;
	(void)problem_set(problem, E_UNSUPPORTED, "switch %s: no aggregate can be made by %s",
			  line->endpoint.name, way->driver->name);
	problem_detail(problem, "family %s", line->family->name);
	problem_hint(problem, "%s",
		     line->family->cli
			     ? "its command line may: haasctl switch add gives it SSH credentials"
			     : "the operator makes it: docs/switches.md, Bonds of nodes");
	return E_UNSUPPORTED;
}

/* SNMP and NETCONF have no mirror sessions that more than one family would understand. */
static int way_check(const struct line *line, const struct way *way, const struct call *call,
		     struct problem *problem)
{
	if (call->request.op == SWITCH_LAG)
		return lag_check(line, way, problem);
	if (call->request.op != SWITCH_MIRROR || way->driver->mirrors)
		return 0;
	(void)problem_set(problem, E_UNSUPPORTED, "switch %s: no mirror session can be set by %s",
			  line->endpoint.name, way->driver->name);
	problem_detail(problem, "family %s", line->family->name);
	problem_hint(problem, "%s",
		     line->family->cli
			     ? "its command line can: haasctl switch add gives it SSH credentials"
			     : "docs/switches.md says which families can, and by what");
	return E_UNSUPPORTED;
}

/* A switch that failed last has to share a few places with the others that did. */
static bool must_hold(struct line *line, const struct way *way)
{
	line->held = way->breaker.failures > 0 &&
		     line->queue->failing >= line->queue->options.failing_calls;
	return line->held;
}

static int call_start(struct line *line, struct way *way, struct call *call)
{
	struct switch_queue *queue = line->queue;
	int rc;

	/* An answer may come as soon as start() has returned, never before. */
	rc = way->driver->start(way->session, &call->request, call->deadline_ms, on_landed, call);
	if (rc)
		return rc;
	DL_DELETE(line->waiting[call->priority], call);
	call->state = CALL_FLYING;
	call->started_ms = switch_queue_run_now_of(queue);
	line->flying = call;
	line->flying_way = way;
	line->flying_fails = way->breaker.failures > 0;
	queue->failing += line->flying_fails;
	queue->stats.calls++;
	return 0;
}

/* False: nothing more can be done now. */
static bool line_step(struct line *line)
{
	bool passes = false;
	struct call *call = line_next(line, &passes);
	enum way_kind kind = call ? way_of(line, call->request.op) : WAY_READ;
	struct way *way = &line->ways[kind];
	int64_t now_ms = switch_queue_run_now_of(line->queue);
	int rc;

	if (!call)
		return false;
	if (breaker_ask(&way->breaker, call->person, now_ms) == BREAKER_REFUSE) {
		line->queue->stats.refused_open++;
		text_open(line, &way->breaker, now_ms, &call->problem);
		call_finish(call, E_UNAVAILABLE, &call->problem);
		return true;
	}
	if (must_hold(line, way))
		return false;
	rc = way_open(line, way, kind, &call->problem);
	if (rc) {
		if (kind != WAY_HEALTH)
			line->problem = call->problem;
		call_finish(call, rc, &call->problem);
		return true;
	}
	rc = way_check(line, way, call, &call->problem);
	if (rc) {
		call_finish(call, rc, &call->problem);
		return true;
	}
	rc = call_start(line, way, call);
	if (rc == -EAGAIN) {
		loop_timer_arm(line->pump, AGAIN_MS);
		return false;
	}
	if (rc) {
		(void)problem_set(&call->problem, E_UNAVAILABLE, "switch %s: no room for a call",
				  line->endpoint.name);
		call_finish(call, E_UNAVAILABLE, &call->problem);
		return true;
	}
	line->passed = passes ? line->passed + 1 : 0;
	return false;
}

void line_pump(void *context)
{
	struct line *line = context;

	while (!line->flying && line_step(line))
		;
}
