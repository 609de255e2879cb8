#include "peregrine/flowd/sample/flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	NEW_FLOW_SHARE = 4, /* a quarter of the slots is kept for folded flows */
	/* So far from its place a flow is looked for. Who chooses addresses and ports may choose
	 * many with one place: those behind are folded. */
	REACH = 64,
};

/* Zeros at the begin of a page. */
static void *map_zeros(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static size_t words_of(const struct flow_table *table)
{
	return ((size_t)table->mask + 1) / 64;
}

int flow_table_init(struct flow_table *table, unsigned bits)
{
	size_t slots = (size_t)1 << bits;

	if (bits < 8 || bits > 24)
		return -EINVAL;
	*table = (struct flow_table){.mask = (uint32_t)slots - 1, .age = 1};
	table->limit = (uint32_t)(slots - slots / NEW_FLOW_SHARE);
	table->entries = map_zeros(slots * sizeof(*table->entries));
	table->used = calloc(words_of(table), sizeof(*table->used));
	if (!table->entries || !table->used) {
		flow_table_done(table);
		return -ENOMEM;
	}
	/* Random places of a large table: with small pages each is a miss of the TLB as well. Not
	 * there on every kernel, and then only slower. */
	(void)madvise(table->entries, slots * sizeof(*table->entries), MADV_HUGEPAGE);
	/* Flows go to random places, so all of it is needed soon: not while datagrams wait. */
	(void)madvise(table->entries, slots * sizeof(*table->entries), MADV_POPULATE_WRITE);
	return 0;
}

void flow_table_done(struct flow_table *table)
{
	if (table->entries)
		(void)munmap(table->entries, ((size_t)table->mask + 1) * sizeof(*table->entries));
	free(table->used);
	*table = (struct flow_table){0};
}

void flow_table_clear(struct flow_table *table)
{
	memset(table->used, 0, words_of(table) * sizeof(*table->used));
	if (!++table->age) { /* ages come round after 2^32 times */
		memset(table->entries, 0, ((size_t)table->mask + 1) * sizeof(*table->entries));
		table->age = 1;
	}
	table->count = 0;
	table->folded = table->lost = 0;
}

static uint32_t hash_key(const struct flow_key *key)
{
	return (uint32_t)XXH3_64bits(key, sizeof(*key));
}

/* Word by word: a call of memcmp costs as much as the comparison. */
static inline bool is_same(const struct flow_key *a, const struct flow_key *b)
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

/* The slot of a key, made when it is new, within reach and `limit` allows; NULL = no room. */
static inline struct flow_entry *find(struct flow_table *table, const struct flow_key *key,
				      uint32_t hash, uint32_t limit, uint32_t reach)
{
	uint32_t at = hash & table->mask;
	uint32_t far = 0;
	struct flow_entry *entry = &table->entries[at];

	while (entry->age == table->age) {
		if (entry->hash == hash && is_same(&entry->key, key))
			return entry;
		if (++far >= reach)
			return NULL;
		at = (at + 1) & table->mask;
		entry = &table->entries[at];
	}
	if (table->count >= limit)
		return NULL;
	table->count++;
	table->used[at / 64] |= (uint64_t)1 << (at % 64);
	*entry = (struct flow_entry){.key = *key, .hash = hash, .age = table->age};
	return entry;
}

static struct flow_entry *find_or_fold(struct flow_table *table, const struct flow_key *key,
				       uint32_t hash, uint32_t samples)
{
	struct flow_entry *entry = find(table, key, hash, table->limit, REACH);
	struct flow_key folded;

	if (entry)
		return entry;
	folded = (struct flow_key){
		.input = key->input,
		.output = key->output,
		.vni = key->vni,
		.agent = key->agent,
		.tag = key->tag,
		.told_vlan = key->told_vlan,
		.flags = (uint8_t)((key->flags & (FLOW_EGRESS | FLOW_RECORD)) | FLOW_FOLDED),
	};
	/* The last slot stays empty: it ends every search. */
	entry = find(table, &folded, hash_key(&folded), table->mask, UINT32_MAX);
	if (entry)
		table->folded += samples;
	else
		table->lost += samples;
	return entry;
}

void flow_table_expect(const struct flow_table *table, struct flow_add *add)
{
	const char *slot;

	add->hash = hash_key(&add->key);
	slot = (const char *)&table->entries[add->hash & table->mask];
	__builtin_prefetch(slot, 1);
	__builtin_prefetch(slot + 64, 1);
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
	entry = find_or_fold(table, key, hash_key(key), (uint32_t)samples);
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
	size_t word = *at / 64;
	uint64_t bits;

	if (*at > table->mask)
		return NULL;
	bits = table->used[word] >> (*at % 64) << (*at % 64);
	while (!bits && ++word < words_of(table))
		bits = table->used[word];
	*at = word * 64 + (bits ? (size_t)__builtin_ctzll(bits) + 1 : 0);
	return bits ? &table->entries[*at - 1] : NULL;
}
