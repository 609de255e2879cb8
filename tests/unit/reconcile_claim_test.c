// links: peregrine_reconcile peregrine_network peregrine_switch common_db common_io common_base
//: timeout 300
/* Who has no claim changes nothing at a switch. A claim that runs out in the middle of a call is no
 * fault of the switch: the work ends quietly, and begins anew with the next claim. */
#include "peregrine/control/reconcile/batch_private.h"
#include "peregrine/control/reconcile/reconcile_private.h"
#include "tests/unit/reconcile_site.h"

static struct engine_fabric *fabric_of(const struct site *site)
{
	return site->reconcile->fabrics[0];
}

static bool has_batch_in(const struct site *site, enum batch_step step)
{
	const struct engine_fabric *fabric = fabric_of(site);

	for (size_t i = 0; i < fabric->batch_count; i++) {
		if (fabric->batches[i]->step == step && fabric->batches[i]->pending > 0)
			return true;
	}
	return false;
}

static bool wait_batch(struct site *site, enum batch_step step)
{
	int64_t until_ms = clock_monotonic_ms() + WAIT_MS;

	while (!has_batch_in(site, step) && clock_monotonic_ms() < until_ms)
		turn(site);
	return has_batch_in(site, step);
}

static bool has_lag_call(const struct site *site)
{
	const struct sim_line_call *call = site->access.lines[0].first;

	return call && call->request.op == SWITCH_LAG;
}

/* As if this process had stood still until the claim was over. */
static void lapse(const struct site *site)
{
	fence_drop(fabric_of(site)->fence);
}

static void assert_nobody_blamed(const struct site *site)
{
	assert_int_equal(ask(site, "select count(*) from alert"), 0);
	for (uint32_t i = 0; i < site->reconcile->book.count; i++)
		assert_int_equal(site->reconcile->book.switches[i].failures, 0);
}

static void nothing_is_saved_while_somebody_else_has_the_fabric(void **state)
{
	struct site *site = *state;
	uint64_t saves;

	settle(site);
	assert_true(wait_saved(site, 0));
	leaf(site, 0)->trouble.refuse_save = 1000000;
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	settle(site);
	assert_true(wait_sql(site, "select count(*) from alert where kind = 'switch.unsaved'", 1));
	sql(site, "update fabric_claim set owner = 'another', generation = generation + 1, until = "
		  "now() + interval '1 hour'");
	for (int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
	     fabric_of(site)->claimed && clock_monotonic_ms() < until_ms;)
		turn(site);
	assert_false(fabric_of(site)->claimed);
	saves = leaf(site, 0)->saves;
	leaf(site, 0)->trouble.refuse_save = 0;
	book_find(&site->reconcile->book, 1)->save_retry_ms = 0;
	for (int64_t until_ms = clock_monotonic_ms() + 1500; clock_monotonic_ms() < until_ms;)
		turn(site);
	assert_int_equal(leaf(site, 0)->saves, saves);
	sql(site, "update fabric_claim set until = now() - interval '1 s'");
	assert_true(wait_saved(site, 0));
	assert_no_leak(site);
}

static void an_aggregate_that_is_late_blames_no_port(void **state)
{
	struct site *site = *state;

	settle(site);
	leaf(site, 0)->trouble.delay_ms = 100;
	want(site, 0, 0, 1);
	want(site, 0, 1, 1);
	sql(site, "select port_bond_set(1, 'p' || n, 'n1/bond0') from generate_series(1, 2) n");
	for (int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
	     !has_lag_call(site) && clock_monotonic_ms() < until_ms;)
		turn(site);
	assert_true(has_lag_call(site));
	lapse(site);
	while (has_lag_call(site))
		turn(site);
	assert_false(fabric_of(site)->claimed);
	assert_nobody_blamed(site);
	settle(site);
	assert_string_not_equal(leaf(site, 0)->ports[0].lag, "");
	assert_nobody_blamed(site);
}

/* The switch never shows what it took, so that is undone, and parked where that is refused. */
static void what_is_taken_back_late_is_left_to_whoever_is_next(struct site *site,
							       enum batch_step step)
{
	const uint64_t lost = reconcile_stats(site->reconcile)->lost_claims;

	leaf(site, 0)->trouble.delay_ms = 50;
	leaf(site, 0)->trouble.late = UINT32_MAX;
	want(site, 0, 0, 1);
	assert_true(wait_batch(site, STEP_UNDOING));
	if (step == STEP_PARKING) {
		leaf(site, 0)->trouble.refuse = 1;
		assert_true(wait_batch(site, STEP_PARKING));
	}
	lapse(site);
	leaf(site, 0)->trouble.late = 0;
	for (int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
	     fabric_of(site)->batch_count && clock_monotonic_ms() < until_ms;)
		turn(site);
	assert_int_equal(reconcile_stats(site->reconcile)->lost_claims, lost + 1);
	assert_int_equal(reconcile_stats(site->reconcile)->failed, 0);
	assert_int_equal(reconcile_stats(site->reconcile)->undone, 0);
	assert_false(fabric_of(site)->undo_failed);
	settle(site);
	assert_int_equal(ask(site, "select count(*) from alert where cleared_at is null"), 0);
	assert_no_leak(site);
}

static void an_undoing_that_is_late_is_left(void **state)
{
	settle(*state);
	what_is_taken_back_late_is_left_to_whoever_is_next(*state, STEP_UNDOING);
}

static void a_parking_that_is_late_is_left(void **state)
{
	settle(*state);
	what_is_taken_back_late_is_left_to_whoever_is_next(*state, STEP_PARKING);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, case_start, case_stop)
	const struct CMUnitTest tests[] = {
		CASE(nothing_is_saved_while_somebody_else_has_the_fabric),
		CASE(an_aggregate_that_is_late_blames_no_port),
		CASE(an_undoing_that_is_late_is_left),
		CASE(a_parking_that_is_late_is_left),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
