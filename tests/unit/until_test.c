// links: common_db
/* How long something lasts, told by a database that may be late. */
#include "common/base/macros.h"
#include "common/db/until.h"

#include "tests/support/cmocka.h"

static void what_lasts_is_over_at_its_time(void **state)
{
	static const struct {
		int64_t asked_ms, answered_ms, left_ms, known_ms, until_ms;
	} rows[] = {
		/* in time: from when it was asked, whatever was known */
		{1000, 1004, 60000, 0, 61000},
		{1000, 5999, 60000, 90000, 61000},
		/* it stood still for a minute, and then counted: over at 101 s, as it was */
		{1000, 61000, 40000, 101000, 101000},
		{1000, 61000, 40000, 0, 101000},
		/* counted at once, and a minute on its way */
		{1000, 61000, 100000, 101000, 101000},
		{1000, 61000, 100000, 0, 161000},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(db_until_ms(rows[i].asked_ms, rows[i].answered_ms, rows[i].left_ms,
					     rows[i].known_ms),
				 rows[i].until_ms);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lasts_is_over_at_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
