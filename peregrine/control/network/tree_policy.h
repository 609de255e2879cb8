/* The tree of one network over the uplinks of a fabric. */
#pragma once

#include "peregrine/control/network/fabric_model.h"

/* Adds network i's VLAN to `carried` (per port; NULL where it is no uplink) on both ends of each
 * uplink of its tree. `sites`: per switch the VLANs that its edge ports want. VLANs whose sites
 * cannot all be reached from one another go into `split`; each part gets a tree of its own.
 * -ENOMEM. */
MUST_USE int tree_carry(const struct fabric_model *model, const port_state observed[], uint32_t i,
			const struct vlan_set sites[], struct vlan_set *const carried[],
			struct vlan_set *split);
