#include "bampi/bmc/bmc_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/fetch.h"

#include "bampi/bmc/bmc_queue_private.h"
#include "bampi/bmc/ipmi_driver.h"

enum { WORKERS_DEFAULT = 16, CALLS_QUEUED_MAX = 1 << 16 };

int bmc_queue_new(struct loop *loop, const struct bmc_queue_options *options,
		  struct bmc_queue **ret)
{
	struct bmc_queue *queue = calloc(1, sizeof(*queue));
	int rc;

	if (!queue)
		return -ENOMEM;
	queue->loop = loop;
	queue->host = (struct bmc_host){.loop = loop, .sim = options->sim};
	queue->workers = options->workers ? options->workers : WORKERS_DEFAULT;
	queue->failing_workers =
		options->failing_workers ? options->failing_workers : queue->workers / 4;
	if (queue->failing_workers == 0)
		queue->failing_workers = 1;
	/* Polling leaves a quarter of the pool to actions, so that a whole rack falling silent at
	 * once cannot hold them up. */
	queue->poll_workers = queue->workers > 1 ? queue->workers - (queue->workers + 3) / 4 : 1;

	rc = ipmi_driver_setup();
	if (rc == 0)
		rc = call_queue_open(&queue->calls, loop, operation_deliver);
	if (rc)
		goto err_timer;
	rc = worker_new(loop, queue->workers, CALLS_QUEUED_MAX, &queue->host.worker);
	if (rc)
		goto err_worker;
	rc = rmcp_client_new(loop, options->session_keep_ms, &queue->host.rmcp);
	if (rc)
		goto err_rmcp;
	rc = fetcher_new(loop, &(struct fetcher_options){.ca_file = options->ca_file},
			 &queue->host.fetcher);
	if (rc)
		goto err_fetcher;
	*ret = queue;
	return 0;

err_fetcher:
	rmcp_client_free(queue->host.rmcp);
err_rmcp:
	worker_free(queue->host.worker);
err_worker:
	call_queue_close(&queue->calls);
err_timer:
	free(queue);
	return rc;
}

/* --- BMCs --- */

static struct bmc *bmc_find(const struct bmc_queue *queue, int64_t id)
{
	struct bmc *bmc = NULL;

	HASH_FIND(hh, queue->bmcs, &id, sizeof(id), bmc);
	return bmc;
}

static void bmc_wake(void *context)
{
	bmc_pump(context);
}

static struct bmc *bmc_new(struct bmc_queue *queue, int64_t id)
{
	struct bmc *bmc = calloc(1, sizeof(*bmc));

	if (!bmc)
		return NULL;
	if (loop_timer_new(queue->loop, bmc_wake, bmc, &bmc->wake) != 0) {
		free(bmc);
		return NULL;
	}
	bmc->queue = queue;
	bmc->id = id;
	return bmc;
}

static void bmc_drop_session(struct bmc *bmc)
{
	if (bmc->in_flight)
		call_forget(bmc);
	if (bmc->session.state)
		bmc->session.driver->close(bmc->session.state);
	bmc->session = (struct session){0};
}

static void bmc_free(struct bmc *bmc)
{
	if (bmc->ready != READY_NONE)
		DL_DELETE(bmc->queue->ready[bmc->ready], bmc);
	HASH_DELETE(hh, bmc->queue->bmcs, bmc);
	bmc_drop_session(bmc);
	loop_timer_free(bmc->wake);
	bmc_endpoint_wipe(&bmc->endpoint);
	free(bmc);
}

static bool bmc_queue_same_access(const struct bmc_endpoint *a, const struct bmc_endpoint *b)
{
	return strcmp(a->driver, b->driver) == 0 && strcmp(a->address, b->address) == 0 &&
	       a->port == b->port && strcmp(a->username, b->username) == 0 &&
	       strcmp(a->password, b->password) == 0 && a->cipher_suite == b->cipher_suite &&
	       a->workarounds == b->workarounds && a->timeout_ms == b->timeout_ms &&
	       a->retransmit_ms == b->retransmit_ms && a->tls == b->tls &&
	       strcmp(a->pin, b->pin) == 0;
}

int bmc_queue_put(struct bmc_queue *queue, const struct bmc_endpoint *endpoint,
		  struct problem *problem)
{
	const struct bmc_driver *driver = bmc_driver_find(endpoint->driver);
	struct bmc *bmc = bmc_find(queue, endpoint->id);
	void *state = NULL;
	int rc;

	if (!driver)
		return problem_set(problem, -EINVAL, "node %s: there is no BMC driver '%s'",
				   endpoint->node, endpoint->driver);
	if (bmc && bmc_queue_same_access(&bmc->endpoint, endpoint)) {
		bmc->endpoint = *endpoint; /* the node may have a new name */
		return 0;
	}
	rc = driver->open(endpoint, &queue->host, &state, problem);
	if (rc)
		return rc;
	if (!bmc) {
		bmc = bmc_new(queue, endpoint->id);
		if (!bmc) {
			driver->close(state);
			return problem_set(problem, -ENOMEM, "node %s: no memory for its BMC",
					   endpoint->node);
		}
		HASH_ADD(hh, queue->bmcs, id, sizeof(bmc->id), bmc);
	} else {
		if (bmc->in_flight && bmc->current &&
		    !bmc_op_table[bmc->current->request.op].idempotent) {
			problem_set(
				problem, E_TIMEOUT,
				"node %s: its BMC's address or credentials changed during %s; it may have been executed",
				endpoint->node, bmc_op_text(bmc->current->request.op));
			operation_finish(bmc->current, E_TIMEOUT, problem);
			*problem = (struct problem){0};
		}
		/* What else is under way is asked again by the new way in. */
		bmc_drop_session(bmc);
		bmc->breaker = (struct breaker){0};
		bmc->observation.breaker = BMC_BREAKER_CLOSED;
		bmc->observation.retry_at_us = 0;
	}
	bmc->session = (struct session){.driver = driver, .state = state};
	bmc->endpoint = *endpoint;
	loop_timer_arm(bmc->wake, 0);
	return 0;
}

static void finish_all(struct bmc *bmc, int rc, const struct problem *problem)
{
	struct call_link *link;

	if (bmc->current)
		operation_finish(bmc->current, rc, problem);
	while ((link = call_line_first(&bmc->waiting)))
		operation_finish(CONTAINER_OF(link, struct operation, link), rc, problem);
}

void bmc_queue_remove(struct bmc_queue *queue, int64_t bmc_id)
{
	struct bmc *bmc = bmc_find(queue, bmc_id);
	struct problem problem = {0};

	if (!bmc)
		return;
	text_gone(bmc_id, &problem);
	finish_all(bmc, E_NOT_FOUND, &problem);
	bmc_free(bmc);
}

void bmc_queue_free(struct bmc_queue *queue)
{
	struct problem problem = {0};
	struct bmc *bmc = NULL;
	struct bmc *next = NULL;

	if (!queue)
		return;
	problem_set(&problem, E_UNAVAILABLE, "the BMC queue is closing");
	HASH_ITER(hh, queue->bmcs, bmc, next)
	{
		finish_all(bmc, E_UNAVAILABLE, &problem);
		bmc_free(bmc);
	}
	worker_free(queue->host.worker);
	rmcp_client_free(queue->host.rmcp);
	fetcher_free(queue->host.fetcher);
	call_queue_close(&queue->calls);
	free(queue);
}

/* --- asking --- */

void ask_free(struct ask *ask)
{
	DL_DELETE(ask->operation->asks, ask);
	call_ticket_take_back(&ask->operation->queue->calls, &ask->ticket);
	loop_timer_free(ask->deadline);
	free(ask);
}

static void ask_expired(void *context)
{
	struct ask *ask = context;
	struct operation *operation = ask->operation;
	bmc_done_fn done = ask->done;
	void *done_context = ask->context;
	struct problem problem = {0};

	if (!operation->bmc)
		return; /* finished in this very turn: the answer is on its way */
	text_deadline(operation, &problem);
	ask_free(ask);
	if (!operation->asks)
		operation_drop(operation);
	done(done_context, E_TIMEOUT, NULL, &problem);
}

/* A waiting operation that changes nothing and is asked again needs one call, not two. One already
 * under way does not count: its answer may be older than the question. */
static struct operation *find_duplicate(struct bmc *bmc, const struct bmc_request *request)
{
	if (bmc_op_table[request->op].changes)
		return NULL;
	for (struct call_link *link = call_line_first(&bmc->waiting); link;
	     link = call_line_after(&bmc->waiting, link)) {
		struct operation *operation = CONTAINER_OF(link, struct operation, link);

		if (operation->request.op == request->op)
			return operation;
	}
	return NULL;
}

static int operation_new(struct bmc *bmc, const struct bmc_ask *ask, struct operation **ret)
{
	struct operation *operation = find_duplicate(bmc, ask->request);

	if (operation) {
		bmc->queue->stats.merged++;
		if (ask->priority < operation->link.priority) {
			call_line_remove(&bmc->waiting, &operation->link);
			call_line_add(&bmc->waiting, &operation->link, ask->priority);
		}
		operation->person |= ask->person;
		*ret = operation;
		return 0;
	}
	operation = calloc(1, sizeof(*operation));
	if (!operation)
		return -ENOMEM;
	operation->queue = bmc->queue;
	operation->bmc = bmc;
	operation->request = *ask->request;
	fence_ref(operation->request.fence);
	operation->person = ask->person;
	call_line_add(&bmc->waiting, &operation->link, ask->priority);
	*ret = operation;
	return 0;
}

/* Nothing to ask: the answer is known, but it still comes from the loop. */
static int submit_unknown(struct bmc_queue *queue, struct operation **ret)
{
	struct operation *operation = calloc(1, sizeof(*operation));

	if (!operation)
		return -ENOMEM;
	operation->queue = queue;
	operation->rc = E_NOT_FOUND;
	call_queue_end(&queue->calls, &operation->link);
	*ret = operation;
	return 0;
}

int bmc_queue_submit(struct bmc_queue *queue, const struct bmc_ask *request, bmc_done_fn done,
		     void *context, uint64_t *ret_ticket)
{
	struct bmc *bmc = bmc_find(queue, request->bmc_id);
	uint32_t within_ms = request->deadline_ms ? request->deadline_ms
						  : bmc_op_table[request->request->op].deadline_ms;
	struct operation *operation = NULL;
	struct ask *ask = calloc(1, sizeof(*ask));
	int rc;

	if (!ask)
		return -ENOMEM;
	rc = loop_timer_new(queue->loop, ask_expired, ask, &ask->deadline);
	if (rc)
		goto err_timer;
	rc = bmc ? operation_new(bmc, request, &operation) : submit_unknown(queue, &operation);
	if (rc)
		goto err_operation;
	if (!bmc)
		text_gone(request->bmc_id, &operation->problem);

	ask->operation = operation;
	ask->done = done;
	ask->context = context;
	ask->deadline_ms = loop_now_ms(queue->loop) + within_ms;
	DL_APPEND(operation->asks, ask);
	call_ticket_give(&queue->calls, &ask->ticket);
	if (bmc) {
		loop_timer_arm(ask->deadline, within_ms);
		loop_timer_arm(bmc->wake, 0);
	}
	if (ret_ticket)
		*ret_ticket = ask->ticket.number;
	return 0;

err_operation:
	loop_timer_free(ask->deadline);
err_timer:
	free(ask);
	return rc;
}

void bmc_queue_cancel(struct bmc_queue *queue, uint64_t ticket)
{
	struct call_ticket *found = call_ticket_find(&queue->calls, ticket);
	struct operation *operation;
	struct ask *ask;

	if (!found)
		return;
	ask = CONTAINER_OF(found, struct ask, ticket);
	operation = ask->operation;
	ask_free(ask);
	if (!operation->asks && operation->bmc)
		operation_drop(operation);
}

/* --- reading --- */

bool bmc_observation(const struct bmc_queue *queue, int64_t bmc_id, struct bmc_observation *ret)
{
	const struct bmc *bmc = bmc_find(queue, bmc_id);

	if (!bmc)
		return false;
	*ret = bmc->observation;
	return true;
}

uint64_t bmc_queue_each_changed(const struct bmc_queue *queue, uint64_t since,
				bmc_observation_fn fn, void *context)
{
	struct bmc *bmc = NULL;
	struct bmc *next = NULL;

	HASH_ITER(hh, queue->bmcs, bmc, next)
	{
		if (bmc->observation.version > since)
			fn(context, bmc->id, &bmc->observation);
	}
	return queue->next_version;
}

void bmc_queue_stats(const struct bmc_queue *queue, struct bmc_queue_stats *ret)
{
	const struct bmc *bmc = NULL;
	const struct bmc *next = NULL;

	*ret = queue->stats;
	rmcp_client_stats(queue->host.rmcp, &ret->rmcp);
	ret->waiting = (unsigned)call_queue_tickets(&queue->calls);
	ret->in_flight = queue->in_flight;
	ret->bmcs = HASH_COUNT(queue->bmcs);
	HASH_ITER(hh, queue->bmcs, bmc, next)
	{
		if (bmc->breaker.open)
			ret->breakers_open++;
	}
}
