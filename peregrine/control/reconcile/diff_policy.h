/* The edits that bring a fabric to its wanted state. Their order lets no two networks meet at any
 * moment, whatever part of it has been done:
 *
 *   create  VLANs where ports will need them; invisible
 *   cut     strangers and tags on edge ports; our VLANs on links that are gone; a native VLAN of
 *           ours on an uplink; trees that would close a circle with their old way
 *   attach  edge ports become what they are meant to be, uplinks get more
 *   trim    uplinks lose what nobody needs any more, then VLANs that no port is in are deleted
 *
 * A port of a node is one edit. On some switches an edit has the port in the old and the new VLAN
 * for a moment (fabric_switch.enters_first). There it is cut to what both have, and to a parking
 * VLAN in which nobody else is on its way. It is attached from there.
 *
 * Stages are barriers for the fabric. Inside one no switch waits for another: a number is one
 * network's everywhere, and no uplink translates one. isolation_policy proves each stage. */
#pragma once

#include "peregrine/control/network/wanted_policy.h"

enum plan_stage { STAGE_CREATE, STAGE_CUT, STAGE_ATTACH, STAGE_TRIM, PLAN_STAGE_COUNT };

struct plan_edit {
	enum plan_stage stage;
	uint32_t at;   /* switch */
	uint32_t port; /* EDIT_PORT; else MODEL_NONE */
	struct switch_edit edit;
	port_state after; /* EDIT_PORT: for the states between */
};

struct plan {
	struct plan_edit *edits; /* by stage, switch, and the order in which they are to be sent */
	size_t count;
	struct state_pool pool;
	/* Per port: it waits, since its switch has no parking number by way of which it could go.
	 */
	bool *stuck;
};

/* Ports and switches that are held stay out. VLAN names are the networks'. -ENOMEM. */
MUST_USE int plan_make(const struct fabric_model *model, const port_state observed[],
		       const struct wanted *wanted, const port_state applied[], struct plan *ret);
void plan_done(struct plan *plan);

/* The states between: `state` begins as what is observed; each call applies the edits of one stage
 * to it. */
void plan_apply(const struct plan *plan, enum plan_stage stage, port_state state[]);
