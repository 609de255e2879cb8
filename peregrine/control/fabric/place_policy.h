/* The port that each MAC is plugged into: by the node's own LLDP, the agent's LLDP, the FDB of edge
 * ports, option 82. A MAC keeps its last port while that port keeps its link. An uplink sees every
 * MAC, so it is no evidence. Fresh LLDP beats FDB, and the FDB of now beats an agent's old
 * sighting.
 *
 * A MAC that was at one port and is now also at another has moved (the old entry ages). One that
 * goes back and forth is a conflict:
 *
 *   nic.flapping      a NIC of ours changed its port again and again within ten minutes
 *   nic.two_ports     a NIC of ours is seen at two ports, and nothing says which one is old
 *   nic.foreign_port  another sender uses the MAC of a NIC: reported; never a place, at most a stray
 *
 * A stray is one of two:
 *
 *   - a NIC of a node without a tenant, heard at a port that another node was given
 *   - any NIC, heard elsewhere while its node's own port keeps its link */
#pragma once

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"

/* Fills places and adds conflicts; kinds must be there (link_policy_conclude). -ENOMEM. */
MUST_USE int place_policy_conclude(const struct fabric_facts *facts, int64_t now_us,
				   struct fabric_conclusion *conclusion);
