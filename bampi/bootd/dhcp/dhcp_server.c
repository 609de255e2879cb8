#include "bampi/bootd/dhcp/dhcp_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/datagram.h"
#include "common/net/dhcp_wire.h"
#include "common/net/frame_wire.h"

#include "bampi/bootd/dhcp/reply_policy.h"

#define BURST            64
#define BURSTS_PER_TURN  8 /* then others on the loop have their turn */
#define RECEIVE_QUEUE    (4 << 20)
#define PACKET_ROOM      (DHCP_PACKET_MAX + FRAME_HEADERS_SIZE)
#define INTERFACES_KNOWN 32
#define INTERFACE_AGE_MS 5000 /* an index may come to mean another name */

enum socket_kind { SOCKET_DHCP, SOCKET_PXE, SOCKET_FRAME, SOCKETS };
#define SOCKETS_HEARD 2

/* One packet in or out with everything that the kernel wants to be pointed at. */
struct slot {
	uint8_t data[PACKET_ROOM];
	struct iovec part;
	union {
		struct sockaddr any;
		struct sockaddr_in udp;
		struct sockaddr_ll frame;
	} peer;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

struct hearing {
	struct dhcp_server *server;
	uint16_t port;
	int fd;
	struct loop_watch *watch;
};

struct outbox {
	struct mmsghdr messages[BURST];
	struct slot slots[BURST];
	unsigned count;
};

struct known_interface {
	int index;
	bool ours;
};

struct dhcp_server {
	struct loop *loop;
	struct dhcp_server_options options;
	struct hearing hearings[SOCKETS_HEARD];
	int frame_fd;
	struct mmsghdr in_messages[BURST];
	struct slot in_slots[BURST];
	struct outbox out[SOCKETS];
	struct known_interface interfaces[INTERFACES_KNOWN];
	size_t interface_count;
	int64_t interfaces_ms;
	uint64_t send_failures;
};

static bool dhcp_server_is_listed(const struct dhcp_server *server, const char *name)
{
	const char *const *list = server->options.interfaces;

	if (!list || !list[0])
		return true;
	for (; *list; list++) {
		if (strcmp(*list, name) == 0)
			return true;
	}
	return false;
}

/* Interfaces come and go, so names are asked for when packets come; the answers are kept a few
 * seconds. */
bool dhcp_server_answers_on(struct dhcp_server *server, int index)
{
	int64_t now = loop_now_ms(server->loop);
	char name[IF_NAMESIZE];
	bool ours;

	if (now - server->interfaces_ms > INTERFACE_AGE_MS) {
		server->interface_count = 0;
		server->interfaces_ms = now;
	}
	for (size_t i = 0; i < server->interface_count; i++) {
		if (server->interfaces[i].index == index)
			return server->interfaces[i].ours;
	}
	ours = if_indextoname((unsigned)index, name) && dhcp_server_is_listed(server, name);
	if (server->interface_count < INTERFACES_KNOWN)
		server->interfaces[server->interface_count++] =
			(struct known_interface){.index = index, .ours = ours};
	return ours;
}

static void dhcp_server_deliver(struct hearing *hearing, struct msghdr *message,
				const struct slot *slot, size_t size)
{
	struct dhcp_arrival arrival = {
		.data = slot->data,
		.size = size,
		.source = ntohl(slot->peer.udp.sin_addr.s_addr),
		.source_port = ntohs(slot->peer.udp.sin_port),
		.port = hearing->port,
	};

	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
	     control = CMSG_NXTHDR(message, control)) {
		struct in_pktinfo info;

		if (control->cmsg_level != IPPROTO_IP || control->cmsg_type != IP_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(control), sizeof(info));
		arrival.interface = info.ipi_ifindex;
		arrival.local = ntohl(info.ipi_spec_dst.s_addr);
	}
	if (arrival.interface && !(message->msg_flags & MSG_TRUNC) &&
	    dhcp_server_answers_on(hearing->server, arrival.interface))
		hearing->server->options.on_packet(hearing->server->options.context, &arrival);
}

static int receive_burst(struct hearing *hearing)
{
	struct dhcp_server *server = hearing->server;

	for (size_t i = 0; i < BURST; i++) {
		struct slot *slot = &server->in_slots[i];

		slot->part = (struct iovec){slot->data, DHCP_PACKET_MAX};
		server->in_messages[i].msg_hdr = (struct msghdr){
			.msg_name = &slot->peer,
			.msg_namelen = sizeof(slot->peer),
			.msg_iov = &slot->part,
			.msg_iovlen = 1,
			.msg_control = slot->control,
			.msg_controllen = sizeof(slot->control),
		};
	}
	return recvmmsg(hearing->fd, server->in_messages, BURST, MSG_DONTWAIT, NULL);
}

static void dhcp_server_on_readable(void *context, int events)
{
	struct hearing *hearing = context;
	struct dhcp_server *server = hearing->server;

	(void)events;
	for (int burst = 0; burst < BURSTS_PER_TURN; burst++) {
		int count = receive_burst(hearing);

		for (int i = 0; i < count; i++)
			dhcp_server_deliver(hearing, &server->in_messages[i].msg_hdr,
					    &server->in_slots[i], server->in_messages[i].msg_len);
		if (count > 0) {
			server->options.on_burst(server->options.context);
			dhcp_server_flush(server);
		}
		if (count < BURST)
			break;
	}
}

static void flush_box(struct dhcp_server *server, struct outbox *box, int fd)
{
	unsigned at = 0;

	while (at < box->count) {
		int sent = sendmmsg(fd, &box->messages[at], box->count - at, MSG_DONTWAIT);

		if (sent > 0) {
			at += (unsigned)sent;
			continue;
		}
		/* The first of them failed (no route, a full queue): the client will ask again. */
		server->send_failures++;
		at++;
	}
	box->count = 0;
}

void dhcp_server_flush(struct dhcp_server *server)
{
	flush_box(server, &server->out[SOCKET_DHCP], server->hearings[0].fd);
	flush_box(server, &server->out[SOCKET_PXE], server->hearings[1].fd);
	flush_box(server, &server->out[SOCKET_FRAME], server->frame_fd);
}

uint64_t dhcp_server_send_failures(const struct dhcp_server *server)
{
	return server->send_failures;
}

static void address_udp(struct slot *slot, struct msghdr *header,
			const struct dhcp_departure *departure)
{
	struct in_pktinfo info = {.ipi_ifindex = departure->interface,
				  .ipi_spec_dst.s_addr = htonl(departure->local)};
	struct cmsghdr *control;

	slot->peer.udp = (struct sockaddr_in){.sin_family = AF_INET,
					      .sin_port = htons(departure->port),
					      .sin_addr.s_addr = htonl(departure->target)};
	header->msg_namelen = sizeof(slot->peer.udp);
	/* A routed reply (relay, renewal) must be free to leave by another interface than the
	 * request came by. */
	if (departure->target != INADDR_BROADCAST)
		info.ipi_ifindex = 0;
	header->msg_control = slot->control;
	header->msg_controllen = sizeof(slot->control);
	control = CMSG_FIRSTHDR(header);
	control->cmsg_level = IPPROTO_IP;
	control->cmsg_type = IP_PKTINFO;
	control->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(control), &info, sizeof(info));
}

static void address_frame(struct slot *slot, struct msghdr *header,
			  const struct dhcp_departure *departure)
{
	slot->peer.frame = (struct sockaddr_ll){.sll_family = AF_PACKET,
						.sll_protocol = htons(ETHERTYPE_IP),
						.sll_ifindex = departure->interface,
						.sll_halen = sizeof(departure->mac.bytes)};
	memcpy(slot->peer.frame.sll_addr, departure->mac.bytes, sizeof(departure->mac.bytes));
	header->msg_namelen = sizeof(slot->peer.frame);
}

bool dhcp_server_send(struct dhcp_server *server, const struct dhcp_departure *departure,
		      const void *data, size_t size)
{
	enum socket_kind kind = departure->to_mac                        ? SOCKET_FRAME
				: departure->local_port == DHCP_PXE_PORT ? SOCKET_PXE
									 : SOCKET_DHCP;
	struct outbox *box = &server->out[kind];
	struct slot *slot;
	struct msghdr *header;

	if (box->count == BURST)
		dhcp_server_flush(server);
	slot = &box->slots[box->count];
	header = &box->messages[box->count].msg_hdr;
	*header = (struct msghdr){.msg_name = &slot->peer, .msg_iov = &slot->part, .msg_iovlen = 1};
	slot->part = (struct iovec){slot->data, size};
	if (departure->to_mac) {
		struct frame_ends ends = {departure->local, departure->target,
					  departure->local_port, departure->port};

		if (frame_encode(&ends, data, size, slot->data, sizeof(slot->data),
				 &slot->part.iov_len))
			return false;
		address_frame(slot, header, departure);
	} else {
		if (size > sizeof(slot->data))
			return false;
		memcpy(slot->data, data, size);
		address_udp(slot, header, departure);
	}
	box->count++;
	return true;
}

static int dhcp_server_open_udp(struct dhcp_server *server, struct hearing *hearing, uint16_t port,
				struct problem *problem)
{
	const int on = 1;
	struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	hearing->server = server;
	hearing->port = port;
	hearing->fd = fd;
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)&local, sizeof(local))) {
		int rc = -errno;

		(void)problem_set(problem, rc, "cannot listen on UDP port %u", (unsigned)port);
		problem_detail(problem, "%s", error_text(rc));
		problem_hint(problem, rc == -EADDRINUSE
					      ? "stop the other DHCP server on this node"
					      : "start as root, or with CAP_NET_BIND_SERVICE");
		return rc;
	}
	datagram_receive_room(fd, RECEIVE_QUEUE); /* a whole rack may power on in one second */
	return loop_watch_new(server->loop, fd, LOOP_READ, dhcp_server_on_readable, hearing,
			      &hearing->watch);
}

int dhcp_server_new(struct loop *loop, const struct dhcp_server_options *options,
		    struct dhcp_server **ret, struct problem *problem)
{
	struct dhcp_server *server = calloc(1, sizeof(*server));
	int rc;

	if (!server)
		return problem_set(problem, -ENOMEM, "out of memory");
	server->loop = loop;
	server->options = *options;
	server->frame_fd = -1;
	server->hearings[0].fd = -1;
	server->hearings[1].fd = -1;
	rc = dhcp_server_open_udp(server, &server->hearings[0], DHCP_SERVER_PORT, problem);
	if (rc == 0)
		rc = dhcp_server_open_udp(server, &server->hearings[1], DHCP_PXE_PORT, problem);
	if (rc == 0)
		rc = datagram_open_frames(&server->frame_fd, problem);
	if (rc) {
		dhcp_server_free(server);
		return rc;
	}
	*ret = server;
	return 0;
}

void dhcp_server_free(struct dhcp_server *server)
{
	if (!server)
		return;
	for (size_t i = 0; i < SOCKETS_HEARD; i++) {
		loop_watch_free(server->hearings[i].watch);
		if (server->hearings[i].fd >= 0)
			close(server->hearings[i].fd);
	}
	if (server->frame_fd >= 0)
		close(server->frame_fd);
	free(server);
}
