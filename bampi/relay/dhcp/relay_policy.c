#include "bampi/relay/dhcp/relay_policy.h"

#include <assert.h>

#include "common/base/enum_text.h"
#include "common/base/macros.h"

#define BROADCAST 0xffffffffU

static const char *const verdict_texts[] = {
	[RELAY_ADD] = "added",
	[RELAY_PASS] = "passed",
	[RELAY_WRONG_OP] = "wrong direction",
	[RELAY_NO_CLIENT] = "not an Ethernet client",
	[RELAY_NO_ADDRESS] = "the interface has no address",
	[RELAY_HOPS] = "too many relays",
	[RELAY_LOOP] = "it was here before",
	[RELAY_FORGED_GIADDR] = "giaddr from an interface without relays",
	[RELAY_FORGED_OPTION] = "option 82 from an interface that is not trusted",
	[RELAY_STRANGER] = "not from a server of ours",
	[RELAY_UNASKED] = "without a request",
	[RELAY_OTHER_GIADDR] = "for another relay",
	[RELAY_OTHER_OPTION] = "not the option 82 that was sent",
};
static_assert(COUNT_OF(verdict_texts) == RELAY_VERDICTS, "a text for each verdict");

const char *relay_verdict_text(enum relay_verdict verdict)
{
	return enum_text(verdict_texts, COUNT_OF(verdict_texts), (int)verdict);
}

enum relay_verdict relay_request_policy(const struct dhcp_message *request,
					const struct relay_request_facts *facts)
{
	size_t size;
	bool has_option = dhcp_option(request, DHCP_OPTION_RELAY, &size) != NULL;
	struct mac mac;

	if (request->op != DHCP_OP_REQUEST)
		return RELAY_WRONG_OP;
	if (!dhcp_client_mac(request, &mac))
		return RELAY_NO_CLIENT;
	if (request->giaddr && facts->giaddr_is_ours)
		return RELAY_LOOP;
	if (request->hops >= facts->hop_limit)
		return RELAY_HOPS;
	if (!facts->interface_address)
		return RELAY_NO_ADDRESS;
	if (request->giaddr && !facts->trusted)
		return RELAY_FORGED_GIADDR;
	if (has_option && !facts->trusted)
		return RELAY_FORGED_OPTION;
	/* RFC 3046 2.1.1: never a second option, and none to what another relay forwarded. */
	return has_option || request->giaddr ? RELAY_PASS : RELAY_ADD;
}

enum relay_verdict relay_reply_policy(const struct dhcp_message *reply,
				      const struct relay_reply_facts *facts)
{
	if (reply->op != DHCP_OP_REPLY)
		return RELAY_WRONG_OP;
	if (!facts->from_server)
		return RELAY_STRANGER;
	if (!facts->asked)
		return RELAY_UNASKED;
	if (reply->giaddr != facts->giaddr)
		return RELAY_OTHER_GIADDR;
	if (!facts->added)
		return RELAY_PASS; /* the switch that added the option takes it out */
	/* A server that does not know the option leaves it out (2.2). */
	if (facts->option == RELAY_OPTION_OTHER)
		return RELAY_OTHER_OPTION;
	return facts->option == RELAY_OPTION_OURS ? RELAY_ADD : RELAY_PASS;
}

struct relay_target relay_target(const struct dhcp_message *reply)
{
	struct relay_target target = {.address = reply->yiaddr ? reply->yiaddr : reply->ciaddr};

	if ((reply->flags & DHCP_FLAG_BROADCAST) || !target.address ||
	    !dhcp_client_mac(reply, &target.mac))
		return (struct relay_target){BROADCAST,
					     {.bytes = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}};
	return target;
}
