#include "bampi/bootd/dhcp/subnet_policy.h"

static bool lists_relay(const struct inventory_subnet *subnet, uint32_t giaddr)
{
	for (size_t i = 0; i < subnet->relay_count; i++) {
		if (subnet->relays[i] == giaddr)
			return true;
	}
	return false;
}

/* A relay may have its address outside of the link it serves: then the subnet names it. */
static const struct inventory_subnet *subnet_of_relay(const struct inventory *inventory,
						      uint32_t giaddr)
{
	const struct inventory_subnet *subnet = inventory_subnet_of(inventory, giaddr);

	for (size_t i = 0; !subnet && i < inventory_subnet_count(inventory); i++) {
		const struct inventory_subnet *each = inventory_subnet_at(inventory, i);

		if (lists_relay(each, giaddr))
			subnet = each;
	}
	return subnet;
}

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
		return subnet_of_relay(inventory, request->giaddr);
	/* A renewal is routed to us past the relay: only the client's address tells where it is. */
	if (request->ciaddr)
		subnet = inventory_subnet_of(inventory, request->ciaddr);
	return subnet ? subnet : inventory_subnet_of(inventory, arrival);
}

bool relay_policy(const struct inventory *inventory, const struct inventory_subnet *subnet,
		  uint32_t giaddr)
{
	const struct inventory_subnet *each = subnet;
	bool listed = false;

	do {
		if (lists_relay(each, giaddr))
			return true;
		listed |= each->relay_count > 0;
		each = inventory_subnet_beside(inventory, each);
	} while (each->id != subnet->id);
	return !listed && inventory_subnet_of(inventory, giaddr) != NULL;
}

bool relay_source_policy(const struct inventory *inventory, uint32_t giaddr, uint32_t source)
{
	if (source == giaddr || !inventory_subnet_of(inventory, source))
		return true;
	for (size_t i = 0; i < inventory_subnet_count(inventory); i++) {
		if (lists_relay(inventory_subnet_at(inventory, i), source))
			return true;
	}
	return false;
}
