// links: peregrine_switch common_io common_base
/* The ways into a switch: their breakers, who passes them, which family and driver it is, what is
 * lacking to set it, and another endpoint. */
#include "tests/unit/switch_queue_lab.h"

static void the_silent_are_left_alone(void **state)
{
	struct lab *lab = *state;
	struct switch_state seen;

	lab->scripts[1].rc = E_TIMEOUT;
	for (unsigned i = 1; i <= BREAKER_TRIES; i++) {
		ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
		assert_true(wait_answers(lab, i));
		assert_int_equal(lab->rc[i - 1], E_TIMEOUT);
	}
	assert_true(switch_queue_state(lab->queue, 1, &seen));
	assert_true(seen.open && !seen.refused);
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 1));
	assert_int_equal(lab->rc[BREAKER_TRIES], E_UNAVAILABLE);
	assert_int_equal(lab->result, EDIT_NOT_TRIED);
	assert_non_null(strstr(lab->problem.message, "does not answer"));
	assert_string_equal(lab->log, "lll");
	/* Another way to it: asked at once. */
	lab->scripts[1].rc = 0;
	put(lab, 1, "plain", "192.0.2.9");
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 2));
	assert_int_equal(lab->rc[BREAKER_TRIES + 1], 0);
}

static void note_refusing(void *context, int64_t switch_id, const struct switch_state *state)
{
	if (state->may_refuse)
		((bool *)context)[switch_id] = true;
}

/* A wrong community gets no answer; a command line says no. */
static void silence_by_snmp_may_be_a_refusal(void **state)
{
	struct lab *lab = *state;
	bool refusing[SWITCHES] = {false};

	put(lab, 1, "agent", "192.0.2.1");
	put(lab, 2, "shell", "192.0.2.1");
	put(lab, 3, "shell", "192.0.2.1");
	lab->scripts[1].rc = lab->scripts[2].rc = E_TIMEOUT;
	lab->scripts[3].rc = E_AUTHENTICATION;
	for (unsigned i = 0; i < BREAKER_TRIES; i++) {
		for (int64_t id = 1; id <= 4; id++)
			ask(lab, id, SWITCH_READ, CALL_POLL, 'l', 0);
		assert_true(wait_answers(lab, 4 * (i + 1)));
	}
	switch_queue_each(lab->queue, note_refusing, refusing);
	assert_true(refusing[1] && refusing[3]);
	assert_false(refusing[2] || refusing[4]);
}

static const struct switch_request person_request = {
	.op = SWITCH_READ, .parts = PART_IDENTITY, .port = "n"};
static const struct switch_ask person_now = {
	.switch_id = 1, .request = &person_request, .priority = CALL_PERSON, .now = true};

/* user 9: `switch read` of a switch in back-off asks the switch, not the clock. */
static void a_person_passes_the_back_off(void **state)
{
	struct lab *lab = *state;
	struct switch_state before;
	struct switch_state after;

	lab->scripts[1].rc = E_TIMEOUT;
	for (unsigned i = 1; i <= BREAKER_TRIES; i++) {
		ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
		assert_true(wait_answers(lab, i));
	}
	/* Still silent: the wish costs one try, and the beat of our own stays. */
	assert_true(switch_queue_state(lab->queue, 1, &before));
	assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL), 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 1));
	assert_int_equal(lab->rc[BREAKER_TRIES], E_TIMEOUT);
	assert_true(switch_queue_state(lab->queue, 1, &after) && after.open);
	assert_int_equal(after.retry_ms, before.retry_ms);
	/* Back again: heard at once, and so is everybody. */
	lab->scripts[1].rc = 0;
	assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL), 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 2));
	assert_int_equal(lab->rc[BREAKER_TRIES + 1], 0);
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 3));
	assert_int_equal(lab->rc[BREAKER_TRIES + 2], 0);
	assert_string_equal(lab->log, "lllnnl");
	/* Credentials that were refused are not tried more often for it. */
	lab->scripts[1].rc = E_AUTHENTICATION;
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 4));
	assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL), 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 5));
	assert_int_equal(lab->rc[BREAKER_TRIES + 4], E_UNAVAILABLE);
}

/* An agent that has just started refuses its users for a moment. */
static void refused_by_snmp_is_no_lock(void **state)
{
	struct lab *lab = *state;
	struct switch_state seen;

	put(lab, 1, "agent", "192.0.2.1");
	lab->scripts[1].rc = E_AUTHENTICATION;
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, 1));
	assert_true(switch_queue_state(lab->queue, 1, &seen) && seen.open && seen.refused);
	assert_true(seen.retry_ms <= clock_monotonic_ms() + 60000);
	for (unsigned i = 2; i <= 4; i++) { /* a person may ask each time */
		assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL),
				 0);
		assert_true(wait_answers(lab, i));
		assert_int_equal(lab->rc[i - 1], E_AUTHENTICATION);
	}
	lab->scripts[1].rc = 0;
	assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL), 0);
	assert_true(wait_answers(lab, 5) && lab->rc[4] == 0);
}

/* A wrong password for writing does not stop reading. */
static void each_way_has_its_breaker(void **state)
{
	struct lab *lab = *state;

	put(lab, 1, "vendor", "192.0.2.1");
	lab->scripts[1].rc = E_AUTHENTICATION;
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 1));
	lab->scripts[1].rc = 0;
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_int_equal(lab->rc[1], E_UNAVAILABLE);
	assert_non_null(strstr(lab->problem.message, "credentials"));
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, 3));
	assert_int_equal(lab->rc[2], 0);
}

static void the_failing_share_few_places(void **state)
{
	struct lab *lab = *state;

	for (int id = 1; id <= 10; id++)
		lab->scripts[id] = (struct script){.rc = E_TIMEOUT};
	for (int id = 1; id <= 10; id++)
		ask(lab, id, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, 10));
	lab->most_at_once = 0;
	for (int id = 1; id <= 12; id++) {
		lab->scripts[id] = (struct script){.takes_ms = 30};
		ask(lab, id, SWITCH_READ, CALL_POLL, 0, 0);
	}
	assert_true(wait_answers(lab, 22));
	assert_int_equal(lab->most_at_once, 4); /* two that failed, two that did not */
}

static void families_are_found(void **state)
{
	struct lab *lab = *state;
	struct switch_state seen;

	put(lab, 1, "", "192.0.2.1");
	lab->scripts[1].object_id = ".1.2.3";
	ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, 1));
	assert_string_equal(lab->family, "vendor");
	assert_true(switch_queue_state(lab->queue, 1, &seen));
	assert_ptr_equal(seen.family, &vendor);
	/* One that an operator named stays. */
	lab->scripts[2].object_id = ".1.2.3";
	ask(lab, 2, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_string_equal(lab->family, "plain");
}

/* Switches 5: a switch that nobody knows is read, and set when an operator has said how. */
static void unknown_switches_are_never_set(void **state)
{
	struct lab *lab = *state;
	struct problem lacks = {0};
	unsigned started;

	put(lab, 1, "", "192.0.2.2");
	lab->scripts[1].object_id = ".1.9.9";
	assert_false(switch_queue_lacks(lab->queue, 1, &lacks));
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0); /* it could be anything */
	assert_true(wait_answers(lab, 1));
	assert_int_equal(lab->rc[0], E_UNAVAILABLE);
	ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_int_equal(lab->rc[1], 0);
	assert_true(switch_queue_lacks(lab->queue, 1, &lacks));
	assert_int_equal(lacks.code, E_DENIED);
	assert_non_null(strstr(lacks.hint, "haasctl switch add s1 --family"));
	started = lab->started;
	for (int op = SWITCH_CHANGE; op < SWITCH_HEALTH; op++)
		ask(lab, 1, (enum switch_op)op, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 2 + SWITCH_HEALTH - SWITCH_CHANGE));
	for (unsigned i = 2; i < lab->answers; i++)
		assert_int_equal(lab->rc[i], E_DENIED);
	assert_int_equal(lab->result, EDIT_NOT_TRIED);
	assert_int_equal(lab->started, started);
	put(lab, 1, "plain", "192.0.2.2");
	assert_false(switch_queue_lacks(lab->queue, 1, &lacks));
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 3 + SWITCH_HEALTH - SWITCH_CHANGE));
	assert_int_equal(lab->result, EDIT_TAKEN);
}

/* Switches 10: found to be of a family with a command line, without a user for it. */
static void without_ssh_a_switch_is_read_by_snmp(void **state)
{
	struct switch_endpoint endpoint = {
		.id = 1, .name = "s1", .address = "192.0.2.3", .snmp_community = "public"};
	struct lab *lab = *state;
	struct problem problem = {0};

	assert_int_equal(switch_queue_put(lab->queue, &endpoint, &problem), 0);
	lab->scripts[1].object_id = ".1.2.4";
	for (unsigned i = 0; i < 2; i++) { /* the second is of the family that the first found */
		ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
		assert_true(wait_answers(lab, i + 1));
		assert_int_equal(lab->rc[i], 0);
		assert_string_equal(lab->family, "shell");
		assert_string_equal(lab->driver, i ? "snmp" : "scripted");
	}
	assert_true(switch_queue_lacks(lab->queue, 1, &problem));
	assert_non_null(strstr(problem.hint, "haasctl switch add s1 --ssh-user"));
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 3));
	assert_int_equal(lab->rc[2], E_DENIED);
	assert_int_equal(lab->result, EDIT_NOT_TRIED);
	(void)text_copy(endpoint.ssh_user, sizeof(endpoint.ssh_user), "admin");
	assert_int_equal(switch_queue_put(lab->queue, &endpoint, &problem), 0);
	for (unsigned i = 0; i < 2; i++) {
		ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
		assert_true(wait_answers(lab, i + 4));
	}
	assert_string_equal(lab->driver, "cli");
	assert_false(switch_queue_lacks(lab->queue, 1, &problem));
}

static void a_new_way_in(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1].takes_ms = 200;
	lab->scripts[2].takes_ms = 200;
	ask(lab, 1, SWITCH_READ, CALL_PERSON, 'p', 0);
	ask(lab, 2, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	run_for(lab, 20);
	put(lab, 1, "plain", "192.0.2.1"); /* the same: nothing happens */
	assert_int_equal(lab->closed, 0);
	put(lab, 1, "plain", "192.0.2.2");
	put(lab, 2, "plain", "192.0.2.2");
	assert_true(wait_answers(lab, 2));
	assert_string_equal(lab->log, "pp"); /* read anew */
	assert_int_equal(lab->rc[0], E_TIMEOUT);
	assert_int_equal(lab->result, EDIT_UNKNOWN);
	assert_int_equal(lab->rc[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_silent_are_left_alone, start, stop),
		cmocka_unit_test_setup_teardown(silence_by_snmp_may_be_a_refusal, start, stop),
		cmocka_unit_test_setup_teardown(a_person_passes_the_back_off, start, stop),
		cmocka_unit_test_setup_teardown(refused_by_snmp_is_no_lock, start, stop),
		cmocka_unit_test_setup_teardown(each_way_has_its_breaker, start, stop),
		cmocka_unit_test_setup_teardown(the_failing_share_few_places, start, stop),
		cmocka_unit_test_setup_teardown(families_are_found, start, stop),
		cmocka_unit_test_setup_teardown(unknown_switches_are_never_set, start, stop),
		cmocka_unit_test_setup_teardown(without_ssh_a_switch_is_read_by_snmp, start, stop),
		cmocka_unit_test_setup_teardown(a_new_way_in, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
