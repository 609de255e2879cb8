/* Batches of a loader on their way into a device (ops_intake of ops.h): while one is computed with, the next is
 * uploaded. The loader writes into memory that the device reads: nothing is copied on the host. A batch goes back
 * to the loader when the device has read it, and its labels were used. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/loader/loader.h"
#include "trainer_image/ops/ops.h"

struct intake;

struct intake_options {
	struct ops *ops; /* that has an intake */
	const struct augment *augment;
	uint32_t batch;
	uint32_t k_least, k_most; /* where memory lacks, less of them: pictures take the most */
};

/* E_LIMIT: no memory of the host or of the device; -ENOMEM, -EIO. `ops` outlives it. */
MUST_USE int intake_new(const struct intake_options *options, struct intake **ret,
			struct problem *problem);
/* Waits for uploads; behind it the loader may be freed, and then the intake. NULL is allowed, for both. */
void intake_close(struct intake *intake);
void intake_free(struct intake *intake);

/* For the one loader that it works with, which has LOADER_DEPTH batches. */
struct loader_side intake_side(struct intake *intake);

/* The upload of the loader's next batch begins: 1. As loader_next() says, or with `waits` false loader_try_next(). */
MUST_USE int intake_fetch(struct intake *intake, struct loader *loader, bool waits,
			  struct problem *problem);
/* That batch, until it is put. */
const struct loader_batch *intake_batch(const struct intake *intake);
/* Its pictures to `to`, `all` of them (ops_intake_put), in the order of the device's calls. */
MUST_USE int intake_put(struct intake *intake, struct loader *loader, void *to, uint32_t all);
