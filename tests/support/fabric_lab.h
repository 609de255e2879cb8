/* For tests: a few switches and NICs as the policies of the fabric get them. Nothing is cabled; a
 * test says who hears and learns whom. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/control/fabric/fabric_index.h"
#include "peregrine/control/fabric/link_policy.h"
#include "peregrine/control/fabric/place_policy.h"
#include "tests/support/cmocka.h"

enum { SWITCHES = 4, PORTS = 6, ROWS = 16, NICS = 4 };
#define NOW ((int64_t)1000000 * 1000000)
#define MIN ((int64_t)60 * 1000000)

/* Switch i is s0.., its chassis 02:00:00:00:00:i0, its port j is "Ethernet1/j+1", ifIndex 100*j+7,
 * base port 20-j (in another order). */
struct lab {
	struct switch_reading readings[SWITCHES];
	struct switch_port ports[SWITCHES][PORTS];
	struct switch_neighbor neighbors[SWITCHES][ROWS];
	struct switch_fdb_entry fdb[SWITCHES][ROWS];
	struct fabric_source sources[SWITCHES];
	char names[SWITCHES][8];
	struct fabric_nic nics[NICS]; /* 52:54:00:00:00:0i, node ni, eth0 */
	char nodes[NICS][8];
	struct fabric_sighting sightings[ROWS];
	struct fabric_prior priors[ROWS];
	struct fabric_facts facts;
	struct fabric_index index;
	struct fabric_conclusion conclusion;
};

static inline struct mac nic_mac(unsigned nic)
{
	return (struct mac){{0x52, 0x54, 0, 0, 0, (uint8_t)nic}};
}

static inline int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	for (unsigned i = 0; i < SWITCHES; i++) {
		struct switch_reading *reading = &lab->readings[i];

		(void)text_format(lab->names[i], sizeof(lab->names[i]), "s%u", i);
		(void)text_format(reading->identity.chassis, 64, "02:00:00:00:00:%u0", i);
		(void)text_copy(reading->identity.system, 64, lab->names[i]);
		reading->parts = PART_ALL;
		reading->ports = lab->ports[i];
		reading->port_count = PORTS;
		reading->neighbors = lab->neighbors[i];
		reading->fdb = lab->fdb[i];
		for (unsigned j = 0; j < PORTS; j++) {
			struct switch_port *port = &lab->ports[i][j];

			(void)text_format(port->name, 64, "Ethernet1/%u", j + 1);
			port->if_index = 100 * j + 7;
			port->base_port = 20 - j;
			port->admin_up = port->up = true;
			memcpy(port->mac, (uint8_t[]){2, 0, 0, 0, (uint8_t)i, (uint8_t)(j + 1)}, 6);
		}
		lab->sources[i] = (struct fabric_source){.id = 10 + i,
							 .fabric_id = 1,
							 .name = lab->names[i],
							 .reading = reading,
							 .fresh = true,
							 .read_us = NOW};
	}
	for (unsigned i = 0; i < NICS; i++) {
		(void)text_format(lab->nodes[i], sizeof(lab->nodes[i]), "n%u", i);
		lab->nics[i] = (struct fabric_nic){.mac = nic_mac(i),
						   .node_id = 100 + i,
						   .node = lab->nodes[i],
						   .name = "eth0",
						   .heard_chassis = "",
						   .heard_port = "",
						   .heard_system = ""};
	}
	lab->facts = (struct fabric_facts){.sources = lab->sources,
					   .source_count = SWITCHES,
					   .nics = lab->nics,
					   .nic_count = NICS,
					   .sightings = lab->sightings,
					   .priors = lab->priors};
	*state = lab;
	return 0;
}

static inline int stop(void **state)
{
	struct lab *lab = *state;

	fabric_conclusion_done(&lab->conclusion);
	fabric_index_done(&lab->index);
	free(lab);
	return 0;
}

/* Switch `at` hears, at its port, this chassis and port id. */
static inline struct switch_neighbor *hears(struct lab *lab, unsigned at, unsigned port,
					    const char *chassis, const char *id)
{
	struct switch_neighbor *neighbor = &lab->neighbors[at][lab->readings[at].neighbor_count++];

	neighbor->if_index = 100 * port + 7;
	neighbor->chassis_subtype = 4;
	neighbor->port_subtype = 5;
	(void)text_copy(neighbor->chassis, 64, chassis);
	(void)text_copy(neighbor->port, 64, id);
	return neighbor;
}

static inline struct switch_neighbor *hears_switch(struct lab *lab, unsigned at, unsigned port,
						   unsigned other, const char *id)
{
	return hears(lab, at, port, lab->readings[other].identity.chassis, id);
}

static inline void learns(struct lab *lab, unsigned at, unsigned port, unsigned nic)
{
	struct switch_fdb_entry *entry = &lab->fdb[at][lab->readings[at].fdb_count++];

	memcpy(entry->mac, nic_mac(nic).bytes, 6);
	entry->vlan = 100;
	entry->if_index = 100 * port + 7;
}

static inline void conclude(struct lab *lab)
{
	fabric_conclusion_done(&lab->conclusion);
	fabric_index_done(&lab->index);
	assert_int_equal(fabric_index_make(&lab->facts, &lab->index), 0);
	assert_int_equal(link_policy_conclude(&lab->facts, &lab->conclusion), 0);
	assert_int_equal(place_policy_conclude(&lab->facts, NOW, &lab->conclusion), 0);
}

static inline bool has_conflict(const struct lab *lab, const char *kind)
{
	for (size_t i = 0; i < lab->conclusion.conflict_count; i++) {
		if (strcmp(lab->conclusion.conflicts[i].kind, kind) == 0)
			return lab->conclusion.conflicts[i].message[0] &&
			       lab->conclusion.conflicts[i].hint[0];
	}
	return false;
}

/* "s0:1-s1:2 confirmed" of link `i`, ports counted from 1. */
static inline const char *link_text(const struct lab *lab, size_t i)
{
	static char text[64];
	const struct fabric_link *link = &lab->conclusion.links[i];

	assert_true(i < lab->conclusion.link_count);
	(void)text_format(text, sizeof(text), "%s:%u-%s:%u %s", lab->names[link->a.source],
			  link->a.port + 1, lab->names[link->b.source], link->b.port + 1,
			  link_state_words[link->state]);
	return text;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
