/* Answers ARP on the loop for addresses that are behind another interface. Hosts that take all of a
 * large prefix for their own link then reach each other through us. It only answers: the kernel
 * must forward (net.ipv4.ip_forward). Not beside the kernel's own proxy_arp. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"
#include "common/net/arp_policy.h"
#include "common/net/ipv4.h"

struct arp_proxy;

struct arp_proxy_counters {
	uint64_t verdicts[ARP_VERDICTS]; /* [ARP_ANSWER]: would be answered but for the limit */
	uint64_t answered;
	uint64_t throttled; /* silence: more requests than one address, or all, may send */
	uint64_t malformed;
};

struct arp_proxy_options {
	const char *const *interfaces;      /* names, ended by NULL; copied as indexes */
	const struct ipv4_prefix *prefixes; /* that it answers for; copied */
	size_t prefix_count;
};

/* Needs CAP_NET_RAW, once. counters are borrowed. -errno, E_NOT_FOUND for an interface that is not
 * there; the problem names it. */
MUST_USE int arp_proxy_new(struct loop *loop, const struct arp_proxy_options *options,
			   struct arp_proxy_counters *counters, struct arp_proxy **ret,
			   struct problem *problem);
/* NULL is fine. */
void arp_proxy_free(struct arp_proxy *proxy);
