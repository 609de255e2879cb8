#include "peregrine/control/network/fabric_model.h"

#include <stdlib.h>

LEAKS_LEFT_TO_SANITIZER

enum { BLOCK_ROOM = 8 };

struct state_block {
	struct state_block *next;
	size_t count;
	struct port_vlans vlans[BLOCK_ROOM];
};

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

void port_vlans_text(const struct port_vlans *vlans, struct text *ret)
{
	if (!vlans->trunk) {
		if (vlans->native)
			text_addf(ret, "access %u", (unsigned)vlans->native);
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
	if (!block || block->count == BLOCK_ROOM) {
		block = malloc(sizeof(*block));
		if (!block)
			return NULL;
		block->next = pool->first;
		block->count = 0;
		pool->first = block;
	}
	/* Most ports of a fabric are like the one before. */
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
