#include "common/io/dhcp_listener.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/error.h"
#include "common/io/datagram.h"
#include "common/net/frame_wire.h"

#define DHCP_LISTENER_SERVER_PORT 67
#define DHCP_LISTENER_CLIENT_PORT 68
#define DHCP_LISTENER_PACKET      (DHCP_PACKET_MAX + 60 + 8) /* the longest IP header, UDP */

/* UDP, no fragment, from port 67 to port 68. Offsets are of the IP header; X is its length. */
static int dhcp_listener_filter(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 8),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x3fff, 6, 0),
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DHCP_LISTENER_SERVER_PORT, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DHCP_LISTENER_CLIENT_PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, DHCP_LISTENER_PACKET),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {.len = COUNT_OF(code), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
											   : 0;
}

int dhcp_listener_open(int *ret_fd, struct problem *problem)
{
	/* No interface: they come and go, and the kernel says by which one a packet came. */
	const struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
	CLEANUP(closep) int fd = -1;
	int rc = datagram_open_frames(&fd, problem);

	if (rc)
		return rc;
	/* Filtered before it hears anything. */
	rc = dhcp_listener_filter(fd);
	if (rc == 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		rc = -errno;
	if (rc) {
		(void)problem_set(problem, rc, "cannot listen for DHCP servers");
		problem_detail(problem, "%s", error_text(rc));
		return rc;
	}
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int dhcp_listener_decode(const void *packet, size_t size, struct dhcp_heard *ret)
{
	struct dhcp_message message;
	const uint8_t *payload = NULL;
	size_t payload_size = 0;
	struct frame_ends ends;
	int rc = frame_decode(packet, size, &ends, &payload, &payload_size);

	if (rc == 0 && ends.source_port != DHCP_LISTENER_SERVER_PORT)
		rc = E_MALFORMED;
	if (rc == 0)
		rc = dhcp_decode(payload, payload_size, &message);
	if (rc)
		return E_MALFORMED;
	if (message.op != DHCP_OP_REPLY)
		return E_MALFORMED;
	ret->server = dhcp_option_address(&message, DHCP_OPTION_SERVER_ID);
	if (ret->server == 0)
		ret->server = ends.source;
	ret->xid = message.xid;
	ret->type = dhcp_type(&message);
	return 0;
}

int dhcp_listener_next(int fd, struct dhcp_heard *ret)
{
	uint8_t data[DHCP_LISTENER_PACKET];
	struct sockaddr_ll from = {0};
	socklen_t from_size = sizeof(from);
	ssize_t size = recvfrom(fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&from,
				&from_size);

	if (size < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (from.sll_pkttype == PACKET_OUTGOING || from.sll_halen != sizeof(ret->mac.bytes))
		return E_MALFORMED;
	ret->interface = from.sll_ifindex;
	memcpy(ret->mac.bytes, from.sll_addr, sizeof(ret->mac.bytes));
	return dhcp_listener_decode(data, (size_t)size, ret);
}

int dhcp_listener_ask(int fd, int interface, struct mac mac, uint32_t xid)
{
	static const uint8_t wanted[] = {DHCP_OPTION_MASK, DHCP_OPTION_ROUTERS};
	const struct frame_ends ends = {.target = INADDR_BROADCAST,
					.source_port = DHCP_LISTENER_CLIENT_PORT,
					.target_port = DHCP_LISTENER_SERVER_PORT};
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_IP),
				 .sll_ifindex = interface,
				 .sll_halen = sizeof(mac.bytes)};
	struct dhcp_message message = {.op = DHCP_OP_REQUEST,
				       .htype = 1,
				       .hlen = sizeof(mac.bytes),
				       .xid = xid,
				       .flags = DHCP_FLAG_BROADCAST};
	uint8_t data[DHCP_PACKET_MAX];
	uint8_t packet[DHCP_PACKET_MAX + FRAME_HEADERS_SIZE];
	size_t size = 0;
	int rc;

	memset(to.sll_addr, 0xff, sizeof(mac.bytes));
	memcpy(message.chaddr, mac.bytes, sizeof(mac.bytes));
	dhcp_put_u8(&message, DHCP_OPTION_TYPE, DHCP_DISCOVER);
	dhcp_put(&message, DHCP_OPTION_PARAMETERS, wanted, sizeof(wanted));
	rc = dhcp_encode(&message, data, sizeof(data), &size);
	if (rc == 0)
		rc = frame_encode(&ends, data, size, packet, sizeof(packet), &size);
	if (rc)
		return rc;
	return sendto(fd, packet, size, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof(to)) < 0
		       ? -errno
		       : 0;
}
