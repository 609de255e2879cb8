/* The traffic of one time range of any length: shares, pairs and flows in three tables of fixed
 * size. When a table of children is full, only the largest of each parent stay. The rest becomes
 * its "other" (a batch form of Space-Saving; Metwally et al. 2005). Totals stay exact. Each parent
 * stores a bound on the bytes of an absent child, and of a child that returned. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/traffic.h"

/* A row's sums of the current second, in a set that keeps them apart (`live`). */
struct traffic_now {
	uint64_t bytes, packets;
	double square;
	uint32_t samples; /* saturates: it is of one second, and only reported */
	uint32_t second;  /* the set's count of seconds; any other: there is nothing of this one */
	uint64_t floor;   /* bytes that a child had in this second when it was dropped */
};

struct traffic_share {
	struct share_key key;
	struct traffic_sums sums;
	uint64_t floor; /* bytes that a pair may have had here before it was dropped */
	struct traffic_now now;
};

struct traffic_pair {
	struct pair_key key;
	struct traffic_sums sums;
	uint64_t
		missed; /* bytes that it may have had before it was first kept: the share's floor at that time */
	uint64_t floor; /* of its flows */
	struct traffic_now now;
};

struct traffic_flow {
	struct conversation_key key;
	struct traffic_sums sums;
	uint64_t missed;
	struct traffic_now now;
};

/* Two cache lines each: a flow updates one of each twice a second. */
_Static_assert(sizeof(struct traffic_pair) == 128, "two cache lines");
_Static_assert(sizeof(struct traffic_flow) == 128, "two cache lines");

struct traffic_limits {
	uint32_t shares, pairs, flows; /* of the whole set */
	uint32_t pairs_kept,
		flows_kept; /* children kept per parent when a table is full, and when it is pruned */
	uint64_t hash_seed; /* who sends traffic does not know it */
};

struct traffic_table {
	uint32_t *slots; /* index plus one */
	uint32_t mask, count, limit;
	uint64_t seed;
};

/* Rows with sums in the current second, in the order of their first update. */
struct traffic_touched {
	uint32_t *rows;
	uint32_t count;
};

/* True: the row was kept from an earlier time range and has no traffic in this one. Readers of a
 * set skip it. */
static inline bool traffic_is_silent(const struct traffic_sums *sums)
{
	return !sums->samples;
}

struct traffic_set {
	struct traffic_limits limits;
	struct traffic_share *shares;
	struct traffic_pair *pairs;
	struct traffic_flow *flows;
	struct traffic_table share_table, pair_table, flow_table;
	/* Traffic that did not fit: bytes of shares that were not counted, and how often children
	 * were dropped. */
	uint64_t lost_bytes;
	uint32_t prunes;
	unsigned thinned;  /* the worst second: one of so many samples was used; 0 = each */
	bool keeps_silent; /* rows of before, which go when room is needed */
	/* Changes whenever rows move: spots from before are invalid. */
	uint32_t layout;

	bool live; /* the sums of the last second are kept apart */
	uint32_t second;
	bool second_pruned;
	struct traffic_touched share_touched, pair_touched, flow_touched;
};

/* The rows of a flow at one place, valid until the set's layout changes. A flow without ends has
 * only a share; UINT32_MAX = none. */
struct traffic_spot {
	uint32_t share, pair, flow;
};

MUST_USE int traffic_set_init(struct traffic_set *set, const struct traffic_limits *limits);
/* A set that keeps the current second apart: traffic_ring_put reads it. */
MUST_USE int traffic_set_init_live(struct traffic_set *set, const struct traffic_limits *limits);
void traffic_set_done(struct traffic_set *set);
void traffic_set_clear(struct traffic_set *set);
/* Begins a new time range with the same rows: they keep their places, their sums become 0, and
 * spots stay valid. The set is cleared instead if many rows had no traffic, if little room is left,
 * or if rows were dropped. */
void traffic_set_restart(struct traffic_set *set);

/* Adds one flow's sums at one place. It sets `pair`'s share and `flow`'s pair. */
void traffic_set_add(struct traffic_set *set, const struct share_key *share,
		     const struct pair_key *pair, const struct conversation_key *flow,
		     const struct traffic_sums *sums);
/* The same in two steps: the first step is not repeated for the flow's next second. The spot ends
 * at the first level without room; bytes without a share count as lost_bytes. */
struct traffic_spot traffic_set_spot(struct traffic_set *set, const struct share_key *share,
				     const struct pair_key *pair,
				     const struct conversation_key *flow);
void traffic_set_add_at(struct traffic_set *set, const struct traffic_spot *spot,
			const struct traffic_sums *sums);
/* For a live set: ends the current second. */
void traffic_set_next_second(struct traffic_set *set);
/* Adds all of `from`, with its others and floors. */
void traffic_set_merge(struct traffic_set *set, const struct traffic_set *from);
/* Keeps the largest limits.pairs_kept of each share and limits.flows_kept of each pair. Returns
 * -ENOMEM and changes nothing when there is no memory for sorting. */
MUST_USE int traffic_set_prune(struct traffic_set *set);
/* The same, and at most so many pairs and flows in all: the largest stay. */
MUST_USE int traffic_set_prune_to(struct traffic_set *set, uint32_t pairs, uint32_t flows);

static inline void traffic_sums_add(struct traffic_sums *sums, const struct traffic_sums *more)
{
	sums->bytes += more->bytes;
	sums->packets += more->packets;
	sums->square += more->square;
	sums->samples += more->samples;
}
