/* The keys of summed traffic, four levels of one tree:
 *
 *   place  a port and a direction: left or entered there
 *   group  the owner: tenant, network, VLAN; or the reason why it has none
 *   pair   two nodes
 *   flow   addresses and ports
 *
 * A child's sums are part of its parent's. The rest of a parent is its "other". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/model/traffic_sums.h"

enum traffic_direction {
	TRAFFIC_OUT, /* left the switch by this port, as in "link:SWITCH:PORT" */
	TRAFFIC_IN,  /* entered by this edge port: a tenant's traffic is counted here, once */
};

/* Numbers of places, groups and nodes come from traffic_names, which keeps them for the daemon's
 * life. */
struct share_key {
	uint32_t place;
	uint32_t group;
	uint32_t direction;
};

enum traffic_end_kind { END_NONE, END_NODE, END_IP, END_MAC };

/* One end of a conversation: a node that we know, else an address. No padding, unused bytes 0. */
struct traffic_end {
	uint8_t kind;
	uint8_t bytes[16]; /* node: its number in the first 4; IP: IPv4 mapped; MAC: in the first 6
			    */
};

struct pair_key {
	uint32_t share;          /* index of its parent in the same set */
	struct traffic_end a, b; /* a <= b by bytes */
	uint8_t zero[2];
};

_Static_assert(sizeof(struct pair_key) == 40, "hashed as bytes: no padding");

/* `source` and `target` as in the frames: a flow has a direction, its pair has none. */
struct conversation_key {
	uint32_t pair;
	uint8_t source[16], target[16]; /* zero without IP */
	uint16_t source_port, target_port;
	uint16_t ethertype;
	uint8_t protocol;
	uint8_t forward; /* its source is the pair's a */
};

_Static_assert(sizeof(struct conversation_key) == 44, "hashed as bytes: no padding");
