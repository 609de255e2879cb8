// links: peregrine_reconcile peregrine_network peregrine_switch common_db common_io common_base
//: timeout 300
/* Batches side by side: a switch that takes long, or fails, holds up its own changes and nobody
 * else's; also across kill -9. */
#include "tests/unit/reconcile_site.h"

/* A switch answers when the test lets it: a reading may take 30 s, a change 36 s. So whoever is done
 * before that did not wait for it. */
enum { LONG_PATIENCE = 60, SOON_MS = 25000 };

static int very_patient_start(void **state)
{
	struct site *site = *state;

	site->patience = LONG_PATIENCE;
	return case_start(state);
}

static bool wait_native(struct site *site, uint32_t at, uint32_t port, unsigned native, int64_t ms)
{
	int64_t deadline = clock_monotonic_ms() + ms;

	while (clock_monotonic_ms() < deadline) {
		if (leaf(site, at)->ports[port].vlans.native == native)
			return true;
		turn(site);
	}
	return false;
}

static unsigned vlan_of(struct site *site, unsigned network)
{
	char text[100];

	(void)text_format(text, sizeof(text), "select vlan from network_vlan where network_id = %u",
			  network);
	return (unsigned)ask(site, text);
}

/* Whatever became of the second leaf's batches. */
static void others_are_done(struct site *site)
{
	assert_int_equal(ask(site, "select count(*) from change c join change_batch b on b.id = "
				   "c.batch_id where b.state <> 'done' and c.switch_id <> 2"),
			 0);
}

static void a_slow_switch_holds_up_nobody_else(void **state)
{
	struct site *site = *state;
	unsigned vlan;

	spread(site);
	vlan = vlan_of(site, 1);
	for (uint32_t round = 2; round < 4; round++) {
		uint64_t edits = leaf(site, 1)->edits;

		leaf(site, 1)->trouble.hold = true;
		want(site, 1, round, 1);
		assert_true(wait_sql(
			site, "select count(*) from change_batch where ended_at is null", 1));
		want(site, 0, round, 1);
		want(site, 2, round, 1);
		assert_true(wait_native(site, 0, round, vlan, SOON_MS));
		assert_true(wait_native(site, 2, round, vlan, SOON_MS));
		/* It was asked, and has not answered yet. */
		assert_int_equal(leaf(site, 1)->edits, edits);
		assert_true(leaf(site, 1)->ports[round].vlans.native != vlan);
		leaf(site, 1)->trouble.hold = false;
		settle(site);
		assert_true(reaches(site, 0, round, 1, round));
	}
	assert_true(reconcile_stats(site->reconcile)->most_batches >= 2);
	others_are_done(site);
	assert_no_leak(site);
}

/* Its ports wait while it is read, the others' do not; nor does the way through a spine that the
 * slow batch needs, too. */
static void nor_does_reading_it_or_what_they_share(void **state)
{
	struct port_vlans wrong = {.native = 98}; /* which no switch has */
	struct site *site = *state;
	int64_t until_ms;
	uint64_t calls;
	uint64_t reads;

	spread(site);
	leaf(site, 1)->trouble.hold_read = true;
	calls = leaf(site, 1)->calls;
	reads = leaf(site, 1)->reads;
	sim_fabric_set(site->fabric, 1, 7, &wrong); /* drift: it is going to be read */
	want(site, 1, 4, 3);
	want(site, 0, 4, 3); /* a new network on two leaves: one batch, over a spine */
	until_ms = clock_monotonic_ms() + WAIT_MS;
	while (leaf(site, 1)->calls == calls && clock_monotonic_ms() < until_ms)
		turn(site);
	assert_true(leaf(site, 1)->calls > calls);
	want(site, 2, 5, 1);
	assert_true(wait_native(site, 2, 5, vlan_of(site, 1), SOON_MS));
	/* It was asked, and has not answered yet. */
	assert_int_equal(leaf(site, 1)->reads, reads);
	assert_true(ask(site, "select count(*) from port_intent where applied_version <> "
			      "wanted_version") > 0);
	leaf(site, 1)->trouble.hold_read = false;
	settle(site);
	assert_true(reaches(site, 0, 4, 1, 4));
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.drift' and "
			     "cleared_at is null",
			     0));
	assert_true(wait_parked(site, &leaf(site, 1)->ports[7].vlans));
	assert_no_leak(site);
}

/* Network 3 is on its way to leaf1 and to leaf2, which takes long; networks 1 and 2 come to leaf1
 * and leaf3 meanwhile, one of them by the uplink that network 3 gets as well, or, where leaf2 knows
 * network 3 already, has got. */
static void others_pass_a_new_network(struct site *site, bool has_got)
{
	uint64_t edits;

	settle(site);
	want(site, 1, 4, has_got ? 3 : 0);
	settle(site);
	leaf(site, 1)->trouble.hold = true;
	edits = leaf(site, 1)->edits;
	want(site, 0, 4, 3);
	want(site, 1, 5, 3);
	assert_true(wait_sql(site, "select count(*) from change_batch where ended_at is null", 1));
	for (unsigned network = 1; network < 3; network++) {
		want(site, 0, 4 + network, network);
		want(site, 2, 4 + network, network);
	}
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version <> "
			     "wanted_version",
			     2));
	for (unsigned network = 1; network < 3; network++)
		assert_true(reaches(site, 0, 4 + network, 2, 4 + network));
	assert_true(is_parked(&leaf(site, 0)->ports[4].vlans) != has_got);
	/* It was asked, and has not answered yet. */
	assert_int_equal(leaf(site, 1)->edits, edits);
	assert_true(is_parked(&leaf(site, 1)->ports[5].vlans));
}

static void nor_does_a_new_network_of_another_tenant(void **state)
{
	struct site *site = *state;

	others_pass_a_new_network(site, false);
	leaf(site, 1)->trouble.hold = false;
	settle(site);
	assert_true(reaches(site, 0, 4, 1, 5));
	for (unsigned network = 1; network < 3; network++)
		assert_true(reaches(site, 0, 4 + network, 2, 4 + network));
	assert_int_equal(ask(site, "select count(*) from change_batch where state <> 'done'"), 0);
	assert_no_leak(site);
}

/* And when it is taken back, it takes only its own VLAN off what they share. */
static void what_is_undone_leaves_the_others_on_their_uplink(void **state)
{
	struct site *site = *state;

	others_pass_a_new_network(site, true);
	leaf(site, 1)->trouble.refuse = 1;
	leaf(site, 1)->trouble.hold = false;
	assert_true(wait_sql(
		site, "select (count(*) > 0)::int from change_batch where state = 'undone'", 1));
	for (unsigned network = 1; network < 3; network++)
		assert_true(reaches(site, 0, 4 + network, 2, 4 + network));
	settle(site);
	assert_true(reaches(site, 0, 4, 1, 5));
	assert_true(
		wait_sql(site, "select count(*) from alert where kind = 'switch.undo_failed'", 0));
	assert_no_leak(site);
}

static void one_that_fails_is_undone_alone(void **state)
{
	struct site *site = *state;

	spread(site);
	leaf(site, 1)->trouble.silent = 1;
	leaf(site, 1)->trouble.delay_ms = 200;
	want(site, 1, 2, 1);
	want(site, 0, 2, 1);
	want(site, 2, 2, 2);
	settle(site);
	others_are_done(site);
	assert_true(ask(site, "select count(*) from change_batch where state <> 'done'") > 0);
	leaf(site, 1)->trouble.delay_ms = 0;
	assert_no_leak(site);
}

/* Two tenants' ports of one switch that can neither be changed nor be set back do not meet where
 * they are put instead. */
static void what_cannot_be_set_back_meets_nobody(void **state)
{
	struct site *site = *state;
	struct sim_port *ports;

	sql(site, "update fabric set parking_vlan = 80, parking_count = 16;");
	spread(site);
	leaf(site, 0)->trouble.delay_ms = 200;
	want(site, 0, 0, 2);
	want(site, 0, 1, 1);
	assert_true(wait_native(site, 0, 0, vlan_of(site, 2), WAIT_MS));
	assert_true(wait_native(site, 0, 1, vlan_of(site, 1), WAIT_MS));
	/* What is read back is not what was sent, and the first undoing is refused. */
	sim_fabric_set(site->fabric, 0, 0, &(struct port_vlans){.native = 500});
	leaf(site, 0)->trouble.refuse = 1;
	assert_true(wait_sql(site,
			     "select count(*) from change_batch where state = 'failed' and problem "
			     "->> 'message' <> ''",
			     1));
	ports = leaf(site, 0)->ports;
	assert_in_range(ports[0].vlans.native, 80, 95);
	assert_in_range(ports[1].vlans.native, 80, 95);
	assert_int_not_equal(ports[0].vlans.native, ports[1].vlans.native);
	assert_true(vlan_set_has(&leaf(site, 0)->vlans, ports[0].vlans.native));
	assert_true(vlan_set_has(&leaf(site, 0)->vlans, ports[1].vlans.native));
	leaf(site, 0)->trouble.delay_ms = 0;
	settle(site);
	assert_int_equal(leaf(site, 0)->ports[0].vlans.native, vlan_of(site, 2));
}

static bool wait_edit(struct site *site)
{
	uint64_t sent = reconcile_stats(site->reconcile)->edits_sent;
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (reconcile_stats(site->reconcile)->edits_sent == sent &&
	       clock_monotonic_ms() < deadline)
		turn(site);
	return reconcile_stats(site->reconcile)->edits_sent != sent;
}

static void killed_with_several_under_way(void **state)
{
	struct site *site = *state;

	spread(site);
	for (uint32_t round = 2; round < 7; round++) {
		for (uint32_t at = 0; at < LEAVES; at++)
			leaf(site, at)->trouble.delay_ms = 60 * (at + 1);
		for (uint32_t at = 0; at < LEAVES; at++)
			want(site, at, round, 1 + (at + round) % 2);
		/* Twice when an edit has just gone, whose batch cannot have ended; then whenever.
		 */
		if (round < 4)
			assert_true(wait_edit(site));
		for (uint32_t i = 0; round >= 4 && i < 40 * (round - 1); i++)
			turn(site);
		engine_kill(site);
		probe(site);
		for (uint32_t at = 0; at < LEAVES; at++)
			leaf(site, at)->trouble.delay_ms = 0;
		engine_start(site);
		settle(site);
	}
	assert_int_equal(ask(site, "select count(*) from change_batch where state not in ('done', "
				   "'undone', 'failed')"),
			 0);
	assert_true(ask(site, "select count(*) from change_batch where problem ->> 'message' ~ "
			      "'the peregrined that owned the batch went away'") > 1);
	assert_no_leak(site);
}

int main(void)
{
#define CASE(function)      cmocka_unit_test_setup_teardown(function, patient_start, case_stop)
#define LONG_CASE(function) cmocka_unit_test_setup_teardown(function, very_patient_start, case_stop)
	const struct CMUnitTest tests[] = {
		LONG_CASE(a_slow_switch_holds_up_nobody_else),
		LONG_CASE(nor_does_reading_it_or_what_they_share),
		LONG_CASE(nor_does_a_new_network_of_another_tenant),
		LONG_CASE(what_is_undone_leaves_the_others_on_their_uplink),
		CASE(one_that_fails_is_undone_alone),
		CASE(what_cannot_be_set_back_meets_nobody),
		CASE(killed_with_several_under_way),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
