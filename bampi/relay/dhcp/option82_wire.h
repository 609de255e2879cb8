/* The relay agent information option as bytes of a message (RFC 3046; 3527 link selection; 5107
 * server identifier override). A message is edited in place of being decoded and encoded: what else
 * a client or server put into it passes as it came. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define OPTION82_MAX 255 /* of its value: one option, never in pieces */

struct option82 {
	const void *circuit; /* which of our links; at least one byte */
	size_t circuit_size;
	const void *remote; /* who we are; none when the size is 0 */
	size_t remote_size;
	uint32_t link_selection; /* 0 = none */
	uint32_t server_id;      /* 0 = none */
};

struct option82_value {
	uint8_t bytes[OPTION82_MAX];
	size_t size;
};

/* E_LIMIT when it is longer than OPTION82_MAX. */
MUST_USE int option82_encode(const struct option82 *option, struct option82_value *ret);

/* Writes the message with the option added behind all others (2.1). `ret` has room for `limit`
 * bytes. E_LIMIT: it would be larger than `limit`; E_MALFORMED: not a DHCP message. */
MUST_USE int option82_insert(const void *data, size_t size, const struct option82_value *value,
			     size_t limit, uint8_t *ret, size_t *ret_size);

/* Writes the message without any option 82. E_LIMIT, E_MALFORMED. */
MUST_USE int option82_strip(const void *data, size_t size, size_t limit, uint8_t *ret,
			    size_t *ret_size);

/* The two fields that a relay sets; `data` holds a message that was decoded. */
void option82_set_relay(uint8_t *data, uint8_t hops, uint32_t giaddr);
