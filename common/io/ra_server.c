#include "common/io/ra_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/net/ra_wire.h"

#define PERIOD_MS \
	3000 /* RFC 4861 6.2.1: MaxRtrAdvInterval may be as low as 4 s; we stay below for clients \
		that only listen */
#define GAP_MS       200 /* between two answers on one link: a rack that powers on solicits together */
#define LINKS_MAX    32
#define PACKET_SIZE  1500
#define PACKETS_TURN 64

struct ra_server_link {
	const char *name;
	unsigned index; /* 0 = not there now */
	struct mac mac;
	bool answer_due;
	int64_t last_ms;
};

struct ra_server {
	struct loop *loop;
	int fd;
	struct loop_watch *watch;
	struct loop_timer *period;
	struct loop_timer *answer;
	struct ra_server_link links[LINKS_MAX];
	size_t link_count;
};

static void ra_server_advertise(struct ra_server *server, struct ra_server_link *link)
{
	const struct ra_advertisement advertisement = {.source = link->mac};
	struct sockaddr_in6 all_nodes = {.sin6_family = AF_INET6, .sin6_scope_id = link->index};
	uint8_t packet[64];
	size_t size;

	link->answer_due = false;
	if (!link->index || ra_advertisement_encode(&advertisement, packet, sizeof(packet), &size))
		return;
	(void)inet_pton(AF_INET6, "ff02::1", &all_nodes.sin6_addr);
	/* Fails while the link has no link-local address yet; the next period tries again. */
	(void)!sendto(server->fd, packet, size, MSG_DONTWAIT, (const struct sockaddr *)&all_nodes,
		      sizeof(all_nodes));
	link->last_ms = loop_now_ms(server->loop);
}

/* The link may have come, gone, or come again under another index. */
static void ra_server_refresh(struct ra_server *server, struct ra_server_link *link)
{
	unsigned index = if_nametoindex(link->name);
	struct ipv6_mreq group = {.ipv6mr_interface = index};
	struct ifreq request = {0};

	if (index == link->index)
		return;
	link->index = index;
	if (!index)
		return;
	(void)inet_pton(AF_INET6, "ff02::2", &group.ipv6mr_multiaddr);
	(void)setsockopt(server->fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &group, sizeof(group));
	(void)strncpy(request.ifr_name, link->name, sizeof(request.ifr_name) - 1);
	link->mac = (struct mac){0};
	if (ioctl(server->fd, SIOCGIFHWADDR, &request) == 0)
		memcpy(link->mac.bytes, request.ifr_hwaddr.sa_data, sizeof(link->mac.bytes));
}

static void on_period(void *context)
{
	struct ra_server *server = context;

	for (size_t i = 0; i < server->link_count; i++) {
		ra_server_refresh(server, &server->links[i]);
		ra_server_advertise(server, &server->links[i]);
	}
	loop_timer_arm(server->period, PERIOD_MS);
}

static void ra_server_on_answer(void *context)
{
	struct ra_server *server = context;

	for (size_t i = 0; i < server->link_count; i++) {
		if (server->links[i].answer_due)
			ra_server_advertise(server, &server->links[i]);
	}
}

/* To all nodes, not to the asker: it may not have an address, and its neighbours are about to ask
 * the same. */
static void ra_server_solicited(struct ra_server *server, unsigned index)
{
	for (size_t i = 0; i < server->link_count; i++) {
		struct ra_server_link *link = &server->links[i];

		if (link->index != index || link->answer_due)
			continue;
		if (loop_now_ms(server->loop) - link->last_ms >= GAP_MS) {
			ra_server_advertise(server, link);
		} else {
			link->answer_due = true;
			loop_timer_arm(server->answer, GAP_MS);
		}
	}
}

static void ra_server_on_packet(struct ra_server *server, struct msghdr *message,
				const uint8_t *data, size_t size)
{
	struct ra_solicitation solicitation;
	unsigned index = 0;
	int hop_limit = 0;

	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
	     control = CMSG_NXTHDR(message, control)) {
		struct in6_pktinfo info;

		if (control->cmsg_level != IPPROTO_IPV6)
			continue;
		if (control->cmsg_type == IPV6_PKTINFO) {
			memcpy(&info, CMSG_DATA(control), sizeof(info));
			index = info.ipi6_ifindex;
		} else if (control->cmsg_type == IPV6_HOPLIMIT) {
			memcpy(&hop_limit, CMSG_DATA(control), sizeof(hop_limit));
		}
	}
	if (ra_solicitation_decode(data, size, hop_limit, &solicitation) == 0)
		ra_server_solicited(server, index);
}

static void ra_server_on_readable(void *context, int events)
{
	struct ra_server *server = context;
	uint8_t data[PACKET_SIZE];

	(void)events;
	for (int i = 0; i < PACKETS_TURN; i++) {
		_Alignas(struct cmsghdr) char
			control[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int))];
		struct iovec part = {data, sizeof(data)};
		struct msghdr message = {.msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control)};
		ssize_t size = recvmsg(server->fd, &message, MSG_DONTWAIT);

		if (size < 0)
			return;
		ra_server_on_packet(server, &message, data, (size_t)size);
	}
}

static int ra_server_open_socket(struct ra_server *server)
{
	const int on = 1;
	const int hops = 255;
	struct icmp6_filter filter;

	server->fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);
	ICMP6_FILTER_SETBLOCKALL(&filter);
	ICMP6_FILTER_SETPASS(ND_ROUTER_SOLICIT, &filter);
	if (server->fd < 0 ||
	    setsockopt(server->fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof(filter)) ||
	    setsockopt(server->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops)) ||
	    setsockopt(server->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) ||
	    setsockopt(server->fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof(on)))
		return -errno;
	return loop_watch_new(server->loop, server->fd, LOOP_READ, ra_server_on_readable, server,
			      &server->watch);
}

int ra_server_new(struct loop *loop, const char *const *interfaces, struct ra_server **ret,
		  struct problem *problem)
{
	struct ra_server *server = calloc(1, sizeof(*server));
	int rc;

	if (!server)
		return problem_set(problem, -ENOMEM, "out of memory");
	server->loop = loop;
	server->fd = -1;
	for (; *interfaces && server->link_count < LINKS_MAX; interfaces++)
		server->links[server->link_count++].name = *interfaces;
	rc = ra_server_open_socket(server);
	if (rc == 0)
		rc = loop_timer_new(loop, on_period, server, &server->period);
	if (rc == 0)
		rc = loop_timer_new(loop, ra_server_on_answer, server, &server->answer);
	if (rc) {
		ra_server_free(server);
		(void)problem_set(problem, rc, "cannot send router advertisements");
		problem_detail(problem, "%s", error_text(rc));
		problem_hint(problem, "start as root, or leave `ra_interfaces` empty");
		return rc;
	}
	loop_timer_arm(server->period, 0);
	*ret = server;
	return 0;
}

void ra_server_free(struct ra_server *server)
{
	if (!server)
		return;
	loop_watch_free(server->watch);
	loop_timer_free(server->period);
	loop_timer_free(server->answer);
	if (server->fd >= 0)
		close(server->fd);
	free(server);
}
