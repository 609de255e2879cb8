#include "trainer_image/comm/collective.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

const char *collective_way_text(enum collective_way way)
{
	static const char *const texts[COLLECTIVE_WAYS] = {"ring", "halving", "tree", "direct"};

	return texts[way];
}

struct collective_group collective_all(const struct transport *transport)
{
	struct collective_group group = {.count = transport->ranks, .me = transport->rank};

	for (int i = 0; i < group.count; i++)
		group.ranks[i] = i;
	return group;
}

void collective_shard(size_t count, int members, int nth, size_t *ret_first, size_t *ret_count)
{
	size_t blocks = (count + CODEC_BLOCK - 1) / CODEC_BLOCK;
	size_t first = blocks * (size_t)nth / (size_t)members * CODEC_BLOCK;
	size_t end = blocks * (size_t)(nth + 1) / (size_t)members * CODEC_BLOCK;

	*ret_first = first < count ? first : count;
	*ret_count = (end < count ? end : count) - *ret_first;
}

/* One shard of a sum. */
struct collective_part {
	float *numbers; /* NULL: sizes alone are asked for */
	size_t first, count;
	size_t size; /* encoded */
};

static struct collective_part collective_part(const struct collective_sum *sum, int members,
					      int nth)
{
	struct collective_part part = {0};

	collective_shard(sum->count, members, (nth % members + members) % members, &part.first,
			 &part.count);
	if (sum->numbers)
		part.numbers = sum->numbers + part.first;
	part.size = codec_size(sum->codec, part.count);
	return part;
}

/* Shards differ by a block at most. */
static size_t collective_part_room(enum codec codec, int members, size_t count)
{
	size_t most = (count / (size_t)members / CODEC_BLOCK + 2) * CODEC_BLOCK;

	return codec_size(codec, most);
}

static int collective_beside(const struct collective_group *group, int steps)
{
	return (group->me + steps + group->count) % group->count;
}

/* `is` to the member `to` and from the member `from`. */
static int collective_pass(struct transport *transport, const struct collective_group *group,
			   int to, int from, struct transport_exchange is)
{
	is.to = group->ranks[to];
	is.from = group->ranks[from];
	return transport_exchange(transport, &is);
}

/* All members pass on by so many steps. */
static int collective_shift(struct transport *transport, const struct collective_group *group,
			    int steps, struct transport_exchange is)
{
	return collective_pass(transport, group, collective_beside(group, steps),
			       collective_beside(group, -steps), is);
}

/* --- ring --- */

/* Afterwards the member `me` has the whole sum of shard me + 1. */
static int collective_ring_reduce(struct transport *transport, const struct collective_group *group,
				  const struct collective_sum *sum)
{
	uint8_t *out = sum->workspace;
	uint8_t *in = out + collective_part_room(sum->codec, group->count, sum->count);

	for (int step = 0; step < group->count - 1; step++) {
		struct collective_part from = collective_part(sum, group->count, group->me - step);
		struct collective_part to =
			collective_part(sum, group->count, group->me - step - 1);
		const struct transport_exchange is = {
			.out = out, .out_size = from.size, .in = in, .in_size = to.size};
		int rc;

		codec_encode(sum->codec, from.numbers, from.count, out);
		rc = collective_shift(transport, group, 1, is);
		if (rc != 0)
			return rc;
		codec_add(sum->codec, in, to.count, to.numbers);
	}
	return 0;
}

/* The owner rounds as all others will, and encoded shards travel on as they came. */
static int collective_ring_spread(struct transport *transport, const struct collective_group *group,
				  const struct collective_sum *sum)
{
	uint8_t *out = sum->workspace;
	uint8_t *in = out + collective_part_room(sum->codec, group->count, sum->count);
	struct collective_part mine = collective_part(sum, group->count, group->me + 1);

	codec_encode(sum->codec, mine.numbers, mine.count, out);
	codec_decode(sum->codec, out, mine.count, mine.numbers);
	for (int step = 0; step < group->count - 1; step++) {
		struct collective_part from =
			collective_part(sum, group->count, group->me + 1 - step);
		struct collective_part to = collective_part(sum, group->count, group->me - step);
		const struct transport_exchange is = {
			.out = out, .out_size = from.size, .in = in, .in_size = to.size};
		int rc = collective_shift(transport, group, 1, is);
		uint8_t *came = in;

		if (rc != 0)
			return rc;
		codec_decode(sum->codec, in, to.count, to.numbers);
		in = out;
		out = came;
	}
	return 0;
}

static int collective_ring(struct transport *transport, const struct collective_group *group,
			   const struct collective_sum *sum)
{
	int rc = collective_ring_reduce(transport, group, sum);

	return rc != 0 ? rc : collective_ring_spread(transport, group, sum);
}

/* --- halving, then doubling: shards [first, first + count) of the member shrink to one, and grow --- */

struct collective_range {
	int first, count;
};

static struct collective_part collective_range_part(const struct collective_sum *sum, int members,
						    struct collective_range range)
{
	struct collective_part first = collective_part(sum, members, range.first);
	struct collective_part last = collective_part(sum, members, range.first + range.count - 1);

	first.count = last.first - first.first + last.count;
	first.size = codec_size(sum->codec, first.count);
	return first;
}

/* The half of the range that the member keeps, and the other one. */
static void collective_halve(int me, struct collective_range range, struct collective_range *mine,
			     struct collective_range *other)
{
	int half = range.count / 2;
	bool upper = (me & half) != 0;

	*mine = (struct collective_range){range.first + (upper ? half : 0), half};
	*other = (struct collective_range){range.first + (upper ? 0 : half), half};
}

/* Gives one range, encoded, to the member `other`, and takes another one from it: by codec_add or codec_decode. */
static int collective_half_swap(struct transport *transport, const struct collective_group *group,
				const struct collective_sum *sum, int other,
				const struct collective_range ranges[2],
				void (*take)(enum codec codec, const uint8_t *from, size_t count,
					     float *to))
{
	struct collective_part out = collective_range_part(sum, group->count, ranges[0]);
	struct collective_part in = collective_range_part(sum, group->count, ranges[1]);
	uint8_t *came = sum->workspace + codec_size(sum->codec, sum->count + CODEC_BLOCK);
	const struct transport_exchange is = {
		.out = sum->workspace, .out_size = out.size, .in = came, .in_size = in.size};
	int rc;

	codec_encode(sum->codec, out.numbers, out.count, sum->workspace);
	rc = collective_pass(transport, group, other, other, is);
	if (rc == 0)
		take(sum->codec, came, in.count, in.numbers);
	return rc;
}

static int collective_half_down(struct transport *transport, const struct collective_group *group,
				const struct collective_sum *sum, struct collective_range *range)
{
	while (range->count > 1) {
		struct collective_range keep;
		struct collective_range give;

		collective_halve(group->me, *range, &keep, &give);
		int rc = collective_half_swap(transport, group, sum, group->me ^ keep.count,
					      (const struct collective_range[]){give, keep},
					      codec_add);

		if (rc != 0)
			return rc;
		*range = keep;
	}
	return 0;
}

static int collective_half_up(struct transport *transport, const struct collective_group *group,
			      const struct collective_sum *sum, struct collective_range range)
{
	struct collective_part mine = collective_range_part(sum, group->count, range);

	/* Rounding what was rounded changes nothing, so only the owner's rounding counts. */
	codec_encode(sum->codec, mine.numbers, mine.count, sum->workspace);
	codec_decode(sum->codec, sum->workspace, mine.count, mine.numbers);
	while (range.count < group->count) {
		struct collective_range there = {range.first ^ range.count, range.count};
		int rc = collective_half_swap(transport, group, sum, group->me ^ range.count,
					      (const struct collective_range[]){range, there},
					      codec_decode);

		if (rc != 0)
			return rc;
		range = (struct collective_range){range.first & ~range.count, range.count * 2};
	}
	return 0;
}

static int collective_halving(struct transport *transport, const struct collective_group *group,
			      const struct collective_sum *sum)
{
	struct collective_range range = {0, group->count};
	int rc;

	if (group->count & (group->count - 1))
		return collective_ring(transport, group, sum);
	rc = collective_half_down(transport, group, sum, &range);
	return rc != 0 ? rc : collective_half_up(transport, group, sum, range);
}

/* --- tree: member i has the members 2 i + 1 and 2 i + 2 below it --- */

static int collective_tree_send(struct transport *transport, const struct collective_group *group,
				const struct collective_sum *sum, int to)
{
	const struct transport_exchange is = {.out = sum->workspace,
					      .out_size = codec_size(sum->codec, sum->count)};

	return collective_pass(transport, group, to, to, is);
}

static int collective_tree_receive(struct transport *transport,
				   const struct collective_group *group,
				   const struct collective_sum *sum, int from)
{
	const struct transport_exchange is = {.in = sum->workspace,
					      .in_size = codec_size(sum->codec, sum->count)};

	return collective_pass(transport, group, from, from, is);
}

static int collective_tree(struct transport *transport, const struct collective_group *group,
			   const struct collective_sum *sum)
{
	int above = (group->me - 1) / 2;
	int rc = 0;

	for (int below = 2 * group->me + 1; rc == 0 && below <= 2 * group->me + 2; below++) {
		if (below >= group->count)
			break;
		rc = collective_tree_receive(transport, group, sum, below);
		if (rc == 0)
			codec_add(sum->codec, sum->workspace, sum->count, sum->numbers);
	}
	codec_encode(sum->codec, sum->numbers, sum->count, sum->workspace);
	if (rc == 0 && group->me > 0)
		rc = collective_tree_send(transport, group, sum, above);
	if (rc == 0 && group->me > 0)
		rc = collective_tree_receive(transport, group, sum, above);
	for (int below = 2 * group->me + 1; rc == 0 && below <= 2 * group->me + 2; below++)
		if (below < group->count)
			rc = collective_tree_send(transport, group, sum, below);
	if (rc == 0)
		codec_decode(sum->codec, sum->workspace, sum->count, sum->numbers);
	return rc;
}

/* --- direct: each shard to its owner, and its sum back to all --- */

/* Encoded shards lie one behind the other; `first` numbers come before this one. */
static uint8_t *collective_direct_at(const struct collective_sum *sum, uint8_t *start,
				     const struct collective_part *part)
{
	return start + codec_size(sum->codec, part->first);
}

static void collective_direct_encode(const struct collective_sum *sum, const float *from,
				     float *lost, size_t count, uint8_t *to)
{
	if (sum->lost)
		codec_encode_feedback(sum->codec, from, lost, count, to);
	else
		codec_encode(sum->codec, from, count, to);
}

/* The sum in the order of the members, whoever sums. */
static void collective_direct_add(const struct collective_group *group,
				  const struct collective_sum *sum, struct collective_part mine,
				  const uint8_t *own, const uint8_t *came)
{
	assert(mine.numbers);
	memset(mine.numbers, 0, mine.count * sizeof(float));
	for (int i = 0; i < group->count; i++) {
		int nth = (group->me - i + group->count) %
			  group->count; /* came in step `nth`, from the member i */

		codec_add(sum->codec, i == group->me ? own : came + (size_t)(nth - 1) * mine.size,
			  mine.count, mine.numbers);
	}
}

static int collective_direct(struct transport *transport, const struct collective_group *group,
			     const struct collective_sum *sum)
{
	struct collective_part mine = collective_part(sum, group->count, group->me);
	uint8_t *encoded = sum->workspace;
	uint8_t *came = encoded + codec_size(sum->codec, sum->count + CODEC_BLOCK);
	int rc = 0;

	collective_direct_encode(sum, sum->numbers, sum->lost, sum->count, encoded);
	for (int step = 1; rc == 0 && step < group->count; step++) {
		struct collective_part to = collective_part(sum, group->count, group->me + step);
		const struct transport_exchange is = {
			.out = collective_direct_at(sum, encoded, &to),
			.out_size = to.size,
			.in = came + (size_t)(step - 1) * mine.size,
			.in_size = mine.size};

		rc = collective_shift(transport, group, step, is);
	}
	if (rc != 0)
		return rc;
	uint8_t *own = collective_direct_at(sum, encoded, &mine);

	collective_direct_add(group, sum, mine, own, came);
	collective_direct_encode(sum, mine.numbers, sum->lost ? sum->lost + sum->count : NULL,
				 mine.count, own);
	for (int step = 1; rc == 0 && step < group->count; step++) {
		struct collective_part from = collective_part(sum, group->count, group->me - step);
		const struct transport_exchange is = {
			.out = own,
			.out_size = mine.size,
			.in = collective_direct_at(sum, encoded, &from),
			.in_size = from.size};

		rc = collective_shift(transport, group, step, is);
	}
	if (rc == 0)
		codec_decode(sum->codec, encoded, sum->count, sum->numbers);
	return rc;
}

/* --- face --- */

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

size_t collective_lost_count(const struct collective_group *group, size_t count)
{
	size_t first;
	size_t mine;

	collective_shard(count, group->count, group->me, &first, &mine);
	return count + mine;
}

int collective_sum(struct transport *transport, const struct collective_group *group,
		   const struct collective_sum *sum)
{
	static int (*const ways[COLLECTIVE_WAYS])(struct transport *,
						  const struct collective_group *,
						  const struct collective_sum *) = {
		collective_ring, collective_halving, collective_tree, collective_direct};

	if (sum->codec == CODEC_INT8 && sum->way != COLLECTIVE_DIRECT)
		return -EINVAL;
	return group->count > 1 ? ways[sum->way](transport, group, sum) : 0;
}

int collective_gather(struct transport *transport, const struct collective_group *group,
		      const void *mine, size_t size, void *ret_all)
{
	uint8_t *all = ret_all;
	int rc = 0;

	memcpy(all + (size_t)group->me * size, mine, size);
	for (int step = 0; rc == 0 && step < group->count - 1; step++) {
		const struct transport_exchange is = {
			.out = all + (size_t)collective_beside(group, -step) * size,
			.out_size = size,
			.in = all + (size_t)collective_beside(group, -step - 1) * size,
			.in_size = size};

		rc = collective_shift(transport, group, 1, is);
	}
	return rc;
}

int collective_sum_machines(struct transport *transport, const struct collective_group *machine,
			    const struct collective_group *machines,
			    const struct collective_sum *sum)
{
	struct collective_sum within = {COLLECTIVE_RING, CODEC_NONE, sum->numbers,
					sum->count,      NULL,       sum->workspace};
	struct collective_part mine = collective_part(&within, machine->count, machine->me + 1);
	struct collective_sum across = *sum;
	int rc = 0;

	across.numbers = mine.numbers;
	across.count = mine.count;
	if (machine->count > 1)
		rc = collective_ring_reduce(transport, machine, &within);
	if (rc == 0)
		rc = collective_sum(transport, machines, &across);
	if (rc == 0 && machine->count > 1)
		rc = collective_ring_spread(transport, machine, &within);
	return rc;
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
