/* Finds the tenant of a flow. The VLAN alone is not enough: access ports strip it, and another
 * switch may use it for another tenant (akvorado#384 and #2466). The order:
 *
 *   1. the edge port it came in by, with its tag      4. the tag, in the fabric of the switch
 *   2. its source MAC, plugged in at a known port     5. nobody, with a reason that has a name
 *   3. its VNI
 *
 * On an uplink the source MAC is believed under one condition: the frame's own tag, if it has one,
 * belongs to a network of that NIC's port. A tenant can send with another's MAC, but not in
 * another's VLAN. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/model/attribution_reason.h"
#include "common/net/flow_key.h"

#include "peregrine/flowd/flow/attribution_index.h"

enum attribution_by { BY_NOBODY, BY_PORT, BY_MAC, BY_VNI, BY_TAG, ATTRIBUTION_BY_COUNT };

extern const char *const attribution_by_words[ATTRIBUTION_BY_COUNT + 1];

struct attribution {
	uint32_t switch_index;
	uint32_t in_port, out_port; /* of index.ports; INDEX_NONE: no such port */
	bool from_edge;             /* counted for its tenant here and nowhere else */
	uint32_t network;           /* of index.networks; INDEX_NONE with a reason */
	uint16_t
		vlan; /* VLAN of its network in this fabric, else the VLAN of the frame; 0 = none */
	enum attribution_by by;
	enum attribution_reason reason;
	/* Bytes that the frame gains between sampling and leaving: an 802.1Q tag that this switch
	 * adds (4) or removes (-4). */
	int8_t out_more;
};

/* Could the NIC have sent this network's frames? True if its port is in the network, or if its port
 * or the network is not known. A false answer means a forged MAC: the frame is not attributed to
 * the NIC's node. */
bool attribution_nic_is_in(const struct attribution_index *index, const struct index_nic *nic,
			   uint32_t network, int64_t at_us);
struct attribution attribute(const struct attribution_index *index, const struct flow_key *key,
			     int64_t at_us);
