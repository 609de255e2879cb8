/* Inside the queue: one struct bmc per BMC, one struct operation per thing asked, one struct ask
 * per caller waiting for it. */
#pragma once

/* The default HASH_JEN falls through its switch, which clang reports. */
#define HASH_FUNCTION HASH_FNV
#include <uthash.h>
#include <utlist.h>

#include "common/io/loop.h"
#include "common/io/worker.h"

#include "bampi/control/bmc/bmc_queue.h"
#include "bampi/control/bmc/breaker_policy.h"
#include "bampi/control/bmc/confirm_policy.h"

struct operation;

/* One caller. Lives until answered, timed out or cancelled. */
struct ask {
	uint64_t ticket;
	struct operation *operation;
	bmc_done_fn done;
	void *context;
	int64_t deadline_ms;
	struct loop_timer *deadline;
	struct ask *prev, *next;
	UT_hash_handle hh;
};

/* One thing to do at one BMC; several asks share it when it changes nothing. */
struct operation {
	struct bmc_queue *queue;
	struct bmc *bmc; /* NULL once finished */
	struct bmc_request request;
	enum bmc_priority priority;
	struct ask *asks;
	struct confirm confirm;
	struct bmc_result result; /* when finished */
	struct problem problem;   /* the last failed call; when finished the answer */
	int rc;
	struct operation *prev, *next;
};

/* The driver's state of one BMC. Moves into a closing call when the BMC is replaced or removed
 * while a call is in flight. */
struct session {
	const struct bmc_driver *driver;
	void *state;
};

/* One driver call on its way through a worker thread (or, for a driver that does not block, a
 * timer). */
struct call {
	struct bmc_queue *queue;
	struct bmc *bmc;             /* NULL: removed meanwhile; close the session at the end */
	struct operation *operation; /* NULL: nobody waits for it any more */
	struct session session;
	bool closes;  /* not a call, only the end of a session */
	bool failing; /* counted as a call to a failing BMC */
	bool poll;    /* counted as polling */
	bool ran;
	struct bmc_request request;
	int64_t deadline_ms;
	struct loop_timer *latency; /* of a driver that does not block */
	struct call *prev, *next;   /* of queue->timed */
	struct bmc_result result;
	struct problem problem;
	int rc;
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
	struct operation *waiting[BMC_PRIORITY_COUNT];
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
	struct worker *worker;
	struct sim_rack *sim;
	unsigned workers, failing_workers, poll_workers;
	unsigned in_flight, in_flight_failing, in_flight_poll;
	struct bmc *bmcs; /* by id */
	struct ask *asks; /* by ticket */
	struct bmc *ready[READY_COUNT];
	struct call *timed;         /* calls that wait for their latency */
	struct operation *finished; /* to be answered in the next turn of the loop */
	struct loop_timer *deliver;
	uint64_t next_ticket, next_version;
	struct bmc_queue_stats stats;
};

/* bmc_queue_run.c */
/* Looks what this BMC should do now; call after any change, at most once per turn of the loop. */
void bmc_pump(struct bmc *bmc);
/* Takes the operation from its BMC; its asks are answered in the next turn. `problem` may be NULL
 * for rc 0. */
void operation_finish(struct operation *operation, int rc, const struct problem *problem);
/* Nobody waits any more: forget it (a call in flight goes on unheard). */
void operation_drop(struct operation *operation);
/* Ends `session` in a worker thread; it is zeroed. */
void session_close(struct bmc_queue *queue, struct session *session);
void ask_free(struct ask *ask);
void finished_deliver(void *context); /* struct bmc_queue */
/* Forgets the calls that wait for their latency, with their sessions. */
void timed_drop(struct bmc_queue *queue);

/* bmc_queue_text.c: what people are told. */
void text_breaker_open(const struct bmc *bmc, int64_t now_ms, struct problem *ret);
void text_deadline(const struct operation *operation, struct problem *ret);
void text_wrong_echo(const struct operation *operation, struct problem *ret);
void text_gone(int64_t bmc_id, struct problem *ret);
