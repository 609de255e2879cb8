/* The edge of a switch that snoops DHCP. Its access ports are in a VLAN whose gateway is this
 * switch. Each port has a packet socket and the option 82 of the requests that come in there. Rules
 * of the bridge keep these frames from all other ports. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"
#include "common/net/mac.h"

#include "tests/sim/switch/switch_ovs.h"
#include "tests/sim/switch/switch_relay_wire.h"

enum {
	RELAY_SVIS = 8,
	RELAY_SERVERS = 8,
	RELAY_TRUSTED = 16,
	RELAY_EDGES = 256,
};

struct relay;

struct svi {
	const char *port;
	uint16_t vlan;
	uint32_t address; /* 0 = none yet */
};

struct edge {
	struct relay *relay;
	char name[SWITCH_PORT_NAME];
	uint32_t number, if_index;
	size_t svi;
	bool seen;
	int fd;
	struct loop_watch *watch;
	struct switch_relay_option option;
};

struct relay {
	loop_watch_fn on_frames; /* of an edge, which is its context */
	struct loop *loop;
	struct loop_timer *timer;
	struct switch_ovs *ovs;
	const char *database, *control, *openflow, *rules, *name;
	const struct switch_relay_format *format;
	const char *trusted[RELAY_TRUSTED];
	size_t trusted_count;
	struct svi svis[RELAY_SVIS];
	size_t svi_count;
	uint32_t servers[RELAY_SERVERS];
	size_t server_count;
	struct mac mac; /* of the bridge */
	struct edge *edges[RELAY_EDGES];
	size_t edge_count;
	int udp;
	struct loop_watch *udp_watch;
	int64_t rules_ms;
	unsigned lines;
	bool ready;
};

/* Reads the ports again; edges may be freed. Prints the edge when it changed. */
void relay_edges_look(struct relay *relay);
/* Looks again; false when the edge is no edge any more, and is freed. */
bool relay_edge_stays(struct relay *relay, const struct edge *edge);
/* Frees them and takes the rules back. */
void relay_edges_done(struct relay *relay);
