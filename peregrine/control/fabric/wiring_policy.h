/* Compares the planned cabling with the cabling found, and names the cable to move:
 *
 *   wiring.miscabled   the planned device is at another port, or another device is at this port
 *   wiring.missing     the planned device is not found
 *   wiring.silent      the planned device is not found, as expected: the node is off, starts, or was never seen
 *   wiring.unexpected  a node of ours is at a port of a planned switch that has no plan
 *
 * For a switch that does not answer no difference is reported. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"

/* One planned cable: a NIC of a node (any of them when nic is empty), or a port of another switch.
 */
struct wiring_row {
	int64_t switch_id;
	const char *port;
	int64_t node_id; /* 0 = a switch */
	const char *node, *nic;
	int64_t peer_id;
	const char *peer, *peer_port;
};

struct wiring_difference {
	const char *kind; /* static */
	bool warning;     /* else for information */
	char switch_name[64];
	char port[64];
	char message[200];
	char hint[200];
};

struct wiring_found {
	struct wiring_difference *items; /* owned: free() */
	size_t count;
};

/* -ENOMEM. */
MUST_USE int wiring_policy_compare(const struct fabric_facts *facts,
				   struct fabric_conclusion *conclusion,
				   const struct wiring_row rows[], size_t count,
				   struct wiring_found *ret);
