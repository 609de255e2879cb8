/* LLDP frames (IEEE 802.1AB-2016): who is at the other end of this cable. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define LLDP_TEXT_SIZE 256 /* 255 octets and NUL, 8.5.2.3 */

struct lldp_neighbor {
	char chassis[LLDP_TEXT_SIZE]; /* never empty */
	char port[LLDP_TEXT_SIZE];    /* never empty */
	char system[LLDP_TEXT_SIZE];  /* "" when the neighbour does not say */
	uint16_t ttl_s;               /* 0 = the neighbour says farewell */
};

/* One LLDPDU, without the Ethernet header. MACs and IPv4 addresses become their usual text, names
 * keep their printable characters, the rest is hex. E_MALFORMED. */
MUST_USE int lldp_decode(const void *data, size_t size, struct lldp_neighbor *ret);
