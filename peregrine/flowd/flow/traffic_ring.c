#include "peregrine/flowd/flow/traffic_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/flowd/flow/attribution_index.h"

/* A second as arrays: rows refer to their parents by index, as in the set. */
struct ring_second {
	int64_t at_s; /* 0 = empty */
	uint32_t shares, pairs, flows;
	struct traffic_share *share_rows; /* one block of memory with the two behind it */
	struct traffic_pair *pair_rows;
	struct traffic_flow *flow_rows;
	size_t size;
};

struct traffic_ring {
	unsigned count;
	int64_t last_s;
	size_t bytes;
	struct ring_second seconds[];
};

int traffic_ring_new(unsigned seconds, struct traffic_ring **ret)
{
	struct traffic_ring *ring = calloc(1, sizeof(*ring) + seconds * sizeof(ring->seconds[0]));

	if (!ring)
		return -ENOMEM;
	ring->count = seconds;
	*ret = ring;
	return 0;
}

static void second_clear(struct traffic_ring *ring, struct ring_second *second)
{
	ring->bytes -= second->size;
	free(second->share_rows);
	*second = (struct ring_second){0};
}

static void clear_all(struct traffic_ring *ring)
{
	for (unsigned i = 0; i < ring->count; i++)
		second_clear(ring, &ring->seconds[i]);
	ring->last_s = 0;
}

void traffic_ring_free(struct traffic_ring *ring)
{
	if (!ring)
		return;
	clear_all(ring);
	free(ring);
}

int traffic_ring_put(struct traffic_ring *ring, int64_t at_s, const struct traffic_set *set)
{
	struct ring_second *second = &ring->seconds[(uint64_t)at_s % ring->count];
	size_t shares = set->share_table.count * sizeof(*set->shares);
	size_t pairs = set->pair_table.count * sizeof(*set->pairs);
	size_t flows = set->flow_table.count * sizeof(*set->flows);
	char *block;

	if (at_s <= ring->last_s)
		clear_all(ring);
	second_clear(ring, second);
	block = malloc(shares + pairs + flows + 1);
	if (!block)
		return -ENOMEM;
	*second = (struct ring_second){
		.at_s = at_s,
		.shares = set->share_table.count,
		.pairs = set->pair_table.count,
		.flows = set->flow_table.count,
		.share_rows = (struct traffic_share *)(void *)block,
		.pair_rows = (struct traffic_pair *)(void *)(block + shares),
		.flow_rows = (struct traffic_flow *)(void *)(block + shares + pairs),
		.size = shares + pairs + flows + 1,
	};
	memcpy(block, set->shares, shares);
	memcpy(block + shares, set->pairs, pairs);
	memcpy(block + shares + pairs, set->flows, flows);
	ring->last_s = at_s;
	ring->bytes += second->size;
	return 0;
}

static bool passes(const struct traffic_filter *filter, const struct share_key *key)
{
	if (filter->place != INDEX_NONE && filter->place != key->place)
		return false;
	if (filter->direction >= 0 && (uint32_t)filter->direction != key->direction)
		return false;
	return !filter->group_passes || filter->group_passes(filter->context, key->group);
}

/* Seen as a set without tables: merging reads rows and counts alone. What does not pass is left
 * out. */
static void sum_second(const struct ring_second *second, const struct traffic_filter *filter,
		       struct traffic_set *set)
{
	struct traffic_set part = {0};
	uint32_t *shares = calloc((size_t)second->shares + 1, sizeof(*shares));
	uint32_t *pairs = calloc((size_t)second->pairs + 1, sizeof(*pairs));

	part.shares = calloc((size_t)second->shares + 1, sizeof(*part.shares));
	part.pairs = calloc((size_t)second->pairs + 1, sizeof(*part.pairs));
	part.flows = calloc((size_t)second->flows + 1, sizeof(*part.flows));
	if (shares && pairs && part.shares && part.pairs && part.flows) {
		for (uint32_t i = 0; i < second->shares; i++) {
			shares[i] = INDEX_NONE;
			if (!passes(filter, &second->share_rows[i].key))
				continue;
			shares[i] = part.share_table.count++;
			part.shares[shares[i]] = second->share_rows[i];
		}
		for (uint32_t i = 0; i < second->pairs; i++) {
			struct traffic_pair row = second->pair_rows[i];

			pairs[i] = INDEX_NONE;
			row.key.share = shares[row.key.share];
			if (row.key.share == INDEX_NONE)
				continue;
			pairs[i] = part.pair_table.count++;
			part.pairs[pairs[i]] = row;
		}
		for (uint32_t i = 0; i < second->flows; i++) {
			struct traffic_flow row = second->flow_rows[i];

			row.key.pair = pairs[row.key.pair];
			if (row.key.pair != INDEX_NONE)
				part.flows[part.flow_table.count++] = row;
		}
		traffic_set_merge(set, &part);
	}
	free(shares);
	free(pairs);
	free(part.shares);
	free(part.pairs);
	free(part.flows);
}

unsigned traffic_ring_sum(const struct traffic_ring *ring, int64_t from_s, int64_t to_s,
			  const struct traffic_filter *filter, struct traffic_set *set)
{
	unsigned count = 0;

	for (unsigned i = 0; i < ring->count; i++) {
		const struct ring_second *second = &ring->seconds[i];

		if (!second->at_s || second->at_s < from_s || second->at_s >= to_s)
			continue;
		sum_second(second, filter, set);
		count++;
	}
	return count;
}

void traffic_ring_span(const struct traffic_ring *ring, int64_t *ret_first_s, int64_t *ret_last_s)
{
	int64_t first = 0;

	for (unsigned i = 0; i < ring->count; i++)
		if (ring->seconds[i].at_s && (!first || ring->seconds[i].at_s < first))
			first = ring->seconds[i].at_s;
	*ret_first_s = first;
	*ret_last_s = ring->last_s;
}

size_t traffic_ring_bytes(const struct traffic_ring *ring)
{
	return ring->bytes;
}
