/* For drivers whose library blocks: one call at a time in a thread of the worker, seen from the
 * loop as bmc_driver.h wants it. Not for what many BMCs need often: threads are few. */
#pragma once

#include "bampi/bmc/bmc_driver.h"

struct bmc_blocking;

struct bmc_blocking_face {
	/* One call; may block until about `deadline_ms` (clock_monotonic_ms), not longer. *ret is
	 * written only on 0. Errors as in bmc_driver.h, always with a problem. In a thread; never
	 * two at once for one state. */
	int (*run)(void *state, const struct bmc_request *request, int64_t deadline_ms,
		   struct bmc_result *ret, struct problem *problem);
	/* Ends what is open at the BMC and frees the state. In a thread; may block like run(). */
	void (*close)(void *state);
};

/* `state` becomes its own on success. `face` is borrowed for ever. -ENOMEM. */
MUST_USE int bmc_blocking_new(const struct bmc_host *host, const struct bmc_blocking_face *face,
			      void *state, struct bmc_blocking **ret);
/* As start() of bmc_driver. -EAGAIN: the worker's line is full. */
MUST_USE int bmc_blocking_start(struct bmc_blocking *blocking, const struct bmc_request *request,
				int64_t deadline_ms, bmc_call_fn fn, void *context);
/* As close() of bmc_driver: a call in its thread is waited for there. */
void bmc_blocking_free(struct bmc_blocking *blocking);
