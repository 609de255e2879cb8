/* The last seconds, one by one: they answer "now" without the database. Each second keeps its
 * largest pairs and flows, and exact totals, in as much memory as it needs. When all seconds
 * together exceed the limit, the oldest go first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/traffic_set.h"

/* A second's rows; parents by index, as in a set. */
struct ring_share {
	struct share_key key;
	uint32_t samples;
	uint64_t bytes, packets;
	double square;
	uint64_t floor;
};

struct ring_pair {
	struct pair_key key;
	uint32_t samples;
	uint64_t bytes, packets;
	double square;
	uint64_t missed, floor;
};

struct ring_flow {
	struct conversation_key key;
	uint32_t samples;
	uint64_t bytes, packets;
	double square;
	uint64_t missed;
};

struct ring_second {
	int64_t at_s; /* 0 = empty */
	uint32_t share_count, pair_count, flow_count;
	struct ring_share *shares; /* one block of memory with the two behind it */
	struct ring_pair *pairs;
	struct ring_flow *flows;
	size_t size;
	unsigned thinned; /* one in so many samples was used; 0 or 1 = each */
};

struct traffic_ring;

/* At most so many seconds, and so many bytes. */
MUST_USE int traffic_ring_new(unsigned seconds, size_t bytes_max, struct traffic_ring **ret);
void traffic_ring_free(struct traffic_ring *ring);

/* Copies the current second of a live set as the traffic of second `at_s`. Seconds between the last
 * one and `at_s` become silent. A second before the last one empties the ring: the clock was set
 * back. The largest pairs and flows are kept, up to a number per parent and in all (`kept`). All
 * shares are kept. */
MUST_USE int traffic_ring_put(struct traffic_ring *ring, int64_t at_s,
			      const struct traffic_set *set, const struct traffic_limits *kept,
			      unsigned thinned);
/* NULL: silent, or no longer kept. */
const struct ring_second *traffic_ring_get(const struct traffic_ring *ring, int64_t at_s);

/* Only traffic that matches is summed up. INDEX_NONE and -1: any. */
struct traffic_filter {
	uint32_t place;
	int direction;
	/* Asked for each group; NULL = any. */
	int (*group_passes)(void *context, uint32_t group);
	void *context;
};
/* Adds the kept seconds from <= s < to. Returns how many. */
unsigned traffic_ring_sum(const struct traffic_ring *ring, int64_t from_s, int64_t to_s,
			  const struct traffic_filter *filter, struct traffic_set *set);
/* First and last kept second; 0, 0 = none. */
void traffic_ring_span(const struct traffic_ring *ring, int64_t *ret_first_s, int64_t *ret_last_s);
size_t traffic_ring_bytes(const struct traffic_ring *ring);
/* How many seconds like the kept ones fit: fewer than `seconds` of traffic_ring_new if they are
 * large. The number is known before the first second has to go. It falls at once but rises only by
 * large steps, so that the same question finds the same seconds a little later. */
unsigned traffic_ring_reach(const struct traffic_ring *ring);

/* A time range at a place, and the sampled bytes that left there. A second at its begin or end
 * counts in proportion. */
struct ring_span {
	uint32_t place;
	int64_t from_us, to_us;
	double out_bytes; /* in and out */
	uint32_t next;    /* traffic_ring_left's */
};
/* Adds to `out_bytes` of each span; every place is below `places`. Each second is read once. */
MUST_USE int traffic_ring_left(const struct traffic_ring *ring, struct ring_span spans[],
			       size_t count, size_t places);
