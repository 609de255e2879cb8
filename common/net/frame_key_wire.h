/* The first bytes of a frame to the part of a flow_key that they tell. Ethernet with up to two tags
 * (802.1Q, 802.1ad), IPv4 (RFC 791), IPv6 with its extension headers (RFC 8200). TCP, UDP, SCTP,
 * ICMP, and the frame inside a VXLAN packet (RFC 7348). Any bytes are a frame: fields that are cut
 * short or make no sense are zero, and the flags say so. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/net/flow_key.h"

/* Writes all of `ret` but agent, input, output and told_vlan, which it leaves alone; they are the
 * caller's to set, before or after. */
void frame_key_decode(const void *data, size_t size, struct flow_key *ret);

/* Where the parts of the frame that the key is of begin: inside the frame that was given. */
struct frame_layout {
	const uint8_t *frame;   /* its Ethernet header; never NULL */
	const uint8_t *network; /* after the Ethernet header; NULL: there is none */
	const uint8_t
		*transport; /* the header of the key's protocol; NULL: none, or a later fragment */
	uint32_t transport_length; /* of it and what it carries on the wire, as IP says; 0 = not
				      told */
};
/* The same, and where that is. */
void frame_key_decode_layout(const void *data, size_t size, struct flow_key *ret,
			     struct frame_layout *ret_layout);
