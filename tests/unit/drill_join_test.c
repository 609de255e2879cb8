// links: common_model
/* Which second of a window comes from where: written cases, and for every window of a quarter of an
 * hour that each second is read exactly once, whatever was stored and whatever is in memory. */
#include "common/base/macros.h"
#include "common/model/drill_join_policy.h"

#include "tests/support/cmocka.h"

/* 10:00 of some day; a multiple of 3600. */
#define TEN INT64_C(1795255200)

static void windows_are_joined(void **state)
{
	static const struct {
		const char *name;
		int64_t first, last, from, to; /* behind TEN; last -1 = nothing in memory */
		struct drill_join join;
	} rows[] = {
		{"the last 10 s", 0, 320, 311, 0, {311, 321, 360, 360, true, false}},
		{"the last 90 s", 0, 320, 231, 0, {231, 321, 240, 360, true, false}},
		{"the end of a minute", 0, 299, 290, 0, {290, 300, 300, 300, true, false}},
		{"asked for the future", 0, 320, 311, 500, {311, 321, 360, 360, true, false}},
		{"whole minutes", 0, 320, 120, 300, {120, 300, 120, 300, false, false}},
		{"10 s, two minutes ago", 0, 320, 190, 200, {190, 200, 240, 240, true, true}},
		{"over a minute's end", 0, 320, 170, 190, {170, 190, 180, 180, true, true}},
		{"with a whole one between", 0, 320, 110, 190, {110, 190, 120, 180, true, true}},
		{"too long for the time that it is asked again in",
		 0,
		 320,
		 110,
		 311,
		 {60, 311, 60, 300, false, true}},
		{"as long as it may be", 0, 320, 110, 310, {110, 310, 120, 300, true, true}},
		{"to now, as long as it may be", 0, 320, 121, 0, {121, 321, 180, 360, true, false}},
		{"its begin is forgotten", 130, 320, 110, 190, {60, 190, 60, 180, false, true}},
		{"all of it is forgotten", 200, 320, 110, 190, {60, 240, 60, 240, false, false}},
		{"it began within the minute", 130, 150, 100, 0, {60, 151, 60, 180, false, false}},
		{"no memory", 0, -1, 110, 190, {60, 240, 60, 240, false, false}},
		{"later than memory", 0, 100, 110, 190, {60, 240, 60, 240, false, false}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool none = rows[i].last < 0;
		const struct drill_memory memory = {none ? 0 : TEN + rows[i].first,
						    none ? 0 : TEN + rows[i].last, 200};
		struct drill_join join =
			drill_join(&memory, TEN + rows[i].from, rows[i].to ? TEN + rows[i].to : 0);

		print_message("%s\n", rows[i].name);
		assert_int_equal(join.from_s - TEN, rows[i].join.from_s);
		assert_int_equal(join.to_s - TEN, rows[i].join.to_s);
		assert_int_equal(join.stored_from_s - TEN, rows[i].join.stored_from_s);
		assert_int_equal(join.stored_to_s - TEN, rows[i].join.stored_to_s);
		assert_int_equal(join.head_cut, rows[i].join.head_cut);
		assert_int_equal(join.tail_cut, rows[i].join.tail_cut);
	}
}

/* Everything was collected from `begin` to `last`, minutes before `stored` are stored. */
static void check(const struct drill_memory *memory, int64_t stored, int64_t from, int64_t to)
{
	const struct drill_join join = drill_join(memory, from, to);
	int64_t end = memory->last_s + 1;

	assert_true(join.from_s <= from && from - join.from_s < 60);
	assert_true(to >= end || (join.to_s >= to && join.to_s - to < 60));
	assert_int_equal(join.stored_from_s % 60, 0);
	assert_int_equal(join.stored_to_s % 60, 0);
	for (int64_t at = join.from_s - 60; at < join.to_s + 60 && at < end; at++) {
		int64_t minute = at - at % 60;
		bool cut = drill_join_cuts(&join, minute);
		bool wanted = at >= join.from_s && at < join.to_s;
		unsigned times = 0;

		if (minute < stored && at >= join.stored_from_s && at < join.stored_to_s)
			times++;
		if ((cut || minute >= stored) && wanted && at >= memory->first_s)
			times++;
		/* What is neither stored nor in memory is gone. */
		assert_int_equal(times, wanted && (minute < stored || at >= memory->first_s));
	}
}

static void each_second_is_read_once(void **state)
{
	(void)state;
	for (int64_t first = TEN; first < TEN + 200; first += 37)
		for (int64_t last = first; last < TEN + 400; last += 53) {
			const struct drill_memory memory = {first, last, 300};
			/* Nothing is stored that memory has not had; all that it has forgotten is.
			 */
			for (int64_t stored = (first + 59) / 60 * 60; stored <= last; stored += 60)
				for (int64_t from = TEN; from < TEN + 420; from += 11)
					for (int64_t to = from + 1; to < TEN + 480; to += 13)
						check(&memory, stored, from, to);
		}
}

/* Asked again while memory goes on and forgets: what was answered to an end that is there is
 * answered again, to now as well by the end that it told. */
static void a_minute_later_it_is_the_same(void **state)
{
	enum { RING = 360 };

	(void)state;
	for (int64_t last = TEN + RING; last < TEN + RING + 60; last++)
		for (int64_t window = 1; window <= 420; window += window < 20 ? 1 : 13) {
			const struct drill_memory now = {last - RING + 1, last, RING - 60};
			const struct drill_join first =
				drill_join(&now, last + 1 - window, last % 2 ? last + 1 : 0);

			assert_int_equal(first.to_s, last + 1);
			for (int64_t later = 1; later <= 59; later += 7) {
				const struct drill_memory then = {now.first_s + later, last + later,
								  RING - 60};
				const struct drill_join again =
					drill_join(&then, first.to_s - window, first.to_s);

				assert_int_equal(again.from_s, first.from_s);
				assert_int_equal(again.to_s, first.to_s);
				assert_int_equal(again.stored_from_s, first.stored_from_s);
				assert_int_equal(again.head_cut, first.head_cut);
			}
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_joined),
		cmocka_unit_test(each_second_is_read_once),
		cmocka_unit_test(a_minute_later_it_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
