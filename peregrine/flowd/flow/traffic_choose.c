/* The largest children of each parent, and of them the largest of all: in time that grows with
 * their number alone, for a quarter of a million of them once a second. */
#include <errno.h>
#include <stdlib.h>

#include "peregrine/flowd/flow/traffic_set_private.h"

enum {
	SMALL = 16, /* so few are sorted */
	/* Partitions that halve badly this often are not chance: sorted, whoever made them. */
	ROUNDS = 64,
};

static bool before(const struct ranked *a, const struct ranked *b)
{
	return a->bytes != b->bytes ? a->bytes > b->bytes : a->child < b->child;
}

static int compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

static void swap(struct ranked *a, struct ranked *b)
{
	struct ranked other = *a;

	*a = *b;
	*b = other;
}

/* The middle one of three becomes the first. */
static void put_pivot(struct ranked *rows, size_t count)
{
	struct ranked *middle = &rows[count / 2];
	struct ranked *last = &rows[count - 1];

	if (before(middle, &rows[0]) == before(middle, last))
		middle = before(&rows[0], last) == before(&rows[0], middle) ? last : &rows[0];
	swap(&rows[0], middle);
}

/* Hoare's selection: the first `wanted` are then the largest, in any order. */
static void select_largest(struct ranked *rows, size_t count, size_t wanted)
{
	for (int round = 0; wanted && wanted < count; round++) {
		size_t left = 0;

		if (count <= SMALL || round == ROUNDS) {
			qsort(rows, count, sizeof(*rows), compare);
			return;
		}
		put_pivot(rows, count);
		for (size_t i = 1; i < count; i++)
			if (before(&rows[i], &rows[0]))
				swap(&rows[++left], &rows[i]);
		swap(&rows[0], &rows[left]);
		/* rows[left] is where it belongs. */
		if (wanted <= left) {
			count = left;
		} else {
			rows += left + 1;
			count -= left + 1;
			wanted -= left + 1;
		}
	}
}

/* Children of one parent together, in the order of their numbers if they came so. */
static int group(struct ranked *ranked, size_t count, uint32_t parents, uint32_t *begins)
{
	struct ranked *copy = malloc((count + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		copy[i] = ranked[i];
		begins[ranked[i].parent + 1]++;
	}
	for (uint32_t i = 0; i < parents; i++)
		begins[i + 1] += begins[i];
	for (size_t i = 0; i < count; i++)
		ranked[begins[copy[i].parent]++] = copy[i];
	free(copy);
	return 0;
}

int traffic_choose(struct ranked *ranked, size_t count, uint32_t parents, uint32_t kept,
		   uint32_t room, size_t *ret_stay)
{
	uint32_t *begins = calloc((size_t)parents + 2, sizeof(*begins));
	size_t begin = 0;
	size_t left = 0;

	if (!begins || group(ranked, count, parents, begins)) {
		free(begins);
		return -ENOMEM;
	}
	/* Each begin is now where the next parent's children begin. */
	for (uint32_t parent = 0; parent < parents; parent++) {
		size_t size = begins[parent] - begin;
		size_t stay = size < kept ? size : kept;

		if (size > kept)
			select_largest(&ranked[begin], size, kept);
		for (size_t i = begin; left != begin && i < begin + stay; i++)
			swap(&ranked[left + (i - begin)], &ranked[i]);
		left += stay;
		begin += size;
	}
	free(begins);
	if (left > room) {
		select_largest(ranked, left, room);
		left = room;
	}
	*ret_stay = left;
	return 0;
}
