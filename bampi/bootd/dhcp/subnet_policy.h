/* Which link a request is from, and whether its relay may speak for that link. The first of: the
 * relay's link selection (RFC 3527), the relay address, the client's own address when it was
 * unicast to us. Else the network of the interface it came in by. Pure. */
#pragma once

#include <stdbool.h>

#include "common/net/dhcp_wire.h"

#include "bampi/bootd/identify/inventory.h"

#define RELAY_HOPS_MAX 16 /* RFC 1542 4.1.1: a message that passed more goes round in circles */

/* The subnet that names the link; inventory_subnet_beside gives the others on it. arrival: our
 * address on the interface of arrival, 0 = unknown. NULL = none of ours. */
const struct inventory_subnet *subnet_policy(const struct inventory *inventory,
					     const struct dhcp_message *request, uint32_t arrival);

/* Our replies go to giaddr, so it must be one that we know: listed as relay of the link; when the
 * link lists none, an address in any subnet of ours. */
bool relay_policy(const struct inventory *inventory, const struct inventory_subnet *subnet,
		  uint32_t giaddr);

/* A relay sends from giaddr, from another of its addresses that a subnet lists, or from outside of
 * the subnets. Who sends from a subnet otherwise is a node that plays relay (S10). */
bool relay_source_policy(const struct inventory *inventory, uint32_t giaddr, uint32_t source);
