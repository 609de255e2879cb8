// links: peregrine_switch common_io common_base
//: timeout 120
/* Findings "switches": a real driver against an agent with the faults of real ones. What of a
 * reading did not come is told, a fault costs what it is about and nothing else, and the work grows
 * with the rows. */
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/snmp/snmp_driver.h"
#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_told.h"
#include "peregrine/switch/snmp/snmp_walk.h"
#include "peregrine/switch/switch_family_table.h"
#include "tests/support/snmp_responder.h"

#define IF_TABLE "1.3.6.1.2.1.2.2.1"
#define IF_X     "1.3.6.1.2.1.31.1.1.1"
#define BRIDGE   "1.3.6.1.2.1.17.1.4.1.2"
#define DOT1Q    "1.3.6.1.2.1.17.7.1"
#define VTP      "1.3.6.1.4.1.9.9.46.1"

struct world {
	struct loop *loop;
	struct snmp_client *client;
	struct responder agent;
	const struct switch_driver *driver;
	void *session;
	struct switch_reading reading;
	struct problem problem;
	int rc;
};

/* One client per process: Net-SNMP's state is the process's. */
static struct world only;

static int group_up(void **state)
{
	(void)state;
	assert_int_equal(loop_new(&only.loop), 0);
	assert_int_equal(snmp_client_new(only.loop, &only.client), 0);
	return 0;
}

static int group_down(void **state)
{
	(void)state;
	snmp_client_free(only.client);
	loop_free(only.loop);
	return 0;
}

static int world_up(void **state)
{
	only = (struct world){
		.loop = only.loop, .client = only.client, .driver = &snmp_switch_driver};
	responder_up(&only.agent, only.loop);
	*state = &only;
	return 0;
}

static int world_down(void **state)
{
	struct world *world = *state;

	world->driver->close(world->session);
	switch_reading_done(&world->reading);
	responder_down(&world->agent);
	return 0;
}

static void on_done(void *context, int rc, struct switch_reading *reading,
		    const struct problem *problem)
{
	struct world *world = context;

	world->rc = rc;
	switch_reading_done(&world->reading);
	if (rc)
		world->problem = *problem;
	else if (reading) {
		world->reading = *reading;
		*reading = (struct switch_reading){0};
	}
	loop_stop(world->loop);
}

static void call(struct world *world, const struct switch_request *request)
{
	assert_int_equal(world->driver->start(world->session, request, clock_monotonic_ms() + 60000,
					      on_done, world),
			 0);
	loop_run(world->loop);
}

static void read_all(struct world *world, const char *family, uint32_t timeout_ms)
{
	const struct switch_request request = {.op = SWITCH_READ, .parts = PART_ALL};
	const struct switch_host host = {.loop = world->loop, .snmp = world->client};
	const struct switch_endpoint endpoint = {.name = "s1",
						 .address = "127.0.0.1",
						 .snmp_port = world->agent.port,
						 .snmp_community = "public",
						 .snmp_write_community = "secret",
						 .timeout_ms = timeout_ms,
						 .retries = 2};

	if (!world->session)
		assert_int_equal(world->driver->open(&endpoint, switch_family_find(family), &host,
						     &world->session, &world->problem),
				 0);
	call(world, &request);
}

/* --- what an agent shows --- */

static void add_port(struct responder *agent, unsigned if_index, unsigned base_port,
		     const char *name)
{
	responder_bytes(agent, name, strlen(name), IF_TABLE ".2.%u", if_index);
	responder_number(agent, 6, IF_TABLE ".3.%u", if_index);
	responder_number(agent, 1, IF_TABLE ".7.%u", if_index);
	responder_number(agent, 1, IF_TABLE ".8.%u", if_index);
	responder_bytes(agent, name, strlen(name), IF_X ".1.%u", if_index);
	if (base_port)
		responder_number(agent, if_index, BRIDGE ".%u", base_port);
}

static void add_switch(struct responder *agent, unsigned ports)
{
	responder_bytes(agent, "a switch", 8, "1.3.6.1.2.1.1.1.0");
	for (unsigned i = 1; i <= ports; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "p%u", i);
		add_port(agent, 100 + i, i, name);
		responder_number(agent, 1, DOT1Q ".4.5.1.1.%u", i);
	}
	responder_bytes(agent, "one", 3, DOT1Q ".4.3.1.1.1");
	responder_bytes(agent, "\xff", 1, DOT1Q ".4.3.1.2.1");
	responder_bytes(agent, "\xff", 1, DOT1Q ".4.3.1.4.1");
	responder_number(agent, 1, DOT1Q ".4.3.1.5.1");
}

static void add_address(struct responder *agent, unsigned number, unsigned base_port)
{
	responder_number(agent, base_port, DOT1Q ".2.2.1.2.1.2.0.0.0.%u.%u", number / 256,
			 number % 256);
	responder_number(agent, 3, DOT1Q ".2.2.1.3.1.2.0.0.0.%u.%u", number / 256, number % 256);
}

static const struct switch_told *told(const struct world *world, enum told_part part)
{
	return &world->reading.told[part];
}

#define assert_told(world, part, is_state, word)                                        \
	do {                                                                            \
		assert_int_equal(told(world, part)->state, is_state);                   \
		if (!strstr(told(world, part)->why, word))                              \
			fail_msg("\"%s\" has no \"%s\"", told(world, part)->why, word); \
	} while (0)

/* --- the tests --- */

static void a_whole_reading_is_told_as_whole(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 8);
	add_address(&world->agent, 1, 3);
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.port_count, 8);
	assert_int_equal(world->reading.fdb_count, 1);
	assert_told(world, TOLD_PORTS, TOLD_WHOLE, "");
	assert_told(world, TOLD_VLANS, TOLD_WHOLE, "");
	assert_told(world, TOLD_ADDRESSES, TOLD_WHOLE, "");
	assert_told(world, TOLD_NEIGHBORS, TOLD_MISSING, "no LLDP-MIB");
	assert_told(world, TOLD_AGGREGATES, TOLD_MISSING, "neither");
	assert_false(told(world, TOLD_AGGREGATES)->failed);
}

static void switches_1_a_base_port_of_32_bits_is_read(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 2);
	add_port(&world->agent, 500, 3000000000U, "far");
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(switch_reading_port(&world->reading, 500)->base_port, 3000000000U);
}

static void add_vtp(struct responder *agent, unsigned vlans)
{
	add_port(agent, 101, 7, "Gi1/0/1");
	responder_number(agent, 1, VTP ".6.1.1.13.101");
	for (unsigned i = 1; i <= vlans; i++) {
		responder_number(agent, 1, VTP ".3.1.1.2.1.%u", i);
		responder_number(agent, 1, VTP ".3.1.1.3.1.%u", i);
		responder_bytes(agent, "v", 1, VTP ".3.1.1.4.1.%u", i);
	}
	responder_number(agent, 7, "1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.9");
	responder_number(agent, 3, "1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.0.9");
	responder_sort(agent);
}

static void switches_2_a_silent_context_costs_its_addresses(void **state)
{
	struct world *world = *state;

	add_vtp(&world->agent, 4);
	world->agent.silent_of_vlan = ",3,";
	read_all(world, "cisco-ios", 200);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.port_count, 1);
	assert_int_equal(world->reading.vlan_count, 4);
	assert_int_equal(world->reading.fdb_count, 3);
	assert_false(world->reading.parts & PART_FDB);
	assert_true(world->reading.parts & PART_VLANS);
	assert_told(world, TOLD_ADDRESSES, TOLD_PARTIAL, "1 of 4 VLANs");
	assert_told(world, TOLD_ADDRESSES, TOLD_PARTIAL, "no answer): 3");
	assert_true(told(world, TOLD_ADDRESSES)->failed);
}

static void switches_2_many_silent_contexts_end(void **state)
{
	struct world *world = *state;
	unsigned heard;

	add_vtp(&world->agent, 40);
	world->agent.silent_of_vlan =
		",1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,"
		"24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,";
	read_all(world, "cisco-ios", 400);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.vlan_count, 40);
	/* The bridge without a context is there, too; of which VLAN it is nobody says. */
	assert_told(world, TOLD_ADDRESSES, TOLD_PARTIAL, "40 of 40 VLANs");
	assert_int_equal(world->reading.fdb_count, 1);
	assert_int_equal(world->reading.fdb[0].vlan, 0);
	heard = world->agent.heard;
	/* 40 contexts are not asked in one reading; those that answer are not behind the others. */
	assert_in_range(heard, 1, 100);
	world->agent.silent_of_vlan = ",4,5,6,7,8,9,10,11,";
	read_all(world, "cisco-ios", 400);
	assert_int_equal(world->reading.fdb_count, 32);
	assert_told(world, TOLD_ADDRESSES, TOLD_PARTIAL, "8 of 40 VLANs");
}

static void switches_6_ports_named_alike_are_two(void **state)
{
	struct world *world = *state;
	struct switch_edit edit = {
		.kind = EDIT_PORT, .port = "internal#12", .after = {.native = 1}};
	enum edit_result result;
	const struct switch_request request = {
		.op = SWITCH_CHANGE, .edits = &edit, .edit_count = 1, .results = &result};
	char longest[64];

	add_switch(&world->agent, 2);
	add_port(&world->agent, 11, 11, "internal");
	add_port(&world->agent, 12, 12, "internal");
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.port_count, 4);
	assert_non_null(switch_reading_port_named(&world->reading, "internal#11"));
	assert_true(switch_reading_port_named(&world->reading, "internal#12")->alike);
	assert_false(switch_reading_port_named(&world->reading, "p1")->alike);
	assert_told(world, TOLD_PORTS, TOLD_PARTIAL, "2 ports share their names");
	call(world, &request);
	assert_int_equal(world->rc, E_CONFLICT);
	assert_non_null(strstr(world->problem.message, "several ports of the switch are called "
						       "internal"));
	(void)strcpy(edit.port, "internal");
	call(world, &request);
	assert_int_equal(world->rc, E_CONFLICT);
	assert_non_null(strstr(world->problem.message, "several ports"));
	memset(longest, 'x', 63);
	longest[63] = '\0';
	fact_alike_name(longest, 4294967295U, longest);
	assert_int_equal(strlen(longest), 63);
	assert_string_equal(longest + 52, "#4294967295");
}

static void switches_7_rows_out_of_order_are_told(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 2);
	for (unsigned i = 1; i <= 50; i++)
		add_address(&world->agent, i, 1);
	responder_sort(&world->agent);
	responder_turn(&world->agent, DOT1Q ".2.2.1.2");
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_in_range(world->reading.fdb_count, 1, 49);
	assert_false(world->reading.parts & PART_FDB);
	assert_true(world->reading.parts & PART_VLANS);
	assert_told(world, TOLD_ADDRESSES, TOLD_PARTIAL, "rows out of order");
}

/* Some tables end with their first row: nothing of them is missing. */
static void a_table_that_begins_anew_is_whole(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 2);
	for (unsigned i = 1; i <= 5; i++)
		add_address(&world->agent, i, 1);
	responder_sort(&world->agent);
	responder_begin_anew(&world->agent, DOT1Q ".2.2.1.2");
	responder_begin_anew(&world->agent, DOT1Q ".2.2.1.3");
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.fdb_count, 5);
	assert_told(world, TOLD_ADDRESSES, TOLD_WHOLE, "");
}

static void switches_7_getbulk_refused_is_getnext(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 4);
	add_address(&world->agent, 1, 3);
	responder_sort(&world->agent);
	world->agent.no_bulk = true;
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.port_count, 4);
	assert_int_equal(world->reading.vlan_count, 1);
	assert_int_equal(world->reading.fdb_count, 1);
	assert_told(world, TOLD_PORTS, TOLD_WHOLE, "");
	assert_true(world->agent.nexts > 0);
	/* It is remembered. */
	world->agent.bulks = 0;
	read_all(world, "generic", 1000);
	assert_int_equal(world->reading.port_count, 4);
	assert_int_equal(world->agent.bulks, 0);
}

static void switches_7_addresses_at_no_port_are_counted(void **state)
{
	struct world *world = *state;

	add_switch(&world->agent, 4);
	for (unsigned i = 0; i < 20; i++)
		add_address(&world->agent, i, 554);
	responder_sort(&world->agent);
	read_all(world, "generic", 1000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.fdb_count, 0);
	assert_told(world, TOLD_ADDRESSES, TOLD_MISSING, "20 addresses");
	assert_told(world, TOLD_ADDRESSES, TOLD_MISSING, "the first at 554");
	assert_true(told(world, TOLD_ADDRESSES)->failed);
}

/* Counted again, 2026-11-26: an AP whose base ports are of interface -1, an SLX whose are 0. */
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

struct walked {
	struct world *world;
	int rc;
	const char *why;
};

static bool on_row(void *context, size_t column, const uint32_t *index, size_t count,
		   const struct snmp_value *value)
{
	(void)context;
	(void)column;
	(void)index;
	(void)count;
	(void)value;
	return true;
}

static void on_walked(void *context, int rc, const char *why)
{
	struct walked *walked = context;

	walked->rc = rc;
	walked->why = why;
	loop_stop(walked->world->loop);
}

static void switches_7_a_limit_is_told(void **state)
{
	struct world *world = *state;
	struct walked walked = {.world = world};
	const struct snmp_oid column = oid_of(IF_TABLE ".3");
	const struct switch_endpoint endpoint = {.name = "s1",
						 .address = "127.0.0.1",
						 .snmp_port = world->agent.port,
						 .snmp_community = "public"};
	const struct snmp_walk_plan plan = {.columns = &column,
					    .count = 1,
					    .row_limit = 10,
					    .row = on_row,
					    .done = on_walked,
					    .context = &walked};
	struct snmp_missing missing = {.why[GROUP_INTERFACES] = snmp_walk_limited};
	struct snmp_facts facts = {.dialect = &snmp_dialect_qbridge};
	struct switch_reading reading = {0};
	struct snmp_peer *peer = NULL;
	struct snmp_walk *walk;

	add_switch(&world->agent, 20);
	responder_sort(&world->agent);
	assert_int_equal(snmp_peer_new(world->client, &endpoint, 1000, &peer, &world->problem), 0);
	assert_int_equal(snmp_walk_start(peer, &plan, &walk), 0);
	loop_run(world->loop);
	assert_int_equal(walked.rc, E_LIMIT);
	assert_ptr_equal(walked.why, snmp_walk_limited);
	snmp_peer_free(peer);
	fact_number(&facts, IF_TABLE ".3.1", 6);
	snmp_told(&facts, &missing, PART_PORTS, &reading);
	assert_int_equal(reading.told[TOLD_PORTS].state, TOLD_MISSING);
	assert_non_null(strstr(reading.told[TOLD_PORTS].why, "more rows than we take"));
	snmp_facts_done(&facts);
}

/* Milliseconds of one reading of 300 ports, and of 400 addresses. */
static int64_t reading_takes(struct world *world, unsigned lost_percent)
{
	int64_t from = clock_monotonic_ms();

	world->agent.lost_percent = lost_percent;
	world->agent.heard = world->agent.lost = 0;
	read_all(world, "generic", 2000);
	assert_int_equal(world->rc, 0);
	assert_int_equal(world->reading.port_count, 300);
	assert_int_equal(world->reading.fdb_count, 400);
	return clock_monotonic_ms() - from;
}

/* Of several readings the shortest, and the fewest requests: the machine may be busy. */
struct cost {
	int64_t ms;
	unsigned requests;
};

static void cost_add(struct cost *cost, struct world *world, unsigned lost_percent)
{
	int64_t took_ms = reading_takes(world, lost_percent);

	if (cost->ms == 0 || took_ms < cost->ms)
		cost->ms = took_ms;
	if (cost->requests == 0 || world->reading.requests < cost->requests)
		cost->requests = world->reading.requests;
}

/* A time-out is 2 s: one request that waits for it is twice the time of a reading. */
static void switches_9_loss_is_not_size(void **state)
{
	struct world *world = *state;
	struct cost clean = {0};
	struct cost lossy = {0};

	add_switch(&world->agent, 300);
	for (unsigned i = 0; i < 400; i++)
		add_address(&world->agent, i, 1 + i % 300);
	responder_sort(&world->agent);
	world->agent.delay_ms = 20;
	(void)reading_takes(world, 0); /* it learns how long an answer takes */
	for (int i = 0; i < 3; i++) {
		cost_add(&clean, world, 0);
		world->agent.seed = 5; /* the same packets are lost each time */
		cost_add(&lossy, world, 5);
		assert_in_range(world->agent.lost, 1, 50);
	}
	assert_in_range(lossy.requests, clean.requests, clean.requests + clean.requests / 4);
	if (lossy.ms > 2 * clean.ms)
		fail_msg("%lld ms at 5 %% loss, %lld ms without", (long long)lossy.ms,
			 (long long)clean.ms);
}

/* Deterministic: rows that were looked at, not time. */
static void switches_12_work_grows_with_the_ports(void **state)
{
	enum { PORTS = 20000 };
	struct snmp_facts facts = {.dialect = &snmp_dialect_qbridge};
	struct switch_reading reading = {0};
	uint64_t looks = 0;

	(void)state;
	for (unsigned i = 1; i <= PORTS; i++) {
		char oid[64];
		char name[32];

		(void)snprintf(oid, sizeof(oid), IF_X ".1.%u", i);
		(void)snprintf(name, sizeof(name), "Ethernet%u", i);
		fact_bytes(&facts, oid, name, strlen(name));
		(void)snprintf(oid, sizeof(oid), IF_TABLE ".3.%u", i);
		fact_number(&facts, oid, 6);
		(void)snprintf(oid, sizeof(oid), BRIDGE ".%u", i);
		fact_number(&facts, oid, i);
		(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.31.1.2.1.3.%u.%u", PORTS + i, i);
		fact_number(&facts, oid, 1);
		(void)snprintf(oid, sizeof(oid), "1.0.8802.1.1.2.1.3.7.1.2.%u", i);
		fact_number(&facts, oid, 5);
		(void)snprintf(oid, sizeof(oid), "1.0.8802.1.1.2.1.3.7.1.3.%u", i);
		(void)snprintf(name, sizeof(name), "Eth %u", i);
		fact_bytes(&facts, oid, name, strlen(name));
		(void)snprintf(oid, sizeof(oid), "1.0.8802.1.1.2.1.4.1.1.5.0.%u.1", i);
		fact_bytes(&facts, oid, "\2\0\0\0\0\1", 6);
		(void)snprintf(oid, sizeof(oid), "1.0.8802.1.1.2.1.4.1.1.7.0.%u.1", i);
		fact_bytes(&facts, oid, "x", 1);
	}
	facts.looks = &looks;
	assert_int_equal(snmp_reading_make(&facts, PART_ALL, NULL, &reading), 0);
	assert_int_equal(reading.port_count, PORTS);
	assert_int_equal(reading.neighbor_count, PORTS);
	assert_int_equal(reading.neighbors[PORTS - 1].if_index, PORTS);
	assert_in_range(looks, PORTS, 40 * PORTS);
	switch_reading_done(&reading);
	snmp_facts_done(&facts);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_up, world_down)
	static const struct CMUnitTest tests[] = {
		TEST(a_whole_reading_is_told_as_whole),
		TEST(switches_1_a_base_port_of_32_bits_is_read),
		TEST(switches_2_a_silent_context_costs_its_addresses),
		TEST(switches_2_many_silent_contexts_end),
		TEST(switches_6_ports_named_alike_are_two),
		TEST(switches_7_rows_out_of_order_are_told),
		TEST(a_table_that_begins_anew_is_whole),
		TEST(switches_7_getbulk_refused_is_getnext),
		TEST(switches_7_addresses_at_no_port_are_counted),
		TEST(counts_7_addresses_at_no_interface_are_counted),
		TEST(counts_an_index_may_repeat_the_length_of_a_mac),
		TEST(counts_of_bridge_mib_as_well),
		TEST(counts_7_rows_without_an_index_are_told),
		TEST(counts_3_aggregates_without_members_are_told),
		TEST(counts_7_current_vlans_alone_are_told),
		TEST(counts_7_vlans_without_lists_are_told),
		TEST(switches_7_a_limit_is_told),
		TEST(switches_9_loss_is_not_size),
		TEST(switches_12_work_grows_with_the_ports),
	};

	return cmocka_run_group_tests(tests, group_up, group_down);
}
