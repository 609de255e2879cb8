/* Changes under way, as they lie over the fabric for a planner beside them. A port that changes is
 * taken to be where its change leads, and is not touched. The VLANs that it may carry until then
 * are counted for it wherever they could do harm. */
#pragma once

#include "peregrine/control/reconcile/diff_policy.h"

/* VLANs that an edit is about: of a port of a node all that it has before or after, of an uplink
 * those that it gains or loses. */
struct vlan_set edit_touches(const struct fabric_model *model, const struct plan_edit *edit);
bool edit_is_uplink(const struct fabric_model *model, const struct plan_edit *edit);
/* VLANs that it brings to its port. */
struct vlan_set edit_gains(const struct switch_edit *edit);
/* A port gets more VLANs with a tag, and nothing else of it changes. */
bool edit_grows(const struct switch_edit *edit);

struct flux {
	bool *waits;    /* per switch: is to be read before anything is begun there */
	bool *changing; /* per switch: a change of it is under way */
	struct vlan_set
		*making; /* per switch: made, deleted, or on their way to or off an uplink */
	struct vlan_set uplinks; /* VLANs that some uplink gains or loses */
	struct vlan_set touched; /* all VLANs that a change under way is about */
	port_state *worst;       /* per port: of an uplink that changes, all that it may carry;
				    else NULL */
	bool *only_grows;        /* per port: an uplink that changes, and all that is under way
				    brings it more VLANs, by one edit each */
	bool any;                /* something is under way */
};

MUST_USE int flux_init(const struct fabric_model *model, struct flux *ret);
void flux_done(struct flux *flux);

/* What it lies over; all of it is written to. New memberships are of `pool`. */
struct flux_ground {
	struct fabric_model *model;
	port_state *observed, *applied;
	struct state_pool *pool;
};
/* One edit under way; those of one port in the order of sending. */
struct flux_change {
	uint32_t at, port; /* port: MODEL_NONE for a VLAN */
	bool undoes;       /* it is being taken back: it leads to where the first one began */
	const struct switch_edit *edit;
};
MUST_USE int flux_lay(struct flux *flux, const struct flux_ground *ground,
		      const struct flux_change *change);

/* The state of the fabric with uplinks that change at their worst; freed by the caller. NULL: no
 * memory. */
port_state *flux_state(const struct flux *flux, const struct fabric_model *model,
		       const port_state observed[]);
/* Of two memberships of an uplink, all that either carries. */
struct port_vlans uplink_worst(const struct port_vlans *a, const struct port_vlans *b);
