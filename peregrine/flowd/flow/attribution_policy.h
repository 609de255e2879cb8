/* Whose traffic a flow is. The VLAN alone fails: access ports strip it, and it means another tenant
 * on another switch (akvorado#384 and #2466). The order:
 *
 *   1. the edge port it came in by, with its tag      4. the tag, in the fabric of the switch
 *   2. its source MAC, plugged in at a known port     5. nobody, with a reason that has a name
 *   3. its VNI
 *
 * On an uplink the source MAC is believed under one condition: the frame's own tag, if it has one,
 * belongs to a network of that NIC's port. A tenant may send with another's MAC, not in another's
 * VLAN. */
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
	uint16_t vlan; /* of its network in this fabric; else the one that the frame shows; 0 = none
			*/
	enum attribution_by by;
	enum attribution_reason reason;
	/* Bytes that a frame has more where it leaves than where it was sampled: an 802.1Q tag
	 * that this switch puts on (4) or takes off (-4). */
	int8_t out_more;
};

/* Could the NIC have sent this network's frames? Its port is in it, or it is not known where it is,
 * or the network is not. Anybody can write another's MAC: that names nobody's node. */
bool attribution_nic_is_in(const struct attribution_index *index, const struct index_nic *nic,
			   uint32_t network, int64_t at_us);
struct attribution attribute(const struct attribution_index *index, const struct flow_key *key,
			     int64_t at_us);
