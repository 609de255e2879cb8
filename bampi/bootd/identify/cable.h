/* What the site says of cables, in memory: rules that read option 82, switches whose ports give
 * addresses, ports with their nodes, UUIDs of nodes. Filled whole by inventory_store, like
 * inventory.h, and looked up for every request that came through a relay. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/circuit_rule.h"
#include "common/net/ipv4.h"

#include "bampi/bootd/identify/uuid_wire.h"

struct cable;

struct cable_switch {
	char name[CIRCUIT_TEXT_SIZE];
	char ports[CIRCUIT_TEXT_SIZE]; /* pattern that finds the number of a port in its name */
	uint32_t base;                 /* port n gives base + n; 0 = none does */
	uint32_t port_low, port_high;  /* inclusive */
	bool moved_silent, swapped_silent;
};

struct cable_port {
	struct circuit_place place;
	int64_t node_id;  /* 0 = none is meant to be there */
	uint32_t address; /* 0 = none of its own */
};

MUST_USE int cable_new(struct cable **ret);
void cable_free(struct cable *cable);

/* The port that a sample names, by the first rule about this relay that reads it. False: no rule
 * does. A place without a port is one that the circuit does not name. */
bool cable_locate(const struct cable *cable, uint32_t relay, const struct circuit_sample *sample,
		  struct circuit_place *ret);
/* NULL when there is none of this name. Lent until the next commit, like all below. */
const struct cable_switch *cable_switch(const struct cable *cable, const char *name);
const struct cable_port *cable_port(const struct cable *cable, const struct circuit_place *place);
/* The address that whoever is behind this port gets: of the port itself, else by the pattern of its
 * switch; 0 = none. */
uint32_t cable_address(const struct cable *cable, const struct circuit_place *place);
/* Is it an address that some port gives? Then no pool does. */
bool cable_gives(const struct cable *cable, uint32_t address);
/* How many nodes were declared with this UUID, up to two. *ret_id is one of them, another than
 * `besides` (0 = nobody) when there is one. */
size_t cable_nodes_of_uuid(const struct cable *cable, struct uuid uuid, int64_t besides,
			   int64_t *ret_id);
/* The UUID that a node was declared with; false = none. */
bool cable_uuid_of_node(const struct cable *cable, int64_t node_id, struct uuid *ret);

/* Building a new picture, as in inventory.h. Rules come in the order in which they are tried. */
void cable_begin(struct cable *cable);
MUST_USE int cable_add_rule(struct cable *cable, struct ipv4_prefix relay,
			    const struct circuit_rule *rule);
MUST_USE int cable_add_switch(struct cable *cable, const struct cable_switch *row);
MUST_USE int cable_add_port(struct cable *cable, const struct cable_port *port);
MUST_USE int cable_add_uuid(struct cable *cable, struct uuid uuid, int64_t node_id);
void cable_commit(struct cable *cable);
