/* What a relay does with a request and with a reply, and how a client is reached. Pure. RFC 2131
 * 4.1 and 4.1.1, RFC 1542 4.1, RFC 3046 2.1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/dhcp_wire.h"
#include "common/net/mac.h"

enum relay_verdict {
	RELAY_ADD,  /* forward with our option 82 */
	RELAY_PASS, /* forward as it is */
	/* the rest is dropped */
	RELAY_WRONG_OP,      /* a reply where requests come from, or the other way round */
	RELAY_NO_CLIENT,     /* not an Ethernet client */
	RELAY_NO_ADDRESS,    /* the interface has no address yet: no server could answer */
	RELAY_HOPS,          /* passed too many relays */
	RELAY_LOOP,          /* passed us before */
	RELAY_FORGED_GIADDR, /* a relay behind an interface that has none */
	RELAY_FORGED_OPTION, /* option 82 from an interface where nobody may add it */
	RELAY_STRANGER,      /* a reply from who is no server of ours */
	RELAY_UNASKED,       /* a reply to nothing that we forwarded */
	RELAY_OTHER_GIADDR,  /* a reply for another relay */
	RELAY_OTHER_OPTION,  /* a reply with an option 82 that is not what we sent */
};
#define RELAY_VERDICTS 13

const char *relay_verdict_text(enum relay_verdict verdict);

struct relay_request_facts {
	uint32_t interface_address; /* 0 = none yet */
	bool trusted;               /* switches or relays behind the interface may add option 82 */
	bool giaddr_is_ours;
	uint8_t hop_limit;
};
/* A giaddr or option 82 from an interface that is not trusted was made up by a node. RFC 3046 2.1.1
 * drops the option; a foreign giaddr it would forward, but there is no relay behind such an
 * interface. */
enum relay_verdict relay_request_policy(const struct dhcp_message *request,
					const struct relay_request_facts *facts);

enum relay_option { RELAY_OPTION_NONE, RELAY_OPTION_OURS, RELAY_OPTION_OTHER };

struct relay_reply_facts {
	bool from_server; /* address and port of one that we forward to */
	bool asked;       /* we forwarded a request of this client with this xid */
	bool added;       /* ... with our option 82 */
	uint32_t giaddr;  /* ... and this */
	enum relay_option option;
};
/* RELAY_ADD means: take our option 82 out. */
enum relay_verdict relay_reply_policy(const struct dhcp_message *reply,
				      const struct relay_reply_facts *facts);

struct relay_target {
	uint32_t address;
	struct mac mac; /* all ones: broadcast */
};
/* RFC 2131 4.1: broadcast when asked for or when there is no address to use, else a frame to the
 * client, which cannot answer ARP yet. */
struct relay_target relay_target(const struct dhcp_message *reply);
