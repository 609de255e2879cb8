#include "trainer_image/plan/arena_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct arena_key {
	size_t block;
	double weight;
};

/* Heavier first; of equals the earlier. */
static int arena_by_weight(const void *a, const void *b)
{
	const struct arena_key *first = a;
	const struct arena_key *second = b;

	if (first->weight > second->weight)
		return -1;
	if (first->weight < second->weight)
		return 1;
	return first->block < second->block ? -1 : 1;
}

enum { ARENA_ORDERS = 3 };

static double arena_weight(const struct arena_block *block, int order)
{
	double steps = block->last - block->first + 1;
	double bytes = (double)block->bytes;

	return order == 0 ? bytes : order == 1 ? bytes * steps : steps;
}

/* Places `block` among those `placed`, which stand in the order of their offsets. Returns where it
 * belongs among them. */
static size_t arena_fit(const struct arena_block blocks[], const size_t placed[], size_t count,
			struct arena_block *block)
{
	int64_t end = 0; /* of the blocks so far that are live together with this one */
	int64_t best = -1;
	int64_t best_gap = INT64_MAX;
	size_t at = 0;

	for (size_t i = 0; i < count && best_gap > block->bytes; i++) {
		const struct arena_block *other = &blocks[placed[i]];

		if (other->first > block->last || other->last < block->first)
			continue;
		if (other->offset - end >= block->bytes && other->offset - end < best_gap) {
			best = end;
			best_gap = other->offset - end;
		}
		if (other->offset + other->bytes > end)
			end = other->offset + other->bytes;
	}
	block->offset = best >= 0 ? best : end;
	while (at < count && blocks[placed[at]].offset <= block->offset)
		at++;
	return at;
}

static int64_t arena_try(struct arena_block blocks[], const struct arena_key keys[], size_t count,
			 size_t placed[])
{
	int64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		struct arena_block *block = &blocks[keys[i].block];
		size_t at = arena_fit(blocks, placed, i, block);

		memmove(placed + at + 1, placed + at, (i - at) * sizeof(placed[0]));
		placed[at] = keys[i].block;
		if (block->offset + block->bytes > bytes)
			bytes = block->offset + block->bytes;
	}
	return bytes;
}

int arena_place(struct arena_block blocks[], size_t count, int64_t *ret_bytes)
{
	CLEANUP(freep) struct arena_key *keys = calloc(count + 1, sizeof(keys[0]));
	CLEANUP(freep) size_t *placed = calloc(count + 1, sizeof(placed[0]));
	CLEANUP(freep) int64_t *best = calloc(count + 1, sizeof(best[0]));
	int64_t best_bytes = INT64_MAX;

	if (!keys || !placed || !best)
		return -ENOMEM;
	for (int order = 0; order < ARENA_ORDERS; order++) {
		for (size_t i = 0; i < count; i++)
			keys[i] = (struct arena_key){i, arena_weight(&blocks[i], order)};
		qsort(keys, count, sizeof(keys[0]), arena_by_weight);
		int64_t bytes = arena_try(blocks, keys, count, placed);

		if (bytes >= best_bytes)
			continue;
		best_bytes = bytes;
		for (size_t i = 0; i < count; i++)
			best[i] = blocks[i].offset;
	}
	for (size_t i = 0; i < count; i++)
		blocks[i].offset = best[i];
	*ret_bytes = count > 0 ? best_bytes : 0;
	return 0;
}
