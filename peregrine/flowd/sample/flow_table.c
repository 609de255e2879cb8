#include "peregrine/flowd/sample/flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NEW_FLOW_SHARE 4 /* a quarter of the slots is kept for folded flows */

/* Memory of the kernel's own zero pages: a table that is never full never costs its size. */
static void *map_zeros(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int flow_table_init(struct flow_table *table, unsigned bits)
{
	size_t slots = (size_t)1 << bits;

	if (bits < 8 || bits > 24)
		return -EINVAL;
	*table = (struct flow_table){.mask = (uint32_t)slots - 1};
	table->limit = (uint32_t)(slots - slots / NEW_FLOW_SHARE);
	table->entries = map_zeros(slots * sizeof(*table->entries));
	table->tags = map_zeros(slots * sizeof(*table->tags));
	if (!table->entries || !table->tags) {
		flow_table_done(table);
		return -ENOMEM;
	}
	/* Random places of a large table: with small pages each is a miss of the TLB as well. Not
	 * there on every kernel, and then only slower. */
	(void)madvise(table->entries, slots * sizeof(*table->entries), MADV_HUGEPAGE);
	return 0;
}

void flow_table_done(struct flow_table *table)
{
	size_t slots = (size_t)table->mask + 1;

	if (table->entries)
		(void)munmap(table->entries, slots * sizeof(*table->entries));
	if (table->tags)
		(void)munmap(table->tags, slots * sizeof(*table->tags));
	*table = (struct flow_table){0};
}

void flow_table_clear(struct flow_table *table)
{
	memset(table->tags, 0, ((size_t)table->mask + 1) * sizeof(*table->tags));
	table->count = 0;
	table->folded = table->lost = 0;
}

static uint32_t hash_key(const struct flow_key *key)
{
	uint32_t hash = (uint32_t)XXH3_64bits(key, sizeof(*key));

	return hash ? hash : 1;
}

/* The slot of a key, made when it is new and `limit` allows; NULL = no room. */
static struct flow_entry *find(struct flow_table *table, const struct flow_key *key, uint32_t hash,
			       uint32_t limit)
{
	uint32_t at = hash & table->mask;

	for (; table->tags[at]; at = (at + 1) & table->mask) {
		struct flow_entry *entry = &table->entries[at];

		if (table->tags[at] == hash && !memcmp(&entry->key, key, sizeof(*key)))
			return entry;
	}
	if (table->count >= limit)
		return NULL;
	table->count++;
	table->tags[at] = hash;
	table->entries[at] = (struct flow_entry){.key = *key};
	return &table->entries[at];
}

static struct flow_entry *find_or_fold(struct flow_table *table, const struct flow_key *key,
				       uint32_t hash, uint32_t samples)
{
	struct flow_entry *entry = find(table, key, hash, table->limit);
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
	entry = find(table, &folded, hash_key(&folded), table->mask);
	if (entry)
		table->folded += samples;
	else
		table->lost += samples;
	return entry;
}

void flow_table_add(struct flow_table *table, struct flow_add *adds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		adds[i].hash = hash_key(&adds[i].key);
		__builtin_prefetch(&table->tags[adds[i].hash & table->mask]);
		__builtin_prefetch(&table->entries[adds[i].hash & table->mask]);
		__builtin_prefetch((char *)&table->entries[adds[i].hash & table->mask] + 64);
	}
	for (size_t i = 0; i < count; i++) {
		const struct flow_add *add = &adds[i];
		struct flow_entry *entry = find_or_fold(table, &add->key, add->hash, 1);
		uint64_t bytes = (uint64_t)add->rate * add->frame_bytes;

		if (!entry)
			continue;
		if (!entry->samples)
			entry->source = add->source;
		entry->samples++;
		entry->packets += add->rate;
		entry->bytes += bytes;
		entry->square += (double)bytes * (double)bytes;
	}
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
	for (; *at <= table->mask; ++*at)
		if (table->tags[*at])
			return &table->entries[(*at)++];
	return NULL;
}
