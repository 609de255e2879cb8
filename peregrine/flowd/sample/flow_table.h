/* The flows of one second: a hash table of fixed size that a receiver fills and the main loop
 * reads. When three quarters are used, what is new is folded by dropping its addresses, so that the
 * totals of ports and VLANs stay right whatever arrives. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/flow_key.h"

struct flow_entry {
	struct flow_key key;
	uint32_t source; /* index into harvest.sources: of its first sample */
	uint32_t samples;
	uint64_t packets; /* the sum of the rates */
	uint64_t bytes;   /* the sum of rate x frame_bytes */
	/* The sum of (rate x frame_bytes) squared: the variance of `bytes` (estimate_policy.h). */
	double square;
};

struct flow_table {
	struct flow_entry *entries; /* 1 << bits; valid where tags[i] != 0 */
	uint32_t *tags;             /* the hash, never 0 for a used slot */
	uint32_t mask;
	uint32_t count, limit; /* used; from which new flows are folded */
	uint64_t folded;       /* samples whose flow did not fit */
	uint64_t lost;         /* samples for which not even a folded place was left */
};

/* 1 << bits slots of about 128 bytes; bits 8..24. */
MUST_USE int flow_table_init(struct flow_table *table, unsigned bits);
void flow_table_done(struct flow_table *table);
void flow_table_clear(struct flow_table *table);

/* A sample waiting for its slot: hashes are computed and slots fetched from memory for several
 * before the first is touched. */
struct flow_add {
	struct flow_key key;
	uint32_t hash, source, rate, frame_bytes;
};
enum { FLOW_ADD_BATCH = 32 };
/* Adds up to FLOW_ADD_BATCH samples; their `hash` is written. */
void flow_table_add(struct flow_table *table, struct flow_add *adds, size_t count);
/* Packets and bytes that somebody else has summed up (NetFlow, IPFIX); `samples` of about `rate`.
 */
void flow_table_add_sum(struct flow_table *table, const struct flow_key *key, uint32_t source,
			uint64_t packets, uint64_t bytes, uint32_t rate);

/* Next used entry from *at on; NULL at the end. Start with *at = 0. */
struct flow_entry *flow_table_next(const struct flow_table *table, size_t *at);
