#include "peregrine/flowd/flow/traffic_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* An array that grows and a hash over it; `same` compares a row with a candidate. */
struct register_ {
	void *rows;
	size_t row_size;
	uint32_t *slots; /* number plus one */
	uint32_t mask, count, room;
};

struct traffic_names {
	struct register_ places, groups, nodes;
};

typedef bool (*same_fn)(const void *row, const void *candidate);

static void *traffic_names_row_at(const struct register_ *reg, uint32_t number)
{
	return (char *)reg->rows + (size_t)number * reg->row_size;
}

static uint64_t traffic_names_hash_of(int64_t a, int64_t b, const char *text)
{
	return XXH3_64bits_withSeed(text, strlen(text),
				    hash_spread((uint64_t)a) ^ (uint64_t)b << 20);
}

static uint64_t place_hash(const struct traffic_place *place)
{
	return traffic_names_hash_of(place->switch_id, 0, place->port);
}

static bool traffic_names_same_place(const void *row, const void *candidate)
{
	const struct traffic_place *a = row;
	const struct traffic_place *b = candidate;

	return a->switch_id == b->switch_id && !strcmp(a->port, b->port);
}

static uint64_t group_hash(const struct traffic_group *group)
{
	return traffic_names_hash_of(group->network,
				     group->tenant << 20 | group->vlan << 8 | group->reason, "");
}

static bool same_group(const void *row, const void *candidate)
{
	const struct traffic_group *a = row;
	const struct traffic_group *b = candidate;

	return a->network == b->network && a->tenant == b->tenant && a->vlan == b->vlan &&
	       a->reason == b->reason;
}

static uint64_t node_hash(const struct traffic_node *node)
{
	return traffic_names_hash_of(node->id, 1, "");
}

static bool same_node(const void *row, const void *candidate)
{
	return ((const struct traffic_node *)row)->id ==
	       ((const struct traffic_node *)candidate)->id;
}

static uint64_t row_hash(const struct traffic_names *names, const struct register_ *reg,
			 const void *row)
{
	if (reg == &names->places)
		return place_hash(row);
	return reg == &names->groups ? group_hash(row) : node_hash(row);
}

static void traffic_names_put(struct register_ *reg, uint64_t hash, uint32_t number)
{
	uint32_t at = (uint32_t)hash & reg->mask;

	while (reg->slots[at])
		at = (at + 1) & reg->mask;
	reg->slots[at] = number + 1;
}

static int traffic_names_grow(const struct traffic_names *names, struct register_ *reg)
{
	uint32_t room = reg->room ? reg->room * 2 : 64;
	uint32_t *slots = calloc((size_t)room * 2, sizeof(*slots));
	void *rows = reallocarray(reg->rows, room, reg->row_size);

	if (rows)
		reg->rows = rows;
	if (!rows || !slots) {
		free(slots);
		return -ENOMEM;
	}
	free(reg->slots);
	reg->slots = slots;
	reg->mask = room * 2 - 1;
	reg->room = room;
	for (uint32_t i = 0; i < reg->count; i++)
		traffic_names_put(reg, row_hash(names, reg, traffic_names_row_at(reg, i)), i);
	return 0;
}

/* The row that is the same; else `candidate` becomes one. */
static uint32_t traffic_names_find_or_make(const struct traffic_names *names, struct register_ *reg,
					   const void *candidate, same_fn same)
{
	uint64_t hash = row_hash(names, reg, candidate);

	for (uint32_t at = (uint32_t)hash & reg->mask; reg->slots && reg->slots[at];
	     at = (at + 1) & reg->mask)
		if (same(traffic_names_row_at(reg, reg->slots[at] - 1), candidate))
			return reg->slots[at] - 1;
	if (reg->count == reg->room && traffic_names_grow(names, reg))
		return INDEX_NONE;
	memcpy(traffic_names_row_at(reg, reg->count), candidate, reg->row_size);
	traffic_names_put(reg, hash, reg->count);
	return reg->count++;
}

int traffic_names_new(struct traffic_names **ret)
{
	struct traffic_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->places.row_size = sizeof(struct traffic_place);
	names->groups.row_size = sizeof(struct traffic_group);
	names->nodes.row_size = sizeof(struct traffic_node);
	*ret = names;
	return 0;
}

static void register_done(struct register_ *reg)
{
	free(reg->rows);
	free(reg->slots);
}

void traffic_names_free(struct traffic_names *names)
{
	if (!names)
		return;
	register_done(&names->places);
	register_done(&names->groups);
	register_done(&names->nodes);
	free(names);
}

static void copy_name(char *to, size_t room, const char *text)
{
	size_t size = strnlen(text, room - 1);

	memcpy(to, text, size);
	to[size] = 0;
}

uint32_t traffic_names_place(struct traffic_names *names, int64_t switch_id,
			     const char *switch_name, const char *port, uint64_t speed_bps)
{
	struct traffic_place place = {.switch_id = switch_id, .speed_bps = speed_bps};
	uint32_t number;

	copy_name(place.switch_name, sizeof(place.switch_name), switch_name);
	copy_name(place.port, sizeof(place.port), port);
	number =
		traffic_names_find_or_make(names, &names->places, &place, traffic_names_same_place);
	if (number != INDEX_NONE) /* names and speeds change, the place stays */
		memcpy(traffic_names_row_at(&names->places, number), &place, sizeof(place));
	return number;
}

uint32_t traffic_names_group(struct traffic_names *names, const struct index_network *network,
			     uint16_t vlan, enum attribution_reason reason)
{
	struct traffic_group group = {.vlan = vlan, .reason = (uint8_t)reason};

	if (network) {
		group.tenant = network->tenant;
		group.network = network->id;
		copy_name(group.tenant_name, sizeof(group.tenant_name), network->tenant_name);
		copy_name(group.network_name, sizeof(group.network_name), network->name);
	}
	return traffic_names_find_or_make(names, &names->groups, &group, same_group);
}

uint32_t traffic_names_node(struct traffic_names *names, int64_t id, const char *name)
{
	struct traffic_node node = {.id = id};

	copy_name(node.name, sizeof(node.name), name);
	return traffic_names_find_or_make(names, &names->nodes, &node, same_node);
}

const struct traffic_place *traffic_place_get(const struct traffic_names *names, uint32_t number)
{
	return traffic_names_row_at(&names->places, number);
}

const struct traffic_group *traffic_group_get(const struct traffic_names *names, uint32_t number)
{
	return traffic_names_row_at(&names->groups, number);
}

const struct traffic_node *traffic_node_get(const struct traffic_names *names, uint32_t number)
{
	return traffic_names_row_at(&names->nodes, number);
}

size_t traffic_place_count(const struct traffic_names *names)
{
	return names->places.count;
}

size_t traffic_node_count(const struct traffic_names *names)
{
	return names->nodes.count;
}
