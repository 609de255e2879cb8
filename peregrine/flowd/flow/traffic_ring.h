/* The last seconds, one by one: what answers "now" without the database. Each second is kept as its
 * largest pairs and flows with exact totals, in as much memory as it needs and no more than the
 * limits given. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/traffic_set.h"

struct traffic_ring;

MUST_USE int traffic_ring_new(unsigned seconds, struct traffic_ring **ret);
void traffic_ring_free(struct traffic_ring *ring);

/* Copies the set as the traffic of second `at_s`, which follows the last one; what is between is
 * silence. A second before the last one empties the ring: the clock was set back. */
MUST_USE int traffic_ring_put(struct traffic_ring *ring, int64_t at_s,
			      const struct traffic_set *set);

/* Only what passes is summed up. INDEX_NONE and -1: any. */
struct traffic_filter {
	uint32_t place;
	int direction;
	/* Asked for each group; NULL = any. */
	int (*group_passes)(void *context, uint32_t group);
	void *context;
};
/* Adds seconds from <= s < to that are there. Returns how many. */
unsigned traffic_ring_sum(const struct traffic_ring *ring, int64_t from_s, int64_t to_s,
			  const struct traffic_filter *filter, struct traffic_set *set);
/* First and last second that are there; 0, 0 when there is none. */
void traffic_ring_span(const struct traffic_ring *ring, int64_t *ret_first_s, int64_t *ret_last_s);
size_t traffic_ring_bytes(const struct traffic_ring *ring);
