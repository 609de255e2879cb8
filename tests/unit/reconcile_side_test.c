// links: peregrine_reconcile peregrine_network peregrine_driver common_db common_io common_base
/* Batches side by side: a switch that takes long, or fails, holds up its own changes and nobody
 * else's; also across kill -9. */
#include "tests/unit/reconcile_site.h"

/* Of 2.5 s that a reading may take, of 3 s that a change may; and how soon the others are done. */
enum { PATIENCE = 5, SLOW_MS = 2000, SOON_MS = 1200 };

static int patient_start(void **state)
{
	struct site *site = *state;

	site->patience = PATIENCE;
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

/* Networks 1 and 2 on all leaves. */
static void spread(struct site *site)
{
	settle(site);
	for (uint32_t at = 0; at < LEAVES; at++) {
		want(site, at, 0, 1);
		want(site, at, 1, 2);
	}
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 0));
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

		leaf(site, 1)->trouble.delay_ms = SLOW_MS;
		want(site, 1, round, 1);
		for (int i = 0; i < 100; i++)
			turn(site);
		want(site, 0, round, 1);
		want(site, 2, round, 1);
		assert_true(wait_native(site, 0, round, vlan, SOON_MS));
		assert_true(wait_native(site, 2, round, vlan, SOON_MS));
		/* It was asked, and has not answered yet. */
		assert_int_equal(leaf(site, 1)->edits, edits);
		assert_true(leaf(site, 1)->ports[round].vlans.native != vlan);
		leaf(site, 1)->trouble.delay_ms = 0;
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

	spread(site);
	leaf(site, 1)->trouble.delay_ms = SLOW_MS;
	sim_fabric_set(site->fabric, 1, 7, &wrong); /* drift: it is going to be read */
	want(site, 1, 4, 3);
	want(site, 0, 4, 3); /* a new network on two leaves: one batch, over a spine */
	for (int i = 0; i < 150; i++)
		turn(site);
	want(site, 2, 5, 1);
	assert_true(wait_native(site, 2, 5, vlan_of(site, 1), SOON_MS));
	assert_true(ask(site, "select count(*) from port_intent where applied_version <> "
			      "wanted_version") > 0);
	leaf(site, 1)->trouble.delay_ms = 0;
	settle(site);
	assert_true(reaches(site, 0, 4, 1, 4));
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.drift' and "
			     "cleared_at is null",
			     0));
	assert_int_equal(leaf(site, 1)->ports[7].vlans.native, 99);
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

static void killed_with_several_under_way(void **state)
{
	struct site *site = *state;

	spread(site);
	for (uint32_t round = 2; round < 7; round++) {
		for (uint32_t at = 0; at < LEAVES; at++)
			leaf(site, at)->trouble.delay_ms = 60 * (at + 1);
		for (uint32_t at = 0; at < LEAVES; at++)
			want(site, at, round, 1 + (at + round) % 2);
		for (uint32_t i = 0; i < 40 * (round - 1); i++)
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
			      "'its owner went away'") > 1);
	assert_no_leak(site);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, patient_start, case_stop)
	const struct CMUnitTest tests[] = {
		CASE(a_slow_switch_holds_up_nobody_else),
		CASE(nor_does_reading_it_or_what_they_share),
		CASE(one_that_fails_is_undone_alone),
		CASE(killed_with_several_under_way),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
