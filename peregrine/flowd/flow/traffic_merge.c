/* One set's traffic added to another's. */
#include <stdlib.h>

#include "peregrine/flowd/flow/traffic_set_private.h"

/* The way from one set's numbers to the other's, and what of each parent in `from` found no room.
 */
struct merge {
	uint32_t *shares, *pairs;
	uint64_t *share_unfit, *pair_unfit;
	uint8_t *pair_met, *flow_met; /* rows of the set that `from` has too */
};

static bool merge_init(struct merge *merge, const struct traffic_set *set,
		       const struct traffic_set *from)
{
	merge->shares = calloc((size_t)from->share_table.count + 1, sizeof(*merge->shares));
	merge->pairs = calloc((size_t)from->pair_table.count + 1, sizeof(*merge->pairs));
	merge->share_unfit =
		calloc((size_t)from->share_table.count + 1, sizeof(*merge->share_unfit));
	merge->pair_unfit = calloc((size_t)from->pair_table.count + 1, sizeof(*merge->pair_unfit));
	merge->pair_met = calloc((size_t)set->pair_table.limit + 1, 1);
	merge->flow_met = calloc((size_t)set->flow_table.limit + 1, 1);
	return merge->shares && merge->pairs && merge->share_unfit && merge->pair_unfit &&
	       merge->pair_met && merge->flow_met;
}

static void merge_done(struct merge *merge)
{
	free(merge->shares);
	free(merge->pairs);
	free(merge->share_unfit);
	free(merge->pair_unfit);
	free(merge->pair_met);
	free(merge->flow_met);
}

static void merge_shares(struct traffic_set *set, const struct traffic_set *from,
			 struct merge *merge)
{
	for (uint32_t i = 0; i < from->share_table.count; i++) {
		uint32_t at = traffic_is_silent(&from->shares[i].sums)
				      ? ROW_NONE
				      : traffic_share_row(set, &from->shares[i].key);

		merge->shares[i] = at;
		if (at == ROW_NONE)
			set->lost_bytes += from->shares[i].sums.bytes;
		else
			traffic_sums_add(&set->shares[at].sums, &from->shares[i].sums);
	}
}

static void merge_pairs(struct traffic_set *set, const struct traffic_set *from,
			struct merge *merge)
{
	for (uint32_t i = 0; i < from->pair_table.count; i++) {
		const struct traffic_pair *row = &from->pairs[i];
		struct pair_key key = row->key;
		uint32_t at;

		merge->pairs[i] = ROW_NONE;
		key.share = merge->shares[row->key.share];
		if (key.share == ROW_NONE || traffic_is_silent(&row->sums))
			continue;
		at = traffic_pair_row(set, &key);
		if (at == ROW_NONE) {
			raise_floor(&merge->share_unfit[row->key.share],
				    row->sums.bytes + row->missed);
			continue;
		}
		merge->pairs[i] = at;
		merge->pair_met[at] = 1;
		traffic_sums_add(&set->pairs[at].sums, &row->sums);
		set->pairs[at].missed += row->missed;
	}
}

static void merge_flows(struct traffic_set *set, const struct traffic_set *from,
			struct merge *merge)
{
	for (uint32_t i = 0; i < from->flow_table.count; i++) {
		const struct traffic_flow *row = &from->flows[i];
		struct conversation_key key = row->key;
		uint32_t at;

		key.pair = merge->pairs[row->key.pair];
		if (key.pair == ROW_NONE || traffic_is_silent(&row->sums))
			continue;
		/* a set that keeps none has but the largest, as a floor */
		at = set->limits.flows_kept ? traffic_flow_row(set, &key) : ROW_NONE;
		if (at == ROW_NONE) {
			raise_floor(&merge->pair_unfit[row->key.pair],
				    row->sums.bytes + row->missed);
			continue;
		}
		merge->flow_met[at] = 1;
		traffic_sums_add(&set->flows[at].sums, &row->sums);
		set->flows[at].missed += row->missed;
	}
}

/* What `from` dropped may have been of a child that the set has: that one may have more now. And
 * what neither has, may have had the one's floor and the other's. After the rows, which began with
 * the floors of before. */
static void merge_floors(struct traffic_set *set, const struct traffic_set *from,
			 struct merge *merge)
{
	uint64_t *by_share = calloc((size_t)set->share_table.count + 1, sizeof(*by_share));
	uint64_t *by_pair = calloc((size_t)set->pair_table.count + 1, sizeof(*by_pair));

	for (uint32_t i = 0; i < from->share_table.count; i++) {
		uint32_t at = merge->shares[i];

		raise_floor(&merge->share_unfit[i], from->shares[i].floor);
		if (at == ROW_NONE)
			continue;
		set->shares[at].floor += merge->share_unfit[i];
		if (by_share)
			by_share[at] = from->shares[i].floor;
	}
	for (uint32_t i = 0; i < from->pair_table.count; i++) {
		uint32_t at = merge->pairs[i];

		raise_floor(&merge->pair_unfit[i], from->pairs[i].floor);
		if (at == ROW_NONE)
			continue;
		set->pairs[at].floor += merge->pair_unfit[i];
		if (by_pair)
			by_pair[at] = from->pairs[i].floor;
	}
	for (uint32_t i = 0; by_share && i < set->pair_table.count; i++)
		if (!merge->pair_met[i])
			set->pairs[i].missed += by_share[set->pairs[i].key.share];
	for (uint32_t i = 0; by_pair && i < set->flow_table.count; i++)
		if (!merge->flow_met[i])
			set->flows[i].missed += by_pair[set->flows[i].key.pair];
	free(by_share);
	free(by_pair);
}

/* How many of `from`'s pairs the set does not have; the shares are in it. */
static uint32_t new_pairs(const struct traffic_set *set, const struct traffic_set *from,
			  const struct merge *merge)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < from->pair_table.count; i++) {
		struct pair_key key = from->pairs[i].key;

		key.share = merge->shares[key.share];
		count += key.share != ROW_NONE && !traffic_is_silent(&from->pairs[i].sums) &&
			 !traffic_has_pair(set, &key);
	}
	return count;
}

/* From one minute to the next most rows are the same: that there could be too many does not say
 * that there are. */
static bool traffic_merge_is_full(const struct traffic_set *set, const struct traffic_set *from,
				  const struct merge *merge)
{
	const struct traffic_table *pairs = &set->pair_table;

	if (set->limits.flows_kept &&
	    set->flow_table.count + from->flow_table.count > set->flow_table.limit)
		return true;
	return pairs->count + from->pair_table.count > pairs->limit &&
	       pairs->count + new_pairs(set, from, merge) > pairs->limit;
}

void traffic_set_merge(struct traffic_set *set, const struct traffic_set *from)
{
	struct merge merge = {0};

	set->lost_bytes += from->lost_bytes;
	if (set->thinned < from->thinned)
		set->thinned = from->thinned;
	if (merge_init(&merge, set, from)) {
		merge_shares(set, from, &merge);
		if (traffic_merge_is_full(set, from, &merge))
			traffic_set_make_half_empty(set);
		merge_pairs(set, from, &merge);
		merge_flows(set, from, &merge);
		merge_floors(set, from, &merge);
	} else { /* nothing is merged, and that is counted */
		for (uint32_t i = 0; i < from->share_table.count; i++)
			set->lost_bytes += from->shares[i].sums.bytes;
	}
	merge_done(&merge);
}
