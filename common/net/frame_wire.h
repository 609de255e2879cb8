/* An IPv4 packet with UDP inside (RFC 791 3.1, RFC 768), for clients that cannot answer ARP yet, and
 * of servers that answer such clients. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define FRAME_HEADERS_SIZE 28

struct frame_ends {
	uint32_t source, target; /* host byte order */
	uint16_t source_port, target_port;
};

/* Writes headers and payload, both checksums filled in. -ENOBUFS when it does not fit `room` or
 * 65535. */
MUST_USE int frame_encode(const struct frame_ends *ends, const void *payload, size_t size,
			  void *data, size_t room, size_t *ret_size);

/* *ret_payload is borrowed from `data`. E_MALFORMED: no UDP in a whole IPv4 packet (fragments are
 * none). Checksums are not looked at: a virtual card leaves them open. */
MUST_USE int frame_decode(const void *data, size_t size, struct frame_ends *ret_ends,
			  const uint8_t **ret_payload, size_t *ret_size);
