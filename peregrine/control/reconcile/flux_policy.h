/* Running changes, laid over the observed fabric for a planner beside them. A changing port counts
 * as being in its future state, and gets no further edit. Until its change has ended, the VLANs
 * that it may still carry also count wherever they could do harm. */
#pragma once

#include "peregrine/control/reconcile/diff_policy.h"

/* The VLANs that an edit touches. For a port of a node: all before or after the edit. For an
 * uplink: those that it gains or loses. */
struct vlan_set edit_touches(const struct fabric_model *model, const struct plan_edit *edit);
bool edit_is_uplink(const struct fabric_model *model, const struct plan_edit *edit);
/* The VLANs that the edit adds to its port. */
struct vlan_set edit_gains(const struct switch_edit *edit);
/* True: the edit only adds tagged VLANs to its port. */
bool edit_grows(const struct switch_edit *edit);

struct flux {
	bool *waits;    /* per switch: it must be read before an edit begins there */
	bool *changing; /* per switch: a change of it is under way */
	struct vlan_set *
		making; /* per switch: VLANs being made or deleted, or joining or leaving an uplink */
	struct vlan_set uplinks; /* VLANs that some uplink gains or loses */
	struct vlan_set touched; /* all VLANs that running changes touch */
	port_state *worst;       /* per port: of an uplink that changes, all that it may carry;
				    else NULL */
	bool *only_grows; /* per port: an uplink whose running edits only add VLANs, one edit per change */
	bool any;         /* something is under way */
};

MUST_USE int flux_init(const struct fabric_model *model, struct flux *ret);
void flux_done(struct flux *flux);

/* The arrays under it; all are written to. New memberships come from `pool`. */
struct flux_ground {
	struct fabric_model *model;
	port_state *observed, *applied;
	struct state_pool *pool;
};
/* One running edit; edits of one port are in the order of sending. */
struct flux_change {
	uint32_t at, port; /* port: MODEL_NONE for a VLAN */
	bool undoes;       /* it is being taken back: it leads to where the first one began */
	const struct switch_edit *edit;
};
MUST_USE int flux_lay(struct flux *flux, const struct flux_ground *ground,
		      const struct flux_change *change);

/* The state of the fabric with the worst case of each changing uplink; freed by the caller. NULL:
 * no memory. */
port_state *flux_state(const struct flux *flux, const struct fabric_model *model,
		       const port_state observed[]);
/* The union of two memberships of an uplink. */
struct port_vlans uplink_worst(const struct port_vlans *a, const struct port_vlans *b);
