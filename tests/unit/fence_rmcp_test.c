// links: bampi_bmc common_base lib::openssl lib::sodium
/* The session machine sends nothing that changes something after the end of its claim, and what was too late
 * is no silence of the BMC. */
#include <string.h>

#include "tests/support/rmcp_bench.h"

/* We were stopped, and the claim ran out: before the first packet, and before the second. */
static void nothing_is_sent_after_the_end_of_its_fence(void **state)
{
	struct lab *lab = *state;
	struct rmcp_ask on = power_on;

	assert_int_equal(fence_new(clock_boot_ms() + 60000, &on.fence), 0);
	assert_answered(lab, &on);
	assert_int_equal(lab->bmc.controls, 1);
	lab->deaf = true;
	begin(lab, &on);
	lab->deaf = false;
	fence_drop(on.fence);
	(void)finish(lab);
	assert_failed(lab, E_LAPSED);
	assert_non_null(strstr(lab->outcome.problem.detail, "may have been executed"));
	begin(lab, &on);
	(void)finish(lab);
	assert_failed(lab, E_LAPSED);
	assert_non_null(strstr(lab->outcome.problem.detail, "not sent"));
	assert_int_equal(lab->bmc.controls, 1);
	assert_answered(lab, &status); /* the session is as it was */
	assert_answered(lab, &power_on);
	assert_int_equal(lab->bmc.controls, 2);
	assert_int_equal(lab->bmc.opens, 1);
	fence_unref(on.fence);
}

/* We were stopped for so long that patience was over with the claim: how silent the BMC was is not known. */
static void a_late_one_is_no_silent_one(void **state)
{
	static const struct rmcp_ask *const asks[] = {&power_on, &reset};
	struct lab *lab = *state;

	for (size_t i = 0; i < COUNT_OF(asks); i++) {
		struct rmcp_ask ask = *asks[i];

		lab_init(lab, 3);
		assert_answered(lab, &status);
		assert_int_equal(fence_new(clock_boot_ms() + 60000, &ask.fence), 0);
		assert_answered(lab, &ask);
		lab->deaf = true;
		begin(lab, &ask);
		fence_drop(ask.fence);
		lab->now_ms += 3600000;
		(void)finish(lab);
		assert_failed(lab, E_LAPSED);
		assert_non_null(strstr(lab->outcome.problem.detail, "may have been executed"));
		/* The set-up was under way: nothing of the command was sent. */
		lab_init(lab, 3);
		lab->deaf = true;
		begin(lab, &ask);
		lab->now_ms += 3600000;
		(void)finish(lab);
		assert_failed(lab, E_LAPSED);
		assert_non_null(strstr(lab->outcome.problem.detail, "not sent"));
		fence_unref(ask.fence);
	}
}

/* It was encoded in time, and the claim was over when it was to go out: also of what is sent once. */
static void what_was_not_sent_after_all_is_said(void **state)
{
	struct rmcp_ask once = reset;
	struct lab *lab = *state;

	assert_answered(lab, &power_on);
	assert_int_equal(fence_new(clock_boot_ms() + 60000, &once.fence), 0);
	lab->deaf = true;
	begin(lab, &once);
	lab->deaf = false;
	fence_drop(once.fence);
	rmcp_session_unsent(&lab->session, lab->now_ms);
	assert_int_equal(finish(lab), 0);
	assert_failed(lab, E_LAPSED);
	assert_non_null(strstr(lab->outcome.problem.detail, "not sent"));
	rmcp_session_unsent(&lab->session, lab->now_ms); /* nothing is under way */
	assert_answered(lab, &status);
	assert_int_equal(lab->bmc.opens, 1);
	fence_unref(once.fence);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_sent_after_the_end_of_its_fence),
		TEST(a_late_one_is_no_silent_one),
		TEST(what_was_not_sent_after_all_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
