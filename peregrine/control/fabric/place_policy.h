/* Where each MAC is plugged in: by the node's own LLDP, the agent's, the FDB of edge ports, option
 * 82. And where it was, while that port keeps its link. An uplink sees every MAC and says nothing.
 * Fresh LLDP beats FDB, and the FDB of now beats an agent's old sighting.
 *
 * A MAC that was here and is now there, too, has moved (the old entry ages). One that goes back and
 * forth is a conflict:
 *
 *   nic.flapping      a NIC of ours changed its port again and again within ten minutes
 *   nic.two_ports     a NIC of ours is seen at two ports, and nothing says which one is old
 *   nic.foreign_port  somebody sends under the address of a NIC: told, and no place but a stray
 *
 * A stray is one of two: a NIC of a node that no tenant uses, heard at a port that another node was
 * given; or any NIC, heard elsewhere while its node's own port keeps its link. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"

/* Fills places and adds conflicts; kinds must be there (link_policy_conclude). -ENOMEM. */
MUST_USE int place_policy_conclude(const struct fabric_facts *facts, int64_t now_us,
				   struct fabric_conclusion *conclusion);
