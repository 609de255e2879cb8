/* The DHCP side of bampi-relay: requests of its interfaces to every server, replies back to their
 * clients. RFC 1542 4.1, RFC 2131 4.1.1, RFC 3046, RFC 3527, RFC 5107. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/metrics.h"
#include "common/io/loop.h"

#include "bampi/relay/dhcp/rate.h"

#define DHCP_RELAY_SERVERS 8

struct dhcp_relay;

struct dhcp_relay_options {
	const char *const *interfaces; /* interface_parse, NULL-ended. Not kept. */
	const char *const *servers;    /* IPv4 literals, NULL-ended. Not kept. */
	uint32_t upstream_address; /* giaddr for all interfaces, with interface selection; 0 = the
				      interfaces' */
	bool server_override;
	uint8_t hop_limit;
	size_t packet_limit; /* bytes of DHCP; with option 82 no more than this */
	struct rate_limit client_rate, interface_rate;
};

/* Checks what dhcp_relay_new would refuse without opening anything. */
MUST_USE int dhcp_relay_check(const struct dhcp_relay_options *options, struct problem *problem);
/* Opens the sockets, so it is called with privileges. */
MUST_USE int dhcp_relay_new(struct loop *loop, const struct dhcp_relay_options *options,
			    struct dhcp_relay **ret, struct problem *problem);
void dhcp_relay_free(struct dhcp_relay *relay);

const struct metric_row *dhcp_relay_metric_rows(size_t *ret_count);
const void *dhcp_relay_metric_values(struct dhcp_relay *relay);
