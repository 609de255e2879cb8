#include "peregrine/control/network/fabric_model.h"

#include <assert.h>
#include <stdlib.h>

LEAKS_LEFT_TO_SANITIZER

enum { BLOCK_ROOM = 8 };

struct state_block {
	struct state_block *next;
	size_t count;
	struct port_vlans vlans[BLOCK_ROOM];
};

/* A port of a node is untagged in one VLAN, most of them in a parking VLAN of their own: such a
 * state is in no pool, it is one of these rows. A copy for each of 48,000 ports, in the book, as
 * observed and as applied, was half of the engine's memory, and each comparison of two copies 1 kB
 * to read. Of the 2 MiB only the pages that are used are ever loaded. */
#define ACCESS_1(n)           \
	{                     \
		.native = (n) \
	}
#define ACCESS_8(n)                                                                              \
	ACCESS_1(n), ACCESS_1((n) + 1), ACCESS_1((n) + 2), ACCESS_1((n) + 3), ACCESS_1((n) + 4), \
		ACCESS_1((n) + 5), ACCESS_1((n) + 6), ACCESS_1((n) + 7)
#define ACCESS_64(n)                                                            \
	ACCESS_8(n), ACCESS_8((n) + 8), ACCESS_8((n) + 16), ACCESS_8((n) + 24), \
		ACCESS_8((n) + 32), ACCESS_8((n) + 40), ACCESS_8((n) + 48), ACCESS_8((n) + 56)
#define ACCESS_512(n)                                                                  \
	ACCESS_64(n), ACCESS_64((n) + 64), ACCESS_64((n) + 128), ACCESS_64((n) + 192), \
		ACCESS_64((n) + 256), ACCESS_64((n) + 320), ACCESS_64((n) + 384),      \
		ACCESS_64((n) + 448)
static const struct port_vlans access_states[] = {
	ACCESS_512(0),    ACCESS_512(512),  ACCESS_512(1024), ACCESS_512(1536),
	ACCESS_512(2048), ACCESS_512(2560), ACCESS_512(3072), ACCESS_512(3584),
};
static_assert(COUNT_OF(access_states) == VLAN_LIMIT, "a state for each VLAN");

bool model_vlan_is_parking(const struct fabric_model *model, unsigned vlan)
{
	return vlan == model->parking || (vlan > model->parking && vlan <= model->parking_high);
}

bool model_vlan_is_ours(const struct fabric_model *model, unsigned vlan)
{
	return vlan != 0 && ((vlan >= model->vlan_low && vlan <= model->vlan_high) ||
			     model_vlan_is_parking(model, vlan));
}

struct vlan_set model_our_vlans(const struct fabric_model *model)
{
	struct vlan_set ours = {0};

	vlan_set_add_range(&ours, model->vlan_low, model->vlan_high);
	vlan_set_add(&ours, model->parking);
	vlan_set_add_range(&ours, model->parking, model->parking_high);
	return ours;
}

uint32_t model_network_of(const struct fabric_model *model, unsigned vlan)
{
	for (uint32_t i = 0; vlan != 0 && i < model->network_count; i++) {
		if (model->networks[i].vlan == vlan)
			return i;
	}
	return MODEL_NONE;
}

struct port_vlans port_vlans_plain(const struct port_vlans *vlans)
{
	struct port_vlans plain = *vlans;

	if (!plain.trunk)
		plain.tagged = (struct vlan_set){0};
	vlan_set_remove(&plain.tagged, plain.native);
	plain.trunk = plain.native == 0 || !vlan_set_is_empty(&plain.tagged);
	plain.apart = plain.apart && !plain.trunk;
	return plain;
}

struct vlan_set port_vlans_all(const struct port_vlans *vlans)
{
	struct vlan_set all = vlans->tagged;

	if (!vlans->trunk)
		all = (struct vlan_set){0};
	vlan_set_add(&all, vlans->native);
	return all;
}

void port_vlans_add_to(const struct port_vlans *vlans, struct vlan_set *set)
{
	if (vlans->trunk)
		*set = vlan_set_union(set, &vlans->tagged);
	vlan_set_add(set, vlans->native);
}

void port_vlans_text(const struct port_vlans *vlans, struct text *ret)
{
	if (!vlans->trunk) {
		if (vlans->native)
			text_addf(ret, "access %u%s", (unsigned)vlans->native,
				  vlans->apart ? " apart" : "");
		else
			text_add(ret, "nothing");
		return;
	}
	text_add(ret, "trunk");
	if (vlans->native)
		text_addf(ret, " native %u", (unsigned)vlans->native);
	text_add(ret, " tagged ");
	if (vlan_set_is_empty(&vlans->tagged))
		text_add(ret, "none");
	vlan_set_text(&vlans->tagged, ret);
}

port_state state_pool_add(struct state_pool *pool, const struct port_vlans *vlans, port_state like)
{
	struct state_block *block = pool->first;

	if (like && port_vlans_equal(like, vlans))
		return like;
	if (!vlans->trunk && !vlans->apart && vlans->native < VLAN_LIMIT &&
	    vlan_set_is_empty(&vlans->tagged))
		return &access_states[vlans->native];
	if (!block || block->count == BLOCK_ROOM) {
		block = malloc(sizeof(*block));
		if (!block)
			return NULL;
		block->next = pool->first;
		block->count = 0;
		pool->first = block;
	}
	/* Uplinks of one switch are often alike. */
	if (block->count > 0 && port_vlans_equal(&block->vlans[block->count - 1], vlans))
		return &block->vlans[block->count - 1];
	block->vlans[block->count] = *vlans;
	return &block->vlans[block->count++];
}

void state_pool_done(struct state_pool *pool)
{
	while (pool->first) {
		struct state_block *block = pool->first;

		pool->first = block->next;
		free(block);
	}
}
