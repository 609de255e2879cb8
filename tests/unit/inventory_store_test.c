// links: bootd_identify common_base
/* How long bampi-bootd does not read PostgreSQL after a read. */
#include "bampi/bootd/identify/inventory_store.h"
#include "tests/support/cmocka.h"

static void a_read_takes_a_tenth_of_the_time(void **state)
{
	(void)state;
	assert_int_equal(inventory_store_rest_ms(200), 1800);
	assert_int_equal(inventory_store_rest_ms(3000), 27000);
}

/* Notifications come in heaps. */
static void a_short_one_rests_too(void **state)
{
	(void)state;
	assert_int_equal(inventory_store_rest_ms(0), 100);
	assert_int_equal(inventory_store_rest_ms(5), 100);
}

/* PostgreSQL stood still for a minute: what was asked for since is read within the 30 s of every
 * read, not after nine minutes. */
static void one_that_was_held_up_does_not_rest_longer(void **state)
{
	(void)state;
	assert_int_equal(inventory_store_rest_ms(60000), 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_takes_a_tenth_of_the_time),
		cmocka_unit_test(a_short_one_rests_too),
		cmocka_unit_test(one_that_was_held_up_does_not_rest_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
