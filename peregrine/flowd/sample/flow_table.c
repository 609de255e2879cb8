#include "peregrine/flowd/sample/flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/pages.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	NEW_FLOW_SHARE = 4, /* a quarter of the slots is kept for folded flows */
	NO_VNI_SHARE = 8,   /* and half of that for those without a VNI */
	/* So far from its place a flow is looked for: a table three quarters full has no group so
	 * long but by intent. */
	REACH = 256,
	REACH_FOLDED = 1024,
	BITS_LIMIT = 24, /* what a slot has for a number; the rest is of the hash */
	ENTRY_MASK = (1 << BITS_LIMIT) - 1,
};

static size_t slot_count(const struct flow_table *table)
{
	return (size_t)table->mask + 1;
}

int flow_table_init(struct flow_table *table, unsigned bits, uint64_t seed)
{
	size_t slots = (size_t)1 << bits;

	if (bits < 8 || bits > BITS_LIMIT)
		return -EINVAL;
	*table = (struct flow_table){.mask = (uint32_t)slots - 1, .seed = seed};
	table->limit = (uint32_t)(slots - slots / NEW_FLOW_SHARE);
	table->entries = pages_new(slots * sizeof(*table->entries));
	table->slots = pages_new(slots * sizeof(*table->slots));
	if (!table->entries || !table->slots) {
		flow_table_done(table);
		return -ENOMEM;
	}
	return 0;
}

void flow_table_done(struct flow_table *table)
{
	pages_free(table->entries, slot_count(table) * sizeof(*table->entries));
	pages_free(table->slots, slot_count(table) * sizeof(*table->slots));
	*table = (struct flow_table){0};
}

void flow_table_clear(struct flow_table *table)
{
	/* A quiet second has few flows in a table made for many. */
	if (table->count)
		memset(table->slots, 0, slot_count(table) * sizeof(*table->slots));
	table->count = 0;
	table->folded = table->lost = 0;
}

static uint32_t hash_key(const struct flow_table *table, const struct flow_key *key)
{
	return (uint32_t)XXH3_64bits_withSeed(key, sizeof(*key), table->seed);
}

/* Word by word: a call of memcmp costs as much as the comparison. */
static inline bool flow_table_is_same(const struct flow_key *a, const struct flow_key *b)
{
	enum { WORDS = sizeof(*a) / sizeof(uint64_t) };
	const char *left = (const char *)a;
	const char *right = (const char *)b;
	uint64_t differs = 0;

	_Static_assert(sizeof(*a) % sizeof(uint64_t) == 0, "whole words");
#pragma GCC unroll 9
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t x;
		uint64_t y;

		memcpy(&x, left + i * sizeof(x), sizeof(x));
		memcpy(&y, right + i * sizeof(y), sizeof(y));
		differs |= x ^ y;
	}
	return !differs;
}

/* What a slot has of a hash beside the number. */
static inline uint32_t flow_table_mark_of(uint32_t hash)
{
	return hash & ~(uint32_t)ENTRY_MASK;
}

/* The entry of a key, made when it is new, within reach and `limit` allows; NULL = no room. */
static inline struct flow_entry *flow_table_find(struct flow_table *table,
						 const struct flow_key *key, uint32_t hash,
						 uint32_t limit, uint32_t reach)
{
	uint32_t at = hash & table->mask;
	uint32_t far = 0;
	struct flow_entry *entry;

	for (; table->slots[at]; at = (at + 1) & table->mask) {
		entry = &table->entries[(table->slots[at] & ENTRY_MASK) - 1];
		if (flow_table_mark_of(table->slots[at]) == flow_table_mark_of(hash) &&
		    flow_table_is_same(&entry->key, key))
			return entry;
		if (++far >= reach)
			return NULL;
	}
	if (table->count >= limit)
		return NULL;
	entry = &table->entries[table->count++];
	*entry = (struct flow_entry){.key = *key, .hash = hash};
	table->slots[at] = table->count | flow_table_mark_of(hash);
	return entry;
}

static struct flow_entry *find_folded(struct flow_table *table, const struct flow_key *key,
				      uint32_t limit)
{
	return flow_table_find(table, key, hash_key(table, key), limit, REACH_FOLDED);
}

/* What a switch tells of the frame and its outer tag are left, and its VNI while there is room: who
 * sends the frame chooses that. The last slot stays empty. */
static struct flow_entry *flow_table_fold(struct flow_table *table, const struct flow_key *key,
					  uint32_t samples)
{
	struct flow_key folded = {
		.input = key->input,
		.output = key->output,
		.vni = key->vni,
		.agent = key->agent,
		.tag = key->tag,
		.told_vlan = key->told_vlan,
		.flags = (uint8_t)((key->flags & (FLOW_EGRESS | FLOW_RECORD | FLOW_INNER)) |
				   FLOW_FOLDED),
	};
	struct flow_entry *entry =
		find_folded(table, &folded, table->mask - table->mask / NO_VNI_SHARE);

	if (!entry && folded.vni) {
		folded.vni = 0;
		entry = find_folded(table, &folded, table->mask);
	}
	if (entry)
		table->folded += samples;
	else
		table->lost += samples;
	return entry;
}

static inline struct flow_entry *find_or_fold(struct flow_table *table, const struct flow_key *key,
					      uint32_t hash, uint32_t samples)
{
	struct flow_entry *entry = flow_table_find(table, key, hash, table->limit, REACH);

	return entry ? entry : flow_table_fold(table, key, samples);
}

void flow_table_expect(const struct flow_table *table, struct flow_add *add)
{
	add->hash = hash_key(table, &add->key);
	__builtin_prefetch(&table->slots[add->hash & table->mask], 1);
}

void flow_table_approach(const struct flow_table *table, const struct flow_add *add)
{
	enum { NEAR = 8 };

	for (uint32_t i = 0; i < NEAR; i++) {
		uint32_t slot = table->slots[(add->hash + i) & table->mask];

		if (!slot)
			return;
		if (flow_table_mark_of(slot) == flow_table_mark_of(add->hash)) {
			flow_entry_prefetch(&table->entries[(slot & ENTRY_MASK) - 1]);
			return;
		}
	}
}

void flow_table_add(struct flow_table *table, const struct flow_add *add)
{
	struct flow_entry *entry = find_or_fold(table, &add->key, add->hash, 1);
	uint64_t bytes = (uint64_t)add->rate * add->frame_bytes;

	if (!entry)
		return;
	if (!entry->samples)
		entry->source = add->source;
	entry->samples++;
	entry->packets += add->rate;
	entry->bytes += bytes;
	entry->square += (double)bytes * (double)bytes;
}

void flow_table_add_sum(struct flow_table *table, const struct flow_key *key, uint32_t source,
			uint64_t packets, uint64_t bytes, uint32_t rate)
{
	/* What was not sampled was counted whole: a record of it is one, however many packets. */
	uint64_t samples = rate > 1 ? packets / rate : 1;
	struct flow_entry *entry;

	if (samples < 1)
		samples = 1;
	if (samples > UINT32_MAX)
		samples = UINT32_MAX;
	entry = find_or_fold(table, key, hash_key(table, key), (uint32_t)samples);
	if (!entry)
		return;
	if (!entry->samples)
		entry->source = source;
	entry->samples += samples > UINT32_MAX - entry->samples ? UINT32_MAX - entry->samples
								: (uint32_t)samples;
	entry->packets += packets;
	entry->bytes += bytes;
	/* Frames of one flow taken as alike: nothing else was said of them. */
	if (rate > 1)
		entry->square += (double)bytes * (double)bytes / (double)samples;
}

struct flow_entry *flow_table_next(const struct flow_table *table, size_t *at)
{
	while (*at <= table->mask) {
		uint32_t slot = table->slots[(*at)++];

		if (slot)
			return &table->entries[(slot & ENTRY_MASK) - 1];
	}
	return NULL;
}
