/* Hears the DHCP servers of our links: replies to clients, whoever sends them, but this machine. A
 * packet socket whose kernel filter passes UDP from port 67 to 68 alone. For bampi-bootd, which
 * tells of servers that are not ours, and for `haasctl site`, which asks for them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/dhcp_wire.h"
#include "common/net/mac.h"

struct dhcp_heard {
	int interface;   /* index */
	struct mac mac;  /* of the frame: the server's, or that of the router before it */
	uint32_t server; /* option 54; without it the source address */
	uint32_t xid;
	enum dhcp_type type;
};

/* Needs CAP_NET_RAW, once. Does not block. -errno with a problem. */
MUST_USE int dhcp_listener_open(int *ret_fd, struct problem *problem);
/* The next reply. -EAGAIN: none waits. E_MALFORMED: what came was no reply of a DHCP server. */
MUST_USE int dhcp_listener_next(int fd, struct dhcp_heard *ret);

/* The reply in a packet with its IP header; E_MALFORMED: there is none. Pure. */
MUST_USE int dhcp_listener_decode(const void *packet, size_t size, struct dhcp_heard *ret);

/* Asks all servers on a link for an offer, as a client with this MAC: a DISCOVER that wants its
 * answer by broadcast. It takes no address. -errno. */
MUST_USE int dhcp_listener_ask(int fd, int interface, struct mac mac, uint32_t xid);
