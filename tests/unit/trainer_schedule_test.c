// links: trainer_train
/* Learning rates of each schedule by table; the loss scale through overflows and good steps. */
#include <math.h>
#include <stdio.h>

#include "common/base/macros.h"

#include "tests/support/cmocka.h"
#include "trainer_image/train/loss_scale_policy.h"
#include "trainer_image/train/schedule_policy.h"

static void check_rate(const struct schedule *schedule, uint64_t step, double wanted)
{
	double found = schedule_rate(schedule, step);

	if (!(fabs(found - wanted) <= 1e-12))
		fail_msg("%s, step %d: %.15g, not %.15g", schedule_words[schedule->kind], (int)step,
			 found, wanted);
}

static void test_rates(void **state)
{
	/* 10 steps of warm-up, 101 behind it: step 60 is the middle, 110 the last. */
	static const struct {
		struct schedule is;
		double at[5]; /* steps 10, 35, 60, 110, 500 */
	} rows[] = {
		{{SCHEDULE_CONSTANT, 0.4, 0, 0, 0, 10, 111}, {0.4, 0.4, 0.4, 0.4, 0.4}},
		{{SCHEDULE_STEPS, 0.4, 0, 0.5, 25, 10, 111}, {0.4, 0.2, 0.1, 0.025, 0.4 / 524288}},
		{{SCHEDULE_COSINE, 0.4, 0.2, 0, 0, 10, 111},
		 {0.4, 0.3 + 0.1 * 0.70710678118654752, 0.3, 0.2, 0.2}},
		{{SCHEDULE_LINEAR, 0.4, 0.2, 0, 0, 10, 111}, {0.4, 0.35, 0.3, 0.2, 0.2}},
	};
	static const uint64_t steps[] = {10, 35, 60, 110, 500};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		check_rate(&rows[i].is, 0, 0.04);
		check_rate(&rows[i].is, 9, 0.4);
		for (size_t k = 0; k < COUNT_OF(steps); k++)
			check_rate(&rows[i].is, steps[k], rows[i].at[k]);
	}
}

/* Nothing divides by zero where there is no warm-up, or nothing else. */
static void test_short(void **state)
{
	const struct schedule none = {SCHEDULE_COSINE, 0.4, 0.2, 0, 0, 0, 1};
	const struct schedule all = {SCHEDULE_LINEAR, 0.4, 0.2, 0, 0, 8, 4};
	const struct schedule every = {SCHEDULE_STEPS, 0.4, 0, 0.5, 0, 0, 9};

	(void)state;
	check_rate(&none, 0, 0.4);
	check_rate(&all, 3, 0.2);
	check_rate(&all, 8, 0.4);
	check_rate(&every, 1, 0.2);
}

static void test_loss_scale(void **state)
{
	struct loss_scale scale = loss_scale_begin(true);
	struct loss_scale fixed = loss_scale_begin(false);

	(void)state;
	assert_true(scale.scale == 65536 && fixed.scale == 1);
	assert_true(loss_scale_step(&scale, false) && scale.scale == 32768);
	for (int i = 0; i < LOSS_SCALE_STEPS - 1; i++)
		assert_true(loss_scale_step(&scale, true) && scale.scale == 32768);
	/* One bad step begins the count anew. */
	assert_true(loss_scale_step(&scale, false) && scale.scale == 16384);
	for (int i = 0; i < LOSS_SCALE_STEPS; i++)
		assert_true(loss_scale_step(&scale, true));
	assert_true(scale.scale == 32768);
	for (int i = 0; i < 100 * LOSS_SCALE_STEPS; i++)
		assert_true(loss_scale_step(&scale, true));
	assert_true(scale.scale == LOSS_SCALE_MOST);
	/* 2^24 can be halved 24 times. */
	for (int i = 0; i < 24; i++)
		assert_true(loss_scale_step(&scale, false));
	assert_false(loss_scale_step(&scale, false));
	assert_true(loss_scale_step(&fixed, true) && fixed.scale == 1);
	assert_false(loss_scale_step(&fixed, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_loss_scale),
	};

	return cmocka_run_group_tests_name("trainer_schedule", tests, NULL, NULL);
}
