/* Starts the ranks of a job that run on this machine, a process each, and ends with all of them.
 *
 * One rank alone runs in this process. When a rank dies, hangs or fails, the others end by themselves (comm/watch.h).
 * What is left some seconds later is killed, also where its thread is stuck in a driver and only its watch still
 * knows. The cause is told once: what failed first, not what the others made of it. */
#pragma once

#include <stdatomic.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/train/job.h"
#include "trainer_image/train/team.h"

struct launch_options {
	const struct job *job;
	int first, last; /* ranks that run here; -1: all */
	/* What a rank does; `team` is NULL of one alone. 0 or a negative number, whose cause is in `problem`; above
	 * 0: an exit status. */
	int (*run)(void *context, struct team *team, struct problem *problem);
	void *context;
	const atomic_bool *stop; /* true: ranks are told by SIGTERM; may be NULL */
};

/* What run() gave: of several the first that is not 0. E_UNAVAILABLE: a rank is lost; -errno. */
MUST_USE int launch_run(const struct launch_options *options, struct problem *problem);
