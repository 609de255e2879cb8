/* Which edits of a plan have to go together, all or nothing, and which may go side by side. A batch
 * is made of one part. Edits belong together that are about
 *
 *   one port, or the ports of nodes at one switch (one call to it does all of them),
 *   one VLAN on uplinks, since a way of a network is as long as its last link,
 *   a VLAN that comes to an uplink, and a port that comes into it,
 *   a VLAN that is made or deleted on a switch, and the ports there that need it or leave it,
 *   VLANs that meet one another as things are: the repair comes before what would join in.
 *
 * Nothing else: a slow switch holds up its own part. proof_policy.h proves before that any two
 * parts may be done in any order, by halves or not at all. More VLANs on an uplink only ever bring
 * more findings. So one state stands for all between: every uplink carries all that it carries at
 * any moment. */
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

/* ret[part] becomes true when the part has to wait: until a batch under way has ended, or until a
 * switch of the part has been read (`waits`, per switch; NULL = none has). */
void parts_waiting(const struct fabric_model *model, const struct plan *plan,
		   const struct parts *parts, const struct flux *flux, const bool waits[],
		   const struct vlan_set *tainted, bool ret[]);
