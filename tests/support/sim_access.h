/* Speaks to a simulated fabric as the daemon's queue does: one call per switch at a time, in the
 * order asked. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/control/reconcile/reconcile.h"
#include "peregrine/switch/sim/sim_fabric.h"

LEAKS_LEFT_TO_SANITIZER

struct sim_access;

struct sim_line_call {
	struct sim_line_call *next;
	struct switch_request request;
	int64_t deadline_ms;
	switch_call_fn fn;
	void *context;
};

struct sim_line {
	struct sim_access *access;
	void *session;
	struct sim_line_call *first, **last; /* the first is under way */
	bool busy;
};

struct sim_access {
	struct loop *loop;
	struct sim_fabric *fabric;
	struct sim_line *lines; /* by index of the simulated switch */
	uint32_t count;
	unsigned under_way, most_under_way;
	bool dead; /* nothing is asked any more: the daemon goes */
};

static inline void sim_access_next(struct sim_line *line);

static inline void sim_access_ended(void *context, int rc, struct switch_reading *reading,
				    const struct problem *problem)
{
	struct sim_line *line = context;
	struct sim_line_call *call = line->first;

	line->access->under_way--;
	line->busy = false;
	line->first = call->next;
	if (!line->first)
		line->last = &line->first;
	call->fn(call->context, rc, reading, problem);
	fence_unref(call->request.fence);
	free(call);
	if (!line->busy)
		sim_access_next(line);
}

static inline void sim_access_next(struct sim_line *line)
{
	if (!line->first || line->busy)
		return;
	line->busy = true;
	line->access->under_way++;
	if (line->access->under_way > line->access->most_under_way)
		line->access->most_under_way = line->access->under_way;
	if (sim_switch_driver.start(line->session, &line->first->request, line->first->deadline_ms,
				    sim_access_ended, line))
		abort();
}

static inline int sim_access_call(void *context, int64_t switch_id,
				  const struct switch_request *request, int64_t deadline_ms,
				  switch_call_fn fn, void *fn_context)
{
	struct sim_access *access = context;

	if (access->dead)
		return E_UNAVAILABLE;
	/* Only who holds a claim changes a switch. */
	if (!request->fence && (request->op == SWITCH_CHANGE || request->op == SWITCH_SAVE ||
				request->op == SWITCH_LAG))
		abort();
	for (uint32_t i = 0; i < access->count; i++) {
		struct sim_line *line = &access->lines[i];
		struct sim_line_call *call;

		if (sim_fabric_switch(access->fabric, i)->id != switch_id)
			continue;
		call = calloc(1, sizeof(*call));
		if (!call)
			return -12;
		*call = (struct sim_line_call){.request = *request,
					       .deadline_ms = deadline_ms,
					       .fn = fn,
					       .context = fn_context};
		fence_ref(call->request.fence); /* as the queue does */
		*line->last = call;
		line->last = &call->next;
		sim_access_next(line);
		return 0;
	}
	return E_NOT_FOUND;
}

static inline bool sim_access_lag_name(void *context, int64_t switch_id, unsigned number,
				       char ret[64])
{
	(void)context;
	(void)switch_id;
	return sim_switch_driver.lag_name(NULL, number, ret);
}

static inline void sim_access_init(struct sim_access *access, struct loop *loop,
				   struct sim_fabric *fabric)
{
	struct switch_host host = {.loop = loop, .sim = fabric};
	struct problem problem;

	*access = (struct sim_access){
		.loop = loop, .fabric = fabric, .count = sim_fabric_count(fabric)};
	access->lines = calloc(access->count + 1, sizeof(*access->lines));
	for (uint32_t i = 0; access->lines && i < access->count; i++) {
		struct switch_endpoint endpoint = {.id = sim_fabric_switch(fabric, i)->id};

		access->lines[i].access = access;
		access->lines[i].last = &access->lines[i].first;
		if (sim_switch_driver.open(&endpoint, NULL, &host, &access->lines[i].session,
					   &problem))
			abort();
	}
}

/* What waits or is under way is answered with E_UNAVAILABLE, as the queue does it. */
static inline void sim_access_done(struct sim_access *access)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_UNAVAILABLE, "the daemon goes");
	access->dead = true;
	for (uint32_t i = 0; i < access->count; i++) {
		sim_switch_driver.close(access->lines[i].session);
		while (access->lines[i].first) {
			struct sim_line_call *call = access->lines[i].first;

			access->lines[i].first = call->next;
			call->fn(call->context, E_UNAVAILABLE, NULL, &problem);
			fence_unref(call->request.fence);
			free(call);
		}
	}
	free(access->lines);
}
