/* A hash map from a key to numbers, several per key, for the policies of the fabric. With it 1,000
 * switches cost ten times as much as 100. It counts each entry that it compares, so a test can
 * check the cost without a clock. Zero bytes are an empty map. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define KEY_NONE UINT32_MAX

struct key_entry {
	uint64_t key;
	uint32_t value;
	uint32_t next;
};

struct key_map {
	struct key_entry *entries; /* owned */
	uint32_t *heads;           /* owned; of room + 1 elements, a power of two */
	uint32_t count, room;
	uint64_t compared;
};

void key_map_done(struct key_map *map);
/* -ENOMEM. */
MUST_USE int key_map_add(struct key_map *map, uint64_t key, uint32_t value);
/* Entries of this key, the newest first; KEY_NONE = no (other) one. */
uint32_t key_map_first(struct key_map *map, uint64_t key);
uint32_t key_map_next(struct key_map *map, uint32_t entry);
static inline uint32_t key_map_value(const struct key_map *map, uint32_t entry)
{
	return map->entries[entry].value;
}

static inline uint64_t key_of_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}
/* The key of a text, ignoring case; `seed` separates texts of different meaning. Two texts may have
 * one key: the caller compares the texts. */
uint64_t key_of_text(uint64_t seed, const char *text, size_t length);
