/* One socket for all nodes of a kind: IP_PKTINFO says for whose address a packet came, and from
 * whose it leaves. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"

#include "tests/sim/fleet/fleet.h"

#define QUEUE_SIZE (16 << 20)

int fleet_udp_open(uint16_t port, int *ret_fd, struct problem *problem)
{
	const int on = 1;
	const int queue = QUEUE_SIZE;
	struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)&local, sizeof(local))) {
		int rc = -errno;

		if (fd >= 0)
			(void)close(fd);
		(void)problem_set(problem, rc, "cannot listen on UDP port %u", (unsigned)port);
		problem_detail(problem, "%s", error_text(rc));
		problem_hint(problem,
			     "run it as root in a network namespace of its own; see --help");
		return rc;
	}
	/* A whole hall may be spoken to in one second. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof(queue)))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &queue, sizeof(queue));
	*ret_fd = fd;
	return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the kernel writes to it */
bool fleet_udp_receive(int fd, uint8_t *data, size_t room, struct fleet_packet *ret)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in_pktinfo))];
	struct sockaddr_in peer;
	struct iovec part = {data, room};
	struct msghdr message = {
		.msg_name = &peer,
		.msg_namelen = sizeof(peer),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT);

	if (size < 0)
		return false;
	*ret = (struct fleet_packet){.data = data,
				     .size = (size_t)size,
				     .remote = ntohl(peer.sin_addr.s_addr),
				     .remote_port = ntohs(peer.sin_port)};
	for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each;
	     each = CMSG_NXTHDR(&message, each)) {
		struct in_pktinfo info;

		if (each->cmsg_level != IPPROTO_IP || each->cmsg_type != IP_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(each), sizeof(info));
		ret->local = ntohl(info.ipi_addr.s_addr);
	}
	return true;
}

void fleet_udp_send(int fd, const struct fleet_packet *packet)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in_pktinfo))] = {0};
	struct sockaddr_in peer = {.sin_family = AF_INET,
				   .sin_port = htons(packet->remote_port),
				   .sin_addr.s_addr = htonl(packet->remote)};
	struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(packet->local)};
	struct iovec part = {packet->data, packet->size};
	struct msghdr message = {
		.msg_name = &peer,
		.msg_namelen = sizeof(peer),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = IPPROTO_IP;
	head->cmsg_type = IP_PKTINFO;
	head->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(head), &info, sizeof(info));
	/* A packet that the kernel does not take is a lost packet: everybody here asks again. */
	(void)sendmsg(fd, &message, MSG_DONTWAIT);
}
