// links: peregrine_flow
/* The largest children of each parent, and of them the largest of all: what stays is what sorting
 * all of them would leave, whatever their sizes are. */
#include <stdlib.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/traffic_set_private.h"
#include "tests/support/cmocka.h"

enum { COUNT = 20000, PARENTS = 64 };

static unsigned next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(*seed >> 33);
}

/* Larger ones first, equal ones by number. */
static int larger(const void *a, const void *b)
{
	const struct ranked *x = a;
	const struct ranked *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->child > y->child) - (x->child < y->child);
}

/* As it should be: marks what stays, by child. */
static size_t choose_by_sorting(const struct ranked *rows, size_t count, uint32_t kept,
				uint32_t room, bool *ret_stays)
{
	struct ranked *all = malloc(count * sizeof(*all));
	uint32_t had[PARENTS] = {0};
	size_t stay = 0;

	assert_non_null(all);
	for (size_t i = 0; i < count; i++) {
		all[i] = rows[i];
		ret_stays[i] = false;
	}
	qsort(all, count, sizeof(*all), larger);
	for (size_t i = 0; i < count && stay < room; i++)
		if (had[all[i].parent]++ < kept) {
			ret_stays[all[i].child] = true;
			stay++;
		}
	free(all);
	return stay;
}

static uint64_t all_alike(uint64_t *seed)
{
	(void)seed;
	return 1514000;
}

static uint64_t few_sizes(uint64_t *seed)
{
	return 1000 * (1 + next_random(seed) % 3);
}

static uint64_t one_class(uint64_t *seed)
{
	return (1U << 20) + next_random(seed) % 1000;
}

static uint64_t any_size(uint64_t *seed)
{
	return ((uint64_t)next_random(seed) << 32) >> next_random(seed) % 64;
}

static void what_stays_is_what_sorting_would_leave(void **state)
{
	static uint64_t (*const sizes[])(uint64_t *) = {all_alike, few_sizes, one_class, any_size};
	static const struct {
		size_t count;
		uint32_t kept, room;
	} cases[] = {
		{COUNT, COUNT, COUNT},
		{COUNT, COUNT, 5000},
		{COUNT, 100, COUNT},
		{COUNT, 300, 4500},
		{COUNT, COUNT, 1},
		{COUNT, COUNT, 0},
		{COUNT, 1, 3},
		{300, 300, 299},
		{300, 2, 17},
		{1, 1, 1},
		{0, 1, 1},
	};
	struct ranked *rows = calloc(COUNT, sizeof(*rows));
	bool *wanted = calloc(COUNT, sizeof(*wanted));
	uint64_t seed = 1;

	(void)state;
	assert_non_null(rows);
	assert_non_null(wanted);
	for (size_t i = 0; i < COUNT_OF(cases) * COUNT_OF(sizes); i++) {
		size_t count = cases[i / COUNT_OF(sizes)].count;
		uint32_t kept = cases[i / COUNT_OF(sizes)].kept;
		uint32_t room = cases[i / COUNT_OF(sizes)].room;
		size_t stay = COUNT;
		size_t right;

		for (uint32_t row = 0; row < count; row++)
			rows[row] = (struct ranked){.parent = next_random(&seed) % PARENTS,
						    .child = row,
						    .bytes = sizes[i % COUNT_OF(sizes)](&seed)};
		right = choose_by_sorting(rows, count, kept, room, wanted);
		assert_int_equal(traffic_choose(rows, count, PARENTS, kept, room, &stay), 0);
		assert_int_equal(stay, right);
		for (size_t row = 0; row < count; row++)
			assert_int_equal(wanted[rows[row].child], row < stay);
	}
	free(rows);
	free(wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stays_is_what_sorting_would_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
