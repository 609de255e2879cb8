/* Router solicitations and advertisements (RFC 4861 4.1, 4.2, 4.6.1). The kernel fills in the
 * ICMPv6 checksum. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

struct ra_solicitation {
	struct mac source; /* zero when the option is absent */
};

/* E_MALFORMED. hop_limit: of the packet; 255 proves that it comes from this link (RFC 4861 6.1.1).
 */
MUST_USE int ra_solicitation_decode(const void *data, size_t size, int hop_limit,
				    struct ra_solicitation *ret);

/* We route nothing and configure nothing: the advertisement only says so, and a client stops
 * waiting for one. */
struct ra_advertisement {
	uint8_t hop_limit; /* 0 = unspecified */
	bool managed, other;
	uint16_t router_lifetime_s; /* 0 = not a default router */
	uint32_t reachable_ms, retransmit_ms;
	struct mac source; /* zero = no option */
};

MUST_USE int ra_advertisement_encode(const struct ra_advertisement *advertisement, void *data,
				     size_t room, size_t *ret_size);
MUST_USE int ra_advertisement_decode(const void *data, size_t size, struct ra_advertisement *ret);
