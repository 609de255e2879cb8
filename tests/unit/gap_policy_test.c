// links: peregrine_flowd
/* Which gaps in agents' sequences are the collector's own doing. */
#include "common/base/macros.h"

#include "peregrine/flowd/gap_policy.h"
#include "tests/support/cmocka.h"

#define SECOND 1000000

static void gaps_are_set_off(void **state)
{
	static const struct {
		const char *what;
		uint64_t drops[3]; /* second by second */
		int64_t apart_s;   /* between seconds */
		uint64_t missing[2];
		uint64_t dropped[2];
		uint64_t left;
	} rows[] = {
		{"nothing was dropped: all was lost on the way", {0, 0, 0}, 1, {5, 3}, {0, 0}, 0},
		{"all was dropped here", {0, 0, 8}, 1, {5, 3}, {5, 3}, 0},
		{"a second before", {0, 8, 0}, 1, {5, 3}, {5, 3}, 0},
		{"some was: each has its part", {0, 2, 2}, 1, {6, 2}, {3, 1}, 0},
		{"more was dropped than is known to be missing", {0, 0, 10}, 1, {5, 3}, {5, 3}, 2},
		{"long ago: those were strangers", {8, 0, 0}, 40, {5, 3}, {0, 0}, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct gap_owed owed = {0};
		uint64_t all = rows[i].missing[0] + rows[i].missing[1];

		print_message("%s\n", rows[i].what);
		for (int64_t s = 0; s < 3; s++)
			gap_owed_add(&owed, rows[i].drops[s],
				     (1000 + s * rows[i].apart_s) * SECOND);
		for (size_t agent = 0; agent < 2; agent++)
			assert_int_equal(gap_part(&owed, rows[i].missing[agent], all),
					 rows[i].dropped[agent]);
		gap_owed_take(&owed, all);
		assert_int_equal(owed.drops, rows[i].left);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_set_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
