// links: peregrine_switch common_io common_base
/* The queue on a scripted driver: order, one call at a time, giving way, deadlines, cancel, and that
 * nothing of one switch waits for another. */
#include "tests/unit/switch_queue_lab.h"

static void readings_come(void **state)
{
	struct lab *lab = *state;

	ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
	assert_int_equal(lab->answers, 0); /* never from inside the call */
	assert_true(wait_answers(lab, 1));
	assert_int_equal(lab->rc[0], 0);
	assert_int_equal(lab->ports, 1);
	assert_string_equal(lab->family, "plain");
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_int_equal(lab->result, EDIT_TAKEN);
	ask(lab, 999, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 3));
	assert_int_equal(lab->rc[2], E_NOT_FOUND);
	assert_int_equal(lab->result, EDIT_NOT_TRIED);
}

static void higher_before_lower_but_not_for_ever(void **state)
{
	struct lab *lab = *state;

	for (int i = 0; i < 6; i++)
		ask(lab, 1, SWITCH_READ, CALL_PERSON, 'p', 0);
	for (int i = 0; i < 2; i++)
		ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 9));
	/* one change, then people; after four in a row the next priority has its turn */
	assert_string_equal(lab->log, "Cppplpppl");
}

static void a_look_gives_way(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1].takes_ms = 300;
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	run_for(lab, 20);
	assert_string_equal(lab->log, "l");
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_string_equal(lab->log, "lCl");
	assert_int_equal(lab->cancelled, 1);
	assert_int_equal(lab->rc[0], 0);
	assert_int_equal(lab->rc[1], 0);
}

static void a_change_is_never_broken_off(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1].takes_ms = 100;
	uint64_t ticket = ask(lab, 1, SWITCH_CHANGE, CALL_POLL, 0, 0);
	run_for(lab, 10);
	ask(lab, 1, SWITCH_READ, CALL_CHANGE, 'p', 0);
	switch_queue_cancel(lab->queue, ticket); /* unheard, but not recalled */
	assert_true(wait_answers(lab, 1));
	assert_string_equal(lab->log, "Cp");
	assert_int_equal(lab->cancelled, 0);
}

static void switches_do_not_wait_for_each_other(void **state)
{
	struct lab *lab = *state;

	for (int id = 1; id < SWITCHES; id++)
		lab->scripts[id].takes_ms = id == 7 ? -1 : 50;
	for (int id = 1; id < SWITCHES; id++)
		ask(lab, id, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, SWITCHES - 2));
	assert_int_equal(lab->most_at_once, SWITCHES - 1);
}

static void deadlines_hold(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1] = (struct script){.takes_ms = -1, .cannot_cancel = true};
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 100);
	ask(lab, 1, SWITCH_READ, CALL_PERSON, 'p', 150);
	assert_true(wait_answers(lab, 1));
	assert_int_equal(lab->rc[0], E_TIMEOUT);
	assert_non_null(strstr(lab->problem.message, "the call did not start in time"));
	assert_true(wait_answers(lab, 2)); /* with its grace */
	assert_int_equal(lab->rc[1], E_TIMEOUT);
	assert_int_equal(lab->result, EDIT_UNKNOWN);
	assert_non_null(strstr(lab->problem.detail, "may have been made"));
}

/* The driver found that our claim is over: that is nothing of the switch. */
static void a_claim_that_ran_out_is_no_fault(void **state)
{
	struct lab *lab = *state;
	struct switch_state seen;

	lab->scripts[1].rc = E_LAPSED;
	for (unsigned i = 1; i <= 2 * BREAKER_TRIES; i++) {
		ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
		assert_true(wait_answers(lab, i));
		assert_int_equal(lab->rc[i - 1], E_LAPSED);
	}
	assert_true(switch_queue_state(lab->queue, 1, &seen));
	assert_false(seen.open || seen.may_refuse || problem_is_set(&seen.problem));
	assert_int_equal(seen.answered_ms, 0);
}

static void removed_while_asked(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1].takes_ms = 200;
	ask(lab, 1, SWITCH_READ, CALL_PERSON, 'p', 0);
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	uint64_t ticket = ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	run_for(lab, 20);
	switch_queue_cancel(lab->queue, ticket);
	switch_queue_remove(lab->queue, 1);
	assert_true(wait_answers(lab, 2));
	assert_int_equal(lab->rc[0], E_NOT_FOUND);
	assert_int_equal(lab->rc[1], E_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(readings_come, start, stop),
		cmocka_unit_test_setup_teardown(higher_before_lower_but_not_for_ever, start, stop),
		cmocka_unit_test_setup_teardown(a_look_gives_way, start, stop),
		cmocka_unit_test_setup_teardown(a_change_is_never_broken_off, start, stop),
		cmocka_unit_test_setup_teardown(switches_do_not_wait_for_each_other, start, stop),
		cmocka_unit_test_setup_teardown(deadlines_hold, start, stop),
		cmocka_unit_test_setup_teardown(a_claim_that_ran_out_is_no_fault, start, stop),
		cmocka_unit_test_setup_teardown(removed_while_asked, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
