#include "bampi/bootd/dhcp/reply_policy.h"

#include <string.h>

#define BROADCAST 0xffffffffU

static void reply_policy_echo(const struct dhcp_message *request, uint8_t code,
			      struct dhcp_message *reply)
{
	size_t size;
	const uint8_t *bytes = dhcp_option(request, code, &size);

	if (bytes)
		dhcp_put(reply, code, bytes, size);
}

static void put_network(const struct inventory_subnet *subnet, struct dhcp_message *reply)
{
	uint8_t dns[SUBNET_DNS_MAX * 4];

	dhcp_put_u32(reply, DHCP_OPTION_MASK, ipv4_mask(subnet->prefix.length));
	if (subnet->gateway)
		dhcp_put_u32(reply, DHCP_OPTION_ROUTERS, subnet->gateway);
	for (size_t i = 0; i < subnet->dns_count; i++) {
		for (size_t byte = 0; byte < 4; byte++)
			dns[4 * i + byte] = (uint8_t)(subnet->dns[i] >> (24 - 8 * byte));
	}
	if (subnet->dns_count > 0)
		dhcp_put(reply, DHCP_OPTION_DNS, dns, 4 * subnet->dns_count);
}

bool reply_build(const struct dhcp_message *request, const struct reply_facts *facts,
		 struct dhcp_message *ret)
{
	bool boots = false;

	memset(ret, 0, offsetof(struct dhcp_message, option_bytes));
	ret->op = DHCP_OP_REPLY;
	ret->htype = request->htype;
	ret->hlen = request->hlen;
	ret->xid = request->xid;
	ret->flags = request->flags;
	ret->giaddr = request->giaddr;
	memcpy(ret->chaddr, request->chaddr, sizeof(ret->chaddr));
	dhcp_put_u8(ret, DHCP_OPTION_TYPE, (uint8_t)facts->type);
	dhcp_put_u32(ret, DHCP_OPTION_SERVER_ID, facts->server);

	if (facts->type == DHCP_NAK) {
		/* A relay must broadcast it: the client may not have the address it talks about
		 * (4.3.2). */
		if (ret->giaddr)
			ret->flags |= DHCP_FLAG_BROADCAST;
		if (facts->message)
			dhcp_put_text(ret, DHCP_OPTION_MESSAGE, facts->message);
	} else {
		ret->yiaddr = facts->address;
		ret->ciaddr = facts->type == DHCP_ACK ? request->ciaddr : 0;
		if (facts->address)
			dhcp_put_u32(ret, DHCP_OPTION_LEASE_TIME, facts->subnet->lease_s);
		put_network(facts->subnet, ret);
		boots = answer_policy(&facts->answer, ret);
		if (boots)
			reply_policy_echo(
				request, DHCP_OPTION_UUID,
				ret); /* PXE 2.1: a ROM may drop replies without its own */
	}
	reply_policy_echo(request, DHCP_OPTION_CLIENT_ID,
			  ret); /* RFC 6842: unaltered, also in a NAK */
	reply_policy_echo(request, DHCP_OPTION_RELAY,
			  ret); /* RFC 3046: the relay finds its port by it */
	return boots;
}

struct reply_target reply_target(const struct dhcp_message *request,
				 const struct dhcp_message *reply)
{
	if (request->giaddr)
		return (struct reply_target){request->giaddr, DHCP_SERVER_PORT, false};
	if (dhcp_type(reply) == DHCP_NAK)
		return (struct reply_target){BROADCAST, DHCP_CLIENT_PORT, false};
	if (request->ciaddr)
		return (struct reply_target){request->ciaddr, DHCP_CLIENT_PORT, false};
	if ((request->flags & DHCP_FLAG_BROADCAST) || !reply->yiaddr)
		return (struct reply_target){BROADCAST, DHCP_CLIENT_PORT, false};
	return (struct reply_target){reply->yiaddr, DHCP_CLIENT_PORT, true};
}

size_t reply_room(const struct dhcp_message *request)
{
	size_t limit = dhcp_option_u16(request, DHCP_OPTION_MAX_SIZE);

	if (limit < DHCP_REPLY_LIMIT)
		limit = DHCP_REPLY_LIMIT;
	if (limit > DHCP_PACKET_MAX)
		limit = DHCP_PACKET_MAX;
	return limit - DHCP_HEADERS_SIZE;
}
