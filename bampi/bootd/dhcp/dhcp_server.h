/* The sockets of DHCP: UDP 67 and 4011 with the interface of arrival, and a packet socket for
 * clients without an address. Packets come and go in bursts (recvmmsg, sendmmsg). All sockets are
 * opened by dhcp_server_new, before privileges are dropped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"
#include "common/net/mac.h"

struct dhcp_server;

struct dhcp_arrival {
	const uint8_t *data; /* borrowed for the call */
	size_t size;
	int interface;  /* index */
	uint32_t local; /* our address there, 0 = unknown */
	uint32_t source;
	uint16_t source_port;
	uint16_t port; /* ours: 67 or 4011 */
};

struct dhcp_departure {
	int interface;  /* index */
	uint32_t local; /* source address; 0 = the kernel's choice */
	uint32_t target;
	uint16_t port;
	uint16_t local_port; /* 67 or 4011 */
	bool to_mac;         /* a frame to `mac`, no ARP */
	struct mac mac;
};

struct dhcp_server_options {
	const char *const *interfaces; /* NULL-ended; empty = all. Need not exist yet. Borrowed. */
	void (*on_packet)(void *context, const struct dhcp_arrival *arrival);
	void (*on_burst)(
		void *context); /* after the packets of one burst; then what was sent leaves */
	void *context;
};

/* -EADDRINUSE and the like; the problem names the port. */
MUST_USE int dhcp_server_new(struct loop *loop, const struct dhcp_server_options *options,
			     struct dhcp_server **ret, struct problem *problem);
void dhcp_server_free(struct dhcp_server *server);

/* Queues a reply (copied); false when it is too large. */
bool dhcp_server_send(struct dhcp_server *server, const struct dhcp_departure *departure,
		      const void *data, size_t size);
/* Sends what is queued; needed outside on_packet and on_burst. */
void dhcp_server_flush(struct dhcp_server *server);
/* Does this server answer on the interface? Names are asked of the kernel, and kept some seconds. */
bool dhcp_server_answers_on(struct dhcp_server *server, int index);
/* Replies that the kernel refused, so far. */
uint64_t dhcp_server_send_failures(const struct dhcp_server *server);
