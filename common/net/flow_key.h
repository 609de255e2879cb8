/* What names a conversation as one port of one switch saw it: addresses, ports and tags of a frame,
 * and where it came in and went out. Hashed and compared as bytes: no padding, unused parts zero.
 * Whose traffic it is follows from these facts and the time alone (flow/attribution_policy.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Values of `input` and `output` beside an ifIndex. They are above it: an ifIndex is 1 to 2^31 - 1
 * (RFC 2863, InterfaceIndex), and switches use all of that. Nokia's SR Linux begins at 0x40404001. */
enum {
	PORT_UNKNOWN = 0,
	PORT_MULTIPLE = (int)0x80000000,  /* flooded or multicast */
	PORT_TWO = (int)0x80000002,       /* two of them: one may be a mirror's */
	PORT_DISCARDED = (int)0x80000003, /* the reason is counted, not keyed */
	PORT_INTERNAL = (int)0x80000004,  /* the switch itself */
};

static inline bool port_is_index(uint64_t value)
{
	return value >= 1 && value <= INT32_MAX;
}

/* No VLAN was told. 0 is "untagged" (a header without a tag) or priority-tagged. */
#define VLAN_UNTOLD 0xffff

enum flow_key_flag {
	FLOW_IPV4 = 1, /* addresses are IPv4, mapped into ::ffff:0:0/96 */
	FLOW_IPV6 = 2,
	FLOW_FRAGMENT = 4, /* a later fragment: it has no ports */
	FLOW_CUT = 8,      /* the sampled header ended before its ports */
	FLOW_INNER = 16,   /* everything but `tag` is of the frame inside a VXLAN packet */
	FLOW_EGRESS = 32,  /* sampled where it left: the agent's source is its output port */
	FLOW_FOLDED =
		64, /* the table was full: addresses and ports are left out, totals are right */
	FLOW_RECORD = 128, /* the exporter's own sum (NetFlow, IPFIX), not samples. With
			      FLOW_EGRESS: as it went out */
};

struct flow_key {
	uint8_t source[16], target[16]; /* zero without IP */
	uint8_t source_mac[6], target_mac[6];
	uint32_t input, output; /* ifIndex or the values above */
	uint32_t vni;           /* VXLAN network id plus one; 0 = none */
	uint16_t agent;         /* agent_directory's number */
	uint16_t tag;           /* 802.1Q VLAN in the sampled header; 0 = none */
	uint16_t told_vlan;     /* the switch's own word for the VLAN it came in by (record 1001) */
	uint16_t ethertype;
	uint16_t source_port, target_port; /* ICMP: 0 and type << 8 | code */
	uint8_t protocol, flags;
	uint16_t zero;
};

_Static_assert(sizeof(struct flow_key) == 72, "hashed as bytes: no padding");
