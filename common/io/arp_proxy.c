#include "common/io/arp_proxy.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netlink/netlink.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/net/source_rate.h"

LEAKS_LEFT_TO_SANITIZER

#define PACKETS_PER_TURN  32
#define SOURCE_PER_SECOND 10 /* a host asks once a second for each address it wants */
#define SOURCE_BURST      100
#define ALL_PER_SECOND    2000
#define ALL_BURST         4000

struct arp_proxy_link {
	struct arp_proxy *proxy;
	int fd, interface;
	struct loop_watch *watch;
};

struct arp_proxy {
	struct loop *loop;
	struct arp_proxy_counters *counters;
	struct ipv4_prefix *prefixes;
	size_t prefix_count;
	struct arp_proxy_link *links;
	size_t link_count;
	struct nl_sock *netlink;
	struct source_rate rate;
};

/* --- answering --- */

static bool arp_proxy_is_wanted(const struct arp_proxy *proxy, uint32_t address)
{
	for (size_t i = 0; i < proxy->prefix_count; i++)
		if (ipv4_in_prefix(address, proxy->prefixes[i]))
			return true;
	return false;
}

/* What the kernel would do with a packet to this address; it answers at once. */
static struct arp_route arp_proxy_look_up(const struct arp_proxy *proxy, uint32_t address)
{
	const uint32_t wire = htonl(address);
	struct nl_addr *to = nl_addr_build(AF_INET, &wire, sizeof(wire));
	struct rtnl_route *route = NULL;
	struct arp_route found = {0};
	struct rtnl_nexthop *hop;

	if (to && rtnl_route_lookup(proxy->netlink, to, &route) == 0 && route) {
		hop = rtnl_route_nexthop_n(route, 0);
		found.local = rtnl_route_get_type(route) == RTN_LOCAL;
		if (hop && rtnl_route_get_type(route) == RTN_UNICAST)
			found.interface = rtnl_route_nh_get_ifindex(hop);
	}
	rtnl_route_put(route);
	nl_addr_put(to);
	return found;
}

static enum arp_verdict arp_proxy_decide(const struct arp_proxy_link *link, struct arp_facts *facts)
{
	struct arp_proxy *proxy = link->proxy;
	enum arp_verdict verdict = arp_policy_packet(facts);

	if (verdict != ARP_ANSWER)
		return verdict;
	facts->to_sender = arp_proxy_look_up(proxy, facts->packet.sender);
	facts->to_target = arp_proxy_look_up(proxy, facts->packet.target);
	return arp_policy(facts);
}

/* Asked for each answer: the address of a bridge or bond changes with its ports. */
static int own_mac(int fd, struct mac *ret)
{
	struct sockaddr_ll at = {0};
	socklen_t size = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		return -errno;
	if (at.sll_hatype != ARPHRD_ETHER || at.sll_halen != sizeof(ret->bytes))
		return E_UNSUPPORTED;
	memcpy(ret->bytes, at.sll_addr, sizeof(ret->bytes));
	return 0;
}

static void arp_proxy_answer(const struct arp_proxy_link *link, const struct arp_packet *asked)
{
	struct arp_packet reply = {
		.operation = ARP_REPLY,
		.sender = asked->target,
		.target_mac = asked->sender_mac,
		.target = asked->sender,
	};
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ARP),
		.sll_ifindex = link->interface,
		.sll_halen = sizeof(asked->sender_mac.bytes),
	};
	uint8_t packet[ARP_SIZE];

	if (own_mac(link->fd, &reply.sender_mac))
		return; /* the interface is gone */
	memcpy(to.sll_addr, asked->sender_mac.bytes, sizeof(asked->sender_mac.bytes));
	arp_encode(&reply, packet);
	/* One that is lost is asked for again. */
	if (sendto(link->fd, packet, sizeof(packet), MSG_DONTWAIT, (const struct sockaddr *)&to,
		   sizeof(to)) == sizeof(packet))
		link->proxy->counters->answered++;
}

static void arp_proxy_handle(const struct arp_proxy_link *link, const uint8_t *data, size_t size,
			     const struct sockaddr_ll *from)
{
	struct arp_proxy *proxy = link->proxy;
	struct arp_facts facts = {.interface = link->interface};
	enum arp_verdict verdict;

	if (from->sll_pkttype != PACKET_BROADCAST && from->sll_pkttype != PACKET_HOST)
		return; /* of others, or our own */
	if (arp_decode(data, size, &facts.packet)) {
		proxy->counters->malformed++;
		return;
	}
	memcpy(facts.frame_source.bytes, from->sll_addr, sizeof(facts.frame_source.bytes));
	facts.wanted = arp_proxy_is_wanted(proxy, facts.packet.target);
	verdict = arp_policy_packet(&facts);
	/* What comes after this costs system calls. */
	if (verdict == ARP_ANSWER && !source_rate_allows(&proxy->rate, facts.packet.sender, false,
							 loop_now_ms(proxy->loop))) {
		proxy->counters->throttled++;
		return;
	}
	verdict = arp_proxy_decide(link, &facts);
	proxy->counters->verdicts[verdict]++;
	if (verdict == ARP_ANSWER)
		arp_proxy_answer(link, &facts.packet);
}

static void arp_proxy_on_ready(void *context, int events)
{
	const struct arp_proxy_link *link = context;

	(void)events;
	for (unsigned i = 0; i < PACKETS_PER_TURN; i++) {
		uint8_t data[ARP_SIZE];
		struct sockaddr_ll from = {0};
		socklen_t from_size = sizeof(from);
		ssize_t size = recvfrom(link->fd, data, sizeof(data), MSG_DONTWAIT,
					(struct sockaddr *)&from, &from_size);

		if (size < 0)
			return;
		arp_proxy_handle(link, data, (size_t)size, &from);
	}
}

/* --- life --- */

/* The kernel wakes us for requests only: operation is the fourth 16-bit word. */
static int filter_requests(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARP_REQUEST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ARP_SIZE),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {.len = COUNT_OF(code), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
											   : 0;
}

/* Closed until it is filtered: the protocol is given with bind. */
static int open_link(struct arp_proxy_link *link)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ARP),
				 .sll_ifindex = link->interface};
	struct mac mac;
	int rc;

	link->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->fd < 0)
		return -errno;
	rc = filter_requests(link->fd);
	if (rc)
		return rc;
	if (bind(link->fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	rc = own_mac(link->fd, &mac);
	if (rc)
		return rc;
	return loop_watch_new(link->proxy->loop, link->fd, LOOP_READ, arp_proxy_on_ready, link,
			      &link->watch);
}

static int add_link(struct arp_proxy *proxy, const char *name, struct problem *problem)
{
	struct arp_proxy_link *link = &proxy->links[proxy->link_count++];
	int rc;

	*link = (struct arp_proxy_link){
		.proxy = proxy, .fd = -1, .interface = (int)if_nametoindex(name)};
	rc = link->interface == 0 ? E_NOT_FOUND : open_link(link);
	if (rc) {
		(void)problem_set(problem, rc, "no ARP on interface %s", name);
		problem_detail(problem, "%s",
			       rc == E_UNSUPPORTED ? "it is not Ethernet" : error_text(rc));
	}
	return rc;
}

static int arp_proxy_start(struct arp_proxy *proxy, const struct arp_proxy_options *options,
			   struct problem *problem)
{
	size_t count = 0;
	uint64_t salt;
	int rc = 0;

	while (options->interfaces[count])
		count++;
	proxy->links = calloc(count + 1, sizeof(*proxy->links));
	proxy->prefixes = calloc(options->prefix_count + 1, sizeof(*proxy->prefixes));
	proxy->netlink = nl_socket_alloc();
	if (!proxy->links || !proxy->prefixes || !proxy->netlink)
		return problem_set(problem, -ENOMEM, "no memory for the ARP proxy");
	memcpy(proxy->prefixes, options->prefixes,
	       options->prefix_count * sizeof(*proxy->prefixes));
	proxy->prefix_count = options->prefix_count;
	if (nl_connect(proxy->netlink, NETLINK_ROUTE) < 0 ||
	    getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		return problem_set(problem, -EIO, "the ARP proxy cannot ask for routes");
	source_rate_init(&proxy->rate, (struct rate_limit){SOURCE_PER_SECOND, SOURCE_BURST},
			 (struct rate_limit){ALL_PER_SECOND, ALL_BURST}, salt);
	for (size_t i = 0; i < count && !rc; i++)
		rc = add_link(proxy, options->interfaces[i], problem);
	return rc;
}

int arp_proxy_new(struct loop *loop, const struct arp_proxy_options *options,
		  struct arp_proxy_counters *counters, struct arp_proxy **ret,
		  struct problem *problem)
{
	struct arp_proxy *proxy = calloc(1, sizeof(*proxy));
	int rc;

	if (!proxy)
		return problem_set(problem, -ENOMEM, "no memory for the ARP proxy");
	proxy->loop = loop;
	proxy->counters = counters;
	rc = arp_proxy_start(proxy, options, problem);
	if (rc) {
		arp_proxy_free(proxy);
		return rc;
	}

	*ret = proxy;
	return 0;
}

void arp_proxy_free(struct arp_proxy *proxy)
{
	if (!proxy)
		return;
	for (size_t i = 0; i < proxy->link_count; i++) {
		loop_watch_free(proxy->links[i].watch);
		closep(&proxy->links[i].fd);
	}
	if (proxy->netlink)
		nl_socket_free(proxy->netlink);
	free(proxy->links);
	free(proxy->prefixes);
	free(proxy);
}
