/* The shards of a sum, for what moves them (collective.c, levels.c) and for what counts them (collective_size.c). */
#pragma once

#include "trainer_image/comm/collective.h"

/* One shard, or some beside each other. */
struct collective_part {
	float *numbers; /* NULL: sizes alone are asked for */
	size_t first, count;
	size_t size; /* encoded */
};

/* Shards of a member by halving. */
struct collective_range {
	int first, count;
};

/* The shard `nth`, counted around. */
struct collective_part collective_part(const struct collective_sum *sum, int members, int nth);
struct collective_part collective_range_part(const struct collective_sum *sum, int members,
					     struct collective_range range);
/* Bytes that shards of DIRECT lie apart, a multiple of 16. */
size_t collective_direct_room(size_t size);
/* Bytes that hold any shard. */
size_t collective_part_room(enum codec codec, int members, size_t count);
/* The half of the range that the member keeps, and the other one. */
void collective_halve(int me, struct collective_range range, struct collective_range *mine,
		      struct collective_range *other);

/* The two halves of a sum by DIRECT. Between them each member holds the sum of its shard, in the order of the members. */
MUST_USE int collective_direct_reduce(struct transport *transport,
				      const struct collective_group *group,
				      const struct collective_sum *sum);
MUST_USE int collective_direct_share(struct transport *transport,
				     const struct collective_group *group,
				     const struct collective_sum *sum);
