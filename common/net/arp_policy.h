/* Whether an ARP proxy answers (RFC 1027; RFC 5227 for what must not be disturbed). It answers for
 * addresses of configured prefixes behind another of our interfaces, to askers that are where they
 * say. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/arp_wire.h"

enum arp_verdict {
	ARP_ANSWER,
	ARP_NO_REQUEST, /* a reply, or an operation of other protocols */
	ARP_PROBE,      /* the asker has no address yet and looks whether this one is free */
	ARP_GRATUITOUS, /* the asker says its own address */
	ARP_FOREIGN,    /* of no configured prefix */
	ARP_FORGED,     /* the asker is not who, or not where, it says */
	ARP_LOCAL,      /* our own address: the kernel answers */
	ARP_SAME_LINK,  /* a neighbour of the asker, who answers by himself */
	ARP_NO_ROUTE,
	ARP_VERDICTS
};

/* Where packets to an address go. */
struct arp_route {
	int interface; /* index; 0 = nowhere */
	bool local;    /* to ourselves */
};

struct arp_facts {
	struct arp_packet packet;
	struct mac frame_source; /* of the Ethernet header */
	int interface;           /* that it came in by */
	bool wanted;             /* packet.target is in a configured prefix */
	struct arp_route to_sender, to_target;
};

/* By the packet alone: ARP_ANSWER = worth looking up the routes. */
enum arp_verdict arp_policy_packet(const struct arp_facts *facts);
/* By everything. */
enum arp_verdict arp_policy(const struct arp_facts *facts);
