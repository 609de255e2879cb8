// links: common_model
/* Samples against counters: a link of three owners, drawn by chance, scaled to what was counted. */
#include <math.h>
#include <stdlib.h>

#include "common/base/macros.h"
#include "common/model/estimate_policy.h"
#include "common/model/scale_policy.h"

#include "tests/support/cmocka.h"

enum { OWNERS = 3, RATE = 100, TRIALS = 1500, FRAMES = 20000 };

static uint64_t seed = 1;

/* splitmix64 (Vigna), as a fraction below 1. */
static double chance(void)
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15U);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static void draw(struct traffic_sums *sums, uint32_t bytes)
{
	double each = (double)bytes * RATE;

	sums->bytes += (uint64_t)bytes * RATE;
	sums->packets += RATE;
	sums->square += each * each;
	sums->samples++;
}

/* Returns what the link counted. `parts[i]`: sampled of owner i, `truth[i]` its bytes. */
static uint64_t fill(struct traffic_sums parts[OWNERS], uint64_t truth[OWNERS],
		     struct traffic_sums *link)
{
	static const double below[OWNERS] = {0.7, 0.95, 1}; /* 70 %, 25 %, 5 % of the frames */
	uint64_t counted = 0;

	for (unsigned i = 0; i < FRAMES; i++) {
		double which = chance();
		unsigned owner = which < below[0] ? 0 : which < below[1] ? 1 : 2;
		uint32_t bytes = chance() < 0.5 ? 1514 : 66;

		truth[owner] += bytes;
		counted += bytes;
		if (chance() * RATE >= 1)
			continue;
		draw(&parts[owner], bytes);
		draw(link, bytes);
	}
	return counted;
}

static void bounds_of_scaled_parts_hold(void **state)
{
	unsigned outside[OWNERS] = {0};
	unsigned outside_own = 0;
	double narrower = 0;

	(void)state;
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		struct traffic_sums parts[OWNERS] = {0};
		struct link_scale scale = {.known = true, .covered = 1};
		uint64_t truth[OWNERS] = {0};
		uint64_t counted = fill(parts, truth, &scale.link);
		uint64_t sum = 0;

		scale.factor = (double)counted / (double)scale.link.bytes;
		for (unsigned i = 0; i < OWNERS; i++) {
			struct traffic_sums scaled = scale_part(&scale, &parts[i]);
			struct estimate estimate = estimate_of(&scaled, 0);

			struct traffic_sums own = scale_own(&scale, &parts[i]);
			struct estimate told = estimate_of(&own, 0);

			assert_int_equal(own.bytes, scaled.bytes);
			outside_own += truth[i] < told.low || truth[i] > told.high;
			sum += scaled.bytes;
			outside[i] += truth[i] < estimate.low || truth[i] > estimate.high;
			if (i == 0)
				narrower += sqrt(scaled.square) / sqrt(parts[i].square) / TRIALS;
		}
		struct traffic_sums whole = scale_whole(&scale, &scale.link);
		struct estimate exact = estimate_of(&whole, 0);

		assert_true(exact.low == exact.bytes && exact.high == exact.bytes);
		assert_true(exact.bytes <= counted && counted - exact.bytes <= 1);
		assert_true(sum <= exact.bytes && exact.bytes - sum < OWNERS);
		assert_false(scale_is_odd(&scale));
	}
	for (unsigned i = 0; i < OWNERS; i++)
		print_message("owner %u: %.2f %% outside of its bound\n", i,
			      100.0 * outside[i] / TRIALS);
	print_message("the largest's deviation is %.2f of what it is unscaled\n", narrower);
	for (unsigned i = 0; i < OWNERS; i++)
		assert_true(outside[i] >= TRIALS / 100 && outside[i] <= TRIALS * 7 / 100);
	assert_true(narrower < 0.75);
	print_message("told by their own spread: %.2f %% outside\n",
		      100.0 * outside_own / TRIALS / OWNERS);
	assert_true(outside_own <= (unsigned)TRIALS * OWNERS * 5 / 100);
}

/* Nobody else was sampled at the link, and yet may have been there. */
static void all_of_the_samples_are_not_all_of_the_link(void **state)
{
	struct link_scale scale = {.known = true, .factor = 1, .covered = 1};
	struct traffic_sums part;
	struct estimate estimate;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		draw(&scale.link, 1000);
	part = scale_part(&scale, &scale.link);
	estimate = estimate_of(&part, 0);
	/* Wilson: of 100 samples all, at least 96.3 % */
	assert_true((double)estimate.low < 0.975 * (double)estimate.bytes);
	assert_true((double)estimate.low > 0.95 * (double)estimate.bytes);
}

static void what_is_not_covered_is_estimated(void **state)
{
	static const struct {
		double covered, width;
	} rows[] = {{1, 0}, {0.8, 0.25}, {0.5, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct link_scale scale = {.known = true, .factor = 2, .covered = rows[i].covered};
		struct traffic_sums whole;

		for (unsigned j = 0; j < 50; j++)
			draw(&scale.link, 1000);
		whole = scale_whole(&scale, &scale.link);
		assert_int_equal(whole.bytes, 50ULL * 1000 * RATE * 2);
		assert_int_equal(whole.samples, 50);
		assert_true(fabs(whole.square - scale.link.square * 4 * rows[i].width) <
			    scale.link.square / 1e6);
	}
}

static void a_rate_that_is_not_true_is_odd(void **state)
{
	static const struct {
		const char *what;
		unsigned samples;
		double factor;
		bool odd;
	} rows[] = {
		{"as it should be", 10000, 1.01, false},
		{"half of what was told", 10000, 2, true},
		{"twice as dense as it was told", 10000, 0.5, true},
		{"so few samples may miss by a half", 10, 1.9, false},
		{"nothing", 0, 1, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct link_scale scale = {.known = true, .factor = rows[i].factor, .covered = 1};

		for (unsigned j = 0; j < rows[i].samples; j++)
			draw(&scale.link, 1000);
		print_message("%s\n", rows[i].what);
		assert_int_equal(scale_is_odd(&scale), rows[i].odd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_of_scaled_parts_hold),
		cmocka_unit_test(all_of_the_samples_are_not_all_of_the_link),
		cmocka_unit_test(what_is_not_covered_is_estimated),
		cmocka_unit_test(a_rate_that_is_not_true_is_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
