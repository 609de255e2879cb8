// links: peregrine_switch common_io common_base
//: timeout 120
/* Findings "switches": a real driver against an agent with the faults of real ones. What of a
 * reading did not come is told, a fault costs what it is about and nothing else, and the work grows
 * with the rows. */
#include "tests/unit/snmp_agent_fixture.h"

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
		TEST(switches_7_a_limit_is_told),
		TEST(switches_9_loss_is_not_size),
		TEST(switches_12_work_grows_with_the_ports),
	};

	return cmocka_run_group_tests(tests, group_up, group_down);
}
