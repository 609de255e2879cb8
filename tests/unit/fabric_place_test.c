// links: peregrine_fabric peregrine_switch common_net common_base
/* Where MACs are plugged in: sources that agree, that differ, that are old. */
#include "tests/support/fabric_lab.h"

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

/* switches 12: rows that are kept are what a turn of the loop costs. A NIC of ours is found. */
static void switches_12_strangers_of_one_switch_are_bounded(void **state)
{
	enum { STRANGERS = 40000 };
	struct lab *lab = *state;
	struct switch_fdb_entry *fdb = calloc(STRANGERS + 1, sizeof(*fdb));

	assert_non_null(fdb);
	for (unsigned i = 0; i < STRANGERS; i++)
		fdb[i] = (struct switch_fdb_entry){
			.mac = {2, 1, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}, .if_index = 307};
	fdb[STRANGERS].if_index = 307;
	memcpy(fdb[STRANGERS].mac, nic_mac(1).bytes, 6);
	lab->readings[1].fdb = fdb;
	lab->readings[1].fdb_count = STRANGERS + 1;
	place_is(lab, 1, 1, 3, 80, PLACE_FDB);
	assert_int_equal(lab->conclusion.place_count, 32768 + 1);
	assert_true(has_conflict(lab, "fabric.many_addresses"));
	assert_non_null(strstr(lab->conclusion.conflicts[0].message, "7232 addresses"));
	lab->readings[1].fdb = lab->fdb[1];
	free(fdb);
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

/* S22: what a neighbour says of other ports is held against the address table. */
static void lldp_is_held_against_the_address_table(void **state)
{
	struct lab *lab = *state;
	const int64_t holder[PORTS] = {[3] = 102};

	hears(lab, 1, 3, "52:54:00:00:00:09", "52:54:00:00:00:01")->port_subtype = 3;
	place_is(lab, 1, 1, 3, 95, PLACE_LLDP); /* nothing speaks against it */
	/* A list without a total may have forged rows: the node has to be seen there. */
	lab->readings[1].neighbors_uncounted = true;
	place_is(lab, 1, -1, 0, 0, 0);
	learns(lab, 1, 3, 1);
	place_is(lab, 1, 1, 3, 100, PLACE_FDB | PLACE_LLDP);
	lab->readings[1].fdb_count = 0;
	lab->readings[1].neighbors_uncounted = false;
	lab->readings[1].ports[3].up = false;
	place_is(lab, 1, -1, 0, 0, 0);
	lab->readings[1].ports[3].up = true;
	learns(lab, 1, 3, 2); /* another node's NIC is seen there */
	lab->nics[1].idle = true;
	place_is(lab, 1, -1, 0, 0, 0);
	assert_int_equal(lab->conclusion.conflict_count, 0);
	lab->sources[1].holder = holder; /* and the port is that node's: told */
	place_is(lab, 1, -1, 0, 0, 0);
	assert_true(has_conflict(lab, "nic.foreign_port"));
	lab->sources[1].holder = NULL;
	learns(lab, 1, 3, 1);
	place_is(lab, 1, 1, 3, 100, PLACE_FDB | PLACE_LLDP);
	lab->readings[1].fdb_count = 0;
	learns(lab, 1, 4, 1); /* a free node is seen at another port */
	place_is(lab, 1, 1, 4, 80, PLACE_FDB);
	lab->nics[1].idle = false; /* of one in use a bond may be at both */
	place_is(lab, 1, 1, 3, 95, PLACE_LLDP);
	lab->nics[1].idle = true;
	lab->readings[1].ports[3].lag = lab->readings[1].ports[4].if_index;
	place_is(lab, 1, 1, 3, 95, PLACE_LLDP);
	lab->readings[1].ports[3].lag = 0;
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

/* An entry from before its port lost the link says nothing: what is new elsewhere wins at once. */
static void an_entry_from_before_the_cut_does_not_count(void **state)
{
	struct lab *lab = *state;
	uint8_t old[ROWS] = {0};

	learns(lab, 1, 3, 1);
	lab->sources[1].fdb_old = old;
	place_is(lab, 1, 1, 3, 80, PLACE_FDB);
	old[0] = 1;
	place_is(lab, 1, -1, 0, 0, 0);
	learns(lab, 2, 0, 1);
	place_is(lab, 1, 2, 0, 80, PLACE_FDB);
	assert_false(fabric_place_find(&lab->conclusion, nic_mac(1))->doubted);
	assert_int_equal(lab->conclusion.conflict_count, 0);
	/* Where it was is remembered, less surely, until it is seen. */
	lab->readings[2].fdb_count = 0;
	lab->priors[0] =
		(struct fabric_prior){.mac = nic_mac(1), .at = {1, 3}, .seen_us = NOW - MIN};
	lab->facts.prior_count = 1;
	place_is(lab, 1, 1, 3, 55, PLACE_EARLIER);
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

/* A rented node sends under the MAC of a free one, which is silent: that moves nobody. */
static void a_mac_at_the_port_of_another_node_is_no_place(void **state)
{
	struct lab *lab = *state;
	int64_t holder[PORTS] = {[3] = 102};

	lab->sources[1].holder = holder;
	lab->nics[1].idle = true;
	learns(lab, 1, 3, 2); /* who rents the port */
	learns(lab, 1, 3, 1);
	hears(lab, 1, 3, "52:54:00:00:00:09", "52:54:00:00:00:01")->port_subtype = 3;
	place_is(lab, 1, -1, 0, 0, 0);
	assert_true(has_conflict(lab, "nic.foreign_port"));
	assert_int_equal(lab->conclusion.conflicts[0].at.source, 1);
	assert_int_equal(lab->conclusion.conflicts[0].at.port, 3);
	assert_non_null(strstr(lab->conclusion.conflicts[0].message, "eth0 of node n1"));
	assert_non_null(strstr(lab->conclusion.conflicts[0].message, "node n2's"));
	place_is(lab, 2, 1, 3, 80, PLACE_FDB);
	/* Where it was it stays, whatever is told of it besides. */
	lab->nics[1].heard_chassis = lab->readings[1].identity.chassis;
	lab->nics[1].heard_port = "Ethernet1/4";
	lab->nics[1].heard_us = NOW - MIN;
	lab->priors[0] =
		(struct fabric_prior){.mac = nic_mac(1), .at = {2, 0}, .seen_us = NOW - MIN};
	lab->facts.prior_count = 1;
	place_is(lab, 1, 2, 0, 55, PLACE_EARLIER);
	/* Having been there before the port was given away counts no more. */
	lab->priors[0].at = (struct port_ref){1, 3};
	place_is(lab, 1, -1, 0, 0, 0);
	/* A tenant's node may have been moved there (guard_policy); its own port is its own. */
	lab->facts.prior_count = 0;
	lab->nics[1].idle = false;
	lab->nics[1].heard_port = "";
	place_is(lab, 1, 1, 3, 100, PLACE_FDB | PLACE_LLDP);
	assert_false(has_conflict(lab, "nic.foreign_port"));
	lab->nics[1].idle = true;
	holder[3] = 101;
	place_is(lab, 1, 1, 3, 100, PLACE_FDB | PLACE_LLDP);
}

/* A rented node sends under the MAC of another one that is in use: that one stays where it is. */
static void an_address_that_is_sent_from_elsewhere_moves_nobody(void **state)
{
	struct lab *lab = *state;
	int64_t own[PORTS] = {[3] = 101};
	int64_t others[PORTS] = {[0] = 102};
	int64_t cut_us[PORTS] = {0};

	lab->sources[1].holder = own;
	lab->sources[1].cut_us = cut_us;
	lab->sources[2].holder = others;
	lab->priors[0] =
		(struct fabric_prior){.mac = nic_mac(1), .at = {1, 3}, .seen_us = NOW - MIN};
	lab->facts.prior_count = 1;
	learns(lab, 1, 3, 1);
	learns(lab, 2, 0, 1);
	learns(lab, 2, 4, 1); /* and from a port that is nobody's */
	place_is(lab, 1, 1, 3, 80, PLACE_FDB);
	assert_int_equal(lab->conclusion.stray_count, 2);
	assert_true(port_ref_equal(lab->conclusion.strays[0].at, (struct port_ref){2, 0}));
	assert_true(has_conflict(lab, "nic.foreign_port"));
	assert_string_equal(
		lab->conclusion.conflicts[0].message,
		"NIC eth0 of node n1 is heard here, and the port is node n2's: not believed");
	assert_string_equal(
		lab->conclusion.conflicts[1].message,
		"NIC eth0 of node n1 is heard here, and its own port kept its link: not believed");
	/* By LLDP, too; and while it is silent and its link was not lost. */
	hears(lab, 2, 0, "52:54:00:00:00:09", "52:54:00:00:00:01")->port_subtype = 3;
	place_is(lab, 1, 1, 3, 80, PLACE_FDB);
	lab->readings[1].fdb_count = 0;
	place_is(lab, 1, 1, 3, 55, PLACE_EARLIER);
	assert_int_equal(lab->conclusion.stray_count, 2);
	/* Its link was lost since: it may be there. */
	cut_us[3] = NOW;
	place_is(lab, 1, 2, 0, 100, PLACE_FDB | PLACE_LLDP);
	assert_int_equal(lab->conclusion.stray_count, 0);
	/* It is heard at its own port again. */
	learns(lab, 1, 3, 1);
	place_is(lab, 1, 1, 3, 80, PLACE_FDB);
	/* Our own agent is on it elsewhere, and says so. */
	lab->nics[1].heard_chassis = lab->readings[2].identity.chassis;
	lab->nics[1].heard_port = "Ethernet1/1";
	lab->nics[1].heard_us = NOW - MIN;
	place_is(lab, 1, 2, 0, 100, PLACE_FDB | PLACE_LLDP | PLACE_AGENT);
	assert_int_equal(lab->conclusion.stray_count, 0);
}

/* What an agent or a relay said of it once says neither that it is there nor that it left. */
static void a_silent_node_that_was_inspected_stays(void **state)
{
	struct lab *lab = *state;
	int64_t own[PORTS] = {[3] = 101};
	int64_t cut_us[PORTS] = {0};

	lab->sources[1].holder = own;
	lab->sources[1].cut_us = cut_us;
	lab->nics[1].heard_chassis = lab->readings[1].identity.chassis;
	lab->nics[1].heard_port = "Ethernet1/4";
	lab->nics[1].heard_us = NOW - 60 * MIN;
	lab->priors[0] =
		(struct fabric_prior){.mac = nic_mac(1), .at = {1, 3}, .seen_us = NOW - 30 * MIN};
	lab->facts.prior_count = 1;
	learns(lab, 2, 4, 1);
	place_is(lab, 1, 1, 3, 60, PLACE_AGENT | PLACE_EARLIER);
	assert_int_equal(lab->conclusion.stray_count, 1);
	hears(lab, 2, 4, "52:54:00:00:00:09", "52:54:00:00:00:01")->port_subtype = 3;
	place_is(lab, 1, 1, 3, 60, PLACE_AGENT | PLACE_EARLIER);
	/* It lost its link after it was heard for the last time: it may have been moved. */
	cut_us[3] = NOW - 29 * MIN;
	place_is(lab, 1, 2, 4, 100, PLACE_FDB | PLACE_LLDP);
	assert_int_equal(lab->conclusion.stray_count, 0);
}

/* Also when it lost its link: another tenant's port is no place for it, and tells of who is there.
 */
static void the_port_of_another_tenant_is_no_place(void **state)
{
	struct lab *lab = *state;
	int64_t own[PORTS] = {[3] = 101};
	int64_t others[PORTS] = {[0] = 102};
	int64_t cut_us[PORTS] = {[3] = NOW};

	lab->nics[1].tenant_id = 1;
	lab->nics[2].tenant_id = 2;
	lab->sources[1].holder = own;
	lab->sources[1].cut_us = cut_us;
	lab->sources[2].holder = others;
	lab->priors[0] =
		(struct fabric_prior){.mac = nic_mac(1), .at = {1, 3}, .seen_us = NOW - MIN};
	lab->facts.prior_count = 1;
	lab->ports[1][3].up = false;
	learns(lab, 2, 0, 1);
	place_is(lab, 1, -1, 0, 0, 0);
	assert_int_equal(lab->conclusion.stray_count, 1);
	assert_true(port_ref_equal(lab->conclusion.strays[0].at, (struct port_ref){2, 0}));
	assert_true(has_conflict(lab, "nic.foreign_port"));
	/* Both are one tenant's: its cable was moved. */
	lab->nics[2].tenant_id = 1;
	place_is(lab, 1, 2, 0, 80, PLACE_FDB);
	assert_int_equal(lab->conclusion.stray_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(edges_not_uplinks),
		TEST(mac_zero_is_nobody),
		TEST(switches_12_strangers_of_one_switch_are_bounded),
		TEST(sources_agree),
		TEST(a_number_of_option82_is_no_ifindex),
		TEST(fresh_lldp_beats_fdb_old_does_not),
		TEST(lldp_is_held_against_the_address_table),
		TEST(a_moved_cable),
		TEST(an_entry_from_before_the_cut_does_not_count),
		TEST(silence_is_no_absence),
		TEST(a_mac_at_the_port_of_another_node_is_no_place),
		TEST(an_address_that_is_sent_from_elsewhere_moves_nobody),
		TEST(a_silent_node_that_was_inspected_stays),
		TEST(the_port_of_another_tenant_is_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
