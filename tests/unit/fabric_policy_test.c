// links: peregrine_fabric peregrine_driver common_net common_base
/* Cables, kinds of ports, places of MACs and the plan against them: tables of cases with what
 * switches really say (other spellings, MACs as port ids, clones, liars, hubs, aggregates). */
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/control/fabric/link_policy.h"
#include "peregrine/control/fabric/match_policy.h"
#include "peregrine/control/fabric/place_policy.h"
#include "peregrine/control/fabric/wiring_policy.h"
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
	struct fabric_conclusion conclusion;
};

static struct mac nic_mac(unsigned nic)
{
	return (struct mac){{0x52, 0x54, 0, 0, 0, (uint8_t)nic}};
}

static int start(void **state)
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

static int stop(void **state)
{
	struct lab *lab = *state;

	fabric_conclusion_done(&lab->conclusion);
	free(lab);
	return 0;
}

/* Switch `at` hears, at its port, this chassis and port id. */
static struct switch_neighbor *hears(struct lab *lab, unsigned at, unsigned port,
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

static struct switch_neighbor *hears_switch(struct lab *lab, unsigned at, unsigned port,
					    unsigned other, const char *id)
{
	return hears(lab, at, port, lab->readings[other].identity.chassis, id);
}

static void learns(struct lab *lab, unsigned at, unsigned port, unsigned nic)
{
	struct switch_fdb_entry *entry = &lab->fdb[at][lab->readings[at].fdb_count++];

	memcpy(entry->mac, nic_mac(nic).bytes, 6);
	entry->vlan = 100;
	entry->if_index = 100 * port + 7;
}

static void conclude(struct lab *lab)
{
	fabric_conclusion_done(&lab->conclusion);
	assert_int_equal(link_policy_conclude(&lab->facts, &lab->conclusion), 0);
	assert_int_equal(place_policy_conclude(&lab->facts, NOW, &lab->conclusion), 0);
}

static bool has_conflict(const struct lab *lab, const char *kind)
{
	for (size_t i = 0; i < lab->conclusion.conflict_count; i++) {
		if (strcmp(lab->conclusion.conflicts[i].kind, kind) == 0)
			return lab->conclusion.conflicts[i].message[0] &&
			       lab->conclusion.conflicts[i].hint[0];
	}
	return false;
}

/* "s0:1-s1:2 confirmed" of link `i`, ports counted from 1. */
static const char *link_text(const struct lab *lab, size_t i)
{
	static char text[64];
	const struct fabric_link *link = &lab->conclusion.links[i];

	assert_true(i < lab->conclusion.link_count);
	(void)text_format(text, sizeof(text), "%s:%u-%s:%u %s", lab->names[link->a.source],
			  link->a.port + 1, lab->names[link->b.source], link->b.port + 1,
			  link_state_words[link->state]);
	return text;
}

/* --- one cable between s0:1 and s1:2, told in many ways ------------------------------ */

static void both_ends_agree(void **state)
{
	/* What s1 is told of s0's port, and s0 of s1's. */
	static const struct {
		const char *about_s0, *about_s1;
		uint8_t subtype;
		const char *text;
		unsigned least, most;
		const char *how;
	} rows[] = {
		{"Ethernet1/1", "Ethernet1/2", 5, "", 100, 100, "name"},
		{"ethernet 1/1", "Eth1/2", 5, "", 80, 99, "spelling"},
		{"1/1", "1/2", 5, "", 80, 99, "spelling"},                        /* Dell OS10 */
		{"02:00:00:00:00:01", "02:00:00:00:01:02", 3, "", 90, 99, "mac"}, /* SONiC */
		{"7", "107", 7, "", 90, 99, "ifindex"},
		{"20", "19", 7, "", 70, 90, "base port"},
		{"???", "Ethernet1/2", 7, "Ethernet1/1", 80, 99, "name"},
		{"???", "Ethernet1/2", 7, "", 80, 99, "name"}, /* one side mute */
		{"??", "???", 7, "", 70, 70, "the only one"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct lab *lab = *state;
		struct switch_neighbor *one;

		lab->readings[0].neighbor_count = lab->readings[1].neighbor_count = 0;
		hears_switch(lab, 0, 0, 1, rows[i].about_s1)->port_subtype = rows[i].subtype;
		one = hears_switch(lab, 1, 1, 0, rows[i].about_s0);
		one->port_subtype = rows[i].subtype;
		(void)text_copy(one->port_text, 64, rows[i].text);
		conclude(lab);
		assert_int_equal(lab->conclusion.link_count, 1);
		assert_string_equal(link_text(lab, 0), "s0:1-s1:2 confirmed");
		assert_in_range(lab->conclusion.links[0].certainty, rows[i].least, rows[i].most);
		assert_string_equal(lab->conclusion.links[0].evidence, rows[i].how);
		assert_int_equal(lab->conclusion.conflict_count, 0);
		assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
		assert_int_equal(lab->conclusion.kinds[1][1], PORT_UPLINK);
		assert_int_equal(lab->conclusion.kinds[1][0], PORT_EDGE);
	}
}

/* In a stack the number 7 is an ifIndex of one port and the base port of another: what the other
 * end hears decides. */
static void stacks_confuse_numbers(void **state)
{
	struct lab *lab = *state;

	lab->ports[1][3].base_port = 107; /* ifIndex of port 2 */
	hears_switch(lab, 0, 0, 1, "107")->port_subtype = 7;
	hears_switch(lab, 1, 3, 0, "Ethernet1/1");
	conclude(lab);
	assert_int_equal(lab->conclusion.link_count, 1);
	assert_string_equal(link_text(lab, 0), "s0:1-s1:4 confirmed");
	/* Without it the likelier one is a claim, and the doubt is told. */
	lab->readings[1].neighbor_count = 0;
	lab->readings[1].parts &= ~(unsigned)PART_NEIGHBORS;
	conclude(lab);
	assert_string_equal(link_text(lab, 0), "s0:1-s1:2 claimed");
	assert_true(has_conflict(lab, "fabric.port_ambiguous"));
}

static void one_mac_for_all_ports(void **state)
{
	struct lab *lab = *state;

	for (unsigned j = 0; j < PORTS; j++)
		memcpy(lab->ports[1][j].mac, (uint8_t[]){2, 9, 9, 9, 9, 9}, 6);
	hears_switch(lab, 0, 0, 1, "02:09:09:09:09:09")->port_subtype = 3;
	hears_switch(lab, 1, 2, 0, "Ethernet1/1");
	conclude(lab);
	assert_string_equal(link_text(lab, 0), "s0:1-s1:3 confirmed");
	lab->readings[1].neighbor_count = 0;
	conclude(lab);
	assert_int_equal(lab->conclusion.link_count, 0);
	assert_true(has_conflict(lab, "fabric.port_unknown"));
}

static void one_end_only(void **state)
{
	struct lab *lab = *state;

	hears_switch(lab, 0, 0, 1, "Ethernet1/2");
	conclude(lab);
	assert_string_equal(link_text(lab, 0), "s0:1-s1:2 claimed");
	assert_int_equal(lab->conclusion.links[0].certainty, 50);
	assert_true(has_conflict(lab, "fabric.one_sided"));
	/* The other end is away: it cannot contradict, and nobody is accused. */
	lab->sources[1].fresh = false;
	conclude(lab);
	assert_int_equal(lab->conclusion.links[0].certainty, 60);
	assert_int_equal(lab->conclusion.conflict_count, 0);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
}

static void two_on_one_port(void **state)
{
	struct lab *lab = *state;

	/* s0:1 hears s1 and s2: a hub between them; only s1 hears s0 there. */
	hears_switch(lab, 0, 0, 1, "Ethernet1/2");
	hears_switch(lab, 0, 0, 2, "Ethernet1/2");
	hears_switch(lab, 1, 1, 0, "Ethernet1/1");
	conclude(lab);
	assert_true(has_conflict(lab, "fabric.two_neighbors"));
	assert_string_equal(link_text(lab, 0), "s0:1-s1:2 confirmed");
	assert_string_equal(link_text(lab, 1), "s0:1-s2:2 claimed");
}

static void two_claims_on_one_port(void **state)
{
	struct lab *lab = *state;

	hears_switch(lab, 0, 0, 1, "Ethernet1/2");
	hears_switch(lab, 1, 1, 0, "Ethernet1/1");
	hears_switch(lab, 2, 4, 1, "Ethernet1/2"); /* an old frame */
	conclude(lab);
	assert_string_equal(link_text(lab, 0), "s0:1-s1:2 confirmed");
	assert_string_equal(link_text(lab, 1), "s1:2-s2:5 conflict");
	assert_true(has_conflict(lab, "fabric.two_claims"));
}

static void a_cable_to_itself(void **state)
{
	struct lab *lab = *state;

	hears_switch(lab, 0, 0, 0, "Ethernet1/3");
	hears_switch(lab, 0, 2, 0, "Ethernet1/1");
	conclude(lab);
	assert_int_equal(lab->conclusion.link_count, 1);
	assert_string_equal(link_text(lab, 0), "s0:1-s0:3 conflict");
	assert_true(has_conflict(lab, "fabric.self_link"));
}

static void clones(void **state)
{
	struct lab *lab = *state;

	(void)text_copy(lab->readings[2].identity.chassis, 64, lab->readings[1].identity.chassis);
	(void)text_copy(hears_switch(lab, 0, 0, 1, "Ethernet1/2")->system, 64, "S1.example.net");
	hears_switch(lab, 1, 1, 0, "Ethernet1/1");
	conclude(lab);
	assert_string_equal(link_text(lab, 0), "s0:1-s1:2 confirmed");
	assert_true(has_conflict(lab, "fabric.chassis_shared"));
}

static void a_node_that_calls_itself_a_switch(void **state)
{
	struct lab *lab = *state;

	hears_switch(lab, 0, 3, 1, "Ethernet1/2");
	learns(lab, 0, 3, 1);
	conclude(lab);
	assert_true(has_conflict(lab, "fabric.lldp_lie"));
	assert_int_equal(lab->conclusion.kinds[0][3], PORT_EDGE);
	assert_int_equal(lab->conclusion.kinds[1][1], PORT_EDGE); /* no harm to the true one */
	assert_string_equal(link_text(lab, 0), "s0:4-s1:2 conflict");
	/* Where s1 really is, the lie does not touch it. */
	hears_switch(lab, 2, 0, 1, "Ethernet1/2");
	hears_switch(lab, 1, 1, 2, "Ethernet1/1");
	conclude(lab);
	assert_string_equal(link_text(lab, 0), "s1:2-s2:1 confirmed");
	assert_int_equal(lab->conclusion.kinds[0][3], PORT_EDGE);
	assert_non_null(fabric_place_find(&lab->conclusion, nic_mac(1)));
}

static void aggregates_follow_from_members(void **state)
{
	struct lab *lab = *state;

	for (unsigned i = 0; i < 2; i++) {
		lab->ports[i][5].is_lag = true;
		lab->ports[i][0].lag = lab->ports[i][1].lag = lab->ports[i][5].if_index;
		hears_switch(lab, i, 0, 1 - i, "Ethernet1/1");
		hears_switch(lab, i, 1, 1 - i, "Ethernet1/2");
	}
	conclude(lab);
	assert_int_equal(lab->conclusion.link_count, 3);
	assert_string_equal(link_text(lab, 2), "s0:6-s1:6 confirmed");
	assert_true(lab->conclusion.links[2].lag);
	assert_int_equal(lab->conclusion.links[2].members, 2);
	assert_int_equal(lab->conclusion.kinds[0][5], PORT_UPLINK);
	/* One member ends somewhere else. */
	lab->readings[0].neighbor_count = 1;
	lab->readings[1].neighbor_count = 1;
	lab->ports[2][5].is_lag = true;
	lab->ports[2][0].lag = lab->ports[2][5].if_index;
	hears_switch(lab, 0, 1, 2, "Ethernet1/1");
	hears_switch(lab, 2, 0, 0, "Ethernet1/2");
	conclude(lab);
	assert_true(has_conflict(lab, "fabric.lag_split"));
}

static void ports_that_are_down_stay_what_they_were(void **state)
{
	struct lab *lab = *state;
	static const uint8_t prior[PORTS] = {PORT_UPLINK, PORT_EDGE};

	for (unsigned j = 0; j < 3; j++)
		lab->ports[0][j].up = false;
	lab->ports[0][4].base_port = 0; /* a routed interface */
	lab->sources[0].prior_kinds = prior;
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
	assert_int_equal(lab->conclusion.kinds[0][1], PORT_EDGE);
	assert_int_equal(lab->conclusion.kinds[0][2], PORT_UNKNOWN);
	assert_int_equal(lab->conclusion.kinds[0][4], PORT_UNKNOWN);
}

/* LLDP that falls silent makes no edge of an uplink; a node that is seen there only does. */
static void an_uplink_is_given_up_for_a_node_only(void **state)
{
	struct lab *lab = *state;
	static const uint8_t prior[PORTS] = {PORT_UPLINK, PORT_EDGE};

	lab->sources[0].prior_kinds = prior;
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
	learns(lab, 0, 0, 1);
	learns(lab, 1, 3, 1); /* it is there, and heard through the uplink */
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
	lab->readings[1].fdb_count = 0;
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_EDGE);
}

/* --- places --------------------------------------------------------------------------- */

static void place_is(struct lab *lab, unsigned nic, int source, unsigned port, unsigned certainty,
		     unsigned sources)
{
	const struct fabric_place *place;

	conclude(lab);
	place = fabric_place_find(&lab->conclusion, nic_mac(nic));
	if (source < 0) {
		assert_null(place);
		return;
	}
	assert_non_null(place);
	assert_int_equal(place->at.source, source);
	assert_int_equal(place->at.port, port);
	assert_int_equal(place->certainty, certainty);
	assert_int_equal(place->sources, sources);
}

static void edges_not_uplinks(void **state)
{
	struct lab *lab = *state;

	hears_switch(lab, 0, 0, 1, "Ethernet1/2");
	hears_switch(lab, 1, 1, 0, "Ethernet1/1");
	learns(lab, 0, 0, 1); /* through the uplink */
	learns(lab, 1, 1, 2);
	place_is(lab, 1, -1, 0, 0, 0);
	learns(lab, 1, 3, 1);
	place_is(lab, 1, 1, 3, 80, PLACE_FDB);
	assert_int_equal(fabric_place_find(&lab->conclusion, nic_mac(1))->vlan, 100);
	assert_int_equal(fabric_place_find(&lab->conclusion, nic_mac(1))->seen_us, NOW);
}

static void mac_zero_is_nobody(void **state)
{
	struct lab *lab = *state;

	memset(lab->fdb[0][0].mac, 0, 6);
	lab->fdb[0][0].if_index = 7;
	memset(lab->fdb[0][1].mac, 0xff, 6);
	lab->fdb[0][1].if_index = 7;
	lab->readings[0].fdb_count = 2;
	conclude(lab);
	assert_int_equal(lab->conclusion.place_count, 0);
}

static void sources_agree(void **state)
{
	struct lab *lab = *state;

	learns(lab, 1, 3, 1);
	lab->sightings[0] = (struct fabric_sighting){
		.mac = nic_mac(1), .switch_name = "s1", .port = "Eth1/4", .seen_us = NOW - MIN};
	lab->facts.sighting_count = 1;
	place_is(lab, 1, 1, 3, 85, PLACE_FDB | PLACE_OPTION82);
	hears(lab, 1, 3, "52:54:00:00:00:09", "52:54:00:00:00:01")->port_subtype = 3;
	place_is(lab, 1, 1, 3, 100, PLACE_FDB | PLACE_OPTION82 | PLACE_LLDP);
}

static void a_number_of_option82_is_no_ifindex(void **state)
{
	struct lab *lab = *state;
	char number[16];

	(void)text_format(number, sizeof(number), "%u", lab->readings[1].ports[3].if_index);
	lab->sightings[0] = (struct fabric_sighting){
		.mac = nic_mac(1), .switch_name = "s1", .port = number, .seen_us = NOW - MIN};
	lab->facts.sighting_count = 1;
	place_is(lab, 1, -1, 0, 0, 0);
	lab->sightings[0].port = lab->readings[1].ports[3].name;
	place_is(lab, 1, 1, 3, 70, PLACE_OPTION82);
}

static void fresh_lldp_beats_fdb_old_does_not(void **state)
{
	struct lab *lab = *state;

	learns(lab, 1, 3, 1);
	lab->nics[1].heard_chassis = lab->readings[2].identity.chassis;
	lab->nics[1].heard_port = "Ethernet1/5";
	lab->nics[1].heard_us = NOW - MIN;
	place_is(lab, 1, 2, 4, 95, PLACE_AGENT);
	assert_int_equal(lab->conclusion.conflict_count, 0);
	lab->nics[1].heard_us = NOW - 60 * MIN;
	place_is(lab, 1, 1, 3, 80, PLACE_FDB);
}

static void a_moved_cable(void **state)
{
	struct lab *lab = *state;

	/* It was at s1:4; the old entry ages for minutes while the new one is there. */
	learns(lab, 1, 3, 1);
	learns(lab, 2, 0, 1);
	lab->priors[0] =
		(struct fabric_prior){.mac = nic_mac(1), .at = {1, 3}, .seen_us = NOW - MIN};
	lab->facts.prior_count = 1;
	place_is(lab, 1, 2, 0, 60, PLACE_FDB);
	assert_false(has_conflict(lab, "nic.two_ports"));
	/* The next time both are still there: it stays where it went. */
	lab->priors[0].at = (struct port_ref){2, 0};
	lab->priors[0].left = (struct port_ref){1, 3};
	lab->priors[0].has_left = true;
	place_is(lab, 1, 2, 0, 60, PLACE_FDB);
	/* And on to a third port, while both are there. */
	learns(lab, 0, 2, 1);
	lab->readings[1].fdb_count = 0;
	place_is(lab, 1, 0, 2, 60, PLACE_FDB);
	lab->readings[0].fdb_count = 0;
	learns(lab, 1, 3, 1);
	/* Nothing says which is old. */
	lab->facts.prior_count = 0;
	place_is(lab, 1, 1, 3, 50, PLACE_FDB);
	assert_true(has_conflict(lab, "nic.two_ports"));
	/* Back and forth. */
	lab->facts.prior_count = 1;
	lab->priors[0].moves = 3;
	conclude(lab);
	assert_true(has_conflict(lab, "nic.flapping"));
	assert_int_equal(fabric_place_find(&lab->conclusion, nic_mac(1))->certainty, 40);
}

static void silence_is_no_absence(void **state)
{
	struct lab *lab = *state;

	lab->priors[0] =
		(struct fabric_prior){.mac = nic_mac(1), .at = {1, 3}, .seen_us = NOW - 60 * MIN};
	lab->facts.prior_count = 1;
	place_is(lab, 1, 1, 3, 55, PLACE_EARLIER);
	assert_int_equal(fabric_place_find(&lab->conclusion, nic_mac(1))->seen_us, NOW - 60 * MIN);
	/* Seen there: nothing to remember. Seen elsewhere: it has moved. */
	learns(lab, 1, 3, 1);
	place_is(lab, 1, 1, 3, 80, PLACE_FDB);
	lab->readings[1].fdb_count = 0;
	learns(lab, 2, 0, 1);
	place_is(lab, 1, 2, 0, 80, PLACE_FDB);
	/* Another one of ours is in its port now. */
	lab->readings[2].fdb_count = 0;
	learns(lab, 1, 3, 2);
	place_is(lab, 1, -1, 0, 0, 0);
	lab->readings[1].fdb_count = 0;
	/* The port lost its link: nobody knows. */
	lab->readings[2].fdb_count = 0;
	lab->ports[1][3].up = false;
	place_is(lab, 1, -1, 0, 0, 0);
}

static void names_in_many_spellings(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{"GigabitEthernet1/0/3", "Gi1/0/3", true},
		{"gigabitethernet 1/0/3", "GigabitEthernet1/0/3", true},
		{"1/1/3", "ethernet1/1/3", true},
		{"3", "Ethernet3", false},
		{"Gi1/0/3", "Te1/0/3", false},
		{"Gi1/0/3", "Gi1/0/13", false},
		{"swp1", "swp1", true},
		{"mgmt", "management", false},
		{"", "Gi1/0/3", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(match_names(rows[i].a, rows[i].b), rows[i].same);
}

/* --- the plan ----------------------------------------------------------------------------- */

static const struct wiring_difference *compare(struct lab *lab, const struct wiring_row rows[],
					       size_t count, struct wiring_found *found)
{
	free(found->items);
	*found = (struct wiring_found){0};
	conclude(lab);
	assert_int_equal(wiring_policy_compare(&lab->facts, &lab->conclusion, rows, count, found),
			 0);
	return found->items;
}

static void the_plan_for_nodes(void **state)
{
	struct lab *lab = *state;
	const struct wiring_row rows[] = {
		{.switch_id = 11,
		 .port = "Ethernet1/4",
		 .node_id = 101,
		 .node = "n1",
		 .nic = "eth0"},
		{.switch_id = 12, .port = "Ethernet1/5", .node_id = 102, .node = "n2", .nic = ""},
	};
	struct wiring_found found = {0};
	const struct wiring_difference *items;

	/* as planned */
	learns(lab, 1, 3, 1);
	learns(lab, 2, 4, 2);
	(void)compare(lab, rows, 2, &found);
	assert_int_equal(found.count, 0);
	/* swapped */
	lab->readings[1].fdb_count = lab->readings[2].fdb_count = 0;
	learns(lab, 1, 3, 2);
	learns(lab, 2, 4, 1);
	items = compare(lab, rows, 2, &found);
	assert_int_equal(found.count, 2);
	assert_string_equal(items[0].kind, "wiring.miscabled");
	assert_string_equal(items[0].message,
			    "node n1:eth0 belongs into s1:Ethernet1/4 and is in s2:Ethernet1/5");
	assert_string_equal(items[0].hint, "swap the cables in s1:Ethernet1/4 and s2:Ethernet1/5");
	/* one is in the wrong port, the other missing; n3 came without a plan */
	lab->readings[1].fdb_count = lab->readings[2].fdb_count = 0;
	lab->ports[2][4].up = false;
	learns(lab, 1, 2, 1);
	learns(lab, 2, 0, 3);
	items = compare(lab, rows, 2, &found);
	assert_int_equal(found.count, 3);
	assert_string_equal(items[0].hint, "move the cable from s1:Ethernet1/3 to s1:Ethernet1/4");
	assert_string_equal(items[1].kind, "wiring.missing");
	assert_false(items[1].warning);
	assert_string_equal(items[2].kind, "wiring.unexpected");
	assert_string_equal(items[2].port, "Ethernet1/1");
	/* a switch that does not answer accuses nobody */
	lab->sources[1].fresh = false;
	(void)compare(lab, rows, 1, &found);
	assert_int_equal(found.count, 0);
	free(found.items);
}

static void the_plan_for_links(void **state)
{
	struct lab *lab = *state;
	const struct wiring_row rows[] = {{.switch_id = 10,
					   .port = "Ethernet1/1",
					   .node = "",
					   .nic = "",
					   .peer_id = 11,
					   .peer = "s1",
					   .peer_port = "Ethernet1/2"}};
	struct wiring_found found = {0};
	const struct wiring_difference *items;

	hears_switch(lab, 0, 0, 1, "Ethernet1/2");
	hears_switch(lab, 1, 1, 0, "Ethernet1/1");
	(void)compare(lab, rows, 1, &found);
	assert_int_equal(found.count, 0);
	lab->readings[1].neighbor_count = 0;
	lab->readings[0].neighbor_count = 0;
	hears_switch(lab, 0, 0, 1, "Ethernet1/3");
	hears_switch(lab, 1, 2, 0, "Ethernet1/1");
	items = compare(lab, rows, 1, &found);
	assert_int_equal(found.count, 1);
	assert_string_equal(items[0].hint, "move the end in s1:Ethernet1/3 to s1:Ethernet1/2");
	lab->readings[0].neighbor_count = lab->readings[1].neighbor_count = 0;
	items = compare(lab, rows, 1, &found);
	assert_int_equal(found.count, 1);
	assert_string_equal(items[0].kind, "wiring.missing");
	lab->sources[1].fresh = false;
	(void)compare(lab, rows, 1, &found);
	assert_int_equal(found.count, 0);
	free(found.items);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_ends_agree),
		TEST(stacks_confuse_numbers),
		TEST(one_mac_for_all_ports),
		TEST(one_end_only),
		TEST(two_on_one_port),
		TEST(two_claims_on_one_port),
		TEST(a_cable_to_itself),
		TEST(clones),
		TEST(a_node_that_calls_itself_a_switch),
		TEST(aggregates_follow_from_members),
		TEST(ports_that_are_down_stay_what_they_were),
		TEST(an_uplink_is_given_up_for_a_node_only),
		TEST(edges_not_uplinks),
		TEST(mac_zero_is_nobody),
		TEST(sources_agree),
		TEST(a_number_of_option82_is_no_ifindex),
		TEST(fresh_lldp_beats_fdb_old_does_not),
		TEST(a_moved_cable),
		TEST(silence_is_no_absence),
		TEST(names_in_many_spellings),
		TEST(the_plan_for_nodes),
		TEST(the_plan_for_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
