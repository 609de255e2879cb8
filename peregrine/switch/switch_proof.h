/* Proves credentials that do not count yet: one session of its own for each way that they are used
 * in, and one look. It is beside the queue: its breakers, its sessions and its calls know nothing of
 * it. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/switch_driver.h"

struct switch_proof;

enum switch_proof_end {
	SWITCH_PROOF_TAKEN,   /* in each way */
	SWITCH_PROOF_REFUSED, /* another try brings nothing, and may lock the account */
	SWITCH_PROOF_MUTE,    /* no answer in a way that may answer no wrong secret either: SNMP */
	SWITCH_PROOF_SILENT,
	SWITCH_PROOF_END_COUNT
};

/* From the loop. Not TAKEN: the problem is that of the first driver that failed. The proof has
 * ended: free it. */
typedef void (*switch_proof_fn)(void *context, enum switch_proof_end end,
				const struct problem *problem);

/* The endpoint is copied, the host outlives the proof. Not 0, with a problem: it did not begin, and
 * `fn` will not be called. */
MUST_USE int switch_proof_new(const struct switch_host *host,
			      const struct switch_endpoint *endpoint, switch_proof_fn fn,
			      void *context, struct switch_proof **ret, struct problem *problem);
/* Under way or not; `fn` will not be called. NULL is fine. */
void switch_proof_free(struct switch_proof *proof);

/* E_DENIED with a problem: `next` has no secret for a way that either is used in, or lacks a further
 * secret that `now` has. Pure. */
MUST_USE int switch_proof_covers(const struct switch_endpoint *now,
				 const struct switch_endpoint *next, struct problem *problem);
/* What rc of a login means (switch_driver.h). `driver`: by which; NULL: none was asked. Pure. */
enum switch_proof_end switch_proof_end_of(int rc, const struct switch_driver *driver);
