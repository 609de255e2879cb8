/* Which edits of a plan have to go together, all or nothing, and which may go side by side: a part
 * is what a batch is made of. Edits belong together that are about
 *
 *   one port, or the ports of nodes at one switch (one call to it does all of them),
 *   one VLAN on uplinks: a way of a network is as long as its last link,
 *   a VLAN that comes to an uplink and a port that comes into it,
 *   a VLAN that is made or deleted on a switch and the ports there that need it or leave it,
 *   VLANs that meet one another as things are: what puts it right comes before what would join in.
 *
 * Nothing else: a slow switch holds up its own part. That any two parts may be done in any order,
 * by halves or not at all, is proven before (proof_policy.h): more VLANs on an
 * uplink only ever bring more findings, so the state in which every uplink carries what it carries
 * at any moment stands for all states between. */
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
/* All parts of which `chosen[part]` is true become one; the others keep their numbers. */
void parts_merge(struct parts *parts, const struct plan *plan, const bool chosen[]);

/* ret[part] becomes true when it has to wait until what is under way has ended, or until a switch
 * of it has been read (`waits`, per switch; NULL = none has). */
void parts_waiting(const struct fabric_model *model, const struct plan *plan,
		   const struct parts *parts, const struct flux *flux, const bool waits[],
		   const struct vlan_set *tainted, bool ret[]);
