/* What a live set has of its second under way, as the ring keeps it: all shares, the largest pairs
 * and flows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/flowd/flow/traffic_set_private.h"

/* Rows stand in no order: so many ahead are fetched. */
enum { TRAFFIC_SECOND_AHEAD = 16 };

/* Chosen children of one level, and what their parents did not keep. */
struct chosen {
	struct ranked *rows;
	size_t stay, count;
};

struct picking {
	const struct traffic_set *set;
	struct chosen pairs, flows;
	uint32_t *ring_share, *ring_pair; /* the set's numbers to the second's */
};

/* A row may have had more before it was dropped in the middle of the second and came back. */
static uint64_t missed_of(const struct traffic_set *set, const struct traffic_now *parent)
{
	return set->second_pruned ? parent->floor : 0;
}

static int pick_pairs(struct picking *picking, const struct traffic_limits *kept)
{
	const struct traffic_set *set = picking->set;
	struct chosen *pairs = &picking->pairs;

	pairs->count = set->pair_touched.count;
	pairs->rows = malloc((pairs->count + 1) * sizeof(*pairs->rows));
	if (!pairs->rows)
		return -ENOMEM;
	for (size_t i = 0; i < pairs->count; i++) {
		uint32_t row = set->pair_touched.rows[i];

		if (i + TRAFFIC_SECOND_AHEAD < pairs->count) {
			const struct traffic_pair *next =
				&set->pairs[set->pair_touched.rows[i + TRAFFIC_SECOND_AHEAD]];

			__builtin_prefetch(&next->key.share);
			__builtin_prefetch(&next->now.bytes);
		}
		pairs->rows[i] =
			(struct ranked){set->pairs[row].key.share, row, set->pairs[row].now.bytes};
	}
	return traffic_choose(pairs->rows, pairs->count, set->share_table.count, kept->pairs_kept,
			      kept->pairs, &pairs->stay);
}

/* Of pairs that stay. */
static int pick_flows(struct picking *picking, const struct traffic_limits *kept)
{
	const struct traffic_set *set = picking->set;
	struct chosen *flows = &picking->flows;

	flows->rows = malloc((set->flow_touched.count + 1) * sizeof(*flows->rows));
	if (!flows->rows)
		return -ENOMEM;
	for (size_t i = 0; i < set->flow_touched.count; i++) {
		uint32_t row = set->flow_touched.rows[i];
		const struct traffic_flow *flow = &set->flows[row];

		if (i + TRAFFIC_SECOND_AHEAD < set->flow_touched.count) {
			const struct traffic_flow *next =
				&set->flows[set->flow_touched.rows[i + TRAFFIC_SECOND_AHEAD]];

			__builtin_prefetch(&next->key.pair);
			__builtin_prefetch(&next->now.bytes);
		}
		if (picking->ring_pair[flow->key.pair] != ROW_NONE)
			flows->rows[flows->count++] =
				(struct ranked){flow->key.pair, row, flow->now.bytes};
	}
	return traffic_choose(flows->rows, flows->count, set->pair_table.count, kept->flows_kept,
			      kept->flows, &flows->stay);
}

static void number_pairs(struct picking *picking)
{
	memset(picking->ring_pair, 0xff,
	       picking->set->pair_table.count * sizeof(*picking->ring_pair));
	for (size_t i = 0; i < picking->pairs.stay; i++)
		picking->ring_pair[picking->pairs.rows[i].child] = (uint32_t)i;
}

static void put_shares(struct picking *picking, struct ring_second *second)
{
	const struct traffic_set *set = picking->set;

	for (uint32_t i = 0; i < second->share_count; i++) {
		uint32_t row = set->share_touched.rows[i];
		const struct traffic_share *share = &set->shares[row];

		picking->ring_share[row] = i;
		second->shares[i] = (struct ring_share){.key = share->key,
							.samples = share->now.samples,
							.bytes = share->now.bytes,
							.packets = share->now.packets,
							.square = share->now.square,
							.floor = share->now.floor};
	}
}

static void put_pairs(struct picking *picking, struct ring_second *second)
{
	const struct traffic_set *set = picking->set;

	for (size_t i = 0; i < picking->pairs.count; i++) {
		const struct traffic_pair *pair = &set->pairs[picking->pairs.rows[i].child];
		uint64_t missed = missed_of(set, &set->shares[pair->key.share].now);
		uint32_t share = picking->ring_share[pair->key.share];

		if (i >= picking->pairs.stay) {
			raise_floor(&second->shares[share].floor, pair->now.bytes + missed);
			continue;
		}
		second->pairs[i] = (struct ring_pair){.key = pair->key,
						      .samples = pair->now.samples,
						      .bytes = pair->now.bytes,
						      .packets = pair->now.packets,
						      .square = pair->now.square,
						      .missed = missed,
						      .floor = pair->now.floor};
		second->pairs[i].key.share = share;
	}
}

static void put_flows(struct picking *picking, struct ring_second *second)
{
	const struct traffic_set *set = picking->set;

	for (size_t i = 0; i < picking->flows.count; i++) {
		const struct traffic_flow *flow = &set->flows[picking->flows.rows[i].child];
		uint64_t missed = missed_of(set, &set->pairs[flow->key.pair].now);
		uint32_t pair = picking->ring_pair[flow->key.pair];

		if (i >= picking->flows.stay) {
			raise_floor(&second->pairs[pair].floor, flow->now.bytes + missed);
			continue;
		}
		second->flows[i] = (struct ring_flow){.key = flow->key,
						      .samples = flow->now.samples,
						      .bytes = flow->now.bytes,
						      .packets = flow->now.packets,
						      .square = flow->now.square,
						      .missed = missed};
		second->flows[i].key.pair = pair;
	}
}

static int put_all(struct picking *picking, struct ring_second *second)
{
	size_t shares = picking->set->share_touched.count * sizeof(*second->shares);
	size_t pairs = picking->pairs.stay * sizeof(*second->pairs);
	size_t flows = picking->flows.stay * sizeof(*second->flows);
	char *block = malloc(shares + pairs + flows + 1);

	if (!block)
		return -ENOMEM;
	*second = (struct ring_second){
		.share_count = picking->set->share_touched.count,
		.pair_count = (uint32_t)picking->pairs.stay,
		.flow_count = (uint32_t)picking->flows.stay,
		.shares = (struct ring_share *)(void *)block,
		.pairs = (struct ring_pair *)(void *)(block + shares),
		.flows = (struct ring_flow *)(void *)(block + shares + pairs),
		.size = shares + pairs + flows + 1,
	};
	put_shares(picking, second);
	put_pairs(picking, second);
	put_flows(picking, second);
	return 0;
}

int ring_second_of(const struct traffic_set *set, const struct traffic_limits *kept,
		   struct ring_second *ret)
{
	struct picking picking = {.set = set};
	int rc;

	picking.ring_share =
		malloc(((size_t)set->share_table.count + 1) * sizeof(*picking.ring_share));
	picking.ring_pair =
		malloc(((size_t)set->pair_table.count + 1) * sizeof(*picking.ring_pair));
	rc = picking.ring_share && picking.ring_pair ? pick_pairs(&picking, kept) : -ENOMEM;
	if (!rc) {
		number_pairs(&picking);
		rc = pick_flows(&picking, kept);
	}
	if (!rc)
		rc = put_all(&picking, ret);
	free(picking.pairs.rows);
	free(picking.flows.rows);
	free(picking.ring_share);
	free(picking.ring_pair);
	return rc;
}
