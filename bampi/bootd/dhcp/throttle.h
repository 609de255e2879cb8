/* How many messages one key (a client, a relay) may send: token buckets in a fixed table. A key
 * that shares a place with another takes it over, so memory is bounded whatever is made up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

struct throttle_rate {
	size_t places; /* a power of two */
	uint32_t burst;
	uint32_t per_second; /* 0 = no limit */
	bool inherit;        /* a new key begins with what its place has left: many keys are no way
				around the limit */
};

struct throttle_place {
	uint64_t key;
	int64_t last_ms;
	int64_t tokens_milli;
};

struct throttle {
	struct throttle_rate rate;
	struct throttle_place *places;
};

MUST_USE int throttle_init(struct throttle *throttle, const struct throttle_rate *rate);
void throttle_done(struct throttle *throttle);
/* Takes one token, if there is one (monotonic time). */
bool throttle_allows(struct throttle *throttle, uint64_t key, int64_t now_ms);
