/* Framing of NETCONF messages over SSH (RFC 6242): an end mark after each message (4.3), or chunks
 * with their sizes (4.2) once both sides know base:1.1. Bounded: a message that does not end is an
 * error, not memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"

enum { NETCONF_MESSAGE_LIMIT = 8 << 20 };

enum netconf_framing { NETCONF_END_MARK, NETCONF_CHUNKED };

/* Zero bytes: waits for a message with an end mark. */
struct netconf_frames {
	enum netconf_framing framing;
	struct text message; /* so far */
	unsigned state;      /* within a chunk's head */
	uint32_t left;       /* of the chunk under way */
};

void netconf_frames_done(struct netconf_frames *frames);

/* Takes bytes up to the end of one message: *ret_used of them. *ret_whole: `message` is one; clear
 * it before more. E_PROTOCOL: no framing, E_LIMIT: longer than NETCONF_MESSAGE_LIMIT, -ENOMEM. */
MUST_USE int netconf_frames_feed(struct netconf_frames *frames, const char *bytes, size_t size,
				 size_t *ret_used, bool *ret_whole);

/* `message` as it is sent. */
void netconf_frame(enum netconf_framing framing, const char *message, size_t size,
		   struct text *ret);
