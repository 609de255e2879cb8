/* Decides the answer: request and facts to OFFER, ACK, NAK or silence (RFC 2131 4.3, table 4).
 * bootd is the only authority on its subnets. So a client of ours that is wrong gets a NAK; an
 * unknown client gets silence. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/dhcp_wire.h"

#include "bampi/bootd/dhcp/address_policy.h"

enum dhcp_verdict {
	VERDICT_SILENCE,
	VERDICT_OFFER,
	VERDICT_ACK,
	VERDICT_ACK_COMMITTED, /* only after the binding is in PostgreSQL */
	VERDICT_NAK,
	VERDICT_INFORM,     /* ACK without an address or a lease */
	VERDICT_QUARANTINE, /* DECLINE: the address is nobody's for a while; no answer */
	VERDICT_RELEASE,    /* the timer ends now, the binding stays; no answer */
};

enum dhcp_reason { /* why; for logs, counters and events */
		   REASON_OK,
		   REASON_NOT_READY, /* inventory or leases have not been read yet */
		   REASON_NO_SUBNET,
		   REASON_UNKNOWN_CLIENT, /* in a subnet that serves known ones only */
		   REASON_NO_ADDRESS,     /* see the refusal of the choice */
		   REASON_DATABASE_AWAY,  /* a new binding cannot be made now */
		   REASON_OTHER_SERVER,   /* the client chose another server */
		   REASON_WRONG_NETWORK,
		   REASON_WRONG_ADDRESS,
		   REASON_NO_BINDING,
		   REASON_MALFORMED,
		   REASON_CONFLICT,        /* who asks cannot be told; see its identity */
		   REASON_NOT_FOR_SERVERS, /* OFFER, ACK, NAK: other servers' words */
		   REASON_RELAY_LOOP,      /* passed too many relays */
		   REASON_UNKNOWN_RELAY,   /* giaddr is nobody we would send anything to */
		   REASON_FORGED_RELAY,    /* giaddr is a relay's, the sender is not that relay */
		   REASON_CLIENT_RATE,     /* more than one client may ask */
		   REASON_RELAY_RATE,      /* more strangers than one relay may bring */
};
#define DHCP_REASONS 18
const char *dhcp_reason_text(enum dhcp_reason reason);

struct dhcp_facts {
	bool ready;
	bool database; /* connected */
	bool conflict; /* two answers to who asks: no guess */
	bool known;    /* a node, its port's address, or with a reservation on this link */
	bool on_link;  /* the address that the request talks about */
	const struct inventory_subnet *subnet; /* names the link; NULL = none of ours */
	uint32_t server;                       /* how this client knows us: option 54 */
	int64_t now_s;                         /* wall clock */
	struct address_choice choice;
};

struct dhcp_decision {
	enum dhcp_verdict verdict;
	enum dhcp_reason reason;
	uint32_t address; /* offered, acknowledged, declined */
};

struct dhcp_decision dhcp_policy(const struct dhcp_message *request,
				 const struct dhcp_facts *facts);

/* The address that a request talks about: ciaddr, else option 50; 0 = none. */
uint32_t dhcp_claimed_address(const struct dhcp_message *request);
