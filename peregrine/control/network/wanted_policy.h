/* From intent to memberships: the VLANs of every port of a fabric. A network gets one tree over the
 * uplinks. An uplink carries its VLAN only where ports of it are on both sides, so trunk lists
 * alone keep it free of loops.
 *
 * A hash of the network spreads trees over spines and parallel links. The same facts give the same
 * trees, and a spine more or less moves only the trees that have to. Weights by traffic come later
 * and change only the choice of root and link. */
#pragma once

#include "peregrine/control/network/fabric_model.h"

/* Why a port cannot be what its attachments say. */
enum wanted_fault {
	WANTED_OK,
	WANTED_NO_VLAN,       /* its network has no number yet */
	WANTED_NOT_ON_SWITCH, /* the number is one that this switch cannot carry */
	WANTED_NOT_SHOWN,     /* the switch shows no membership for the port */
	WANTED_ALIKE,         /* the switch calls other ports so, too */
	WANTED_FORMING,       /* free for now: its aggregate is made or unmade first */
	WANTED_NO_PARKING,    /* free, and other free ports of its switch have all numbers */
	WANTED_UNEQUAL,       /* members of one aggregate are meant for different networks */
};
const char *wanted_fault_text(enum wanted_fault fault);

struct wanted {
	port_state *ports;         /* of model->port_count; owned, what they point to is the pool's
				      or `observed` */
	enum wanted_fault *faults; /* of model->port_count; such a port stays as it is, one that is
				      forming is free */
	struct vlan_set *vlans;    /* per switch: of ours that have to exist there */
	struct vlan_set split;     /* VLANs whose ports cannot all reach one another */
	struct state_pool pool;
};

/* `observed`: as last read; what is not ours on a port (a native VLAN of somebody else on an
 * uplink) stays. -ENOMEM. */
MUST_USE int wanted_compute(const struct fabric_model *model, const port_state observed[],
			    struct wanted *ret);
void wanted_done(struct wanted *wanted);
