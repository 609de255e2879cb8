// links: peregrine_fabric peregrine_switch common_net common_base
/* Cables and kinds of ports, with what switches really say (other spellings, MACs as port ids,
 * clones, liars, hubs, aggregates). */
#include "peregrine/control/fabric/match_policy.h"
#include "tests/support/fabric_lab.h"

/* --- one cable between s0:1 and s1:2, told in many ways --- */

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

static const char *conflict_text(const struct lab *lab, const char *kind)
{
	for (size_t i = 0; i < lab->conclusion.conflict_count; i++) {
		if (strcmp(lab->conclusion.conflicts[i].kind, kind) == 0)
			return lab->conclusion.conflicts[i].message;
	}
	return "";
}

static void clones(void **state)
{
	struct lab *lab = *state;

	(void)text_copy(lab->readings[2].identity.chassis, 64, lab->readings[1].identity.chassis);
	(void)text_copy(hears_switch(lab, 0, 0, 1, "Ethernet1/2")->system, 64, "S1.example.net");
	hears_switch(lab, 1, 1, 0, "Ethernet1/1");
	conclude(lab);
	assert_string_equal(link_text(lab, 0), "s0:1-s1:2 confirmed");
	assert_string_equal(
		conflict_text(lab, "fabric.chassis_shared"),
		"switch s2 reports the chassis id of switch s1 (02:00:00:00:00:10): it is not configured");
	assert_true(has_conflict(lab, "fabric.chassis_shared"));
	/* The one that was entered first is set, whatever its number. */
	lab->sources[1].since_us = 7;
	conclude(lab);
	assert_string_equal(
		conflict_text(lab, "fabric.chassis_shared"),
		"switch s1 reports the chassis id of switch s2 (02:00:00:00:00:10): it is not configured");
	/* A name may be many a switch's: told, no more. */
	(void)text_copy(lab->readings[1].identity.chassis, 64, "Switch");
	(void)text_copy(lab->readings[2].identity.chassis, 64, "Switch");
	conclude(lab);
	assert_string_equal(conflict_text(lab, "fabric.chassis_shared"),
			    "switch s1 reports the chassis id of switch s2 (Switch)");
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

/* Two nodes of one tenant, each of which tells that it is the other's leaf: both ends agree. From
 * so many addresses that no node would have them. */
static void two_nodes_that_tell_of_each_others_ports(void **state)
{
	static const uint8_t given[PORTS] = {[3] = 1};
	struct lab *lab = *state;

	for (unsigned i = 0; i < 2; i++)
		hears_switch(lab, i, 3, 1 - i, "Ethernet1/4");
	conclude(lab);
	assert_string_equal(link_text(lab, 0), "s0:4-s1:4 confirmed"); /* as cables are found */
	for (unsigned row = 0; row < 4; row++) {
		static const uint8_t prior[PORTS] = {[3] = PORT_UPLINK};

		lab->sources[0].given = row == 1 ? NULL : given;
		lab->sources[1].given = row == 0 ? NULL : given;
		lab->sources[0].prior_kinds = row == 3 ? prior : NULL;
		lab->sources[1].fresh = row < 2;
		if (row == 2) /* one of them is silent, and its switch does not answer */
			lab->readings[1].neighbor_count = 0;
		conclude(lab);
		assert_string_equal(link_text(lab, 0), "s0:4-s1:4 conflict");
		assert_true(has_conflict(lab, "fabric.lldp_lie"));
		if (row != 1)
			assert_int_equal(lab->conclusion.kinds[0][3], PORT_EDGE);
		if (row != 0)
			assert_int_equal(lab->conclusion.kinds[1][3], PORT_EDGE);
	}
	/* So are they in aggregates. */
	for (unsigned i = 0; i < 2; i++) {
		lab->ports[i][5].is_lag = true;
		lab->ports[i][3].lag = lab->ports[i][5].if_index;
		lab->sources[i].prior_kinds = NULL;
	}
	conclude(lab);
	assert_int_equal(lab->conclusion.link_count, 1);
	assert_int_equal(lab->conclusion.kinds[0][5], PORT_EDGE);
	lab->sources[0].given = lab->sources[1].given = NULL;
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
	lab->sources[2].reading = NULL; /* who does not answer is nobody's other end here */
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_EDGE);
	assert_false(has_conflict(lab, "fabric.unread_peer"));
}

/* After a start nothing is known of how ports were, and s1 does not answer: what led to it does. */
static void who_is_not_read_yet_may_be_behind_its_cable(void **state)
{
	struct lab *lab = *state;
	static const uint32_t behind[PORTS] = {1 + 1};
	static const uint8_t given[PORTS] = {1};
	static const uint8_t prior[PORTS] = {0, 0, PORT_UPLINK};

	lab->sources[1].reading = NULL;
	lab->sources[0].unread = behind;
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
	assert_int_equal(lab->conclusion.kinds[0][1], PORT_EDGE);
	learns(lab, 0, 0, 1);
	conclude(lab); /* it is not asked yet: nothing to tell */
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
	assert_int_equal(lab->conclusion.conflict_count, 0);
	lab->sources[1].silent = true;
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
	assert_true(has_conflict(lab, "fabric.unread_peer"));
	/* Heard further on, through s0, where LLDP fell silent: it is still behind s1. */
	lab->sources[3].prior_kinds = prior;
	learns(lab, 3, 2, 1);
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[3][2], PORT_UPLINK);
	/* Nor is it a place to park anybody while it is down. */
	lab->ports[0][0].up = false;
	lab->readings[0].fdb_count = 0;
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_UPLINK);
	assert_int_equal(lab->conclusion.kinds[3][2], PORT_EDGE);
	assert_false(has_conflict(lab, "fabric.unread_peer"));
	lab->sources[0].given = given; /* what nodes were given is theirs */
	conclude(lab);
	assert_int_equal(lab->conclusion.kinds[0][0], PORT_EDGE);
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
		TEST(two_nodes_that_tell_of_each_others_ports),
		TEST(aggregates_follow_from_members),
		TEST(ports_that_are_down_stay_what_they_were),
		TEST(an_uplink_is_given_up_for_a_node_only),
		TEST(who_is_not_read_yet_may_be_behind_its_cable),
		TEST(names_in_many_spellings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
