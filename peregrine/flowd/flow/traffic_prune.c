/* Keeps the largest pairs of each share and the largest flows of each pair; the rest becomes their
 * "other". */
#include <errno.h>
#include <stdlib.h>

#include "peregrine/flowd/flow/traffic_set_private.h"

/* What a dropped child had of the second under way may come back in it as another row, and as a
 * third: its bytes become what it may have had in all. Before floors are raised. */
static void guess_now(struct traffic_set *set, const struct traffic_now *parent,
		      struct traffic_now *child)
{
	if (!set->live || child->second != set->second)
		return;
	child->bytes += parent->floor;
	set->second_pruned = true;
}

static void raise_now_floor(const struct traffic_set *set, struct traffic_now *parent,
			    const struct traffic_now *child)
{
	if (set->live && child->second == set->second)
		raise_floor(&parent->floor, child->bytes);
}

/* `moved[i]`: the new number of pair i, ROW_NONE = dropped. */
static int prune_pairs(struct traffic_set *set, uint32_t room, struct ranked *ranked,
		       uint32_t *moved)
{
	uint32_t count = set->pair_table.count;
	uint32_t left = 0;
	size_t stay;

	for (uint32_t i = 0; i < count; i++) {
		ranked[i] = (struct ranked){set->pairs[i].key.share, i, set->pairs[i].sums.bytes};
		moved[i] = 0;
	}
	if (traffic_choose(ranked, count, set->share_table.count, set->limits.pairs_kept, room,
			   &stay))
		return -ENOMEM;
	for (size_t i = stay; i < count; i++) {
		struct traffic_pair *pair = &set->pairs[ranked[i].child];

		guess_now(set, &set->shares[pair->key.share].now, &pair->now);
	}
	for (size_t i = stay; i < count; i++) {
		const struct traffic_pair *pair = &set->pairs[ranked[i].child];
		struct traffic_share *share = &set->shares[pair->key.share];

		raise_floor(&share->floor, pair->missed + pair->sums.bytes);
		raise_now_floor(set, &share->now, &pair->now);
		moved[ranked[i].child] = ROW_NONE;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (moved[i] == ROW_NONE)
			continue;
		moved[i] = left;
		if (left != i)
			set->pairs[left] = set->pairs[i];
		left++;
	}
	set->pair_table.count = left;
	return 0;
}

static void drop_marked_flows(struct traffic_set *set)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < set->flow_table.count; i++) {
		if (set->flows[i].key.pair == ROW_NONE)
			continue;
		if (left != i)
			set->flows[left] = set->flows[i];
		left++;
	}
	set->flow_table.count = left;
}

/* Flows of dropped pairs go with them; their bytes are in the share's other already. */
static int prune_flows(struct traffic_set *set, uint32_t room, struct ranked *ranked,
		       const uint32_t *moved)
{
	uint32_t count;
	size_t stay;

	for (uint32_t i = 0; i < set->flow_table.count; i++)
		set->flows[i].key.pair = moved[set->flows[i].key.pair];
	drop_marked_flows(set);
	count = set->flow_table.count;
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){set->flows[i].key.pair, i, set->flows[i].sums.bytes};
	if (traffic_choose(ranked, count, set->pair_table.count, set->limits.flows_kept, room,
			   &stay))
		return -ENOMEM;
	for (size_t i = stay; i < count; i++) {
		struct traffic_flow *flow = &set->flows[ranked[i].child];

		guess_now(set, &set->pairs[flow->key.pair].now, &flow->now);
	}
	for (size_t i = stay; i < count; i++) {
		struct traffic_flow *flow = &set->flows[ranked[i].child];

		struct traffic_pair *pair = &set->pairs[flow->key.pair];

		raise_floor(&pair->floor, flow->missed + flow->sums.bytes);
		raise_now_floor(set, &pair->now, &flow->now);
		flow->key.pair = ROW_NONE;
	}
	drop_marked_flows(set);
	return 0;
}

int traffic_set_prune_to(struct traffic_set *set, uint32_t pairs, uint32_t flows)
{
	uint32_t most = set->pair_table.count > set->flow_table.count ? set->pair_table.count
								      : set->flow_table.count;
	struct ranked *ranked = malloc(((size_t)most + 1) * sizeof(*ranked));
	uint32_t *moved = malloc(((size_t)set->pair_table.count + 1) * sizeof(*moved));
	uint32_t had = set->pair_table.count + set->flow_table.count;
	int rc = ranked && moved ? prune_pairs(set, pairs, ranked, moved) : -ENOMEM;

	if (!rc) {
		rc = prune_flows(set, flows, ranked, moved);
		if (set->pair_table.count + set->flow_table.count != had)
			traffic_set_index_again(set);
	}
	free(ranked);
	free(moved);
	return rc;
}

int traffic_set_prune(struct traffic_set *set)
{
	return traffic_set_prune_to(set, set->pair_table.limit, set->flow_table.limit);
}

static uint32_t drop_silent_shares(struct traffic_set *set, uint32_t *moved)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < set->share_table.count; i++) {
		moved[i] = ROW_NONE;
		if (traffic_is_silent(&set->shares[i].sums))
			continue;
		moved[i] = left;
		if (left != i)
			set->shares[left] = set->shares[i];
		left++;
	}
	return left;
}

static uint32_t drop_silent_pairs(struct traffic_set *set, const uint32_t *shares, uint32_t *moved)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < set->pair_table.count; i++) {
		moved[i] = ROW_NONE;
		if (traffic_is_silent(&set->pairs[i].sums))
			continue;
		moved[i] = left;
		if (left != i)
			set->pairs[left] = set->pairs[i];
		set->pairs[left].key.share = shares[set->pairs[left].key.share];
		left++;
	}
	return left;
}

/* A silent row's children are silent, too. */
void traffic_set_drop_silent(struct traffic_set *set)
{
	uint32_t *shares = malloc(((size_t)set->share_table.count + 1) * sizeof(*shares));
	uint32_t *pairs = malloc(((size_t)set->pair_table.count + 1) * sizeof(*pairs));

	if (shares && pairs) {
		uint32_t share_count = drop_silent_shares(set, shares);
		uint32_t pair_count = drop_silent_pairs(set, shares, pairs);

		for (uint32_t i = 0; i < set->flow_table.count; i++) {
			struct traffic_flow *flow = &set->flows[i];

			flow->key.pair =
				traffic_is_silent(&flow->sums) ? ROW_NONE : pairs[flow->key.pair];
		}
		drop_marked_flows(set);
		set->share_table.count = share_count;
		set->pair_table.count = pair_count;
		set->keeps_silent = false;
		traffic_set_index_again(set);
	}
	free(shares);
	free(pairs);
}

/* To the half, so that the work is shared by as many rows as came since. Without memory for it new
 * children do not fit, which their parents' others tell. */
void traffic_set_make_half_empty(struct traffic_set *set)
{
	if (!traffic_set_prune_to(set, set->pair_table.limit / 2, set->flow_table.limit / 2))
		set->prunes++;
}
