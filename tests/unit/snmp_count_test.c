// links: peregrine_switch common_io common_base
/* Counted again, 2026-11-26, with 324 recorded switches: what of them was read wrongly, or passed for
 * whole and was not. Numbers are those of the findings; the values are ours. */
#include "tests/unit/snmp_agent_fixture.h"

/* An AP whose base ports are of interface -1, an SLX whose are 0. */
static void counts_7_addresses_at_no_interface_are_counted(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 4);
	responder_number(&world->agent, -1, BRIDGE ".9");
	responder_number(&world->agent, 0, BRIDGE ".10");
	add_address(&world->agent, 1, 1);
	add_address(&world->agent, 2, 9);
	add_address(&world->agent, 3, 10);
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.fdb_count, 1);
	assert_told(world, TOLD_ADDRESSES, TOLD_PARTIAL, "2 addresses");
}

/* Ubiquoss and MICROSENS write an ifIndex; a number that is neither is told. One base port among
 * them, or one interface that is no bridge port, and nothing is believed. */
static void counts_7_addresses_may_be_at_if_indexes(void **state)
{
	static const struct {
		unsigned other;
		size_t count;
	} rows[] = {{701, 2}, {3, 1}, {300, 0}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct world *world = *state;

		add_switch(&world->agent, 4);
		add_port(&world->agent, 300, 0, "lo");
		responder_number(&world->agent, 1, DOT1Q ".4.5.1.1.101"); /* as it numbers PVIDs */
		for (size_t k = 0; k < world->agent.count; k++) {
			if (world->agent.rows[k].number == 6 &&
			    world->agent.rows[k].name.ids[world->agent.rows[k].name.count - 1] ==
				    300)
				world->agent.rows[k].number = 24;
		}
		add_address(&world->agent, 1, 101);
		add_address(&world->agent, 2, 104);
		add_address(&world->agent, 3, rows[i].other);
		responder_sort(&world->agent);
		read_all(world, "generic", 1000);
		assert_int_equal(world->rc, 0);
		assert_int_equal(world->reading.fdb_count, rows[i].count);
		if (i == 0)
			assert_int_equal(world->reading.fdb[1].if_index, 104);
		assert_true(told(world, TOLD_ADDRESSES)->failed);
		world->agent.count = 0;
	}
}

/* VOSS: every base port is of ifIndex 0, and its number is the ifIndex. Numbers that count from 1
 * may be anything. */
static void counts_7_base_ports_may_be_if_indexes(void **state)
{
	static const unsigned firsts[] = {192, 1};

	for (size_t i = 0; i < COUNT_OF(firsts); i++) {
		struct world *world = *state;

		for (unsigned k = 0; k < 4; k++) {
			char name[32];

			(void)snprintf(name, sizeof(name), "1/%u", k + 1);
			add_port(&world->agent, firsts[i] + k, 0, name);
			responder_number(&world->agent, 0, BRIDGE ".%u", firsts[i] + k);
		}
		add_address(&world->agent, 1, firsts[i] + 2);
		responder_sort(&world->agent);
		read_all(world, "generic", 1000);
		assert_int_equal(world->rc, 0);
		assert_int_equal(world->reading.fdb_count, i == 0);
		if (i == 0)
			assert_int_equal(world->reading.fdb[0].if_index, 194);
		assert_int_equal(world->reading.ports[3].base_port, i == 0 ? 195 : 0);
		world->agent.count = 0;
	}
}

/* ZyXEL, V-SOL and EdgeSwitch in Q-BRIDGE-MIB, AOS-CX in BRIDGE-MIB. */
static void counts_an_index_may_repeat_the_length_of_a_mac(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 4);
	responder_number(&world->agent, 3, DOT1Q ".2.2.1.2.1.6.2.0.0.0.0.7");
	responder_number(&world->agent, 3, DOT1Q ".2.2.1.3.1.6.2.0.0.0.0.7");
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.fdb_count, 1);
	assert_int_equal(world->reading.fdb[0].mac[5], 7);
	assert_int_equal(world->reading.fdb[0].vlan, 1);
	assert_int_equal(world->reading.fdb[0].if_index, 103);
	assert_told(world, TOLD_ADDRESSES, TOLD_WHOLE, "");
}

static void counts_of_bridge_mib_as_well(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 4);
	responder_number(&world->agent, 3, "1.3.6.1.2.1.17.4.3.1.2.6.2.0.0.0.0.7");
	responder_number(&world->agent, 2, "1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.8");
	responder_sort(&world->agent);
	read_all(world, "aruba-cx", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.fdb_count, 2);
	assert_int_equal(world->reading.fdb[0].mac[5], 7);
	assert_int_equal(world->reading.fdb[0].if_index, 103);
	assert_int_equal(world->reading.fdb[1].if_index, 102);
}

/* FortiSwitch and Netonix number the rows of an FDB, RouterOS those of its neighbours. */
static void counts_7_rows_without_an_index_are_told(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 4);
	for (unsigned i = 1; i <= 3; i++) {
		responder_number(&world->agent, 1, "1.3.6.1.2.1.17.4.3.1.2.%u", i);
		responder_bytes(&world->agent, "x", 1, "1.0.8802.1.1.2.1.4.1.1.7.%u", i);
	}
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_told(world, TOLD_ADDRESSES, TOLD_MISSING, "addresses: 3 values without");
	assert_told(world, TOLD_NEIGHBORS, TOLD_MISSING, "LLDP neighbours: 3 values without");
	assert_true(told(world, TOLD_ADDRESSES)->failed);
}

/* 32 recorded switches show aggregates by ifType alone: their members pass for ports. */
static void counts_3_aggregates_without_members_are_told(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 4);
	add_port(&world->agent, 200, 0, "lag1");
	responder_sort(&world->agent);
	for (size_t i = 0; i < world->agent.count; i++) {
		if (world->agent.rows[i].number == 6)
			world->agent.rows[i].number = 161;
	}
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_told(world, TOLD_AGGREGATES, TOLD_PARTIAL, "shows 5 aggregates, and not who");
	assert_true(told(world, TOLD_AGGREGATES)->failed);
	/* IEEE8023-LAG-MIB: nobody is in any of them. */
	responder_number(&world->agent, 0, "1.2.840.10006.300.43.1.2.1.1.13.101");
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_told(world, TOLD_AGGREGATES, TOLD_WHOLE, "");
}

/* Huawei, SLX and an AP show dot1qVlanCurrentTable alone, others the names of VLANs alone. */
static void no_port_shows_its_vlans(struct world *world)
{
	add_port(&world->agent, 101, 1, "p1");
	responder_number(&world->agent, 1, DOT1Q ".4.5.1.1.1");
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.vlan_count, 1);
	assert_false(world->reading.ports[0].has_vlans);
	assert_told(world, TOLD_VLANS, TOLD_PARTIAL, "of no port which ones it is in");
}

static void counts_7_current_vlans_alone_are_told(void **state)
{
	struct world *world = *state;

	responder_number(&world->agent, 1, DOT1Q ".4.2.1.3.0.1");
	responder_bytes(&world->agent, "\x80", 1, DOT1Q ".4.2.1.4.0.1");
	no_port_shows_its_vlans(world);
}

static void counts_7_vlans_without_lists_are_told(void **state)
{
	struct world *world = *state;

	responder_bytes(&world->agent, "one", 3, DOT1Q ".4.3.1.1.1");
	no_port_shows_its_vlans(world);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(counts_7_addresses_at_no_interface_are_counted),
		TEST(counts_7_addresses_may_be_at_if_indexes),
		TEST(counts_7_base_ports_may_be_if_indexes),
		TEST(counts_an_index_may_repeat_the_length_of_a_mac),
		TEST(counts_of_bridge_mib_as_well),
		TEST(counts_7_rows_without_an_index_are_told),
		TEST(counts_3_aggregates_without_members_are_told),
		TEST(counts_7_current_vlans_alone_are_told),
		TEST(counts_7_vlans_without_lists_are_told),
	};

	return cmocka_run_group_tests(tests, group_up, group_down);
}
