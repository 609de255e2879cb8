// links: peregrine_switch peregrine_flowd
/* What is wanted of a switch's sampling, how it stands (peregrined), and whether it does what it
 * was told (peregrine-flowd). */
#include <errno.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "peregrine/flowd/backoff_policy.h"
#include "peregrine/switch/sampling_policy.h"
#include "tests/support/cmocka.h"

static void rates_follow_the_speed(void **state)
{
	static const struct {
		uint32_t rate;
		uint64_t speed_bps;
		uint32_t expected;
	} rows[] = {
		{0, 1000000000, 1000},
		{0, 25000000000, 25000},
		{0, 100000000000, 100000},
		{0, 10000000, 100}, /* not denser than this */
		{0, 0, 1000},       /* unknown: as 1 Gbit/s */
		{0, UINT64_MAX, 1000000},
		{400, 100000000000, 400},
		{400, 0, 400},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct sampling_wanted wanted = {.rate = rows[i].rate};

		assert_int_equal(sampling_rate(&wanted, rows[i].speed_bps), rows[i].expected);
	}
}

static void a_look_is_judged(void **state)
{
	static const struct {
		const char *what;
		bool enabled, change;
		int rc;
		bool agrees, foreign;
		enum sampling_state expected;
	} rows[] = {
		{"as wanted", true, true, 0, true, false, SAMPLING_APPLIED},
		{"set, and not there", true, true, 0, false, false, SAMPLING_REFUSED},
		{"only looked at", true, false, 0, false, false, SAMPLING_DRIFT},
		{"somebody else's", true, true, 0, false, true, SAMPLING_FOREIGN},
		{"taken away", false, true, 0, true, false, SAMPLING_OFF},
		{"somebody else's, and none of ours wanted", false, true, 0, true, true,
		 SAMPLING_OFF},
		{"still there", false, true, 0, false, false, SAMPLING_REFUSED},
		{"still there, only looked at", false, false, 0, false, false, SAMPLING_DRIFT},
		{"no answer", true, true, E_TIMEOUT, false, false, SAMPLING_SILENT},
		{"left alone", true, true, E_UNAVAILABLE, false, false, SAMPLING_SILENT},
		{"its family cannot", true, true, E_UNSUPPORTED, false, false, SAMPLING_REFUSED},
		{"not for us", true, true, E_DENIED, false, false, SAMPLING_REFUSED},
		{"no", true, true, E_CONFLICT, false, false, SAMPLING_REFUSED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct sampling_wanted wanted = {.enabled = rows[i].enabled,
						       .change = rows[i].change};
		const struct sampling_found found = {.agrees = rows[i].agrees,
						     .foreign = rows[i].foreign};

		print_message("%s\n", rows[i].what);
		assert_int_equal(sampling_judge(&wanted, rows[i].rc, &found), rows[i].expected);
	}
}

/* As the driver goes about it: it looks, sets what differs, and looks again at once. */
static unsigned times_set(struct sampling_adjusted *adjusted, uint32_t wanted, uint32_t made,
			  unsigned looks)
{
	unsigned set = 0;

	for (unsigned look = 0; look < looks; look++) {
		if (sampling_rate_agrees(adjusted, wanted, made))
			continue;
		set++;
		sampling_learn(adjusted, wanted, made);
	}
	return set;
}

static void an_agents_own_rate_is_set_once(void **state)
{
	static const struct {
		uint32_t wanted, made;
		unsigned set;
	} rows[] = {
		{1000, 1000, 0}, {1000, 1024, 0}, {5000, 4096, 0}, {5, 16, 1}, {1000000, 65536, 1},
	};
	struct sampling_adjusted adjusted = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(times_set(&adjusted, rows[i].wanted, rows[i].made, 10),
				 rows[i].set);
	/* A doubled one is neither near nor what was learnt, nor is it of another wanted one. */
	assert_false(sampling_rate_agrees(&adjusted, 1000, 2000));
	assert_false(sampling_rate_agrees(&adjusted, 5, 32));
	assert_false(sampling_rate_agrees(&adjusted, 6, 16));
	assert_false(sampling_rate_agrees(&adjusted, 5, 0));
	sampling_learn(&adjusted, 7, 0);
	assert_false(sampling_rate_agrees(&adjusted, 7, 0));
	/* More than it can remember: the oldest goes, and is learnt again. */
	for (uint32_t wanted = 100; wanted < 120; wanted++)
		sampling_learn(&adjusted, wanted, 4096);
	assert_int_equal(times_set(&adjusted, 119, 4096, 10), 0);
	assert_int_equal(times_set(&adjusted, 5, 16, 10), 1);
}

static void a_back_off_is_seen(void **state)
{
	static const struct {
		const char *what;
		struct backoff_facts facts;
		enum backoff expected;
	} rows[] = {
		{"as told", {1000, 1000, 1000, 1000, 1000000, 1000, 0}, BACKOFF_NONE},
		{"ports of several speeds", {1000, 25000, 1000, 25000, 0, 0, 0}, BACKOFF_NONE},
		{"rounded to the next power of two",
		 {1000, 1000, 1024, 1024, 0, 0, 0},
		 BACKOFF_NONE},
		{"doubled (Dell)", {1000, 1000, 2000, 2000, 0, 0, 0}, BACKOFF_COARSER},
		{"one port of them doubled", {1000, 1000, 1000, 2000, 0, 0, 0}, BACKOFF_COARSER},
		{"denser", {1000, 1000, 400, 400, 0, 0, 0}, BACKOFF_FINER},
		{"the very densest", {1, 1, 1, 1, 0, 0, 0}, BACKOFF_NONE},
		{"takes 1 in 3000", {1000, 1000, 1000, 1000, 3000000, 1000, 0}, BACKOFF_DROPS},
		{"they were lost on the way, not by it",
		 {1000, 1000, 1000, 1000, 3000000, 1000, 2000},
		 BACKOFF_NONE},
		{"too few to say", {1000, 1000, 1000, 1000, 300000, 100, 0}, BACKOFF_NONE},
		{"nothing was set", {0, 0, 1000, 1000, 0, 0, 0}, BACKOFF_NONE},
		{"nothing came", {1000, 1000, 0, 0, 0, 0, 0}, BACKOFF_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("%s\n", rows[i].what);
		assert_int_equal(backoff_judge(&rows[i].facts), rows[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_follow_the_speed),
		cmocka_unit_test(a_look_is_judged),
		cmocka_unit_test(an_agents_own_rate_is_set_once),
		cmocka_unit_test(a_back_off_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
