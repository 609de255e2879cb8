/* The largest children of each parent, and of them the largest of all: in time that grows with
 * their number alone, for a quarter of a million of them once a second. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/flowd/flow/traffic_set_private.h"

enum {
	SMALL = 16, /* so few are sorted */
	/* Partitions that halve badly this often are not chance: sorted, whoever made them. */
	ROUNDS = 64,
	CLASSES = 64 * 32, /* class_of */
	MANY = 4096,
};

static bool traffic_choose_before(const struct ranked *a, const struct ranked *b)
{
	return a->bytes != b->bytes ? a->bytes > b->bytes : a->child < b->child;
}

static int traffic_choose_compare(const void *a, const void *b)
{
	return traffic_choose_before(a, b) ? -1 : traffic_choose_before(b, a);
}

static void traffic_choose_swap(struct ranked *a, struct ranked *b)
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

	if (traffic_choose_before(middle, &rows[0]) == traffic_choose_before(middle, last))
		middle = traffic_choose_before(&rows[0], last) ==
					 traffic_choose_before(&rows[0], middle)
				 ? last
				 : &rows[0];
	traffic_choose_swap(&rows[0], middle);
}

/* Hoare's selection: the first `wanted` are then the largest, in any order. */
static void select_in_place(struct ranked *rows, size_t count, size_t wanted)
{
	for (int round = 0; wanted && wanted < count; round++) {
		size_t left = 0;

		if (count <= SMALL || round == ROUNDS) {
			qsort(rows, count, sizeof(*rows), traffic_choose_compare);
			return;
		}
		put_pivot(rows, count);
		for (size_t i = 1; i < count; i++)
			if (traffic_choose_before(&rows[i], &rows[0]))
				traffic_choose_swap(&rows[++left], &rows[i]);
		traffic_choose_swap(&rows[0], &rows[left]);
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

/* Grows with the bytes: their highest bit and the five below it. */
static unsigned class_of(uint64_t bytes)
{
	unsigned high = 63 - (unsigned)__builtin_clzll(bytes | 1);

	return high << 5 | (unsigned)((high < 5 ? bytes << (5 - high) : bytes >> (high - 5)) & 31);
}

/* The class in which the last of the `wanted` largest is, and how many are in higher ones. */
static unsigned last_class(const struct ranked *rows, size_t count, size_t wanted,
			   size_t *ret_higher)
{
	uint32_t sizes[CLASSES] = {0};
	unsigned class = CLASSES - 1;

	for (size_t i = 0; i < count; i++)
		sizes[class_of(rows[i].bytes)]++;
	for (*ret_higher = 0; *ret_higher + sizes[class] < wanted; class --)
		*ret_higher += sizes[class];
	return class;
}

/* Of many most are told apart by their class alone, without comparing one with another. */
static void select_largest(struct ranked *rows, size_t count, size_t wanted)
{
	size_t higher;
	size_t equal = 0;
	size_t left = 0;
	unsigned class;

	if (!wanted || wanted >= count)
		return;
	if (count < MANY) {
		select_in_place(rows, count, wanted);
		return;
	}
	class = last_class(rows, count, wanted, &higher);
	/* Those of the class end up behind the higher ones. */
	for (size_t i = 0; i < count; i++) {
		unsigned own = class_of(rows[i].bytes);

		if (own < class)
			continue;
		traffic_choose_swap(&rows[left + equal], &rows[i]);
		if (own == class) {
			equal++;
			continue;
		}
		traffic_choose_swap(&rows[left], &rows[left + equal]);
		left++;
	}
	select_in_place(rows + higher, equal, wanted - higher);
}

/* Children of one parent together, in the order in which they came; `begins[i + 1]`: how many
 * parent i has. */
static int traffic_choose_group(struct ranked *ranked, size_t count, uint32_t parents,
				uint32_t *begins)
{
	struct ranked *copy = malloc((count + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, ranked, count * sizeof(*copy));
	for (uint32_t i = 0; i < parents; i++)
		begins[i + 1] += begins[i];
	for (size_t i = 0; i < count; i++)
		ranked[begins[copy[i].parent]++] = copy[i];
	free(copy);
	return 0;
}

/* Puts the largest `kept` of each parent first. */
static int choose_of_each(struct ranked *ranked, size_t count, uint32_t parents, uint32_t kept,
			  uint32_t *begins, size_t *ret_stay)
{
	size_t begin = 0;
	size_t left = 0;

	if (traffic_choose_group(ranked, count, parents, begins))
		return -ENOMEM;
	/* Each begin is now where the next parent's children begin. */
	for (uint32_t parent = 0; parent < parents; parent++) {
		size_t size = begins[parent] - begin;
		size_t stay = size < kept ? size : kept;

		if (size > kept)
			select_largest(&ranked[begin], size, kept);
		for (size_t i = begin; left != begin && i < begin + stay; i++)
			traffic_choose_swap(&ranked[left + (i - begin)], &ranked[i]);
		left += stay;
		begin += size;
	}
	*ret_stay = left;
	return 0;
}

int traffic_choose(struct ranked *ranked, size_t count, uint32_t parents, uint32_t kept,
		   uint32_t room, size_t *ret_stay)
{
	uint32_t *counts = calloc((size_t)parents + 2, sizeof(*counts));
	uint32_t most = 0;
	int rc = 0;

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint32_t children = ++counts[ranked[i].parent + 1];

		most = children > most ? children : most;
	}
	*ret_stay = count;
	if (most > kept) /* else all of each stay */
		rc = choose_of_each(ranked, count, parents, kept, counts, ret_stay);
	free(counts);
	if (rc)
		return rc;
	if (*ret_stay > room) {
		select_largest(ranked, *ret_stay, room);
		*ret_stay = room;
	}
	return 0;
}
