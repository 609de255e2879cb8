/* Asks for DHCP servers on links of this machine, for `site check` and `site init`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/mac.h"

#define SITE_DHCP_LINKS   16
#define SITE_DHCP_ANSWERS 32
/* Some servers look for 3 s whether the address that they offer is in use (dnsmasq). */
#define SITE_DHCP_WAIT_MS 4000

struct site_dhcp_answer {
	int interface; /* index */
	struct mac mac;
	uint32_t server;
};

struct site_dhcp {
	int interfaces[SITE_DHCP_LINKS];
	size_t interface_count;
	struct site_dhcp_answer answers[SITE_DHCP_ANSWERS]; /* each server of a link once */
	size_t answer_count;
};

/* Sends a DISCOVER on each interface, twice, and collects offers for SITE_DHCP_WAIT_MS. What this machine
 * answers itself is not heard. -errno: there is no packet socket (root is needed). */
MUST_USE int site_dhcp_ask(struct site_dhcp *dhcp, struct problem *problem);
