/* Which subnet a request is from: relay's link selection (RFC 3527), relay address, the client's
 * own address when it was unicast to us, else the network of the interface it came in by. Pure. */
#pragma once

#include "common/net/dhcp_wire.h"

#include "bampi/bootd/identify/inventory.h"

/* arrival: our address on the interface of arrival, 0 = unknown. NULL = none of ours. */
const struct inventory_subnet *subnet_policy(const struct inventory *inventory,
					     const struct dhcp_message *request, uint32_t arrival);
