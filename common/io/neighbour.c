#include "common/io/neighbour.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netlink/netlink.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"

struct neighbours {
	struct nl_sock *netlink;
	int fd;
};

int neighbours_new(struct neighbours **ret)
{
	struct neighbours *neighbours = calloc(1, sizeof(*neighbours));
	int rc = 0;

	if (!neighbours)
		return -ENOMEM;
	neighbours->netlink = nl_socket_alloc();
	neighbours->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (neighbours->fd < 0)
		rc = -errno;
	else if (!neighbours->netlink)
		rc = -ENOMEM;
	else if (nl_connect(neighbours->netlink, NETLINK_ROUTE) < 0)
		rc = E_UNAVAILABLE;
	if (rc) {
		neighbours_free(neighbours);
		return rc;
	}
	*ret = neighbours;
	return 0;
}

void neighbours_free(struct neighbours *neighbours)
{
	if (!neighbours)
		return;
	nl_socket_free(neighbours->netlink);
	if (neighbours->fd >= 0)
		close(neighbours->fd);
	free(neighbours);
}

/* The interface whose link has the address; 0 = none: it is ours, or a router is between. */
static unsigned neighbour_interface(const struct neighbours *neighbours, uint32_t address)
{
	const uint32_t wire = htonl(address);
	struct nl_addr *to = nl_addr_build(AF_INET, &wire, sizeof(wire));
	struct rtnl_route *route = NULL;
	struct rtnl_nexthop *hop;
	int interface = 0;

	if (to && rtnl_route_lookup(neighbours->netlink, to, &route) == 0 && route &&
	    rtnl_route_get_type(route) == RTN_UNICAST) {
		hop = rtnl_route_nexthop_n(route, 0);
		if (hop && !rtnl_route_nh_get_gateway(hop))
			interface = rtnl_route_nh_get_ifindex(hop);
	}
	rtnl_route_put(route);
	nl_addr_put(to);
	return interface > 0 ? (unsigned)interface : 0;
}

int neighbour_mac_of(struct neighbours *neighbours, uint32_t address, struct mac *ret)
{
	const struct sockaddr_in wanted = {.sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(address)};
	unsigned interface = neighbour_interface(neighbours, address);
	struct arpreq request = {0};

	if (!interface || !if_indextoname(interface, request.arp_dev))
		return E_NOT_FOUND;
	memcpy(&request.arp_pa, &wanted, sizeof(wanted));
	if (ioctl(neighbours->fd, SIOCGARP, &request) < 0 || !(request.arp_flags & ATF_COM) ||
	    request.arp_ha.sa_family != ARPHRD_ETHER)
		return E_NOT_FOUND;
	memcpy(ret->bytes, request.arp_ha.sa_data, sizeof(ret->bytes));
	return 0;
}
