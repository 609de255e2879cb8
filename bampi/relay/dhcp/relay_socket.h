/* The sockets of a relay: UDP 67 with the interface of arrival, and a packet socket for clients
 * without an address. Both are opened before privileges are dropped. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"
#include "common/net/mac.h"

#define RELAY_PACKET_ROOM 2048

struct relay_socket;

struct relay_arrival {
	uint8_t *data; /* the callee may change it during the call */
	size_t size;
	int interface; /* index */
	uint32_t source;
	uint16_t source_port;
};

typedef void (*relay_arrival_fn)(void *context, const struct relay_arrival *arrival);

/* -EADDRINUSE and the like; the problem names the port. */
MUST_USE int relay_socket_new(struct loop *loop, relay_arrival_fn fn, void *context,
			      struct relay_socket **ret, struct problem *problem);
void relay_socket_free(struct relay_socket *sockets);

/* To a server's port 67, from `source` (0 = the kernel's choice). -errno. */
MUST_USE int relay_socket_send_server(struct relay_socket *sockets, uint32_t server,
				      uint32_t source, const void *data, size_t size);

struct relay_frame {
	int interface;
	struct mac mac;
	uint32_t source, target;
};
/* To a client's port 68 as a frame: no ARP, no route. -errno, -ENOBUFS. */
MUST_USE int relay_socket_send_client(struct relay_socket *sockets, const struct relay_frame *frame,
				      const void *data, size_t size);
