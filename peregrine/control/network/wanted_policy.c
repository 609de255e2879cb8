#include "peregrine/control/network/wanted_policy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/control/network/tree_policy.h"

LEAKS_LEFT_TO_SANITIZER

static const char *const wanted_policy_fault_texts[] = {
	[WANTED_OK] = "as wanted",
	[WANTED_NO_VLAN] = "its network has no VLAN yet",
	[WANTED_NOT_ON_SWITCH] = "the switch cannot carry the VLAN of its network",
	[WANTED_NOT_SHOWN] = "the switch does not show the port or its VLANs",
	[WANTED_ALIKE] = "other ports of the switch have its name: give each one of its own there",
	[WANTED_FORMING] = "its aggregate has to be made or unmade first",
	[WANTED_NO_PARKING] = "its switch has no parking VLAN left for it",
	[WANTED_UNEQUAL] = "ports of one aggregate are meant for different networks",
};

const char *wanted_fault_text(enum wanted_fault fault)
{
	return wanted_policy_fault_texts[fault];
}

/* --- edge ports --- */

static bool switch_takes(const struct fabric_switch *at, unsigned vlan)
{
	return !vlan_set_has(&at->reserved, vlan);
}

/* `parking`: what it gets when it is meant for nothing; 0 = no number is left for it. */
static enum wanted_fault edge_vlans(const struct fabric_model *model, uint32_t port,
				    uint16_t parking, struct port_vlans *ret)
{
	const struct fabric_port *p = &model->ports[port];
	struct port_vlans vlans = {.native = parking};

	if (p->member_count > 0)
		vlans.native = 0;
	else if (!parking)
		return WANTED_NO_PARKING;
	for (uint32_t i = 0; i < p->member_count; i++) {
		const struct fabric_member *member = &model->members[p->first_member + i];
		uint16_t vlan = model->networks[member->network].vlan;

		if (vlan == 0)
			return WANTED_NO_VLAN;
		if (!switch_takes(&model->switches[p->at], vlan))
			return WANTED_NOT_ON_SWITCH;
		if (member->mode == MEMBER_TAGGED)
			vlan_set_add(&vlans.tagged, vlan);
		else
			vlans.native = vlan;
		vlans.apart |= member->apart && model->switches[p->at].apart == FAMILY_APART_SET;
	}
	vlans.trunk = !vlan_set_is_empty(&vlans.tagged);
	*ret = port_vlans_plain(&vlans);
	return WANTED_OK;
}

struct edges {
	uint32_t *said_by; /* per carrier: the port whose intent it has; MODEL_NONE */
	uint16_t *parking; /* per carrier: its number when it is free */
};

static bool is_carrier(const struct fabric_port *ports, uint32_t i)
{
	return ports[i].role == PORT_EDGE && ports[i].carrier == i;
}

/* What ports have already stays theirs; also what one may have until its change has ended. */
static void keep_parking(const struct fabric_model *model, const port_state observed[],
			 struct vlan_set taken[], uint16_t parking[])
{
	for (uint32_t s = 0; s < model->switch_count; s++)
		taken[s] = model->switches[s].moving;
	for (uint32_t i = 0; i < model->port_count; i++) {
		struct vlan_set *used = &taken[model->ports[i].at];
		unsigned native = observed[i] ? observed[i]->native : 0;

		/* One whose change is under way has its number in `moving` itself. */
		if (!is_carrier(model->ports, i) || !model_vlan_is_parking(model, native) ||
		    (vlan_set_has(used, native) && !model->ports[i].busy))
			continue;
		parking[i] = (uint16_t)native;
		vlan_set_add(used, native);
	}
}

static void wanted_policy_take_parking(const struct fabric_model *model, bool blocked,
				       struct vlan_set taken[], uint16_t parking[])
{
	for (uint32_t i = 0; i < model->port_count; i++) {
		const struct fabric_port *port = &model->ports[i];
		struct vlan_set *used = &taken[port->at];

		if (parking[i] || !is_carrier(model->ports, i) || port->member_count > 0 ||
		    port->blocked != blocked)
			continue;
		for (unsigned v = model->parking; model_vlan_is_parking(model, v); v++) {
			if (vlan_set_has(used, v) || !switch_takes(&model->switches[port->at], v))
				continue;
			parking[i] = (uint16_t)v;
			vlan_set_add(used, v);
			break;
		}
		if (!parking[i] && blocked)
			parking[i] = model->parking;
	}
}

/* A free port keeps the parking number that it has, else gets the first that no other free port of
 * its switch has: nodes that their tenants have left may still run, and must not meet. When the
 * numbers are used up, a port stays where it is, among its own; but one that somebody else may be
 * behind has to leave there, and shares the first. */
static int choose_parking(const struct fabric_model *model, const port_state observed[],
			  uint16_t parking[])
{
	CLEANUP(freep)
	struct vlan_set *taken = calloc(model->switch_count + 1, sizeof(*taken));

	if (!taken)
		return -ENOMEM;
	keep_parking(model, observed, taken, parking);
	wanted_policy_take_parking(model, true, taken, parking);
	wanted_policy_take_parking(model, false, taken, parking);
	return 0;
}

/* Ports of ours and the members of an aggregate alike: the membership is set where it lives. */
static int want_edge(const struct fabric_model *model, const port_state observed[], uint32_t port,
		     struct edges *edges, struct wanted *wanted)
{
	uint32_t carrier = model->ports[port].carrier;
	uint32_t *said_by = edges->said_by;
	struct port_vlans vlans = {0};
	enum wanted_fault fault = edge_vlans(model, port, edges->parking[carrier], &vlans);

	if (fault == WANTED_OK && !observed[carrier])
		fault = WANTED_NOT_SHOWN;
	if (fault == WANTED_OK && model->ports[carrier].alike)
		fault = WANTED_ALIKE;
	if (fault == WANTED_OK && said_by[carrier] != MODEL_NONE &&
	    !port_vlans_equal(wanted->ports[carrier], &vlans)) {
		wanted->ports[carrier] = observed[carrier];
		fault = WANTED_UNEQUAL;
		wanted->faults[said_by[carrier]] = wanted->faults[carrier] = fault;
	}
	wanted->faults[port] =
		fault == WANTED_OK && model->ports[port].forming ? WANTED_FORMING : fault;
	if (fault != WANTED_OK || model->ports[carrier].held ||
	    model->switches[model->ports[carrier].at].held)
		return 0;
	said_by[carrier] = port;
	wanted->ports[carrier] = state_pool_add(&wanted->pool, &vlans, observed[carrier]);
	return wanted->ports[carrier] ? 0 : -ENOMEM;
}

static int want_edges(const struct fabric_model *model, const port_state observed[],
		      struct wanted *wanted)
{
	CLEANUP(freep) uint32_t *said_by = malloc((model->port_count + 1) * sizeof(*said_by));
	CLEANUP(freep) uint16_t *parking = calloc(model->port_count + 1, sizeof(*parking));
	struct edges edges = {.said_by = said_by, .parking = parking};

	if (!said_by || !parking || choose_parking(model, observed, parking))
		return -ENOMEM;
	for (uint32_t i = 0; i < model->port_count; i++)
		said_by[i] = MODEL_NONE;
	for (uint32_t i = 0; i < model->port_count; i++) {
		int rc = model->ports[i].role == PORT_EDGE
				 ? want_edge(model, observed, i, &edges, wanted)
				 : 0;

		if (rc)
			return rc;
	}
	return 0;
}

/* --- uplinks --- */

/* Of ours exactly `carried`; what is somebody else's stays. A native VLAN of ours on an uplink is
 * a mistake of somebody: two ends with different ones would make two networks one. */
static struct port_vlans uplink_vlans(const struct fabric_model *model, port_state observed,
				      const struct vlan_set *carried)
{
	struct vlan_set ours = model_our_vlans(model);
	struct port_vlans vlans = *observed;
	struct vlan_set all = port_vlans_all(observed);

	all = vlan_set_intersection(&all, &ours);
	if (vlan_set_is_empty(&all) && vlan_set_is_empty(carried))
		return vlans;
	if (!vlans.trunk)
		vlans.tagged = (struct vlan_set){0};
	vlans.trunk = true;
	vlans.tagged = vlan_set_minus(&vlans.tagged, &ours);
	vlans.tagged = vlan_set_union(&vlans.tagged, carried);
	if (model_vlan_is_ours(model, vlans.native))
		vlans.native = 0;
	return port_vlans_plain(&vlans);
}

static int want_uplinks(const struct fabric_model *model, const port_state observed[],
			struct vlan_set *const carried[], struct wanted *wanted)
{
	static const struct vlan_set nothing;

	for (uint32_t i = 0; i < model->port_count; i++) {
		const struct fabric_port *port = &model->ports[i];
		struct port_vlans vlans;

		if ((port->role != PORT_UPLINK && port->role != PORT_FORMER) || !observed[i] ||
		    port->held || model->switches[port->at].held)
			continue;
		vlans = uplink_vlans(model, observed[i],
				     port->role == PORT_UPLINK ? carried[i] : &nothing);
		wanted->ports[i] = state_pool_add(&wanted->pool, &vlans, observed[i]);
		if (!wanted->ports[i])
			return -ENOMEM;
	}
	return 0;
}

/* --- all --- */

/* Per port; NULL where it is no uplink: most are none, and a set is 512 bytes. *ret_first is freed
 * for all of them. NULL, here or there: no memory. */
static struct vlan_set **uplink_sets(const struct fabric_model *model, struct vlan_set **ret_first)
{
	// NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
	struct vlan_set **sets = calloc(model->port_count + (size_t)1, sizeof(*sets));
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->port_count; i++)
		count += model->ports[i].role == PORT_UPLINK;
	*ret_first = calloc(count + (size_t)1, sizeof(**ret_first));
	for (uint32_t i = 0, next = 0; sets && *ret_first && i < model->port_count; i++) {
		if (model->ports[i].role == PORT_UPLINK)
			sets[i] = *ret_first + next++;
	}
	return sets;
}

static int want_trees(const struct fabric_model *model, const port_state observed[],
		      struct wanted *wanted)
{
	CLEANUP(freep) struct vlan_set *sets = NULL;
	CLEANUP(freep) struct vlan_set **carried = uplink_sets(model, &sets);
	CLEANUP(freep)
	struct vlan_set *sites = calloc(model->switch_count + 1, sizeof(*sites));
	int rc = carried && sets && sites ? 0 : -ENOMEM;

	/* A port that has to stay as it is for now keeps the way to where it should be, too. */
	for (uint32_t i = 0; rc == 0 && i < model->port_count; i++) {
		const struct fabric_port *port = &model->ports[i];
		struct port_vlans meant = {0};

		if (port->role != PORT_EDGE)
			continue;
		if (wanted->ports[port->carrier])
			port_vlans_add_to(wanted->ports[port->carrier], &sites[port->at]);
		if (edge_vlans(model, i, model->parking, &meant) == WANTED_OK)
			port_vlans_add_to(&meant, &sites[port->at]);
	}
	for (uint32_t i = 0; rc == 0 && i < model->network_count; i++)
		rc = tree_carry(model, observed, i, sites, carried, &wanted->split);
	if (rc == 0)
		rc = want_uplinks(model, observed, carried, wanted);
	return rc;
}

static void want_vlans(const struct fabric_model *model, struct wanted *wanted)
{
	struct vlan_set ours = model_our_vlans(model);

	for (uint32_t i = 0; i < model->port_count; i++) {
		if (wanted->ports[i])
			port_vlans_add_to(wanted->ports[i], &wanted->vlans[model->ports[i].at]);
	}
	for (uint32_t s = 0; s < model->switch_count; s++)
		wanted->vlans[s] = vlan_set_intersection(&wanted->vlans[s], &ours);
}

int wanted_compute(const struct fabric_model *model, const port_state observed[],
		   struct wanted *ret)
{
	struct wanted wanted = {0};
	int rc = -ENOMEM;

	wanted.ports = calloc(model->port_count + 1, sizeof(port_state));
	wanted.faults = calloc(model->port_count + 1, sizeof(*wanted.faults));
	wanted.vlans = calloc(model->switch_count + 1, sizeof(*wanted.vlans));
	if (wanted.ports && wanted.faults && wanted.vlans) {
		memcpy(wanted.ports, observed, model->port_count * sizeof(port_state));
		rc = want_edges(model, observed, &wanted);
	}
	if (rc == 0)
		rc = want_trees(model, observed, &wanted);
	if (rc) {
		wanted_done(&wanted);
		return rc;
	}
	want_vlans(model, &wanted);
	*ret = wanted;
	return 0;
}

void wanted_done(struct wanted *wanted)
{
	free(wanted->ports);
	free(wanted->faults);
	free(wanted->vlans);
	state_pool_done(&wanted->pool);
	*wanted = (struct wanted){0};
}
