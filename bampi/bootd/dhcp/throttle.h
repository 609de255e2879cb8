/* How many requests one client may make: a token bucket per MAC in a fixed table. A client that
 * shares a place with another takes it over, so memory is bounded and a flood of made-up MACs
 * limits nobody but itself (addresses are bounded by the pool). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/mac.h"

#define THROTTLE_PLACES     4096
#define THROTTLE_BURST      12 /* firmware, iPXE and kernel of one boot, with retries */
#define THROTTLE_PER_SECOND 2

struct throttle {
	struct {
		uint64_t mac;
		int64_t last_ms;
		uint32_t tokens_milli;
	} places[THROTTLE_PLACES];
};

/* Zero bytes are a valid empty throttle. */
bool throttle_allows(struct throttle *throttle, struct mac mac, int64_t now_ms);
