// links: common_base
/* Until when a claim may be acted on. */
#include "common/base/clock.h"
#include "common/base/fence.h"

#include "tests/support/cmocka.h"

static void the_end_comes_before_the_claims(void **state)
{
	(void)state;
	assert_int_equal(fence_end_ms(1000, 30000), 28000);
	assert_int_equal(fence_end_ms(1000, 0), 1000);
}

static void it_holds_until_its_end_and_can_be_extended(void **state)
{
	struct fence *fence = NULL;
	int64_t now_ms = clock_boot_ms();

	(void)state;
	assert_int_equal(fence_new(now_ms - 1, &fence), 0);
	assert_false(fence_holds(fence));
	assert_int_equal(fence_left_ms(fence), 0);
	fence_extend(fence, now_ms + 60000);
	assert_true(fence_holds(fence));
	fence_extend(fence, now_ms); /* an older answer */
	assert_in_range(fence_left_ms(fence), 30000, 60000);
	fence_drop(fence);
	fence_extend(fence, now_ms + 60000);
	assert_false(fence_holds(fence));
	fence_unref(fence_ref(fence));
	fence_unref(fence);
}

static void without_a_claim_there_is_no_end(void **state)
{
	(void)state;
	assert_true(fence_holds(NULL));
	assert_true(fence_left_ms(NULL) == INT64_MAX);
	fence_extend(NULL, 1);
	fence_drop(NULL);
	fence_unref(fence_ref(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_comes_before_the_claims),
		cmocka_unit_test(it_holds_until_its_end_and_can_be_extended),
		cmocka_unit_test(without_a_claim_there_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
