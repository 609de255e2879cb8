/* The moving half of the queue: what a switch does next, and what an answer changes. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/switch_queue_private.h"

enum {
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
	call_ticket_take_back(&call->queue->calls, &call->ticket);
	loop_timer_free(call->deadline);
	switch_reading_done(&call->reading);
	fence_unref(call->request.fence);
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
		call_line_remove(&call->line->waiting, &call->link);
	call->line = NULL;
	call->state = CALL_FINISHED;
	call->ended_ms = switch_queue_run_now_of(queue);
	call->rc = rc;
	if (rc && problem != &call->problem)
		call->problem = *problem;
	call_queue_end(&queue->calls, &call->link);
}

static void call_answer(struct call *call)
{
	int64_t started_ms = call->started_ms ? call->started_ms : call->ended_ms;
	const struct switch_answer answer = {
		.rc = call->rc,
		.problem = call->rc ? &call->problem : NULL,
		.reading = call->rc == 0 && (call->request.op == SWITCH_READ ||
					     call->request.op == SWITCH_SAMPLING ||
					     call->request.op == SWITCH_APART ||
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

void call_deliver(struct call_link *link)
{
	struct call *call = CONTAINER_OF(link, struct call, link);

	call->unheard = true; /* it cannot be cancelled any more */
	call_answer(call);
	call_free(call);
}

/* --- what is under way --- */

static void release_held(struct switch_queue *queue)
{
	struct line *line = NULL;
	struct line *next = NULL;

	HASH_ITER(hh, queue->lines, line, next)
	{
		if (line->held)
			loop_timer_arm(line->wake, 0);
		line->held = false;
	}
}

void line_landed(struct line *line)
{
	line->in_flight = NULL;
	line->way_in_flight = NULL;
	if (line->fails_in_flight) {
		line->fails_in_flight = false;
		line->queue->failing--;
		release_held(line->queue);
	}
}

bool line_recall(struct line *line)
{
	struct way *way = line->way_in_flight;

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
	bool sent = call->state == CALL_IN_FLIGHT;

	(void)problem_set(ret, E_TIMEOUT, "switch %s: %s", line->endpoint.name,
			  sent ? "the call did not end in time" : "the call did not start in time");
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
	if (call->state == CALL_IN_FLIGHT && !call->late) {
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
		loop_timer_arm(line->wake, 0);
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

static void text_breaker_open(const struct line *line, const struct breaker *breaker,
			      int64_t now_ms, struct problem *ret)
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
			? "correct the credentials with haasctl switch add; new ones are tried at once"
			: "check that it is up and that its management address can be reached from here");
}

/* Each further try with a refused password may lock the account. A community or an SNMPv3 user is
 * locked by nobody, and an agent that has just started refuses its users for a moment. */
static bool may_lock(const struct way *way)
{
	return way->breaker.refused && way->driver->locks_out;
}

/* The wish of a person is tried at the switch itself: it may be back this moment. */
static bool passes_back_off(const struct call *call, const struct way *way)
{
	return call->now && !may_lock(way);
}

/* What waits behind a switch that was just found dead is told so now, not at its deadline. */
static void switch_queue_run_refuse_waiting(struct line *line, const struct way *way)
{
	struct problem problem = {0};
	struct call_link *next;

	text_breaker_open(line, &way->breaker, switch_queue_run_now_of(line->queue), &problem);
	for (struct call_link *link = call_line_first(&line->waiting); link; link = next) {
		struct call *call = CONTAINER_OF(link, struct call, link);

		next = call_line_after(&line->waiting, link);
		if (&line->ways[line_way(line, call->request.op)] != way ||
		    passes_back_off(call, way))
			continue;
		line->queue->stats.refused_open++;
		call_finish(call, problem.code, &problem);
	}
}

static void breaker_hear(struct line *line, struct way *way, const struct call *call, int rc)
{
	int64_t now_ms = switch_queue_run_now_of(line->queue);

	if (rc == E_LAPSED || (rc == E_TIMEOUT && call->deadline_ms - call->started_ms < FAIR_MS))
		return;
	way->breaker = breaker_after(&way->breaker, rc, breaker_spread(line->id), now_ms);
	if (way->breaker.open && !may_lock(way) && way->breaker.retry_ms > now_ms + OPEN_MAX_MS)
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
	line->heard = true;
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
	struct way *way = line->way_in_flight;

	line_landed(line);
	line->queue->stats.failed_calls += rc != 0;
	/* A claim that ran out says nothing of the switch. A failure by SNMP says nothing of a
	 * switch that is read in another way. */
	if (rc != E_LAPSED && way != &line->ways[WAY_HEALTH])
		line->problem = rc ? *problem : (struct problem){0};
	if (rc != E_TIMEOUT && rc != E_LAPSED)
		line->answered_ms = switch_queue_run_now_of(line->queue);
	breaker_hear(line, way, call, rc);
	if (rc == 0 && reading) {
		/* What the driver read is ours now. */
		struct switch_reading read = *reading;

		*reading = (struct switch_reading){0};
		family_hear(line, &read);
		if (call->request.op == SWITCH_READ && !call->request.only_ports)
			switch_told_rest(read.told, call->request.parts, read.parts);
		call->reading = read;
	}
	if (call->unheard) {
		call->line = NULL;
		call_free(call);
	} else {
		call_finish(call, rc, problem);
	}
	loop_timer_arm(line->wake, 0);
}

/* --- who is next --- */

static int way_open(struct line *line, struct way *way, enum way_kind kind, struct problem *problem)
{
	if (way->session)
		return 0;
	way->driver = line_driver(line, kind);
	if (!way->driver)
		return problem_set(problem, E_UNSUPPORTED, "switch %s: there is no driver %s",
				   line->endpoint.name, line_driver_name(line, kind));
	return way->driver->open(&line->endpoint, line->family, &line->queue->options.host,
				 &way->session, problem);
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
	call_line_begin(&line->waiting, &call->link);
	call->state = CALL_IN_FLIGHT;
	call->started_ms = switch_queue_run_now_of(queue);
	line->in_flight = call;
	line->way_in_flight = way;
	line->fails_in_flight = way->breaker.failures > 0;
	queue->failing += line->fails_in_flight;
	queue->stats.calls++;
	return 0;
}

/* False: nothing more can be done now. */
static bool line_step(struct line *line)
{
	struct call_link *link = call_line_next(&line->waiting);
	struct call *call = link ? CONTAINER_OF(link, struct call, link) : NULL;
	enum way_kind kind = call ? line_way(line, call->request.op) : WAY_READ;
	struct way *way = &line->ways[kind];
	int64_t now_ms = switch_queue_run_now_of(line->queue);
	int rc;

	if (!call)
		return false;
	if (!passes_back_off(call, way) &&
	    breaker_ask(&way->breaker, call->person, now_ms) == BREAKER_REFUSE) {
		line->queue->stats.refused_open++;
		text_breaker_open(line, &way->breaker, now_ms, &call->problem);
		call_finish(call, E_UNAVAILABLE, &call->problem);
		return true;
	}
	if (!fence_holds(call->request.fence)) {
		(void)problem_set(&call->problem, E_LAPSED, "switch %s: the claim ran out",
				  line->endpoint.name);
		call_finish(call, E_LAPSED, &call->problem);
		return true;
	}
	rc = line_refuses(line, &call->request, &call->problem);
	if (rc) {
		call_finish(call, rc, &call->problem);
		return true;
	}
	if (!call->now && must_hold(line, way))
		return false;
	rc = way_open(line, way, kind, &call->problem);
	if (rc) {
		if (kind != WAY_HEALTH)
			line->problem = call->problem;
		call_finish(call, rc, &call->problem);
		return true;
	}
	rc = line_way_check(line, kind, call->request.op, &call->problem);
	if (rc) {
		call_finish(call, rc, &call->problem);
		return true;
	}
	rc = call_start(line, way, call);
	if (rc == -EAGAIN) {
		loop_timer_arm(line->wake, AGAIN_MS);
		return false;
	}
	if (rc) {
		(void)problem_set(&call->problem, E_UNAVAILABLE, "switch %s: no room for a call",
				  line->endpoint.name);
		call_finish(call, E_UNAVAILABLE, &call->problem);
		return true;
	}
	return false;
}

void line_pump(void *context)
{
	struct line *line = context;

	while (!line->in_flight && line_step(line))
		;
}
