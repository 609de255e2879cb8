/* Where blocks of memory lie in one arena. Two blocks that are live in one step share no byte.
 *
 * Example: a of 512 bytes in steps 0-1, b of 256 in 1-2, c of 512 in 2-3: a and c at 0, b at 512. The
 * arena has 768 bytes, as many as are live in step 1: no arena is smaller. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

struct arena_block {
	int first, last; /* steps, both included */
	int64_t bytes;
	int64_t offset; /* the answer */
};

/* Sets offsets, and returns bytes of the arena in `ret_bytes`. Large blocks are placed first, each into
 * the smallest gap that holds it; of several orders the best. -ENOMEM. */
MUST_USE int arena_place(struct arena_block blocks[], size_t count, int64_t *ret_bytes);
