#include "peregrine/switch/switch_call.h"

#include <errno.h>

#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/switch_family_table.h"

static void switch_call_on_timer(void *context)
{
	struct switch_call *call = context;

	if (problem_is_set(&call->early))
		switch_call_end(call, call->early.code, NULL, &call->early);
	else if (call->row->late)
		call->row->late(call);
	else
		switch_call_end(call, 0, NULL, NULL);
}

int switch_call_open(struct switch_call *call, const struct switch_call_row *row, struct loop *loop,
		     const struct switch_endpoint *endpoint, const struct switch_family *family,
		     struct problem *problem)
{
	int rc = loop_timer_new(loop, switch_call_on_timer, call, &call->timer);

	call->row = row;
	call->endpoint = *endpoint;
	call->family = family;
	return rc ? problem_set(problem, rc, "no memory for a switch") : 0;
}

void switch_call_close(struct switch_call *call)
{
	(void)switch_call_forget(call);
	loop_timer_free(call->timer);
	call->timer = NULL;
	switch_endpoint_wipe(&call->endpoint);
}

/* Of how many parts the request has a result. */
static size_t switch_call_results(const struct switch_request *request)
{
	switch ((int)request->op) {
	case SWITCH_CHANGE: return request->edit_count;
	case SWITCH_MIRROR: return request->mirror_count;
	default: return 0;
	}
}

void switch_call_begin(struct switch_call *call, const struct switch_request *request,
		       int64_t deadline_ms, switch_call_fn fn, void *context)
{
	call->request = request;
	call->fn = fn;
	call->context = context;
	call->deadline_ms = deadline_ms;
	call->early = (struct problem){0};
	for (size_t i = 0; i < switch_call_results(request); i++)
		request->results[i] = EDIT_NOT_TRIED;
}

int switch_call_begun(struct switch_call *call, int rc)
{
	if (rc && rc != -ENOMEM && problem_is_set(&call->early)) {
		loop_timer_arm(call->timer, 0);
		return 0;
	}
	if (rc)
		(void)switch_call_forget(call);
	return rc == 0 || rc == -ENOMEM ? rc : -EAGAIN;
}

void switch_call_end_soon(struct switch_call *call)
{
	loop_timer_arm(call->timer, 0);
}

void switch_call_end(struct switch_call *call, int rc, struct switch_reading *reading,
		     const struct problem *problem)
{
	switch_call_fn fn = call->fn;
	void *context = call->context;
	/* The problem may stand in memory that the session forgets here. */
	struct problem copy = problem ? *problem : (struct problem){0};

	(void)switch_call_forget(call);
	fn(context, rc, reading, rc ? &copy : NULL);
}

bool switch_call_forget(struct switch_call *call)
{
	if (!call->fn)
		return false;
	call->row->forget(call);
	loop_timer_disarm(call->timer);
	call->fn = NULL;
	return true;
}

bool switch_call_may_repeat(struct switch_call *call, int rc)
{
	bool again = call->again && rc == E_UNAVAILABLE;

	call->again = false;
	return again;
}

uint32_t switch_call_timeout_ms(const struct switch_call *call)
{
	return call->endpoint.timeout_ms ? call->endpoint.timeout_ms : call->family->timeout_ms;
}
