#include "peregrine/control/fabric/cable_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const port_kind_words[PORT_KIND_COUNT] = {"unknown", "edge", "uplink"};
const char *const link_state_words[LINK_STATE_COUNT] = {"confirmed", "claimed", "conflict"};

void fabric_conclusion_done(struct fabric_conclusion *conclusion)
{
	for (size_t i = 0; conclusion->kinds && i < conclusion->source_count; i++)
		free(conclusion->kinds[i]);
	free(conclusion->kinds);
	free(conclusion->links);
	key_map_done(&conclusion->link_ends);
	free(conclusion->places);
	free(conclusion->strays);
	free(conclusion->conflicts);
	*conclusion = (struct fabric_conclusion){0};
}

/* Grows by doubling: the room is the next power of two from 16. */
void *fabric_array_add(void *items, size_t *count, size_t size)
{
	void *array;
	size_t n = *count;

	memcpy(&array, items, sizeof(array));
	if (n == 0 || (n >= 16 && (n & (n - 1)) == 0)) {
		size_t room = n ? 2 * n : 16;
		void *grown = reallocarray(array, room, size);

		if (!grown)
			return NULL;
		array = grown;
		memcpy(items, &array, sizeof(array));
	}
	memset((char *)array + n * size, 0, size);
	(*count)++;
	return (char *)array + n * size;
}

int fabric_conflict_add(struct fabric_conclusion *conclusion, const char *kind, bool warning,
			struct port_ref at, struct fabric_conflict **ret)
{
	struct fabric_conflict *conflict = fabric_array_add(
		&conclusion->conflicts, &conclusion->conflict_count, sizeof(*conflict));

	if (!conflict)
		return -ENOMEM;
	conflict->kind = kind;
	conflict->warning = warning;
	conflict->at = at;
	*ret = conflict;
	return 0;
}

static int compare_nic(const void *key, const void *item)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = mac_key(((const struct fabric_nic *)item)->mac);

	return a < b ? -1 : a > b;
}

const struct fabric_nic *fabric_nic_find(const struct fabric_facts *facts, struct mac mac)
{
	uint64_t key = mac_key(mac);

	return facts->nic_count ? bsearch(&key, facts->nics, facts->nic_count, sizeof(*facts->nics),
					  compare_nic)
				: NULL;
}

static int cable_model_compare_place(const void *key, const void *item)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = mac_key(((const struct fabric_place *)item)->mac);

	return a < b ? -1 : a > b;
}

const struct fabric_place *fabric_place_find(const struct fabric_conclusion *conclusion,
					     struct mac mac)
{
	uint64_t key = mac_key(mac);

	return conclusion->place_count
		       ? bsearch(&key, conclusion->places, conclusion->place_count,
				 sizeof(*conclusion->places), cable_model_compare_place)
		       : NULL;
}

const struct fabric_link *fabric_link_at(struct fabric_conclusion *conclusion, struct port_ref at)
{
	struct key_map *map = &conclusion->link_ends;
	const struct fabric_link *best = NULL;

	/* The newest comes first: of those that are as good, the first that was added. */
	for (uint32_t entry = key_map_first(map, key_of_port(at)); entry != KEY_NONE;
	     entry = key_map_next(map, entry)) {
		const struct fabric_link *link = &conclusion->links[key_map_value(map, entry)];

		if (!best || link->state <= best->state)
			best = link;
	}
	return best;
}
