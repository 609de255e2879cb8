/* The moving half of the queue: what a BMC does next, who gets a worker, and what an answer
 * changes. */
#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "bampi/bmc/bmc_queue_private.h"

/* --- ends of operations --- */

/* Nobody waits for the call under way. What only looks is not waited for either, so that a poll of
 * a slow BMC does not hold up the command behind it. */
static void call_orphan(struct bmc *bmc)
{
	struct call *call = bmc->in_flight;

	call->operation = NULL;
	if (!bmc_op_table[call->request.op].changes && bmc->session.driver->cancel &&
	    bmc->session.driver->cancel(bmc->session.state))
		call_forget(bmc);
}

static void operation_detach(struct operation *operation)
{
	struct bmc *bmc = operation->bmc;

	assert(bmc); /* an operation ends once */
	if (bmc->current == operation) {
		bmc->current = NULL;
		if (bmc->in_flight)
			call_orphan(bmc);
	} else {
		call_line_remove(&bmc->waiting, &operation->link);
	}
	operation->bmc = NULL;
	loop_timer_arm(bmc->wake, 0);
}

static void operation_free(struct operation *operation)
{
	bmc_result_done(&operation->result);
	bmc_result_done(&operation->confirm.result);
	fence_unref(operation->request.fence);
	sodium_memzero(&operation->request, sizeof(operation->request));
	free(operation);
}

void operation_finish(struct operation *operation, int rc, const struct problem *problem)
{
	struct bmc_queue *queue = operation->queue;

	operation_detach(operation);
	operation->rc = rc;
	if (rc == 0) {
		operation->result = operation->confirm.result;
		operation->confirm.result = (struct bmc_result){0};
	} else if (problem != &operation->problem) {
		operation->problem = *problem;
	}
	call_queue_end(&queue->calls, &operation->link);
}

void operation_drop(struct operation *operation)
{
	operation_detach(operation);
	operation_free(operation);
}

void operation_deliver(struct call_link *link)
{
	struct operation *operation = CONTAINER_OF(link, struct operation, link);

	while (operation->asks) {
		bmc_done_fn done = operation->asks->done;
		void *done_context = operation->asks->context;

		ask_free(operation->asks);
		done(done_context, operation->rc, operation->rc ? NULL : &operation->result,
		     operation->rc ? &operation->problem : NULL);
	}
	operation_free(operation);
}

/* --- calls --- */

static void bmc_queue_run_dispatch(struct bmc_queue *queue);

static void bmc_queue_run_call_free(struct call *call)
{
	fence_unref(call->request.fence);
	sodium_memzero(&call->request, sizeof(call->request));
	free(call);
}

/* Out of the books. */
static void call_uncount(struct bmc *bmc)
{
	struct bmc_queue *queue = bmc->queue;
	const struct call *call = bmc->in_flight;

	queue->in_flight--;
	queue->threads -= call->blocks;
	queue->threads_failing -= call->blocks && call->failing;
	queue->threads_poll -= call->blocks && call->poll;
	bmc->in_flight = NULL;
}

void call_forget(struct bmc *bmc)
{
	struct call *call = bmc->in_flight;

	call_uncount(bmc);
	bmc_queue_run_call_free(call);
}

/* What a call has brought. */
struct heard {
	int rc;
	struct bmc_result *result;     /* rc 0 */
	const struct problem *problem; /* else */
};

static void bmc_queue_run_observe(struct bmc *bmc, const struct call *call,
				  const struct heard *heard)
{
	struct bmc_observation *seen = &bmc->observation;
	int64_t now_us = clock_wall_us();
	int64_t now_ms = loop_now_ms(bmc->queue->loop);

	if (heard->rc == E_TIMEOUT || heard->rc == E_AUTHENTICATION) {
		seen->problem = *heard->problem;
		seen->problem_at_us = now_us;
	} else {
		seen->problem =
			heard->rc == 0 && heard->problem ? *heard->problem : (struct problem){0};
		seen->answered_at_us = now_us;
	}
	if (heard->rc == 0 && call->request.op == BMC_POWER_STATUS) {
		seen->power_known = true;
		seen->power_on = heard->result->power.on;
		seen->power_at_us = now_us;
		seen->power_by = call->operation ? call->operation->request.op : BMC_POWER_STATUS;
	} else if (heard->rc == 0 && call->request.op == BMC_BOOT_GET) {
		seen->boot_known = true;
		seen->boot = heard->result->boot.flags;
		seen->boot_at_us = now_us;
	}
	seen->breaker = bmc->breaker.open ? BMC_BREAKER_OPEN : BMC_BREAKER_CLOSED;
	seen->retry_at_us =
		bmc->breaker.open ? now_us + (bmc->breaker.retry_ms - now_ms) * 1000 : 0;
	seen->version = ++bmc->queue->next_version;
}

/* What waits behind a BMC that was just found dead is told so now, not at its deadline. */
static void bmc_queue_run_refuse_waiting(struct bmc *bmc)
{
	struct call_link *link;
	struct problem problem = {0};

	text_breaker_open(bmc, loop_now_ms(bmc->queue->loop), &problem);
	while ((link = call_line_first(&bmc->waiting))) {
		bmc->queue->stats.refused_open++;
		operation_finish(CONTAINER_OF(link, struct operation, link), problem.code,
				 &problem);
	}
}

static void call_heard(struct bmc *bmc, struct call *call, const struct heard *heard)
{
	struct operation *operation = call->operation;
	int64_t now_ms = loop_now_ms(bmc->queue->loop);

	/* Our own claim says nothing about the BMC. */
	if (heard->rc != E_LAPSED) {
		bmc->breaker =
			breaker_after(&bmc->breaker, heard->rc, breaker_spread(bmc->id), now_ms);
		bmc_queue_run_observe(bmc, call, heard);
	}
	if (operation) {
		if (heard->rc)
			operation->problem = *heard->problem;
		confirm_heard(&operation->confirm, call->request.op, heard->rc, heard->result,
			      now_ms);
		if (operation->confirm.phase != CONFIRM_END && bmc->breaker.open)
			operation_finish(operation, heard->rc, &operation->problem);
	}
	if (bmc->breaker.open)
		bmc_queue_run_refuse_waiting(bmc);
}

static void call_done(void *context, int rc, struct bmc_result *result,
		      const struct problem *problem)
{
	struct call *call = context;
	struct bmc *bmc = call->bmc;
	const struct heard heard = {.rc = rc, .result = result, .problem = problem};

	call_uncount(bmc);
	bmc->queue->stats.failed_calls += rc != 0;
	call_heard(bmc, call, &heard);
	if (result)
		bmc_result_done(result);
	bmc_queue_run_call_free(call);
	bmc_pump(bmc);
	bmc_queue_run_dispatch(bmc->queue);
}

static void bmc_call(struct bmc *bmc, enum ready_list list)
{
	struct bmc_queue *queue = bmc->queue;
	const struct bmc_driver *driver = bmc->session.driver;
	struct operation *operation = bmc->current;
	struct call *call = calloc(1, sizeof(*call));
	int rc = call ? 0 : -ENOMEM;

	if (call) {
		*call = (struct call){
			.bmc = bmc,
			.operation = operation,
			.blocks = list != READY_NONE,
			.failing = list == READY_ACTION_FAILING || list == READY_POLL_FAILING,
			.poll = list == READY_POLL || list == READY_POLL_FAILING,
			.request = operation->request,
		};
		call->request.op = bmc->next_call;
		fence_ref(call->request.fence);
		rc = driver->start(bmc->session.state, &call->request,
				   operation->confirm.deadline_ms, call_done, call);
	}
	if (rc) {
		problem_set(&operation->problem, E_UNAVAILABLE, "node %s: no room for a BMC call",
			    bmc->endpoint.node);
		operation_finish(operation, E_UNAVAILABLE, &operation->problem);
		if (call)
			bmc_queue_run_call_free(call);
		return;
	}
	bmc->in_flight = call;
	queue->stats.calls++;
	queue->stats.thread_calls += call->blocks;
	queue->stats.retries +=
		operation->confirm.failures[bmc_op_table[bmc->next_call].changes] > 0;
	queue->in_flight++;
	queue->threads += call->blocks;
	queue->threads_failing += call->blocks && call->failing;
	queue->threads_poll += call->blocks && call->poll;
	if (bmc->breaker.open)
		bmc->observation.breaker = BMC_BREAKER_HALF_OPEN;
}

/* --- who is next --- */

/* May a BMC of this list have a thread now? Order: actions before polling, within one list the
 * longest waiting first, so that everyone gets a turn (a BMC goes to the end after each call). */
static bool bmc_queue_run_has_room(const struct bmc_queue *queue, enum ready_list list)
{
	bool failing = list == READY_ACTION_FAILING || list == READY_POLL_FAILING;
	bool poll = list == READY_POLL || list == READY_POLL_FAILING;

	return queue->threads < queue->workers &&
	       (!failing || queue->threads_failing < queue->failing_workers) &&
	       (!poll || queue->threads_poll < queue->poll_workers);
}

static void bmc_unready(struct bmc *bmc)
{
	if (bmc->ready == READY_NONE)
		return;
	DL_DELETE(bmc->queue->ready[bmc->ready], bmc);
	bmc->ready = READY_NONE;
}

static void bmc_queue_run_dispatch(struct bmc_queue *queue)
{
	for (enum ready_list list = READY_ACTION; list < READY_COUNT; list++) {
		while (queue->ready[list] && bmc_queue_run_has_room(queue, list)) {
			struct bmc *bmc = queue->ready[list];

			bmc_unready(bmc);
			bmc_call(bmc, list);
		}
	}
}

static void bmc_ready(struct bmc *bmc)
{
	bool failing = bmc->breaker.failures > 0;

	if (bmc->current->link.priority == CALL_CHANGE)
		bmc->ready = failing ? READY_ACTION_FAILING : READY_ACTION;
	else
		bmc->ready = failing ? READY_POLL_FAILING : READY_POLL;
	DL_APPEND(bmc->queue->ready[bmc->ready], bmc);
}

static int64_t operation_deadline_ms(const struct operation *operation)
{
	const struct ask *ask = NULL;
	int64_t deadline_ms = 0;

	DL_FOREACH(operation->asks, ask)
	{
		if (ask->deadline_ms > deadline_ms)
			deadline_ms = ask->deadline_ms;
	}
	return deadline_ms;
}

static bool bmc_take_next(struct bmc *bmc)
{
	struct call_link *link = bmc->current ? NULL : call_line_next(&bmc->waiting);

	if (link) {
		call_line_begin(&bmc->waiting, link);
		bmc->current = CONTAINER_OF(link, struct operation, link);
		bmc->current->confirm =
			confirm_begin(&bmc->current->request, loop_now_ms(bmc->queue->loop),
				      operation_deadline_ms(bmc->current));
	}
	return bmc->current != NULL;
}

static bool call_blocks(const struct bmc *bmc)
{
	const struct bmc_driver *driver = bmc->session.driver;
	struct bmc_request request = bmc->current->request;
	bool blocks;

	request.op = bmc->next_call;
	blocks = driver->blocks && driver->blocks(bmc->session.state, &request);
	sodium_memzero(&request, sizeof(request));
	return blocks;
}

void bmc_pump(struct bmc *bmc)
{
	int64_t now_ms = loop_now_ms(bmc->queue->loop);

	bmc_unready(bmc);
	while (!bmc->in_flight && bmc_take_next(bmc)) {
		struct operation *operation = bmc->current;
		struct confirm_next next = confirm_next(&operation->confirm, now_ms);

		if (next.kind == CONFIRM_WAIT) {
			loop_timer_arm(bmc->wake, next.until_ms - now_ms);
			return;
		}
		if (next.kind == CONFIRM_FINISHED) {
			if (operation->confirm.wrong_echo)
				text_wrong_echo(operation, &operation->problem);
			operation_finish(operation, operation->confirm.rc, &operation->problem);
			continue;
		}
		if (bmc_op_table[next.call].changes && !fence_holds(operation->request.fence)) {
			(void)bmc_lapsed(bmc->endpoint.node, operation->request.op,
					 operation->confirm.commands > 0, &operation->problem);
			operation_finish(operation, E_LAPSED, &operation->problem);
			continue;
		}
		if (breaker_ask(&bmc->breaker, operation->person, now_ms) == BREAKER_REFUSE) {
			bmc->queue->stats.refused_open++;
			text_breaker_open(bmc, now_ms, &operation->problem);
			operation_finish(operation, operation->problem.code, &operation->problem);
			continue;
		}
		bmc->next_call = next.call;
		if (call_blocks(bmc)) {
			bmc_ready(bmc);
			bmc_queue_run_dispatch(bmc->queue);
		} else {
			bmc_call(bmc, READY_NONE);
		}
		return;
	}
}
