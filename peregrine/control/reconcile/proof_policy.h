/* Which parts of a plan may be begun now, beside what is under way. No two networks may meet at any
 * moment, whichever part comes first, ends half-way or is taken back.
 *
 * More VLANs on an uplink only ever bring more findings (isolation_policy.h), and each port of a
 * node is judged by itself. So one state stands for all between: every uplink carries all that it
 * carries at any moment of any part.
 *
 * That state may not be provable: a way of a network that is laid anew would close a circle with
 * the old one. Then the parts that fail become one part, which keeps to the order of its stages.
 * Where not even that can be proven, it is refused. */
#pragma once

#include "peregrine/control/network/isolation_policy.h"
#include "peregrine/control/reconcile/part_policy.h"

/* All borrowed; `observed` and `applied` with the flux laid over them. */
struct proof_ground {
	const struct fabric_model *model;
	const port_state *observed, *applied;
	const struct wanted *wanted;
	const struct plan *plan;
	const struct flux *flux;
	const bool *waits;                  /* per switch; NULL = none */
	const struct isolation_report *now; /* of flux_state; what is wrong already is no news */
};

struct proof {
	struct parts parts;
	bool *going;  /* per part: may be begun */
	bool *staged; /* per part: keeps to its stages, or was refused */
	bool any;     /* something may be begun */
	bool refused;
	struct isolation_finding fault; /* when refused: the first */
	unsigned checks;                /* states that were looked at */
};

MUST_USE int proof_make(const struct proof_ground *ground, struct proof *ret);
void proof_done(struct proof *proof);
