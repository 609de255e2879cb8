/* Which forward ops are not kept for the backward pass, so that the arena fits into a budget of bytes
 * with the fewest extra operations.
 *
 * Up to 14 ops that may be dropped all sets are tried. Above that the choice of chain_policy.h is
 * checked by the true peak of its steps, and then improved op by op: a model without cuts is one
 * segment, so this is greedy by bytes freed per operation. */
#pragma once

#include "trainer_image/plan/liveness.h"

enum { RECOMPUTE_EXACT_MAX = 14 };

struct recompute_choice {
	bool exact;
	int64_t smallest; /* E_LIMIT: the smallest budget that works */
};

/* Sets `dropped` per forward op; `life` holds the steps and offsets of that choice. `budget` 0 = any.
 * E_LIMIT, -ENOMEM. */
MUST_USE int recompute_choose(struct liveness *life, int64_t budget, bool dropped[],
			      int64_t *ret_arena, struct recompute_choice *ret_choice);
