// links: trainer_record
/* The order of an epoch: a permutation; exactly once over ranks; from any position the same. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "trainer_image/record/shuffle_policy.h"

enum { PAGES_MAX = 64, SAMPLES_MAX = 1024 };

static void test_permutation(void **state)
{
	static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 16, 17, 64, 100, 257, 1000};
	static uint8_t seen[1024];

	(void)state;
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		for (uint64_t key = 0; key < 20; key++) {
			memset(seen, 0, sizeof(seen));
			for (uint64_t i = 0; i < counts[c]; i++) {
				uint64_t place = shuffle_permute(i, counts[c], key);

				assert_true(place < counts[c]);
				assert_int_equal(seen[place]++, 0);
			}
		}
	/* Far beyond what an array could hold. */
	for (uint64_t i = 0; i < 100; i++)
		assert_true(shuffle_permute(i, (1ULL << 40) + 1, 5) <= 1ULL << 40);
}

/* The same on each machine and in each release: a checkpoint of last year goes on. */
static void test_fixed(void **state)
{
	static const uint64_t first[] = {0, 4, 8, 12};
	static const struct shuffle_set set = {3, first};
	struct shuffle_ask ask = {.seed = 1, .epoch = 2, .ranks = 1, .window = 2};
	struct shuffle_place place;
	struct shuffle shuffle;
	char text[64] = "";

	(void)state;
	assert_int_equal(shuffle_init(&shuffle, &set, &ask), 0);
	while (shuffle_next(&shuffle, &place))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u.%u ", place.page,
			 place.index);
	assert_string_equal(text, "1.0 1.3 2.2 2.3 1.2 1.1 2.0 2.1 0.1 0.3 0.0 0.2 ");
}

static void test_refused(void **state)
{
	static const uint64_t first[] = {0, 5};
	static const struct shuffle_set set = {1, first};
	static const struct shuffle_ask bad[] = {
		{.rank = 0, .ranks = 0, .window = 1},
		{.rank = 2, .ranks = 2, .window = 1},
		{.rank = 0, .ranks = 1, .window = 0},
		{.rank = 0, .ranks = 1, .window = SHUFFLE_WINDOW_MAX + 1},
	};
	struct shuffle shuffle;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(shuffle_init(&shuffle, &set, &bad[i]), E_INVALID);
	assert_int_equal(
		shuffle_init(&shuffle, &set, &(struct shuffle_ask){.ranks = 1, .window = 1}), 0);
	assert_int_equal(shuffle.count, 5);
	assert_int_equal(shuffle_seek(&shuffle, 6), E_INVALID);
	assert_int_equal(shuffle_seek(&shuffle, 5), 0);
	assert_false(shuffle_next(&shuffle, &(struct shuffle_place){0}));
}

/* Pages of 0 to 16 samples. */
static uint32_t set_make(uint32_t pages, uint64_t seed, uint64_t first[PAGES_MAX + 1])
{
	first[0] = 0;
	for (uint32_t p = 0; p < pages; p++)
		first[p + 1] = first[p] + shuffle_key(seed, p, 9) % 17;
	return (uint32_t)first[pages];
}

/* One rank's share: within its groups, and marked in `seen`. Returns how many. */
static uint64_t share_check(const struct shuffle_set *set, const struct shuffle_ask *ask,
			    uint8_t seen[SAMPLES_MAX], uint64_t order[SAMPLES_MAX])
{
	struct shuffle_place place;
	struct shuffle shuffle;
	uint64_t count = 0;

	assert_int_equal(shuffle_init(&shuffle, set, ask), 0);
	for (; shuffle_next(&shuffle, &place); count++) {
		const struct shuffle_group *group = &shuffle.group;

		assert_true(group->part_count <= ask->window && place.slot < group->part_count);
		assert_true(count >= group->begin && count < group->begin + group->count);
		const struct shuffle_part *part = &group->part[place.slot];
		assert_int_equal(part->page, place.page);
		assert_true(place.index >= part->begin && place.index < part->begin + part->count);
		uint64_t sample = set->first[place.page] + place.index;
		assert_true(sample < set->first[place.page + 1]);
		assert_int_equal(seen[sample]++, 0);
		order[count] = sample;
	}
	assert_int_equal(count, shuffle.count);
	return count;
}

static void test_exactly_once(void **state)
{
	static const uint32_t ranks[] = {1, 2, 3, 5, 8, 61};
	static const uint32_t windows[] = {1, 2, 7, 256};
	static const uint32_t pages[] = {0, 1, 2, 13, 64};

	(void)state;
	for (unsigned i = 0; i < 6 * 4 * 5; i++) {
		uint64_t first[PAGES_MAX + 1];
		struct shuffle_set set = {pages[i % 5], first};
		uint32_t samples = set_make(set.pages, i, first);
		uint8_t seen[SAMPLES_MAX + 1] = {0};
		struct shuffle_ask ask = {.seed = i,
					  .epoch = i / 7,
					  .ranks = ranks[i / 5 % 6],
					  .window = windows[i / 30]};
		uint64_t least = UINT64_MAX;
		uint64_t most = 0;

		assert_in_range(samples, 0, SAMPLES_MAX);
		for (ask.rank = 0; ask.rank < ask.ranks; ask.rank++) {
			uint64_t order[SAMPLES_MAX];
			uint64_t count = share_check(&set, &ask, seen, order);
			struct shuffle shuffle;

			least = count < least ? count : least;
			most = count > most ? count : most;
			/* From some positions on: the same. */
			for (uint64_t at = 0; at <= count; at += 1 + count / 5) {
				struct shuffle_place place;

				assert_int_equal(shuffle_init(&shuffle, &set, &ask), 0);
				assert_int_equal(shuffle_seek(&shuffle, at), 0);
				for (uint64_t k = at; k < count; k++) {
					assert_true(shuffle_next(&shuffle, &place));
					assert_int_equal(first[place.page] + place.index, order[k]);
				}
				assert_false(shuffle_next(&shuffle, &place));
			}
		}
		assert_true(most - least <= 1);
		for (uint32_t s = 0; s < samples; s++)
			assert_int_equal(seen[s], 1);
	}
}

/* An epoch is another order than the last one; of 256 samples hardly one stays where it was. */
static void test_epochs_differ(void **state)
{
	uint64_t first[PAGES_MAX + 1];
	struct shuffle_set set = {PAGES_MAX, first};
	struct shuffle_place here;
	struct shuffle_place there;
	struct shuffle one;
	struct shuffle two;
	unsigned same = 0;

	(void)state;
	for (unsigned p = 0; p <= PAGES_MAX; p++)
		first[p] = p * 4;
	assert_int_equal(shuffle_init(&one, &set, &(struct shuffle_ask){.ranks = 1, .window = 16}),
			 0);
	assert_int_equal(shuffle_init(&two, &set,
				      &(struct shuffle_ask){.epoch = 1, .ranks = 1, .window = 16}),
			 0);
	while (shuffle_next(&one, &here) && shuffle_next(&two, &there))
		same += here.page == there.page && here.index == there.index;
	assert_in_range(same, 0, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permutation),   cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_refused),       cmocka_unit_test(test_exactly_once),
		cmocka_unit_test(test_epochs_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
