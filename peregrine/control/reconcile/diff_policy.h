/* The edits that bring a fabric to its wanted state. Their order keeps any two networks apart at
 * every moment, also if only a part of the edits has been done:
 *
 *   create  makes the VLANs that ports will need; no port is in them yet
 *   cut     removes from edge ports: foreign networks, and tags
 *           removes from uplinks: our VLANs where the link is gone, a native VLAN of ours
 *           removes the VLAN paths that would form a loop with the new ones
 *   attach  puts edge ports into their wanted VLANs, adds VLANs to uplinks
 *   trim    removes from uplinks the VLANs that no port needs, then deletes VLANs without ports
 *
 * A port of a node is one edit. During an edit some switches have the port in the old and the new
 * VLAN for a moment (fabric_switch.enters_first). On such a switch the port is first cut to the
 * VLANs that both states share, plus a parking VLAN. No other port passes through that parking
 * VLAN. It is attached from there.
 *
 * Stages are barriers for the fabric. Inside a stage no switch waits for another: a VLAN ID belongs
 * to one network everywhere, and no uplink translates it. isolation_policy proves each stage. */
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
	/* Per port: it waits, since its switch has no parking VLAN for the move. */
	bool *stuck;
};

/* Held ports and switches get no edits. VLANs are named after their networks. -ENOMEM. */
MUST_USE int plan_make(const struct fabric_model *model, const port_state observed[],
		       const struct wanted *wanted, const port_state applied[], struct plan *ret);
void plan_done(struct plan *plan);
