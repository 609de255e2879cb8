/* Inside of place_policy: place_hints.c gathers the hints on places of MACs, and leaves out ports
 * that are no place. place_policy.c decides between the places of each MAC. */
#pragma once

#include "peregrine/control/fabric/place_policy.h"

enum {
	PLACE_SURE = 70,
	PLACE_STRAY = 50,                   /* least certainty of a stray */
	PLACE_AGENT_FRESH = 95,             /* certainty of a running agent's report */
	PLACE_NOW = PLACE_FDB | PLACE_LLDP, /* sources that show the current place */
};

enum { PLACE_STRANGERS_MAX = 32768 }; /* addresses that are no NIC's, of one switch */

/* One piece of evidence for the place of a MAC. */
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
/* Adds a stray: a NIC's MAC is heard at a port that does not become its place. Another sender uses
 * the MAC there, or the NIC's cable is in the wrong port. guard_policy decides which. -ENOMEM. */
MUST_USE int place_stray_add(struct place_work *work, const struct fabric_nic *nic,
			     const struct fabric_place *place);
