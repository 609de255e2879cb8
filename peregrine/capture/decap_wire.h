/* The frame inside of what a switch's mirror session sends over IP: GRE (RFC 2784, 2890) with an
 * Ethernet frame in it, ERSPAN type I, II and III (draft-foschiano-erspan-03), VXLAN (RFC 7348). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* How a mirror's frames come. A tunnel is only unwrapped where one is expected: what a tenant wraps
 * himself is his. */
enum decap_kind {
	DECAP_NONE, /* as they are */
	DECAP_GRE,  /* protocol type 0x6558 */
	DECAP_ERSPAN,
	DECAP_VXLAN,
	DECAP_KIND_COUNT
};

struct decap {
	const uint8_t *frame; /* borrowed from the packet */
	size_t size;
	size_t offset;     /* of it in the packet: as much shorter it was on its own wire */
	uint32_t session;  /* GRE key, ERSPAN session or VNI; 0 = none */
	uint32_t sequence; /* of GRE; says what the path between lost */
	bool has_sequence;
	uint8_t type;  /* of ERSPAN: 1, 2, 3 */
	uint16_t vlan; /* ERSPAN II and III: that the switch had the frame in; 0 = not told */
};

/* `data` is a whole Ethernet frame as captured. E_PROTOCOL: not of that kind, or nothing of the
 * inner frame was captured. */
MUST_USE int decap_frame(enum decap_kind kind, const void *data, size_t size, struct decap *ret);

/* The frame without its 802.1Q and 802.1ad tags (two at most), for a filter that does not know of
 * them: how much of `data` begins anew after the two addresses, 0 = it has no tag. */
size_t decap_tags(const void *data, size_t size);
