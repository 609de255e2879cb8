/* A UDP port that many transfers share. One recvmmsg reads the datagrams of all. One sendmmsg sends
 * those of a turn of the loop. A window is one message, which the kernel or the card cuts into
 * datagrams (UDP_SEGMENT, Linux 4.18). */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/base/macros.h"
#include "common/io/loop.h"

struct tftp_port;
struct tftp_transfer;

/* From one of our addresses to a client, and what to do with long messages. */
struct tftp_path {
	struct sockaddr_in client;
	_Alignas(struct cmsghdr) uint8_t
		control[CMSG_SPACE(sizeof(struct in_pktinfo)) + CMSG_SPACE(sizeof(uint16_t))];
	bool uncut; /* nobody there can cut messages: each datagram is one */
};
/* `local`: our address, host order, 0 = the kernel's choice. Datagrams of `datagram_size` but the
 * last. */
void tftp_path_init(struct tftp_path *path, const struct sockaddr_in *client, uint32_t local,
		    uint16_t datagram_size);
/* One small packet at once; one that is lost here is lost like any datagram. */
void tftp_path_send(const struct tftp_path *path, int fd, const void *packet, size_t size);

/* DATA of one transfer: `count` blocks from number `first`; all have block_size bytes but the last,
 * which may have fewer, or none. */
struct tftp_blocks {
	struct tftp_transfer *owner;
	struct tftp_path *path;
	uint64_t first;
	const uint8_t *bytes;
	size_t size, block_size;
	unsigned count; /* 1 .. tftp_port_blocks_max */
};

struct tftp_port_events {
	void (*on_packet)(void *context, struct tftp_port *port, const struct sockaddr_in *from,
			  const uint8_t *packet, size_t size);
	/* The client's socket is closed, or it cannot be reached. */
	void (*on_gone)(void *context, struct tftp_port *port, const struct sockaddr_in *client);
	/* The bytes of a queued message could not be read. The transfer must not end in here. */
	void (*on_unreadable)(void *context, struct tftp_transfer *owner);
	/* A send that got -EAGAIN may be tried again. */
	void (*on_room)(void *context, struct tftp_port *port);
	void *context;
};

/* Any free port on all addresses. */
MUST_USE int tftp_port_new(struct loop *loop, const struct tftp_port_events *events,
			   struct tftp_port **ret);
void tftp_port_free(struct tftp_port *port);
int tftp_port_fd(const struct tftp_port *port);

/* How many blocks fit one message. */
unsigned tftp_port_blocks_max(size_t block_size);
/* Queues; path and bytes stay until tftp_port_flush or tftp_port_forget. -EAGAIN: no room until
 * on_room. */
MUST_USE int tftp_port_send(struct tftp_port *port, const struct tftp_blocks *blocks);
/* Sends what is queued: at the end of each turn. */
void tftp_port_flush(struct tftp_port *port);
/* Drops what is queued of a transfer that ends. */
void tftp_port_forget(struct tftp_port *port, const struct tftp_transfer *owner);
