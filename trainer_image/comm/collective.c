#include <errno.h>
#include <string.h>

#include "trainer_image/comm/collective_private.h"

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

/* To what all others will decode of it. */
static int collective_round(struct place *place, enum codec codec,
			    const struct collective_part *part, uint8_t *encoded)
{
	int rc = place_encode(place, codec, part->numbers, part->count, encoded);

	return rc == 0 ? place_decode(place, codec, encoded, part->count, part->numbers) : rc;
}

/* --- ring --- */

/* Afterwards the member `me` has the whole sum of shard me + 1. */
static int collective_ring_reduce(struct transport *transport, const struct collective_group *group,
				  const struct collective_sum *sum)
{
	uint8_t *out = sum->workspace;
	uint8_t *in = out + collective_part_room(sum->codec, group->count, sum->count);
	int rc = 0;

	for (int step = 0; rc == 0 && step < group->count - 1; step++) {
		struct collective_part from = collective_part(sum, group->count, group->me - step);
		struct collective_part to =
			collective_part(sum, group->count, group->me - step - 1);
		const struct transport_exchange is = {
			.out = out, .out_size = from.size, .in = in, .in_size = to.size};
		rc = place_encode(transport->place, sum->codec, from.numbers, from.count, out);
		if (rc == 0)
			rc = collective_shift(transport, group, 1, is);
		if (rc == 0)
			rc = place_add(transport->place, sum->codec, in, to.count, to.numbers);
	}
	return rc;
}

/* The owner rounds as all others will, and encoded shards travel on as they came. */
static int collective_ring_spread(struct transport *transport, const struct collective_group *group,
				  const struct collective_sum *sum)
{
	uint8_t *out = sum->workspace;
	uint8_t *in = out + collective_part_room(sum->codec, group->count, sum->count);
	struct collective_part mine = collective_part(sum, group->count, group->me + 1);
	int rc = collective_round(transport->place, sum->codec, &mine, out);

	for (int step = 0; rc == 0 && step < group->count - 1; step++) {
		struct collective_part from =
			collective_part(sum, group->count, group->me + 1 - step);
		struct collective_part to = collective_part(sum, group->count, group->me - step);
		const struct transport_exchange is = {
			.out = out, .out_size = from.size, .in = in, .in_size = to.size};
		uint8_t *came = in;

		rc = collective_shift(transport, group, 1, is);
		if (rc == 0)
			rc = place_decode(transport->place, sum->codec, in, to.count, to.numbers);
		in = out;
		out = came;
	}
	return rc;
}

static int collective_ring(struct transport *transport, const struct collective_group *group,
			   const struct collective_sum *sum)
{
	int rc = collective_ring_reduce(transport, group, sum);

	return rc != 0 ? rc : collective_ring_spread(transport, group, sum);
}

/* --- halving, then doubling: shards [first, first + count) of the member shrink to one, and grow --- */

/* Gives one range, encoded, to the member `other`, and takes another one from it: by place_add or place_decode. */
static int collective_half_swap(struct transport *transport, const struct collective_group *group,
				const struct collective_sum *sum, int other,
				const struct collective_range ranges[2],
				int (*take)(struct place *place, enum codec codec,
					    const uint8_t *from, size_t count, float *to))
{
	struct collective_part out = collective_range_part(sum, group->count, ranges[0]);
	struct collective_part in = collective_range_part(sum, group->count, ranges[1]);
	uint8_t *came = sum->workspace + codec_size(sum->codec, sum->count + CODEC_BLOCK);
	const struct transport_exchange is = {
		.out = sum->workspace, .out_size = out.size, .in = came, .in_size = in.size};
	int rc = place_encode(transport->place, sum->codec, out.numbers, out.count, sum->workspace);

	if (rc == 0)
		rc = collective_pass(transport, group, other, other, is);
	return rc == 0 ? take(transport->place, sum->codec, came, in.count, in.numbers) : rc;
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
					      place_add);

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
	int rc = collective_round(transport->place, sum->codec, &mine, sum->workspace);

	while (rc == 0 && range.count < group->count) {
		struct collective_range there = {range.first ^ range.count, range.count};

		rc = collective_half_swap(transport, group, sum, group->me ^ range.count,
					  (const struct collective_range[]){range, there},
					  place_decode);

		range = (struct collective_range){range.first & ~range.count, range.count * 2};
	}
	return rc;
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
			rc = place_add(transport->place, sum->codec, sum->workspace, sum->count,
				       sum->numbers);
	}
	if (rc == 0)
		rc = place_encode(transport->place, sum->codec, sum->numbers, sum->count,
				  sum->workspace);
	if (rc == 0 && group->me > 0)
		rc = collective_tree_send(transport, group, sum, above);
	if (rc == 0 && group->me > 0)
		rc = collective_tree_receive(transport, group, sum, above);
	for (int below = 2 * group->me + 1; rc == 0 && below <= 2 * group->me + 2; below++)
		if (below < group->count)
			rc = collective_tree_send(transport, group, sum, below);
	return rc == 0 ? place_decode(transport->place, sum->codec, sum->workspace, sum->count,
				      sum->numbers)
		       : rc;
}

/* --- direct: each shard to its owner, and its sum back to all --- */

/* Encoded shards lie one behind the other; `first` numbers come before this one. */
static uint8_t *collective_direct_at(const struct collective_sum *sum, uint8_t *start,
				     const struct collective_part *part)
{
	return start + codec_size(sum->codec, part->first);
}

static int collective_direct_encode(struct place *place, const struct collective_sum *sum,
				    const float *from, float *lost, size_t count, uint8_t *to)
{
	return sum->lost ? place_encode_feedback(place, sum->codec, from, lost, count, to)
			 : place_encode(place, sum->codec, from, count, to);
}

/* Behind exchanges that ran together and ended with `rc`. */
static int collective_direct_end(struct transport *transport, int rc)
{
	int ended = transport_together(transport, false);

	return rc != 0 ? rc : ended;
}

/* Each shard to its owner; of this rank's those of the others come, in the order of the steps. */
static int collective_direct_scatter(struct transport *transport,
				     const struct collective_group *group,
				     const struct collective_sum *sum, uint8_t *encoded,
				     uint8_t *came /* NOLINT(readability-non-const-parameter) */)
{
	struct collective_part mine = collective_part(sum, group->count, group->me);
	size_t room = collective_direct_room(mine.size);
	int rc = transport_together(transport, true);

	if (rc != 0)
		return rc;

	for (int step = 1; rc == 0 && step < group->count; step++) {
		struct collective_part to = collective_part(sum, group->count, group->me + step);
		const struct transport_exchange is = {
			.out = collective_direct_at(sum, encoded, &to),
			.out_size = to.size,
			.in = came + (size_t)(step - 1) * room,
			.in_size = mine.size};

		rc = collective_shift(transport, group, step, is);
	}
	return collective_direct_end(transport, rc);
}

/* The sum in the order of the members, whoever sums. */
static int collective_direct_add(struct place *place, const struct collective_group *group,
				 const struct collective_sum *sum, struct collective_part mine,
				 const uint8_t *own, const uint8_t *came)
{
	size_t room = collective_direct_room(mine.size);
	int rc = place_clear(place, mine.numbers, mine.count);

	for (int i = 0; rc == 0 && i < group->count; i++) {
		int nth = (group->me - i + group->count) %
			  group->count; /* came in step `nth`, from the member i */

		rc = place_add(place, sum->codec,
			       i == group->me ? own : came + (size_t)(nth - 1) * room, mine.count,
			       mine.numbers);
	}
	return rc;
}

static int collective_direct_spread(struct transport *transport,
				    const struct collective_group *group,
				    const struct collective_sum *sum, uint8_t *encoded)
{
	struct collective_part mine = collective_part(sum, group->count, group->me);
	int rc = transport_together(transport, true);

	if (rc != 0)
		return rc;
	for (int step = 1; rc == 0 && step < group->count; step++) {
		struct collective_part from = collective_part(sum, group->count, group->me - step);
		const struct transport_exchange is = {
			.out = collective_direct_at(sum, encoded, &mine),
			.out_size = mine.size,
			.in = collective_direct_at(sum, encoded, &from),
			.in_size = from.size};

		rc = collective_shift(transport, group, step, is);
	}
	return collective_direct_end(transport, rc);
}

int collective_direct_reduce(struct transport *transport, const struct collective_group *group,
			     const struct collective_sum *sum)
{
	struct place *place = transport->place;
	struct collective_part mine = collective_part(sum, group->count, group->me);
	uint8_t *encoded = sum->workspace;
	uint8_t *came = encoded + collective_direct_room(codec_size(sum->codec, sum->count));
	int rc = collective_direct_encode(place, sum, sum->numbers, sum->lost, sum->count, encoded);

	if (rc == 0)
		rc = collective_direct_scatter(transport, group, sum, encoded, came);
	return rc == 0 ? collective_direct_add(place, group, sum, mine,
					       collective_direct_at(sum, encoded, &mine), came)
		       : rc;
}

int collective_direct_share(struct transport *transport, const struct collective_group *group,
			    const struct collective_sum *sum)
{
	struct place *place = transport->place;
	struct collective_part mine = collective_part(sum, group->count, group->me);
	uint8_t *encoded = sum->workspace;
	int rc = collective_direct_encode(place, sum, mine.numbers,
					  sum->lost ? sum->lost + sum->count : NULL, mine.count,
					  collective_direct_at(sum, encoded, &mine));

	if (rc == 0)
		rc = collective_direct_spread(transport, group, sum, encoded);
	return rc == 0 ? place_decode(place, sum->codec, encoded, sum->count, sum->numbers) : rc;
}

static int collective_direct(struct transport *transport, const struct collective_group *group,
			     const struct collective_sum *sum)
{
	int rc = collective_direct_reduce(transport, group, sum);

	return rc == 0 ? collective_direct_share(transport, group, sum) : rc;
}

/* --- face --- */

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
