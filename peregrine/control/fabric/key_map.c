#include "peregrine/control/fabric/key_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/hash.h"

enum { ROOM_FIRST = 64 };

void key_map_done(struct key_map *map)
{
	free(map->entries);
	free(map->heads);
	*map = (struct key_map){0};
}

/* Keys are often small numbers side by side: spread them over all heads. */
static uint32_t *head_of(const struct key_map *map, uint64_t key)
{
	return &map->heads[hash_spread(key) & (map->room - 1)];
}

static void key_map_link_entry(struct key_map *map, uint32_t entry)
{
	uint32_t *head = head_of(map, map->entries[entry].key);

	map->entries[entry].next = *head;
	*head = entry;
}

static int key_map_grow(struct key_map *map)
{
	uint32_t room = map->room ? 2 * map->room : ROOM_FIRST;
	struct key_entry *entries = reallocarray(map->entries, room, sizeof(*entries));
	uint32_t *heads;

	if (!entries)
		return -ENOMEM;
	map->entries = entries;
	heads = reallocarray(map->heads, room, sizeof(*heads));
	if (!heads)
		return -ENOMEM;
	map->heads = heads;
	map->room = room;
	for (uint32_t i = 0; i < room; i++)
		heads[i] = KEY_NONE;
	for (uint32_t i = 0; i < map->count; i++)
		key_map_link_entry(map, i);
	return 0;
}

int key_map_add(struct key_map *map, uint64_t key, uint32_t value)
{
	if (map->count == map->room) {
		int rc = key_map_grow(map);

		if (rc)
			return rc;
	}
	map->entries[map->count] = (struct key_entry){.key = key, .value = value};
	key_map_link_entry(map, map->count);
	map->count++;
	return 0;
}

static uint32_t find_from(struct key_map *map, uint32_t entry, uint64_t key)
{
	while (entry != KEY_NONE) {
		map->compared++;
		if (map->entries[entry].key == key)
			break;
		entry = map->entries[entry].next;
	}
	return entry;
}

uint32_t key_map_first(struct key_map *map, uint64_t key)
{
	return map->count ? find_from(map, *head_of(map, key), key) : KEY_NONE;
}

uint32_t key_map_next(struct key_map *map, uint32_t entry)
{
	return find_from(map, map->entries[entry].next, map->entries[entry].key);
}

uint64_t key_of_text(uint64_t seed, const char *text, size_t length)
{
	uint64_t key = hash_number(HASH_START, seed);

	for (size_t i = 0; i < length; i++)
		key = hash_number(key, (uint64_t)tolower((unsigned char)text[i]));
	return key;
}
