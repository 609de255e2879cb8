/* The traffic of one stretch of time, whatever its length: shares, pairs and flows in three tables
 * of fixed size. When a table of children is full, only the largest of each parent stay and the
 * rest becomes its "other" (a batch form of Space-Saving; Metwally et al. 2005): totals stay exact,
 * and each parent remembers how large a child may have been that is not there, or that came back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/traffic.h"

struct traffic_share {
	struct share_key key;
	struct traffic_sums sums;
	uint64_t floor; /* bytes that a pair may have had here before it was dropped */
};

struct traffic_pair {
	struct pair_key key;
	struct traffic_sums sums;
	uint64_t missed; /* bytes that it may have had before it was first kept: the share's floor
			    then */
	uint64_t floor;  /* of its flows */
};

struct traffic_flow {
	struct conversation_key key;
	struct traffic_sums sums;
	uint64_t missed;
};

struct traffic_limits {
	uint32_t shares, pairs, flows; /* of the whole set */
	uint32_t pairs_kept,
		flows_kept; /* of each parent when a table is full, and when it is pruned */
};

struct traffic_table {
	uint32_t *slots; /* index plus one */
	uint32_t mask, count, limit;
};

struct traffic_set {
	struct traffic_limits limits;
	struct traffic_share *shares;
	struct traffic_pair *pairs;
	struct traffic_flow *flows;
	struct traffic_table share_table, pair_table, flow_table;
	/* What did not fit: shares that were not counted at all, and how often children were
	 * dropped. */
	uint64_t lost_bytes;
	uint32_t prunes;
};

MUST_USE int traffic_set_init(struct traffic_set *set, const struct traffic_limits *limits);
void traffic_set_done(struct traffic_set *set);
void traffic_set_clear(struct traffic_set *set);

/* One flow's sums at one place. `pair`'s share and `flow`'s pair are set by it. */
void traffic_set_add(struct traffic_set *set, const struct share_key *share,
		     const struct pair_key *pair, const struct conversation_key *flow,
		     const struct traffic_sums *sums);
/* All of `from`, with its others and floors. */
void traffic_set_merge(struct traffic_set *set, const struct traffic_set *from);
/* Keeps the largest limits.pairs_kept of each share and limits.flows_kept of each pair. Returns
 * -ENOMEM and changes nothing when there is no memory for sorting. */
MUST_USE int traffic_set_prune(struct traffic_set *set);
/* The same, and no more than so many pairs and flows in all: the largest. */
MUST_USE int traffic_set_prune_to(struct traffic_set *set, uint32_t pairs, uint32_t flows);

void traffic_sums_add(struct traffic_sums *sums, const struct traffic_sums *more);
