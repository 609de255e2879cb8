/* The flows of one second: a hash table of fixed size that a receiver fills and the main loop
 * reads. Entries stand in the order in which they came, so few pages are in use; slots lead to
 * them. New flows are folded when three quarters are used, or when many others stand at their
 * place: they lose their addresses. The totals of ports and VLANs stay right whatever arrives. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/flow_key.h"

struct flow_entry {
	_Alignas(64) struct flow_key key;
	uint32_t hash;   /* of the key */
	uint32_t source; /* index into harvest.sources: of its first sample */
	uint32_t samples;
	uint64_t packets; /* the sum of the rates */
	uint64_t bytes;   /* the sum of rate x frame_bytes */
	/* The sum of (rate x frame_bytes) squared: the variance of `bytes` (estimate_policy.h). */
	double square;
};

/* A sample costs its slot and two lines of the cache, which are fetched ahead. */
_Static_assert(sizeof(struct flow_entry) == 128, "two cache lines");

static inline void flow_entry_prefetch(const struct flow_entry *entry)
{
	__builtin_prefetch(entry, 1);
	__builtin_prefetch((const char *)entry + 64, 1);
}

struct flow_table {
	struct flow_entry *entries; /* `count` of them */
	/* 1 << bits: the entry's number plus one, and above it the hash's highest bits: most others
	 * are told from it by these. 0 = free. */
	uint32_t *slots;
	uint32_t mask;
	uint32_t count, limit; /* used; from which new flows are folded */
	uint64_t seed;         /* of the hash: who sends traffic does not know it */
	uint64_t folded;       /* samples whose flow did not fit, or too many share its place */
	uint64_t lost;         /* samples for which not even a folded place was left */
};

/* Room for 1 << bits entries of 128 bytes; bits 8..24. Flows of tables with one `seed` have the
 * same hash. */
MUST_USE int flow_table_init(struct flow_table *table, unsigned bits, uint64_t seed);
void flow_table_done(struct flow_table *table);
void flow_table_clear(struct flow_table *table);

/* A sample on its way to its entry: its slot, then that is fetched from memory while others are
 * read, then it is added. */
struct flow_add {
	struct flow_key key;
	uint32_t hash; /* flow_table_expect's */
	uint32_t source, rate, frame_bytes;
};
/* Has the slot fetched; some samples later the entry; some later, before the table is cleared: */
void flow_table_expect(const struct flow_table *table, struct flow_add *add);
void flow_table_approach(const struct flow_table *table, const struct flow_add *add);
void flow_table_add(struct flow_table *table, const struct flow_add *add);
/* Packets and bytes that somebody else has summed up (NetFlow, IPFIX); `samples` of about `rate`.
 */
void flow_table_add_sum(struct flow_table *table, const struct flow_key *key, uint32_t source,
			uint64_t packets, uint64_t bytes, uint32_t rate);

/* Next entry from *at on, in the order of hashes; NULL at the end. Start with *at = 0. */
struct flow_entry *flow_table_next(const struct flow_table *table, size_t *at);
