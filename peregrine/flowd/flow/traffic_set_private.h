/* Shared by traffic_set.c (rows and adding), traffic_merge.c, traffic_prune.c and
 * traffic_second.c. */
#pragma once

#include "peregrine/flowd/flow/traffic_ring.h"
#include "peregrine/flowd/flow/traffic_set.h"

#define ROW_NONE UINT32_MAX

/* Each finds or makes a row and returns its index; ROW_NONE: no room. */
uint32_t traffic_share_row(struct traffic_set *set, const struct share_key *key);
uint32_t traffic_pair_row(struct traffic_set *set, const struct pair_key *key);
uint32_t traffic_flow_row(struct traffic_set *set, const struct conversation_key *key);
bool traffic_has_pair(const struct traffic_set *set, const struct pair_key *key);

/* After rows were moved: rebuilds the hash tables and the list of touched rows. */
void traffic_set_index_again(struct traffic_set *set);
/* Drops silent rows: no traffic is lost. Without memory they stay. */
void traffic_set_drop_silent(struct traffic_set *set);
/* Drops the smaller half of the children, and counts that. */
void traffic_set_make_half_empty(struct traffic_set *set);

static inline void raise_floor(uint64_t *floor, uint64_t bytes)
{
	if (*floor < bytes)
		*floor = bytes;
}

/* --- choosing (traffic_choose.c) --- */

struct ranked {
	uint32_t parent, child;
	uint64_t bytes;
};

/* Puts the children first that stay: the largest `kept` of each parent, and of all no more than
 * `room`. Equal ones go by number, so the same traffic always leaves the same rows. Returns how
 * many stay; -ENOMEM: nothing was done. */
MUST_USE int traffic_choose(struct ranked *ranked, size_t count, uint32_t parents, uint32_t kept,
			    uint32_t room, size_t *ret_stay);

/* --- the current second (traffic_second.c) --- */

/* Its rows, with the largest pairs and flows; the caller frees ret->shares. */
MUST_USE int ring_second_of(const struct traffic_set *set, const struct traffic_limits *kept,
			    struct ring_second *ret);
