#include "peregrine/flowd/flow/traffic_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/flowd/flow/attribution_index.h"
#include "peregrine/flowd/flow/traffic_set_private.h"

#define TRAFFIC_RING_SECOND_US INT64_C(1000000)

struct traffic_ring {
	unsigned count, reach;
	int64_t last_s;
	size_t bytes, bytes_max;
	struct ring_second seconds[];
};

int traffic_ring_new(unsigned seconds, size_t bytes_max, struct traffic_ring **ret)
{
	struct traffic_ring *ring = calloc(1, sizeof(*ring) + seconds * sizeof(ring->seconds[0]));

	if (!ring)
		return -ENOMEM;
	ring->count = ring->reach = seconds;
	ring->bytes_max = bytes_max;
	*ret = ring;
	return 0;
}

static void second_clear(struct traffic_ring *ring, struct ring_second *second)
{
	ring->bytes -= second->size;
	free(second->shares);
	*second = (struct ring_second){0};
}

static void clear_all(struct traffic_ring *ring)
{
	for (unsigned i = 0; i < ring->count; i++)
		second_clear(ring, &ring->seconds[i]);
	ring->last_s = 0;
	ring->reach = ring->count;
}

void traffic_ring_free(struct traffic_ring *ring)
{
	if (!ring)
		return;
	clear_all(ring);
	free(ring);
}

/* The oldest go until there is room, but never the last one. */
static void traffic_ring_make_room(struct traffic_ring *ring)
{
	for (unsigned i = 1; i < ring->count && ring->bytes > ring->bytes_max; i++)
		second_clear(ring, &ring->seconds[((uint64_t)ring->last_s + i) % ring->count]);
}

static void look_how_far(struct traffic_ring *ring)
{
	double room = ring->count;
	int64_t first_s;
	int64_t last_s;

	traffic_ring_span(ring, &first_s, &last_s);
	if (ring->bytes)
		room = (double)(last_s - first_s + 1) * (double)ring->bytes_max /
		       (double)ring->bytes;
	if (room > ring->count)
		room = ring->count;
	if (room < ring->reach || room > ring->reach * 1.25 || room >= ring->count)
		ring->reach = (unsigned)room;
}

int traffic_ring_put(struct traffic_ring *ring, int64_t at_s, const struct traffic_set *set,
		     const struct traffic_limits *kept, unsigned thinned)
{
	struct ring_second *second = &ring->seconds[(uint64_t)at_s % ring->count];
	int rc;

	if (at_s <= ring->last_s)
		clear_all(ring);
	/* Seconds of silence between: what is in their places is older than the ring. */
	for (int64_t i = ring->last_s + 1; i < at_s && i <= ring->last_s + ring->count; i++)
		second_clear(ring, &ring->seconds[(uint64_t)i % ring->count]);
	second_clear(ring, second);
	rc = ring_second_of(set, kept, second);
	if (rc) { /* a second that is missing shall not look like a silent one */
		clear_all(ring);
		return rc;
	}
	second->at_s = at_s;
	second->thinned = thinned;
	ring->last_s = at_s;
	ring->bytes += second->size;
	traffic_ring_make_room(ring);
	look_how_far(ring);
	return 0;
}

const struct ring_second *traffic_ring_get(const struct traffic_ring *ring, int64_t at_s)
{
	const struct ring_second *second = &ring->seconds[(uint64_t)at_s % ring->count];

	return at_s > 0 && second->at_s == at_s ? second : NULL;
}

static bool traffic_ring_passes(const struct traffic_filter *filter, const struct share_key *key)
{
	if (filter->place != INDEX_NONE && filter->place != key->place)
		return false;
	if (filter->direction >= 0 && (uint32_t)filter->direction != key->direction)
		return false;
	return !filter->group_passes || filter->group_passes(filter->context, key->group);
}

static struct traffic_sums traffic_ring_sums_of(uint64_t bytes, uint64_t packets, double square,
						uint32_t samples)
{
	return (struct traffic_sums){
		.bytes = bytes, .packets = packets, .square = square, .samples = samples};
}

/* Seen as a set without tables: merging reads rows and counts alone. What does not pass is left
 * out. */
struct part {
	struct traffic_set set;
	uint32_t *shares, *pairs; /* the second's numbers to the part's */
};

static bool part_init(struct part *part, const struct ring_second *second)
{
	part->shares = calloc((size_t)second->share_count + 1, sizeof(*part->shares));
	part->pairs = calloc((size_t)second->pair_count + 1, sizeof(*part->pairs));
	part->set.shares = calloc((size_t)second->share_count + 1, sizeof(*part->set.shares));
	part->set.pairs = calloc((size_t)second->pair_count + 1, sizeof(*part->set.pairs));
	part->set.flows = calloc((size_t)second->flow_count + 1, sizeof(*part->set.flows));
	return part->shares && part->pairs && part->set.shares && part->set.pairs &&
	       part->set.flows;
}

static void part_done(struct part *part)
{
	free(part->shares);
	free(part->pairs);
	free(part->set.shares);
	free(part->set.pairs);
	free(part->set.flows);
}

static void part_fill(struct part *part, const struct ring_second *second,
		      const struct traffic_filter *filter)
{
	struct traffic_set *set = &part->set;

	for (uint32_t i = 0; i < second->share_count; i++) {
		const struct ring_share *row = &second->shares[i];

		part->shares[i] = INDEX_NONE;
		if (!traffic_ring_passes(filter, &row->key))
			continue;
		part->shares[i] = set->share_table.count;
		set->shares[set->share_table.count++] = (struct traffic_share){
			.key = row->key,
			.sums = traffic_ring_sums_of(row->bytes, row->packets, row->square,
						     row->samples),
			.floor = row->floor};
	}
	for (uint32_t i = 0; i < second->pair_count; i++) {
		const struct ring_pair *row = &second->pairs[i];
		struct traffic_pair *pair = &set->pairs[set->pair_table.count];

		part->pairs[i] = INDEX_NONE;
		if (part->shares[row->key.share] == INDEX_NONE)
			continue;
		part->pairs[i] = set->pair_table.count++;
		*pair = (struct traffic_pair){.key = row->key,
					      .sums = traffic_ring_sums_of(row->bytes, row->packets,
									   row->square,
									   row->samples),
					      .missed = row->missed,
					      .floor = row->floor};
		pair->key.share = part->shares[row->key.share];
	}
	for (uint32_t i = 0; i < second->flow_count; i++) {
		const struct ring_flow *row = &second->flows[i];
		struct traffic_flow *flow = &set->flows[set->flow_table.count];

		if (part->pairs[row->key.pair] == INDEX_NONE)
			continue;
		set->flow_table.count++;
		*flow = (struct traffic_flow){.key = row->key,
					      .sums = traffic_ring_sums_of(row->bytes, row->packets,
									   row->square,
									   row->samples),
					      .missed = row->missed};
		flow->key.pair = part->pairs[row->key.pair];
	}
}

static void sum_second(const struct ring_second *second, const struct traffic_filter *filter,
		       struct traffic_set *set)
{
	struct part part = {0};

	if (part_init(&part, second)) {
		part_fill(&part, second, filter);
		traffic_set_merge(set, &part.set);
	}
	part_done(&part);
}

unsigned traffic_ring_sum(const struct traffic_ring *ring, int64_t from_s, int64_t to_s,
			  const struct traffic_filter *filter, struct traffic_set *set)
{
	unsigned count = 0;

	for (unsigned i = 0; i < ring->count; i++) {
		const struct ring_second *second = &ring->seconds[i];

		if (!second->at_s || second->at_s < from_s || second->at_s >= to_s)
			continue;
		sum_second(second, filter, set);
		count++;
	}
	return count;
}

void traffic_ring_span(const struct traffic_ring *ring, int64_t *ret_first_s, int64_t *ret_last_s)
{
	int64_t first = 0;

	for (unsigned i = 0; i < ring->count; i++)
		if (ring->seconds[i].at_s && (!first || ring->seconds[i].at_s < first))
			first = ring->seconds[i].at_s;
	*ret_first_s = first;
	*ret_last_s = ring->last_s;
}

size_t traffic_ring_bytes(const struct traffic_ring *ring)
{
	return ring->bytes;
}

unsigned traffic_ring_reach(const struct traffic_ring *ring)
{
	return ring->reach;
}

static void add_left(const struct ring_second *second, struct ring_span spans[],
		     const uint32_t *first_of, size_t places)
{
	int64_t from_us = second->at_s * TRAFFIC_RING_SECOND_US;

	for (uint32_t i = 0; i < second->share_count; i++) {
		const struct ring_share *share = &second->shares[i];
		uint32_t at = share->key.direction == TRAFFIC_OUT && share->key.place < places
				      ? first_of[share->key.place]
				      : 0;

		for (; at; at = spans[at - 1].next) {
			struct ring_span *span = &spans[at - 1];
			int64_t begin_us = span->from_us > from_us ? span->from_us : from_us;
			int64_t end_us = span->to_us < from_us + TRAFFIC_RING_SECOND_US
						 ? span->to_us
						 : from_us + TRAFFIC_RING_SECOND_US;

			if (begin_us < end_us)
				span->out_bytes += (double)share->bytes *
						   (double)(end_us - begin_us) /
						   TRAFFIC_RING_SECOND_US;
		}
	}
}

int traffic_ring_left(const struct traffic_ring *ring, struct ring_span spans[], size_t count,
		      size_t places)
{
	uint32_t *first_of = calloc(places + 1, sizeof(*first_of)); /* plus one */
	int64_t from_us = INT64_MAX;
	int64_t to_us = 0;

	if (!first_of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		spans[i].next = first_of[spans[i].place];
		first_of[spans[i].place] = (uint32_t)i + 1;
		if (spans[i].from_us < from_us)
			from_us = spans[i].from_us;
		if (spans[i].to_us > to_us)
			to_us = spans[i].to_us;
	}
	for (unsigned i = 0; i < ring->count; i++) {
		const struct ring_second *second = &ring->seconds[i];

		if (second->at_s && second->at_s * TRAFFIC_RING_SECOND_US < to_us &&
		    (second->at_s + 1) * TRAFFIC_RING_SECOND_US > from_us)
			add_left(second, spans, first_of, places);
	}
	free(first_of);
	return 0;
}
