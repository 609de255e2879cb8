/* Decides which parts of a plan may begin now, beside the running batches. No two networks may meet
 * at any moment, whichever part comes first, ends half-way or is undone.
 *
 * More VLANs on an uplink can only add findings (isolation_policy.h), and each port of a node is
 * judged by itself. So one state stands for all states in between: each uplink carries every VLAN
 * that it carries at any moment of any part.
 *
 * The proof of that state may fail: a network's new path would form a loop with its old one. Then
 * the failing parts become one part, which keeps the order of its stages. If the proof of this part
 * fails too, it is refused. */
#pragma once

#include "peregrine/control/network/isolation_policy.h"
#include "peregrine/control/reconcile/part_policy.h"

/* All borrowed. The flux is laid over `observed` and `applied`. */
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
