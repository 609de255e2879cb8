// links: peregrine_reconcile peregrine_network peregrine_switch common_db common_io common_base
//: timeout 300
/* Numbers that were given back rest until no switch would bring a port of their last owner's back. A
 * read of the site that failed rests too. */
#include "peregrine/control/reconcile/reconcile_private.h"
#include "tests/unit/reconcile_site.h"

/* A switch whose saved configuration still has a port in it would bring that back, among those of
 * whoever has the number by then: it rests until that is saved, however long ago it was given back.
 */
static void a_number_rests_while_a_switch_would_start_with_it(void **state)
{
	static const char waits_for_1[] =
		"select count(*) from network_vlan where vlan = 100 and state = 'quarantine' and "
		"until < now() and waits = array[1::bigint]";
	struct site *site = *state;
	const struct sim_port *port = &leaf(site, 0)->ports[0];

	settle(site);
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	settle(site);
	assert_int_equal(port->vlans.native, 100);
	assert_true(wait_saved(site, 0));
	leaf(site, 0)->trouble.refuse_save = 1000000;
	want(site, 0, 0, 0);
	want(site, 1, 0, 0);
	settle(site);
	sql(site, "select network_delete(1, 't');");
	assert_true(wait_sql(site, waits_for_1, 1));
	/* The next one gets another, and meets nobody when the power fails. */
	want(site, 1, 1, 2);
	want(site, 0, 1, 2);
	assert_true(wait_sql(site,
			     "select count(*) from attachment a join network_vlan v using "
			     "(network_id) where v.vlan > 100",
			     2));
	assert_int_equal(port->saved.native, 100);
	sim_fabric_reboot(site->fabric, 0);
	assert_int_equal(port->vlans.native, 100);
	assert_true(wait_parked(site, &port->vlans));
	assert_int_equal(ask(site, waits_for_1), 1);
	/* The next life knows it from the rows alone. */
	engine_kill(site);
	sql(site, "update change set ended_at = ended_at - interval '1 hour'; "
		  "update alert set cleared_at = now();");
	engine_start(site);
	for (unsigned saves = 0, i = 0; saves < 2 && i < 100000; i++) {
		uint32_t refused = leaf(site, 0)->trouble.refuse_save;

		turn(site);
		saves += refused != leaf(site, 0)->trouble.refuse_save;
	}
	assert_int_equal(ask(site, waits_for_1), 1);
	leaf(site, 0)->trouble.refuse_save = 0;
	assert_true(wait_sql(site, "select count(*) from network_vlan where vlan = 100", 0));
	assert_true(is_parked(&port->saved));
	assert_true(wait_sql(site, "select count(*) from switch_unsaved", 0));
	settle(site);
	assert_no_leak(site);
}

/* What it carries nobody knows, nor what it would start with. */
static void a_number_rests_while_a_switch_was_not_seen_since(void **state)
{
	struct site *site = *state;

	settle(site);
	want(site, 1, 0, 1);
	want(site, 1, 1, 2);
	settle(site);
	engine_kill(site);
	leaf(site, 0)->trouble.unreachable = true;
	engine_start(site);
	want(site, 1, 0, 0);
	settle(site);
	sql(site, "select network_delete(1, 't');");
	assert_true(wait_sql(site,
			     "select count(*) from network_vlan where state = 'quarantine' and "
			     "until < now() and 1 = any (waits)",
			     1));
	leaf(site, 0)->trouble.unreachable = false;
	assert_true(
		wait_sql(site, "select count(*) from network_vlan where state = 'quarantine'", 0));
	assert_no_leak(site);
}

/* Every notification wakes. A read of the site that fails is large work for PostgreSQL all the same:
 * it rests for a second, however many come while it fails. */
static void a_read_of_the_site_that_fails_rests(void **state)
{
	enum { LESS_THAN_THE_REST_MS = 600 };
	struct site *site = *state;
	const struct reconcile *engine = site->reconcile;
	int64_t asked_ms;

	settle(site);
	sql(site, "alter table link rename to link_away;");
	asked_ms = engine->load_asked_ms;
	reconcile_wake(site->reconcile);
	for (int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
	     engine->load_asked_ms == asked_ms && clock_monotonic_ms() < until_ms;)
		turn(site);
	assert_true(engine->load_asked_ms != asked_ms);
	asked_ms = engine->load_asked_ms;
	for (int64_t until_ms = clock_monotonic_ms() + LESS_THAN_THE_REST_MS;
	     clock_monotonic_ms() < until_ms;) {
		if (engine->cycle.running)
			reconcile_wake(site->reconcile);
		loop_run_once(site->loop);
		usleep(300);
	}
	assert_int_equal(engine->load_asked_ms, asked_ms);
	sql(site, "alter table link_away rename to link;");
	want(site, 0, 0, 1);
	settle(site);
	assert_no_leak(site);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, patient_start, case_stop)
	const struct CMUnitTest tests[] = {
		CASE(a_number_rests_while_a_switch_would_start_with_it),
		CASE(a_number_rests_while_a_switch_was_not_seen_since),
		CASE(a_read_of_the_site_that_fails_rests),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
