#include "bampi/bootd/dhcp/subnet_policy.h"

const struct inventory_subnet *subnet_policy(const struct inventory *inventory,
					     const struct dhcp_message *request, uint32_t arrival)
{
	/* The relay names the client's link when its own address is on another one. */
	uint32_t link =
		request->giaddr ? dhcp_relay_address(request, DHCP_RELAY_LINK_SELECTION) : 0;
	const struct inventory_subnet *subnet = NULL;

	if (link)
		return inventory_subnet_of(inventory, link);
	if (request->giaddr)
		return inventory_subnet_of(inventory, request->giaddr);
	/* A renewal is routed to us past the relay: only the client's address tells where it is. */
	if (request->ciaddr)
		subnet = inventory_subnet_of(inventory, request->ciaddr);
	return subnet ? subnet : inventory_subnet_of(inventory, arrival);
}
