#include "peregrine/control/network/tree_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"

struct tree_policy_tree {
	const struct fabric_model *model;
	const port_state *observed;
	int64_t network_id;
	unsigned vlan;
	uint32_t *distance; /* from the root, in links; MODEL_NONE = not reached */
	uint32_t *queue;    /* switches in the order of their distance */
	uint32_t *uplink;   /* the port of a switch that leads to the root */
	uint32_t *sites;    /* at and below a switch */
	uint32_t count;
};

/* A number that has nothing to do with its neighbours'. */
static uint64_t tree_policy_mixed(uint64_t a, uint64_t b)
{
	return hash_spread(hash_spread(a) ^ b);
}

/* A switch that cannot be changed now still forwards what it was given before. */
static bool end_usable(const struct tree_policy_tree *tree, uint32_t port)
{
	const struct fabric_port *p = &tree->model->ports[port];
	const struct fabric_switch *at = &tree->model->switches[p->at];
	struct vlan_set all;

	if (!p->up || !tree->observed[port])
		return false;
	if (!p->held && !at->held)
		return !vlan_set_has(&at->reserved, tree->vlan);
	all = port_vlans_all(tree->observed[port]);
	return vlan_set_has(&all, tree->vlan);
}

static bool link_usable(const struct tree_policy_tree *tree, uint32_t port)
{
	const struct fabric_port *p = &tree->model->ports[port];

	return p->role == PORT_UPLINK && p->peer != MODEL_NONE && end_usable(tree, port) &&
	       end_usable(tree, p->peer);
}

/* By names: the order of ports changes when a switch gets a module more. */
static uint64_t end_rank(const struct tree_policy_tree *tree, uint32_t port)
{
	const struct fabric_port *p = &tree->model->ports[port];
	uint64_t id = (uint64_t)tree->model->switches[p->at].id;

	return hash_spread(hash_bytes(hash_number(HASH_START, id), p->name, strlen(p->name)));
}

static uint64_t link_rank(const struct tree_policy_tree *tree, uint32_t port)
{
	return tree_policy_mixed((uint64_t)tree->network_id,
				 end_rank(tree, port) +
					 end_rank(tree, tree->model->ports[port].peer));
}

/* Distances from `root`; then each switch's way up: of the links to a switch one nearer the one
 * that the hash likes best. */
static void tree_policy_grow(struct tree_policy_tree *tree, uint32_t root)
{
	const struct fabric_model *model = tree->model;

	for (uint32_t s = 0; s < model->switch_count; s++)
		tree->distance[s] = tree->uplink[s] = MODEL_NONE;
	tree->count = 0;
	tree->distance[root] = 0;
	tree->queue[tree->count++] = root;
	for (uint32_t i = 0; i < tree->count; i++) {
		const struct fabric_switch *at = &model->switches[tree->queue[i]];

		for (uint32_t p = at->first_port; p < at->first_port + at->port_count; p++) {
			uint32_t q = model->ports[p].peer;
			uint32_t next;

			if (!link_usable(tree, p))
				continue;
			next = model->ports[q].at;
			if (tree->distance[next] == MODEL_NONE) {
				tree->distance[next] = tree->distance[tree->queue[i]] + 1;
				tree->queue[tree->count++] = next;
			}
			if (tree->distance[next] == tree->distance[tree->queue[i]] + 1 &&
			    (tree->uplink[next] == MODEL_NONE ||
			     link_rank(tree, q) < link_rank(tree, tree->uplink[next])))
				tree->uplink[next] = q;
		}
	}
}

static uint32_t sites_reached(const struct tree_policy_tree *tree, const uint32_t wanted[],
			      uint32_t count)
{
	uint32_t reached = 0;

	for (uint32_t i = 0; i < count; i++)
		reached += tree->distance[wanted[i]] != MODEL_NONE;
	return reached;
}

/* Where the tree of `sites` begins: of the spines (of all switches where there is none that helps)
 * the one that reaches the first site and that the hash likes best. */
static uint32_t choose_root(struct tree_policy_tree *tree, uint32_t site)
{
	const struct fabric_model *model = tree->model;
	uint32_t best = site;
	uint64_t best_rank = UINT64_MAX;

	tree_policy_grow(tree, site); /* what reaches is reached: links have no direction */
	for (uint32_t s = 0; s < model->switch_count; s++) {
		uint64_t rank = tree_policy_mixed((uint64_t)tree->network_id,
						  (uint64_t)model->switches[s].id);

		if (model->switches[s].spine && tree->distance[s] != MODEL_NONE &&
		    rank < best_rank) {
			best = s;
			best_rank = rank;
		}
	}
	return best;
}

/* The other end of an uplink may be none: nodes have its port now. */
static void tree_policy_carry(struct vlan_set *carried, unsigned vlan)
{
	if (carried)
		vlan_set_add(carried, vlan);
}

/* An uplink of the tree carries the VLAN when there are sites below it and elsewhere. */
static void carry_tree(struct tree_policy_tree *tree, const uint32_t sites[], uint32_t count,
		       struct vlan_set *const carried[])
{
	const struct fabric_model *model = tree->model;
	uint32_t all = 0;

	for (uint32_t s = 0; s < model->switch_count; s++)
		tree->sites[s] = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (tree->distance[sites[i]] == MODEL_NONE)
			continue;
		tree->sites[sites[i]] = 1;
		all++;
	}
	for (uint32_t i = tree->count; i-- > 1;) {
		uint32_t s = tree->queue[i];
		uint32_t port = tree->uplink[s];
		uint32_t peer = model->ports[port].peer;

		tree->sites[model->ports[peer].at] += tree->sites[s];
		if (tree->sites[s] == 0 || tree->sites[s] == all)
			continue;
		tree_policy_carry(carried[port], tree->vlan);
		tree_policy_carry(carried[peer], tree->vlan);
	}
}

int tree_carry(const struct fabric_model *model, const port_state observed[], uint32_t i,
	       const struct vlan_set sites[], struct vlan_set *const carried[],
	       struct vlan_set *split)
{
	struct tree_policy_tree tree = {.model = model,
					.observed = observed,
					.network_id = model->networks[i].id,
					.vlan = model->networks[i].vlan};
	size_t count = model->switch_count;
	CLEANUP(freep) uint32_t *room = NULL;
	uint32_t *left;
	uint32_t left_count = 0;
	bool parts = false;

	if (tree.vlan == 0)
		return 0;
	room = malloc((5 * count + 1) * sizeof(*room));
	if (!room)
		return -ENOMEM;
	tree.distance = room;
	tree.queue = room + count;
	tree.uplink = room + 2 * count;
	tree.sites = room + 3 * count;
	left = room + 4 * count;
	for (uint32_t s = 0; s < model->switch_count; s++) {
		if (vlan_set_has(&sites[s], tree.vlan))
			left[left_count++] = s;
	}
	while (left_count > 1 || (parts && left_count > 0)) {
		uint32_t kept = 0;

		tree_policy_grow(&tree, choose_root(&tree, left[0]));
		carry_tree(&tree, left, left_count, carried);
		if (sites_reached(&tree, left, left_count) == left_count)
			break;
		vlan_set_add(split, tree.vlan);
		parts = true;
		for (uint32_t k = 0; k < left_count; k++) {
			if (tree.distance[left[k]] == MODEL_NONE)
				left[kept++] = left[k];
		}
		left_count = kept;
	}
	return 0;
}
