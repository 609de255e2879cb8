/* Inside of place_policy: place_hints.c gathers the hints on places of MACs, and leaves out ports
 * that are no place. place_policy.c decides between the places of each MAC. */
#pragma once

#include "peregrine/control/fabric/place_policy.h"

enum {
	PLACE_SURE = 70,
	PLACE_STRAY = 50,                   /* as certain as a stray must be */
	PLACE_AGENT_FRESH = 95,             /* what an agent of now is worth */
	PLACE_NOW = PLACE_FDB | PLACE_LLDP, /* what says that it is there now */
};

/* One thing that says where a MAC is. */
struct place_hint {
	uint64_t key;
	struct mac mac;
	struct port_ref at;
	enum place_source source;
	unsigned score;
	uint16_t vlan;
	int64_t seen_us;
};

struct place_work {
	const struct fabric_facts *facts;
	struct fabric_conclusion *ret;
	int64_t now_us;
	struct place_hint *hints;
	size_t hint_count;
};

/* Fills hints, in no order. -ENOMEM. */
MUST_USE int place_hints_gather(struct place_work *work);
/* Heard where it is not believed: somebody sends under its address there, or its cable is in the
 * wrong port, and it is moved nowhere by that. guard_policy looks at who it is. -ENOMEM. */
MUST_USE int place_stray_add(struct place_work *work, const struct fabric_nic *nic,
			     const struct fabric_place *place);
