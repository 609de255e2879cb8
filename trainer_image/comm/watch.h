/* Watches over the ranks of a job: each tells the others twice a second that it lives, by UDP, from a
 * thread of its own. A rank that is dead, stopped or cut off falls silent. All others then end their
 * sums, and name that rank instead of waiting. A rank that fails says why, and the others end by that.
 *
 * Example: rank 2 of 4 is stopped by SIGSTOP in the middle of a sum. 5 s later the ranks 0, 1 and 3 have
 * "rank 2 is silent since 5.0 s" as their problem. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/comm/transport.h"

enum { WATCH_SILENT_MS = 5000 };

struct watch;

/* Why a rank's job is over, in memory that another process may read: the first cause counts. */
struct watch_verdict {
	atomic_int_fast64_t
		at_ms; /* clock_monotonic_ms() of the cause; 0: the job goes on. Read it first */
	bool own;      /* this rank has failed; else it is what the watch found */
	struct problem problem; /* of a silent rank: E_TIMEOUT */
};

/* `transport` is stopped when the job cannot go on; it outlives the watch. `socket`: UDP, bound to the port of
 * this rank in `job`, for the watch to close. `silent_ms` 0 = WATCH_SILENT_MS. -ENOMEM, -EAGAIN, E_NOT_FOUND:
 * the address of a rank. */
MUST_USE int watch_new(const struct transport_job *job, struct transport *transport, int socket,
		       int64_t silent_ms, struct watch **ret, struct problem *problem);
/* Tells the others that this rank has ended well, unless it has failed. */
void watch_free(struct watch *watch);

/* Where this rank is; from the thread that trains. */
void watch_step(struct watch *watch, uint64_t step, uint64_t waited_us);
/* This rank cannot go on: the others are told at once, and its transport is stopped. The first call counts. */
void watch_fail(struct watch *watch, const struct problem *cause);
/* The verdict is written to `verdict` as soon as there is one. It outlives the watch; its bytes are 0. */
void watch_show(struct watch *watch, struct watch_verdict *verdict);
/* False: the job is over, and `problem` says by which rank and why. */
bool watch_fine(struct watch *watch, struct problem *problem);

/* True: `rank` has ended, and this one was stopped for longer than a rank may be silent. The others had to give it up,
 * and `problem` says so. For a call over the transport that failed. */
bool watch_was_away(struct watch *watch, int rank, struct problem *problem);

/* The rank that the others wait for. */
struct watch_slowest {
	int rank;        /* -1: not known yet */
	int64_t skew_us; /* so much less than the others' mean it waited since the last call */
};

struct watch_slowest watch_slowest(struct watch *watch);
