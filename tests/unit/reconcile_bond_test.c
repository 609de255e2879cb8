// links: peregrine_reconcile peregrine_network peregrine_switch common_db common_io common_base
//: timeout 240
/* Aggregates that the reconcile engine makes for bonds of nodes: two ports of a simulated leaf
 * leave their networks, become one aggregate, get the network there, and are two ports again; while
 * a switch refuses, does it by half, or somebody else takes it apart. Frames of every port all the
 * time, and none may leak. */
#include "tests/unit/reconcile_site.h"

static void bond(struct site *site, uint32_t at, uint32_t first, uint32_t second, const char *word)
{
	char text[400];

	(void)text_format(text, sizeof(text),
			  "select port_bond_set(i.switch_id, i.port, '%s') from port_intent i join "
			  "switch s on s.id = i.switch_id where s.name = 'leaf%u' and i.port in "
			  "('p%u', 'p%u');",
			  word, at + 1, first + 1, second + 1);
	sql(site, text);
}

static bool is_bond(struct site *site, uint32_t at, uint32_t first, uint32_t second)
{
	const struct sim_port *ports = leaf(site, at)->ports;

	return ports[first].lag[0] && strcmp(ports[first].lag, ports[second].lag) == 0;
}

/* Both into a network, as one. */
static void want_bond(struct site *site, uint32_t at, uint32_t first, uint32_t second,
		      unsigned network)
{
	want(site, at, first, network);
	want(site, at, second, network);
	bond(site, at, first, second, "n1/bond0");
}

static void release(struct site *site, uint32_t at, uint32_t first, uint32_t second)
{
	want(site, at, first, 0);
	want(site, at, second, 0);
	bond(site, at, first, second, "");
	settle(site);
	assert_false(leaf(site, at)->ports[first].lag[0]);
	assert_false(leaf(site, at)->ports[second].lag[0]);
	assert_true(leaf(site, at)->ports[first].vlans.native >= 200);
	assert_true(leaf(site, at)->ports[second].vlans.native >= 200);
}

/* Each free port has a VLAN of its own: those on their way meet nobody. */
static void begin(struct site *site)
{
	sql(site, "update fabric set parking_vlan = 200, parking_count = 30; "
		  "select pg_notify('network', '');");
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_native >= 200 and "
			     "applied_version = wanted_version",
			     (long)LEAVES * LEAF_PORTS));
	settle(site);
}

static void ports_become_one_and_two_again(void **state)
{
	struct site *site = *state;
	char name[32];

	begin(site);
	want(site, 1, 0, 1);
	want(site, 1, 1, 2);
	want(site, 0, 0, 2); /* in two networks before */
	want(site, 0, 1, 1);
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 1));
	want_bond(site, 0, 0, 1, 1);
	settle(site);
	assert_true(is_bond(site, 0, 0, 1));
	(void)text_copy(name, sizeof(name), leaf(site, 0)->ports[0].lag);
	assert_true(reaches(site, 0, 1, 1, 0));
	assert_true(reaches(site, 1, 0, 0, 0));
	assert_false(reaches(site, 0, 0, 1, 1));
	assert_int_equal(ask(site, "select count(*) from event where kind = 'aggregate.made'"), 1);
	assert_int_equal(ask(site,
			     "select count(*) from change c join change_batch b on b.id = "
			     "c.batch_id where edit ->> 'kind' = 'aggregate_make' and c.state = "
			     "'applied' and b.state = 'done'"),
			 1);
	release(site, 0, 0, 1);
	assert_false(reaches(site, 0, 0, 1, 0));
	assert_int_equal(ask(site, "select count(*) from event where kind = 'aggregate.unmade'"),
			 1);
	/* Other ports for another tenant: a NIC of the first may still be known by the old name. */
	want_bond(site, 0, 1, 2, 2);
	settle(site);
	assert_true(is_bond(site, 0, 1, 2));
	assert_false(is_bond(site, 0, 0, 1));
	assert_string_not_equal(leaf(site, 0)->ports[1].lag, name);
	assert_true(reaches(site, 0, 2, 1, 1));
	assert_int_equal(ask(site, "select count(*) from alert where cleared_at is null"), 0);
	/* The same ports again have the same name. */
	release(site, 0, 1, 2);
	want_bond(site, 0, 0, 1, 1);
	settle(site);
	assert_string_equal(leaf(site, 0)->ports[0].lag, name);
	assert_int_equal(ask(site, "select count(*) from switch_aggregate"), 2);
	assert_no_leak(site);
}

static void one_that_refuses_or_does_half_is_asked_again(void **state)
{
	struct site *site = *state;

	begin(site);
	want(site, 1, 0, 1);
	leaf(site, 0)->trouble.refuse_lag = 1;
	leaf(site, 2)->trouble.half_lag = 1;
	want_bond(site, 0, 0, 1, 1);
	want_bond(site, 2, 3, 4, 1);
	settle(site);
	assert_true(is_bond(site, 0, 0, 1));
	assert_true(is_bond(site, 2, 3, 4));
	assert_true(reaches(site, 0, 0, 2, 3));
	assert_int_equal(leaf(site, 0)->trouble.refuse_lag + leaf(site, 2)->trouble.half_lag, 0);
	leaf(site, 0)->trouble.half_lag = 1;
	release(site, 0, 0, 1);
	assert_no_leak(site);
}

/* leaf1's p1 and p2 are one, and in a network with a port of leaf2. */
static void wait_reach(struct site *site, uint32_t port)
{
	int64_t end = clock_monotonic_ms() + WAIT_MS;

	while (clock_monotonic_ms() < end &&
	       !(is_bond(site, 0, 0, 1) && reaches(site, 0, 0, 1, port)))
		turn(site);
	assert_true(is_bond(site, 0, 0, 1));
	assert_true(reaches(site, 0, 0, 1, port));
}

static void what_somebody_took_apart_is_made_again(void **state)
{
	struct site *site = *state;

	begin(site);
	want(site, 1, 0, 1);
	want_bond(site, 0, 0, 1, 1);
	settle(site);
	leaf(site, 0)->ports[1].lag[0] = '\0';
	leaf(site, 0)->vlan_changes++;
	for (int64_t end = clock_monotonic_ms() + WAIT_MS;
	     clock_monotonic_ms() < end && !(is_bond(site, 0, 0, 1) && reaches(site, 0, 0, 1, 0));)
		turn(site);
	assert_true(is_bond(site, 0, 0, 1));
	assert_true(reaches(site, 0, 0, 1, 0));
	assert_no_leak(site);
}

static void wait_problems(struct site *site, const char *what, long count)
{
	char text[200];

	(void)text_format(text, sizeof(text),
			  "select count(*) from port_intent where problem ->> 'message' ~ '%s' and "
			  "applied_version <> wanted_version",
			  what);
	assert_true(wait_sql(site, text, count));
}

/* p2 of leaf1 is gone, and wanted in network 2. The loss is seen by the next full reading
 * (docs/switches.md, full_read). A reading that ends together with a change of ours is none, and an
 * aggregate that took the change before the loss was seen counts as applied. Then the switch counts
 * a change again, and the port is wanted again. */
static void wait_port_gone(struct site *site)
{
	static const char gone[] = "select count(*) from port_intent where problem ->> 'message' ~ "
				   "'shows no port p2' and applied_version <> wanted_version";
	static const char waiting[] = "select count(*) from port_intent where port = 'p2' and "
				      "switch_id = 1 and applied_version <> wanted_version";
	int64_t end = clock_monotonic_ms() + WAIT_MS;

	while (clock_monotonic_ms() < end && ask(site, gone) != 1) {
		leaf(site, 0)->vlan_changes++;
		for (int i = 0; i < 100; i++)
			turn(site);
		if (ask(site, waiting) == 0)
			want(site, 0, 1, 2);
	}
	assert_int_equal(ask(site, gone), 1);
}

static long unmade(struct site *site)
{
	return ask(site, "select count(*) from event where kind = 'aggregate.unmade'");
}

static void one_that_lost_a_port_works_by_the_other(void **state)
{
	struct site *site = *state;
	struct sim_port *port;

	begin(site);
	want(site, 1, 0, 1);
	want(site, 1, 1, 2);
	want_bond(site, 0, 0, 1, 1);
	settle(site);
	port = &leaf(site, 0)->ports[1];
	(void)text_copy(port->name, sizeof(port->name), "q2");
	port->lag[0] = '\0';
	port->vlans = (struct port_vlans){.native = 999};
	leaf(site, 0)->vlan_changes++;
	/* What is asked of it then is done at the port that is left. */
	want(site, 0, 0, 2);
	want(site, 0, 1, 2);
	wait_port_gone(site);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version <> "
			     "wanted_version and port <> 'p2'",
			     0));
	assert_true(leaf(site, 0)->ports[0].lag[0]);
	assert_true(reaches(site, 0, 0, 1, 1));
	assert_false(reaches(site, 0, 0, 1, 0));
	assert_int_equal(unmade(site), 0);
	/* It is back, and in no aggregate: made anew of both. */
	(void)text_copy(port->name, sizeof(port->name), "p2");
	leaf(site, 0)->vlan_changes++;
	wait_reach(site, 1);
	settle(site);
	assert_no_leak(site);
}

static void who_put_a_port_into_it_is_told(void **state)
{
	struct site *site = *state;
	struct sim_port *stranger;

	begin(site);
	want(site, 1, 0, 1);
	want_bond(site, 0, 0, 1, 1);
	settle(site);
	stranger = &leaf(site, 0)->ports[2];
	(void)text_copy(stranger->lag, sizeof(stranger->lag), leaf(site, 0)->ports[0].lag);
	stranger->vlans = leaf(site, 0)->ports[0].vlans;
	leaf(site, 0)->vlan_changes++;
	assert_true(wait_sql(
		site,
		"select count(*) from alert where kind = 'switch.drift' and "
		"cleared_at is null and detail ->> 'hint' ~ 'port p3 was put by hand into'",
		1));
	/* Nor can it be unmade. */
	want(site, 0, 0, 0);
	want(site, 0, 1, 0);
	bond(site, 0, 0, 1, "");
	wait_problems(site, "port p3 was put by hand into", 2);
	assert_true(is_bond(site, 0, 0, 2));
	assert_int_equal(unmade(site), 0);
	/* He takes it out. */
	stranger->lag[0] = '\0';
	leaf(site, 0)->vlan_changes++;
	settle(site);
	assert_false(leaf(site, 0)->ports[0].lag[0]);
	assert_int_equal(unmade(site), 1);
	assert_int_equal(ask(site, "select count(*) from port_intent where problem is not null"),
			 0);
}

static void killed_at_any_moment(void **state)
{
	struct site *site = *state;

	begin(site);
	want(site, 1, 0, 1);
	for (uint64_t round = 0; round < 4; round++) {
		uint64_t calls = leaf(site, 0)->calls;
		int64_t deadline = clock_monotonic_ms() + 2000;

		want_bond(site, 0, 0, 1, 1);
		while (leaf(site, 0)->calls <= calls + 2 * round + 1 &&
		       clock_monotonic_ms() < deadline)
			turn(site);
		engine_kill(site);
		probe(site);
		engine_start(site);
		settle(site);
		/* Ports are told as applied by what they show; a new life sees to uplinks next. */
		wait_reach(site, 0);
		release(site, 0, 0, 1);
	}
	assert_no_leak(site);
}

static void what_nobody_can_make_is_told(void **state)
{
	struct site *site = *state;

	begin(site);
	assert_int_equal(ask(site, "select count(*) from switch_ability where aggregates"), 0);
	want_bond(site, 0, 0, 1, 1);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where problem ->> 'message' ~ "
			     "'cannot be told to make an aggregate'",
			     2));
	assert_true(leaf(site, 0)->ports[0].vlans.native >= 200);
	assert_false(leaf(site, 0)->ports[0].lag[0]);
	assert_no_leak(site);
}

static int start_without(void **state)
{
	struct site *site = *state;

	site->no_lags = true;
	return case_start(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ports_become_one_and_two_again, case_start,
						case_stop),
		cmocka_unit_test_setup_teardown(one_that_refuses_or_does_half_is_asked_again,
						case_start, case_stop),
		cmocka_unit_test_setup_teardown(what_somebody_took_apart_is_made_again, case_start,
						case_stop),
		cmocka_unit_test_setup_teardown(one_that_lost_a_port_works_by_the_other, case_start,
						case_stop),
		cmocka_unit_test_setup_teardown(who_put_a_port_into_it_is_told, case_start,
						case_stop),
		cmocka_unit_test_setup_teardown(killed_at_any_moment, case_start, case_stop),
		cmocka_unit_test_setup_teardown(what_nobody_can_make_is_told, start_without,
						case_stop),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
