/* The reply message and where it goes (RFC 2131 4.1, 4.3.1 table 3; RFC 3046 2.2; RFC 6842). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/dhcp_wire.h"

#include "bampi/bootd/dhcp/answer_policy.h"
#include "bampi/bootd/identify/inventory.h"

#define DHCP_SERVER_PORT 67
#define DHCP_CLIENT_PORT 68
#define DHCP_PXE_PORT    4011

struct reply_facts {
	enum dhcp_type type; /* of the reply */
	uint32_t address;    /* yiaddr; 0 = none */
	const struct inventory_subnet *subnet;
	uint32_t server; /* option 54 */
	struct answer_facts answer;
	const char *message; /* option 56 of a NAK; may be NULL */
};

/* True when the reply tells the client to boot something. */
bool reply_build(const struct dhcp_message *request, const struct reply_facts *facts,
		 struct dhcp_message *ret);

struct reply_target {
	uint32_t address; /* 255.255.255.255 = broadcast on the interface of arrival */
	uint16_t port;
	bool to_mac; /* the client has no address yet and cannot answer ARP: frame to its MAC */
};
struct reply_target reply_target(const struct dhcp_message *request,
				 const struct dhcp_message *reply);

/* Bytes the client takes, without IP and UDP headers. */
size_t reply_room(const struct dhcp_message *request);
