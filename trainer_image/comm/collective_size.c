/* The sizes of sums: their shards, workspace, and the bytes of each way by theory. */
#include "trainer_image/comm/collective_private.h"

/* A block of INT8 has 260 bytes, so four of them are a multiple of 16. */
enum { COLLECTIVE_ALIGN = 16 };

void collective_shard(size_t count, int members, int nth, size_t *ret_first, size_t *ret_count)
{
	size_t units = (count + COLLECTIVE_UNIT - 1) / COLLECTIVE_UNIT;
	size_t first = units * (size_t)nth / (size_t)members * COLLECTIVE_UNIT;
	size_t end = units * (size_t)(nth + 1) / (size_t)members * COLLECTIVE_UNIT;

	*ret_first = first < count ? first : count;
	*ret_count = (end < count ? end : count) - *ret_first;
}

struct collective_part collective_part(const struct collective_sum *sum, int members, int nth)
{
	struct collective_part part = {0};

	collective_shard(sum->count, members, (nth % members + members) % members, &part.first,
			 &part.count);
	if (sum->numbers)
		part.numbers = sum->numbers + part.first;
	part.size = codec_size(sum->codec, part.count);
	return part;
}

size_t collective_direct_room(size_t size)
{
	return (size + COLLECTIVE_ALIGN - 1) / COLLECTIVE_ALIGN * COLLECTIVE_ALIGN;
}

/* Shards differ by a unit at most. */
size_t collective_part_room(enum codec codec, int members, size_t count)
{
	size_t most = (count / (size_t)members / COLLECTIVE_UNIT + 2) * COLLECTIVE_UNIT;
	size_t all = (count + COLLECTIVE_UNIT - 1) / COLLECTIVE_UNIT * COLLECTIVE_UNIT;

	return codec_size(codec, most < all ? most : all);
}

struct collective_part collective_range_part(const struct collective_sum *sum, int members,
					     struct collective_range range)
{
	struct collective_part first = collective_part(sum, members, range.first);
	struct collective_part last = collective_part(sum, members, range.first + range.count - 1);

	first.count = last.first - first.first + last.count;
	first.size = codec_size(sum->codec, first.count);
	return first;
}

void collective_halve(int me, struct collective_range range, struct collective_range *mine,
		      struct collective_range *other)
{
	int half = range.count / 2;
	bool upper = (me & half) != 0;

	*mine = (struct collective_range){range.first + (upper ? half : 0), half};
	*other = (struct collective_range){range.first + (upper ? 0 : half), half};
}

size_t collective_workspace(const struct collective_group *group, enum collective_way way,
			    enum codec codec, size_t count)
{
	size_t part = collective_part_room(codec, group->count, count);
	size_t all = codec_size(codec, count + CODEC_BLOCK);
	size_t ring = 2 * part;

	switch (way) {
	case COLLECTIVE_RING: return ring;
	case COLLECTIVE_HALVING: return 2 * all > ring ? 2 * all : ring;
	case COLLECTIVE_TREE: return all;
	case COLLECTIVE_DIRECT:
	case COLLECTIVE_WAYS: break;
	}
	return all + (size_t)group->count * part;
}

/* --- theory --- */

static uint64_t collective_bytes_halving(const struct collective_group *group, enum codec codec,
					 size_t count)
{
	const struct collective_sum sum = {.codec = codec, .count = count};
	struct collective_range range = {0, group->count};
	uint64_t bytes = 0;

	while (range.count > 1) {
		struct collective_range keep;
		struct collective_range give;

		collective_halve(group->me, range, &keep, &give);
		bytes += collective_range_part(&sum, group->count, give).size +
			 collective_range_part(&sum, group->count, keep).size;
		range = keep;
	}
	return bytes;
}

static uint64_t collective_bytes_tree(const struct collective_group *group, enum codec codec,
				      size_t count)
{
	uint64_t times = group->me > 0 ? 1 : 0;

	for (int below = 2 * group->me + 1; below <= 2 * group->me + 2; below++)
		times += below < group->count ? 1 : 0;
	return times * codec_size(codec, count);
}

/* RING: all shards but one in the first pass, all but another in the second. */
static uint64_t collective_bytes_shards(const struct collective_group *group,
					enum collective_way way, enum codec codec, size_t count)
{
	const struct collective_sum sum = {.codec = codec, .count = count};
	uint64_t bytes = 0;

	for (int i = 1; i < group->count; i++) {
		if (way == COLLECTIVE_DIRECT)
			bytes += collective_part(&sum, group->count, group->me + i).size +
				 collective_part(&sum, group->count, group->me).size;
		else
			bytes += collective_part(&sum, group->count, group->me + 1 - i).size +
				 collective_part(&sum, group->count, group->me + 2 - i).size;
	}
	return bytes;
}

uint64_t collective_bytes(const struct collective_group *group, enum collective_way way,
			  enum codec codec, size_t count)
{
	if (way == COLLECTIVE_TREE)
		return collective_bytes_tree(group, codec, count);
	if (way == COLLECTIVE_HALVING && (group->count & (group->count - 1)) == 0)
		return collective_bytes_halving(group, codec, count);
	return collective_bytes_shards(group, way, codec, count);
}
