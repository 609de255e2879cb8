/* The prober's frames: what a node that means ill could send, with a tail that says who sent it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

#define PROBER_FRAME_ROOM 512

enum prober_kind {
	PROBER_UNICAST,   /* to another probe's address, also of another tenant */
	PROBER_ARP,       /* a request to all, RFC 826 */
	PROBER_MULTICAST, /* IPv4 and IPv6 groups in turn */
	PROBER_DHCP,      /* an OFFER to all: a rogue server, RFC 2131 */
	PROBER_TAGGED,    /* one tag, 802.1Q or 802.1ad */
	PROBER_TWO_TAGS,  /* the outer one may be taken off on the way */
	PROBER_KINDS
};
extern const char *const prober_kind_words[PROBER_KINDS];

struct prober_frame {
	uint64_t token; /* of this run of the prober */
	uint16_t sender;
	enum prober_kind kind;
	uint16_t outer, inner; /* the tags it was sent with */
	uint32_t sequence;
	int64_t sent_us;           /* by the wall clock */
	struct mac source, target; /* target: for unicast */
};

/* E_LIMIT when it does not fit. */
MUST_USE int prober_frame_write(const struct prober_frame *frame, uint8_t *ret, size_t room,
				size_t *ret_size);
/* E_NOT_FOUND: not one of ours. Only what stands in the tail is filled in. */
MUST_USE int prober_frame_read(const uint8_t *data, size_t size, uint64_t token,
			       struct prober_frame *ret);
