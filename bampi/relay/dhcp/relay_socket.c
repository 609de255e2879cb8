#include "bampi/relay/dhcp/relay_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/datagram.h"
#include "common/net/frame_wire.h"

#define RELAY_SOCKET_SERVER_PORT 67
#define CLIENT_PORT              68
#define PACKETS_PER_TURN         256
#define RECEIVE_QUEUE            (4 << 20) /* a rack may power on in one second */

struct relay_socket {
	relay_arrival_fn fn;
	void *context;
	int udp_fd, frame_fd;
	struct loop_watch *watch;
	uint8_t data[RELAY_PACKET_ROOM];
};

static int relay_socket_interface_of(struct msghdr *header)
{
	for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control;
	     control = CMSG_NXTHDR(header, control)) {
		struct in_pktinfo info;

		if (control->cmsg_level != IPPROTO_IP || control->cmsg_type != IP_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(control), sizeof(info));
		return info.ipi_ifindex;
	}
	return 0;
}

/* A packet with its addresses, as the kernel gives and takes it; it points into itself. */
struct relay_message {
	struct msghdr header;
	struct sockaddr_in peer;
	struct iovec part;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

static void relay_message_make(struct relay_message *ret, void *data, size_t size)
{
	memset(ret, 0, sizeof(*ret));
	ret->part = (struct iovec){data, size};
	ret->header = (struct msghdr){.msg_name = &ret->peer,
				      .msg_namelen = sizeof(ret->peer),
				      .msg_iov = &ret->part,
				      .msg_iovlen = 1,
				      .msg_control = ret->control,
				      .msg_controllen = sizeof(ret->control)};
}

static void relay_socket_on_readable(void *context, int events)
{
	struct relay_socket *sockets = context;

	(void)events;
	for (int i = 0; i < PACKETS_PER_TURN; i++) {
		struct relay_message message;
		struct relay_arrival arrival = {.data = sockets->data};
		ssize_t size;

		relay_message_make(&message, sockets->data, sizeof(sockets->data));
		size = recvmsg(sockets->udp_fd, &message.header, MSG_DONTWAIT);
		if (size < 0) {
			if (errno == EINTR || errno == ECONNREFUSED)
				continue; /* a server answered an earlier packet with ICMP */
			return;
		}
		arrival.size = (size_t)size;
		arrival.interface = relay_socket_interface_of(&message.header);
		arrival.source = ntohl(message.peer.sin_addr.s_addr);
		arrival.source_port = ntohs(message.peer.sin_port);
		if (arrival.interface && !(message.header.msg_flags & MSG_TRUNC))
			sockets->fn(sockets->context, &arrival);
	}
}

static int relay_socket_open_udp(struct loop *loop, struct relay_socket *sockets,
				 struct problem *problem)
{
	const int on = 1;
	const struct sockaddr_in local = {.sin_family = AF_INET,
					  .sin_port = htons(RELAY_SOCKET_SERVER_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	sockets->udp_fd = fd;
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)&local, sizeof(local))) {
		int rc = -errno;

		(void)problem_set(problem, rc, "cannot listen on UDP port %d",
				  RELAY_SOCKET_SERVER_PORT);
		problem_detail(problem, "%s", error_text(rc));
		problem_hint(problem, rc == -EADDRINUSE
					      ? "stop the DHCP server or other relay on this node"
					      : "start as root, or with CAP_NET_BIND_SERVICE");
		return rc;
	}
	datagram_receive_room(fd, RECEIVE_QUEUE);
	return loop_watch_new(loop, fd, LOOP_READ, relay_socket_on_readable, sockets,
			      &sockets->watch);
}

int relay_socket_new(struct loop *loop, relay_arrival_fn fn, void *context,
		     struct relay_socket **ret, struct problem *problem)
{
	struct relay_socket *sockets = calloc(1, sizeof(*sockets));
	int rc;

	if (!sockets)
		return problem_set(problem, -ENOMEM, "out of memory");
	sockets->fn = fn;
	sockets->context = context;
	sockets->udp_fd = -1;
	sockets->frame_fd = -1;
	rc = relay_socket_open_udp(loop, sockets, problem);
	if (rc == 0)
		rc = datagram_open_frames(&sockets->frame_fd, problem);
	if (rc) {
		relay_socket_free(sockets);
		return rc;
	}
	*ret = sockets;
	return 0;
}

void relay_socket_free(struct relay_socket *sockets)
{
	if (!sockets)
		return;
	loop_watch_free(sockets->watch);
	if (sockets->udp_fd >= 0)
		close(sockets->udp_fd);
	if (sockets->frame_fd >= 0)
		close(sockets->frame_fd);
	free(sockets);
}

int relay_socket_send_server(struct relay_socket *sockets, uint32_t server, uint32_t source,
			     const void *data, size_t size)
{
	const struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(source)};
	struct relay_message message;
	struct cmsghdr *first;
	uint8_t copy[RELAY_PACKET_ROOM];

	if (size > sizeof(copy))
		return -ENOBUFS;
	memcpy(copy, data, size); /* an iovec cannot point to what is const */
	relay_message_make(&message, copy, size);
	message.peer = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_port = htons(RELAY_SOCKET_SERVER_PORT),
					    .sin_addr.s_addr = htonl(server)};
	first = CMSG_FIRSTHDR(&message.header);
	first->cmsg_level = IPPROTO_IP;
	first->cmsg_type = IP_PKTINFO;
	first->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(first), &info, sizeof(info));
	return sendmsg(sockets->udp_fd, &message.header, MSG_DONTWAIT) < 0 ? -errno : 0;
}

int relay_socket_send_client(struct relay_socket *sockets, const struct relay_frame *frame,
			     const void *data, size_t size)
{
	const struct frame_ends ends = {frame->source, frame->target, RELAY_SOCKET_SERVER_PORT,
					CLIENT_PORT};
	struct sockaddr_ll peer = {.sll_family = AF_PACKET,
				   .sll_protocol = htons(ETHERTYPE_IP),
				   .sll_ifindex = frame->interface,
				   .sll_halen = sizeof(frame->mac.bytes)};
	uint8_t packet[RELAY_PACKET_ROOM + FRAME_HEADERS_SIZE];
	size_t packet_size;
	int rc = frame_encode(&ends, data, size, packet, sizeof(packet), &packet_size);

	if (rc)
		return rc;
	memcpy(peer.sll_addr, frame->mac.bytes, sizeof(frame->mac.bytes));
	return sendto(sockets->frame_fd, packet, packet_size, MSG_DONTWAIT,
		      (const struct sockaddr *)&peer, sizeof(peer)) < 0
		       ? -errno
		       : 0;
}
