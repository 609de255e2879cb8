/* The reconcile engine asks switches through the queue. Results come with the queue's answer; the
 * engine has them in its own array. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

#include "peregrine/control/peregrined_private.h"

struct line_call {
	struct peregrined *peregrined;
	int64_t switch_id;
	bool changes;
	switch_call_fn fn;
	void *context;
	enum edit_result *results;
};

static void switch_line_on_answer(void *context, const struct switch_answer *answer)
{
	struct line_call *call = context;

	if (call->results && answer->edit_count > 0)
		memcpy(call->results, answer->results, answer->edit_count * sizeof(*call->results));
	/* Whatever became of it: what is observed of the switch is read again soon. At the end of
	 * the program discovery is gone before the queue. */
	if (call->changes && call->peregrined->discovery)
		discovery_changed(call->peregrined->discovery, call->switch_id);
	call->fn(call->context, answer->rc, answer->rc ? NULL : answer->reading, answer->problem);
	free(call);
}

static int line_call(void *context, int64_t switch_id, const struct switch_request *request,
		     int64_t deadline_ms, switch_call_fn fn, void *fn_context)
{
	struct peregrined *peregrined = context;
	int64_t left_ms = deadline_ms - clock_monotonic_ms();
	const struct switch_ask ask = {.switch_id = switch_id,
				       .request = request,
				       .priority = CALL_CHANGE,
				       .deadline_ms = left_ms > 0 ? (uint32_t)left_ms : 1};
	struct line_call *call = malloc(sizeof(*call));
	int rc;

	if (!call)
		return -ENOMEM;
	*call = (struct line_call){.peregrined = peregrined,
				   .switch_id = switch_id,
				   .changes = request->op == SWITCH_CHANGE ||
					      request->op == SWITCH_LAG,
				   .fn = fn,
				   .context = fn_context,
				   .results = request->results};
	rc = switch_queue_submit(peregrined->queue, &ask, switch_line_on_answer, call, NULL);
	if (rc)
		free(call);
	return rc;
}

static bool lag_name(void *context, int64_t switch_id, unsigned number, char ret[64])
{
	const struct peregrined *peregrined = context;

	return switch_queue_lag_name(peregrined->queue, switch_id, number, ret);
}

static bool switch_line_lacks(void *context, int64_t switch_id, struct problem *ret)
{
	const struct peregrined *peregrined = context;

	return switch_queue_lacks(peregrined->queue, switch_id, ret);
}

struct switch_access peregrined_access(struct peregrined *peregrined)
{
	return (struct switch_access){.context = peregrined,
				      .call = line_call,
				      .lag_name = lag_name,
				      .lacks = switch_line_lacks};
}
