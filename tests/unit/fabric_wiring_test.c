// links: peregrine_fabric peregrine_switch common_net common_base
/* The plan of cables against what was found. */
#include "peregrine/control/fabric/wiring_policy.h"
#include "tests/support/fabric_lab.h"

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
	assert_string_equal(items[1].kind, "wiring.silent");
	assert_false(items[1].warning);
	assert_string_equal(items[2].kind, "wiring.unexpected");
	assert_string_equal(items[2].port, "Ethernet1/1");
	/* a switch that does not answer accuses nobody */
	lab->sources[1].fresh = false;
	(void)compare(lab, rows, 1, &found);
	assert_int_equal(found.count, 0);
	free(found.items);
}

/* Nothing is found of n1 at its port. */
static void silence_is_an_alarm_only_where_it_is_strange(void **state)
{
	static const struct {
		bool off, on, starting, ever, up;
		const char *kind;
		bool warning;
		const char *hint; /* user 11: what to do */
	} rows[] = {
		/* off   on     starts ever   up */
		{true, false, false, false, false, "wiring.silent", false, ""},
		{true, false, false, true, false, "wiring.silent", false, ""},
		{true, false, false, true, true, "wiring.silent", false, ""}, /* wakes on LAN */
		{false, false, false, false, false, "wiring.silent", false, ""},
		{false, true, true, true, true, "wiring.silent", false, ""}, /* its firmware */
		{false, true, true, false, false, "wiring.silent", false, ""},
		{false, false, true, false, true, "wiring.silent", false, ""}, /* just declared */
		{false, false, false, true, false, "wiring.missing", false,
		 "the port has no link: plug the cable in, or switch the other end on"},
		{false, false, false, false, true, "wiring.missing", true,
		 "the port has a link: start the node, so that it sends: haasctl node power on n1"},
		{false, true, false, false, false, "wiring.missing", true, /* really no cable */
		 "the node is on and the port has no link: plug the cable in"},
		{false, true, false, true, false, "wiring.missing", true,
		 "the node is on and the port has no link: plug the cable in"},
		{false, true, false, true, true, "wiring.missing", true,
		 "the node is on and the port has a link: see which MAC sends there: haasctl nic "
		 "list --switch s1 --port Ethernet1/4"},
	};
	static const struct wiring_row plan = {.switch_id = 11,
					       .port = "Ethernet1/4",
					       .node_id = 101,
					       .node = "n1",
					       .nic = "eth0"};
	struct lab *lab = *state;
	struct wiring_found found = {0};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		/* Its last port has no link, so it is remembered as seen, but nowhere now. */
		lab->priors[0] = (struct fabric_prior){.mac = nic_mac(1), .at = {2, 2}};
		lab->ports[2][2].up = false;
		lab->facts.prior_count = rows[i].ever;
		lab->nics[1].off = rows[i].off;
		lab->nics[1].on = rows[i].on;
		lab->nics[1].starting = rows[i].starting;
		lab->ports[1][3].up = rows[i].up;
		const struct wiring_difference *items = compare(lab, &plan, 1, &found);
		assert_int_equal(found.count, 1);
		assert_string_equal(items[0].kind, rows[i].kind);
		assert_int_equal(items[0].warning, rows[i].warning);
		assert_string_equal(items[0].hint, rows[i].hint);
	}
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
	assert_string_equal(items[0].hint,
			    "the port has a link: switch on LLDP at its other end; haasctl switch "
			    "ports s0 shows who speaks there");
	/* both switches answer: a pulled uplink is an alarm */
	lab->ports[0][0].up = false;
	items = compare(lab, rows, 1, &found);
	assert_true(items[0].warning);
	lab->ports[0][0].up = true;
	lab->sources[1].fresh = false;
	(void)compare(lab, rows, 1, &found);
	assert_int_equal(found.count, 0);
	free(found.items);
}

/* Nodes' NICs in an aggregate: found behind any member of it, or not at all when a bond speaks with
 * one MAC, is as planned. */
static void the_plan_for_bonds(void **state)
{
	struct lab *lab = *state;
	const struct wiring_row rows[] = {
		{.switch_id = 11,
		 .port = "Ethernet1/4",
		 .node_id = 101,
		 .node = "n1",
		 .nic = "eth0"},
		{.switch_id = 11,
		 .port = "Ethernet1/5",
		 .node_id = 101,
		 .node = "n1",
		 .nic = "eth1"},
		{.switch_id = 11,
		 .port = "Ethernet1/3",
		 .node_id = 101,
		 .node = "n1",
		 .nic = "bmc"},
	};
	static const uint32_t bundle[PORTS] = {[3] = 7, [4] = 7};
	struct wiring_found found = {0};

	lab->nics[2].node_id = 101;
	lab->nics[2].node = "n1";
	lab->nics[2].name = "eth1";
	lab->ports[1][5].is_lag = true;
	lab->ports[1][3].lag = lab->ports[1][4].lag = lab->ports[1][5].if_index;
	learns(lab, 1, 4, 1); /* eth0 behind the port of eth1 */
	learns(lab, 1, 3, 2);
	(void)compare(lab, rows, 3, &found);
	assert_int_equal(found.count, 0);
	lab->readings[1].fdb_count = 0;
	learns(lab, 1, 4, 1); /* eth1 is silent */
	(void)compare(lab, rows, 3, &found);
	assert_int_equal(found.count, 0);
	lab->ports[1][3].lag = 0; /* no aggregate any more: the cables are swapped */
	(void)compare(lab, rows, 3, &found);
	assert_true(found.count > 0);
	/* It was one of ours until just now, and its node still speaks as a bond. */
	lab->sources[1].bundle = bundle;
	lab->ports[1][4].lag = 0;
	(void)compare(lab, rows, 3, &found);
	assert_int_equal(found.count, 0);
	learns(lab, 1, 3, 2); /* both speak, each by the other's port: that is no bond's doing */
	(void)compare(lab, rows, 3, &found);
	assert_true(found.count > 0);
	lab->sources[1].bundle = NULL;
	lab->readings[1].fdb_count = 0;
	learns(lab, 1, 2, 3); /* a node in the port of a BMC */
	(void)compare(lab, &rows[2], 1, &found);
	assert_true(found.count > 0);
	assert_string_equal(found.items[0].kind, "wiring.miscabled");
	free(found.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_plan_for_nodes),
		TEST(silence_is_an_alarm_only_where_it_is_strange),
		TEST(the_plan_for_links),
		TEST(the_plan_for_bonds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
