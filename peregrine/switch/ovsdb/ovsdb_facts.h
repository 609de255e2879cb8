/* What an Open vSwitch database (schema Open_vSwitch, ovs-vswitchd.conf.db(5)) says of one bridge:
 * its ports, their interfaces and memberships, and the VLAN table, which Open vSwitch itself does
 * not have: external_ids of the bridge, "vlan-100" = name. A VLAN that a port names is there as
 * well.
 *
 * The bridge is the only one there is, or the one with external_ids haas=switch. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/vlan_set.h"

#include "peregrine/switch/ovsdb/ovsdb_json.h"
#include "peregrine/switch/switch_driver.h"

/* One row of Port. Rows are borrowed from the answer. */
struct ovsdb_port {
	const json_t *row;
	char name[64];
	const char *uuid;
	struct port_vlans vlans; /* in our shape */
	bool exact;  /* no other membership has this shape: it is what is written for it */
	bool tunnel; /* dot1q-tunnel: not ours to touch */
	bool local;  /* the bridge's own interface */
	const json_t **interfaces; /* rows of Interface; not of FACTS_VLANS */
	size_t interface_count;
};

struct ovsdb_facts {
	json_t *answer;       /* owned */
	const json_t *system; /* row of Open_vSwitch */
	const json_t *bridge; /* row of Bridge */
	const char *bridge_uuid;
	struct ovsdb_port *ports; /* owned */
	size_t port_count;
	const json_t **interfaces; /* owned: those of the ports, port by port */
	struct vlan_set table;     /* of the bridge */
	struct vlan_set used;      /* named by a port */
	uint64_t digest; /* of ports and VLANs: another one = somebody changed something. Never 0 */
	uint64_t links;  /* of the ports' links and how often they went and came; 0 with FACTS_VLANS
			  */
	uint32_t odd;
	char odd_text[128];
};

/* FACTS_VLANS leaves out the interfaces, FACTS_LOOK knows of their links only. */
enum ovsdb_facts_kind { FACTS_VLANS, FACTS_LOOK, FACTS_WHOLE };

/* The params of "transact" that ask for them; NULL: no memory. */
json_t *ovsdb_facts_ask(enum ovsdb_facts_kind kind);
/* `result` is what came back; a reference is kept. E_PROTOCOL, E_LIMIT, E_UNSUPPORTED (which bridge
 * is not clear), -ENOMEM, with a problem that lacks the switch's name. */
MUST_USE int ovsdb_facts_make(json_t *result, enum ovsdb_facts_kind kind, struct ovsdb_facts *ret,
			      struct problem *problem);
void ovsdb_facts_done(struct ovsdb_facts *facts);
/* Of a key of the table, "vlan-100"; 0 for any other. */
uint16_t ovsdb_facts_vlan(const char *key);
/* NULL when there is none. */
const struct ovsdb_port *ovsdb_facts_port(const struct ovsdb_facts *facts, const char *name);

/* What they are to those above. `only_ports` as in struct switch_request. -ENOMEM. */
MUST_USE int ovsdb_reading_make(const struct ovsdb_facts *facts, unsigned parts,
				const char *const *only_ports, struct switch_reading *ret);
