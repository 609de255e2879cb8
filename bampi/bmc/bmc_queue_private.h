/* Inside the queue: one struct bmc per BMC, one struct operation per thing asked, one struct ask
 * per caller waiting for it. */
#pragma once

#include <utlist.h>

#include "common/base/breaker_policy.h"
#include "common/io/call_queue.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

#include "bampi/bmc/bmc_queue.h"
#include "bampi/bmc/confirm_policy.h"

struct operation;

/* One caller. Lives until answered, timed out or cancelled. */
struct ask {
	struct call_ticket ticket;
	struct operation *operation;
	bmc_done_fn done;
	void *context;
	int64_t deadline_ms;
	struct loop_timer *deadline;
	struct ask *prev, *next;
};

/* One thing to do at one BMC; several asks share it when it changes nothing. */
struct operation {
	struct call_link link;
	struct bmc_queue *queue;
	struct bmc *bmc; /* NULL once finished */
	struct bmc_request request;
	bool person;
	struct ask *asks;
	struct confirm confirm;
	struct bmc_result result; /* when finished */
	struct problem problem;   /* the last failed call; when finished the answer */
	int rc;
};

/* The driver's state of one BMC. */
struct session {
	const struct bmc_driver *driver;
	void *state;
};

/* One driver call under way. */
struct call {
	struct bmc *bmc;
	struct operation *operation; /* NULL: nobody waits for it any more */
	bool blocks;                 /* it holds a thread */
	bool failing;                /* counted as a thread of a failing BMC */
	bool poll;                   /* counted as polling */
	struct bmc_request request;
};

enum ready_list {
	READY_NONE,
	READY_ACTION,
	READY_ACTION_FAILING,
	READY_POLL,
	READY_POLL_FAILING,
	READY_COUNT
};

struct bmc {
	struct bmc_queue *queue;
	int64_t id;
	struct bmc_endpoint endpoint;
	struct session session;
	struct breaker breaker;
	struct call_line waiting;
	struct operation *current;
	enum bmc_op next_call; /* valid while in a ready list */
	struct call *in_flight;
	struct loop_timer *wake;
	enum ready_list ready;
	struct bmc *prev, *next; /* of that list */
	struct bmc_observation observation;
	UT_hash_handle hh;
};

struct bmc_queue {
	struct loop *loop;
	struct bmc_host host; /* given to drivers; the worker is ours */
	unsigned workers, failing_workers, poll_workers;
	unsigned in_flight;                              /* calls */
	unsigned threads, threads_failing, threads_poll; /* of them those that hold a thread */
	struct bmc *bmcs;                                /* by id */
	struct call_queue calls;
	struct bmc *ready[READY_COUNT];
	uint64_t next_version;
	struct bmc_queue_stats stats;
};

/* bmc_queue_run.c */
/* Looks what this BMC should do now; call after any change, at most once per turn of the loop. */
void bmc_pump(struct bmc *bmc);
/* Takes the operation from its BMC; its asks are answered in the next turn. `problem` may be NULL
 * for rc 0. */
void operation_finish(struct operation *operation, int rc, const struct problem *problem);
/* Nobody waits any more: forget it. A call in flight goes on unheard when it may change something
 * or the driver cannot cancel it. */
void operation_drop(struct operation *operation);
/* Forgets the call under way: its answer will not be heard, and threads are counted without it. */
void call_forget(struct bmc *bmc);
void ask_free(struct ask *ask);
void operation_deliver(struct call_link *link);

/* bmc_queue_text.c: what people are told. */
void text_breaker_open(const struct bmc *bmc, int64_t now_ms, struct problem *ret);
void text_deadline(const struct operation *operation, struct problem *ret);
void text_wrong_echo(const struct operation *operation, struct problem *ret);
void text_gone(int64_t bmc_id, struct problem *ret);
