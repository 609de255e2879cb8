/* Where each MAC is plugged in: the node's own LLDP, what the agent heard, the FDB of edge ports,
 * option 82; and where it was, while that port keeps its link. An uplink sees every MAC and says
 * nothing. Fresh LLDP beats FDB; the FDB of now beats
 * what an agent heard long ago. A MAC that was here and is now there, too, has moved (the old entry
 * ages); one that goes back and forth is a conflict:
 *
 * nic.flapping     a NIC of ours changed its port again and again within ten minutes
 * nic.two_ports    a NIC of ours is seen at two ports, and nothing says which one is old
 * nic.foreign_port a NIC of a node that no tenant uses is heard at a port that another node was
 *                  given, or any NIC at another port than its node's own, which kept its link:
 *                  somebody sends under its address; it is told, and is no place, but a stray */
#pragma once

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"

/* Fills places and adds conflicts; kinds must be there (link_policy_conclude). -ENOMEM. */
MUST_USE int place_policy_conclude(const struct fabric_facts *facts, int64_t now_us,
				   struct fabric_conclusion *conclusion);
