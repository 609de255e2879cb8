/* Divides a plan into parts. The edits of a part are done all or none; parts may run side by side.
 * A batch is made of one part. These edits are in the same part:
 *
 *   - edits of one port, or of the ports of nodes at one switch (one call does all of them)
 *   - edits of one VLAN on uplinks: a network's path works only with its last link
 *   - a VLAN that an uplink gains, and a port that enters this VLAN
 *   - a VLAN made or deleted on a switch, and the ports there that need it or leave it
 *   - edits of VLANs that meet now: their repair comes before another port joins them
 *
 * All other edits are in different parts, so a slow switch delays only its own part. Before that,
 * proof_policy.h proves that any two parts may be done in any order, by halves or not at all. More
 * VLANs on an uplink can only add findings. So one state stands for all states in between: each
 * uplink carries every VLAN that it carries at any moment. */
#pragma once

#include "peregrine/control/reconcile/flux_policy.h"

struct parts {
	uint32_t *of;   /* per edit of the plan */
	uint32_t count; /* numbered from 0 */
};

/* `tainted`: of isolation_report; parts that touch it are one. -ENOMEM. */
MUST_USE int parts_make(const struct fabric_model *model, const struct plan *plan,
			const struct vlan_set *tainted, struct parts *ret);
void parts_done(struct parts *parts);
/* All parts with `chosen[part]` true become one; the others keep their numbers. */
void parts_merge(struct parts *parts, const struct plan *plan, const bool chosen[]);

/* Why a part may have to wait. */
struct part_holds {
	const struct flux *flux; /* a running batch */
	const bool *waits;       /* per switch: it is to be read first; NULL = none is */
	const struct vlan_set *tainted;
};

/* ret[part] becomes true if the part has to wait. */
void parts_waiting(const struct fabric_model *model, const struct plan *plan,
		   const struct parts *parts, const struct part_holds *holds, bool ret[]);
