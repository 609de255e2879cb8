// links: peregrine_flow
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/model/estimate_policy.h"

#include "peregrine/flowd/flow/rollup.h"
#include "peregrine/flowd/flow/source_policy.h"
#include "peregrine/flowd/flow/traffic_ring.h"
#include "peregrine/flowd/flow/traffic_set.h"
#include "tests/support/cmocka.h"

enum { SHARES = 5, PAIRS = 400, FLOWS = 3 };

/* What everything really was. */
struct truth {
	uint64_t share[SHARES], pair[SHARES][PAIRS], flow[SHARES][PAIRS][FLOWS];
};

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 8 & 0xffffff;
}

static void add(struct traffic_set *set, struct truth *truth, unsigned share, unsigned pair,
		unsigned flow, uint64_t bytes)
{
	const struct share_key share_key = {.place = share, .group = 7, .direction = TRAFFIC_OUT};
	const struct conversation_key flow_key = {.source_port = (uint16_t)flow};
	const struct traffic_sums sums = {.bytes = bytes, .packets = 1, .square = 1, .samples = 1};
	struct pair_key pair_key = {.a = {.kind = END_NODE}, .b = {.kind = END_NODE}};

	memcpy(pair_key.a.bytes, &pair, sizeof(pair));
	traffic_set_add(set, &share_key, &pair_key, &flow_key, &sums);
	truth->share[share] += bytes;
	truth->pair[share][pair] += bytes;
	truth->flow[share][pair][flow] += bytes;
}

static unsigned number_of(const struct traffic_end *end)
{
	unsigned number;

	memcpy(&number, end->bytes, sizeof(number));
	return number;
}

/* Totals to the byte, children never too large, and never smaller than the truth by more than what
 * is said of them. */
static void check(const struct traffic_set *set, const struct truth *truth)
{
	uint64_t seen = 0;
	uint64_t all = 0;

	for (uint32_t i = 0; i < set->share_table.count; i++) {
		assert_int_equal(set->shares[i].sums.bytes, truth->share[set->shares[i].key.place]);
		seen += set->shares[i].sums.bytes;
	}
	for (unsigned i = 0; i < SHARES; i++)
		all += truth->share[i];
	assert_int_equal(seen + set->lost_bytes, all);
	for (uint32_t i = 0; i < set->pair_table.count; i++) {
		const struct traffic_pair *pair = &set->pairs[i];
		unsigned share = set->shares[pair->key.share].key.place;
		uint64_t really = truth->pair[share][number_of(&pair->key.a)];

		assert_true(pair->sums.bytes <= really);
		assert_true(pair->sums.bytes + pair->missed >= really);
	}
	for (uint32_t i = 0; i < set->flow_table.count; i++) {
		const struct traffic_flow *flow = &set->flows[i];
		const struct traffic_pair *pair = &set->pairs[flow->key.pair];
		unsigned share = set->shares[pair->key.share].key.place;
		uint64_t really =
			truth->flow[share][number_of(&pair->key.a)][flow->key.source_port];

		assert_true(flow->sums.bytes <= really);
		assert_true(flow->sums.bytes + flow->missed + pair->missed >= really);
	}
}

static const struct traffic_limits tight = {
	.shares = SHARES, .pairs = 300, .flows = 500, .pairs_kept = 50, .flows_kept = 2};

static void totals_stay_exact_whatever_does_not_fit(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct truth *truth = calloc(1, sizeof(*truth));
		unsigned random = seed;
		struct traffic_set set;

		assert_non_null(truth);
		assert_int_equal(traffic_set_init(&set, &tight), 0);
		for (unsigned i = 0; i < 20000; i++) {
			/* A few are large, most are small, as traffic is. */
			unsigned pair = next_random(&random) % PAIRS;

			pair = pair * pair / PAIRS;
			add(&set, truth, next_random(&random) % SHARES, pair,
			    next_random(&random) % FLOWS, 100 + 100000 / (pair + 1));
		}
		check(&set, truth);
		assert_true(set.prunes > 0);
		assert_int_equal(traffic_set_prune(&set), 0);
		check(&set, truth);
		/* The largest pair is there, whatever came and went. */
		for (uint32_t i = 0; i < set.share_table.count; i++) {
			bool found = false;

			for (uint32_t j = 0; j < set.pair_table.count; j++)
				found |= set.pairs[j].key.share == i &&
					 number_of(&set.pairs[j].key.a) == 0;
			assert_true(found);
		}
		traffic_set_done(&set);
		free(truth);
	}
}

static void parts_make_the_whole(void **state)
{
	const struct traffic_limits wide = {.shares = SHARES,
					    .pairs = 4096,
					    .flows = 8192,
					    .pairs_kept = 4096,
					    .flows_kept = 4096};
	struct truth *truth = calloc(1, sizeof(*truth));
	const struct traffic_filter any = {.place = INDEX_NONE, .direction = -1};
	const struct traffic_filter third = {.place = 3, .direction = TRAFFIC_OUT};
	struct traffic_set sum;
	struct traffic_set second;
	struct traffic_ring *ring = NULL;
	unsigned random = 99;
	int64_t first;
	int64_t last;

	(void)state;
	assert_non_null(truth);
	assert_int_equal(traffic_set_init(&sum, &tight), 0);
	assert_int_equal(traffic_set_init_live(&second, &wide), 0);
	assert_int_equal(traffic_ring_new(10, SIZE_MAX, &ring), 0);
	for (int64_t at = 100; at < 108; at++) {
		for (unsigned i = 0; i < 500; i++)
			add(&second, truth, next_random(&random) % SHARES,
			    next_random(&random) % PAIRS, next_random(&random) % FLOWS,
			    next_random(&random));
		/* A set that lives on for some seconds, as a minute's does, or for one. */
		assert_int_equal(traffic_ring_put(ring, at, &second, &wide, 1), 0);
		traffic_set_next_second(&second);
		if (at % 3 == 0) {
			traffic_set_merge(&sum, &second);
			traffic_set_clear(&second);
		}
	}
	traffic_set_merge(&sum, &second);
	traffic_set_clear(&second);
	check(&sum, truth);
	traffic_set_clear(&sum);
	assert_int_equal(traffic_ring_sum(ring, 0, 1000, &any, &sum), 8);
	check(&sum, truth);
	traffic_ring_span(ring, &first, &last);
	assert_int_equal(first, 100);
	assert_int_equal(last, 107);

	traffic_set_clear(&sum);
	assert_int_equal(traffic_ring_sum(ring, 0, 1000, &third, &sum), 8);
	assert_int_equal(sum.share_table.count, 1);
	assert_int_equal(sum.shares[0].sums.bytes, truth->share[3]);
	for (uint32_t i = 0; i < sum.pair_table.count; i++)
		assert_int_equal(sum.pairs[i].key.share, 0);

	/* Only the last ten are there, and none after the clock was set back. */
	for (int64_t at = 108; at < 120; at++)
		assert_int_equal(traffic_ring_put(ring, at, &second, &wide, 1), 0);
	traffic_ring_span(ring, &first, &last);
	assert_int_equal(first, 110);
	assert_null(traffic_ring_get(ring, 109));
	assert_int_equal(traffic_ring_get(ring, 110)->at_s, 110);
	/* After a silence nothing of before it is left in its places. */
	assert_int_equal(traffic_ring_put(ring, 127, &second, &wide, 1), 0);
	traffic_ring_span(ring, &first, &last);
	assert_int_equal(first, 118);
	assert_int_equal(traffic_ring_put(ring, 50, &second, &wide, 1), 0);
	traffic_ring_span(ring, &first, &last);
	assert_int_equal(first, 50);
	assert_int_equal(last, 50);
	traffic_ring_free(ring);
	traffic_set_done(&sum);
	traffic_set_done(&second);
	free(truth);
}

/* What the ring says of the seconds of a set that is pruned in the middle of them, against the
 * truth of each second. */
static void seconds_are_right_while_rows_are_dropped(void **state)
{
	const struct traffic_limits kept = {
		.shares = SHARES, .pairs = 100, .flows = 200, .pairs_kept = 30, .flows_kept = 2};
	const struct traffic_limits wide = {.shares = SHARES,
					    .pairs = 4096,
					    .flows = 8192,
					    .pairs_kept = 4096,
					    .flows_kept = 4096};
	const struct traffic_filter any = {.place = INDEX_NONE, .direction = -1};
	struct truth *truth = calloc(1, sizeof(*truth));
	struct traffic_ring *ring = NULL;
	struct traffic_set live;
	struct traffic_set one;
	unsigned random = 5;

	(void)state;
	assert_non_null(truth);
	assert_int_equal(traffic_set_init_live(&live, &tight), 0);
	assert_int_equal(traffic_set_init(&one, &wide), 0);
	assert_int_equal(traffic_ring_new(10, SIZE_MAX, &ring), 0);
	for (int64_t at = 100; at < 160; at++) {
		memset(truth, 0, sizeof(*truth));
		for (unsigned i = 0; i < 700; i++)
			add(&live, truth, next_random(&random) % SHARES,
			    next_random(&random) % PAIRS, next_random(&random) % FLOWS,
			    next_random(&random));
		assert_int_equal(traffic_ring_put(ring, at, &live, &kept, 1), 0);
		traffic_set_next_second(&live);
		traffic_set_clear(&one);
		assert_int_equal(traffic_ring_sum(ring, at, at + 1, &any, &one), 1);
		assert_in_range(one.pair_table.count, 1, kept.pairs);
		assert_in_range(one.flow_table.count, 1, kept.flows);
		check(&one, truth);
		/* And nothing that is not there had more than is said. */
		for (uint32_t i = 0; i < one.share_table.count; i++)
			assert_true(one.shares[i].floor > 0);
	}
	assert_true(live.prunes > 10);
	traffic_ring_free(ring);
	traffic_set_done(&live);
	traffic_set_done(&one);
	free(truth);
}

static void memory_of_the_ring_is_bounded(void **state)
{
	const struct traffic_limits kept = {
		.shares = SHARES, .pairs = 300, .flows = 500, .pairs_kept = 60, .flows_kept = 3};
	struct truth *truth = calloc(1, sizeof(*truth));
	struct traffic_ring *ring = NULL;
	struct traffic_set live;
	unsigned random = 5;
	int64_t first;
	int64_t last;

	(void)state;
	assert_non_null(truth);
	assert_int_equal(traffic_set_init_live(&live, &tight), 0);
	assert_int_equal(traffic_ring_new(300, 100000, &ring), 0);
	for (int64_t at = 1000; at < 1500; at++) {
		for (unsigned i = 0; i < 100; i++)
			add(&live, truth, 1, next_random(&random) % PAIRS, 0, 1);
		assert_int_equal(traffic_ring_put(ring, at, &live, &kept, 1), 0);
		traffic_set_next_second(&live);
		assert_true(traffic_ring_bytes(ring) <= 100000);
		traffic_ring_span(ring, &first, &last);
		assert_int_equal(last, at);
		/* Without holes: the oldest go. */
		for (int64_t i = first; i <= last; i++)
			assert_non_null(traffic_ring_get(ring, i));
	}
	assert_in_range(last - first, 2, 100);
	traffic_ring_free(ring);
	traffic_set_done(&live);
	free(truth);
}

/* What is a minute shorter than the ring's reach is there for a minute, also where its bytes are
 * what ends it, and before the first second had to go. */
static void the_ring_knows_how_far_it_reaches(void **state)
{
	enum { SECONDS = 300, BEGIN = 1000, END = BEGIN + 700, MINUTE = 60 };
	const struct traffic_limits kept = {
		.shares = SHARES, .pairs = 300, .flows = 500, .pairs_kept = 60, .flows_kept = 3};
	struct truth *truth = calloc(1, sizeof(*truth));
	static int64_t promised_s[END];
	struct traffic_ring *ring = NULL;
	struct traffic_set live;
	unsigned random = 5;
	int64_t first = 0;
	int64_t last = 0;
	bool pruned = false;

	(void)state;
	assert_non_null(truth);
	assert_int_equal(traffic_set_init_live(&live, &tight), 0);
	assert_int_equal(traffic_ring_new(SECONDS, 1000000, &ring), 0);
	assert_int_equal(traffic_ring_reach(ring), SECONDS);
	for (int64_t at = BEGIN; at < END; at++) {
		for (unsigned i = 0; i < 100; i++)
			add(&live, truth, 1, next_random(&random) % PAIRS, 0, 1);
		assert_int_equal(traffic_ring_put(ring, at, &live, &kept, 1), 0);
		traffic_set_next_second(&live);
		traffic_ring_span(ring, &first, &last);
		pruned = pruned || first > BEGIN;
		assert_in_range(traffic_ring_reach(ring), MINUTE + 1, SECONDS - 1);
		promised_s[at] = at - (traffic_ring_reach(ring) - MINUTE) + 1;
		for (int64_t asked = at - MINUTE + 1; asked <= at; asked++)
			assert_true(asked < BEGIN || promised_s[asked] < BEGIN ||
				    promised_s[asked] >= first);
	}
	assert_true(pruned);
	assert_in_range(last - first + 1, traffic_ring_reach(ring),
			traffic_ring_reach(ring) * 5 / 4);
	/* Silent ones have room for all. */
	for (int64_t at = END; at < END + SECONDS; at++)
		assert_int_equal(traffic_ring_put(ring, at, &live, &kept, 1), 0);
	assert_int_equal(traffic_ring_reach(ring), SECONDS);
	traffic_ring_free(ring);
	traffic_set_done(&live);
	free(truth);
}

static void lost_samples_are_made_up_for(void **state)
{
	static const struct {
		struct source_sums said;
		double factor;
	} rows[] = {
		{{.samples = 10, .rates = 1000, .pool = 1100}, 1},
		{{.samples = 10, .rates = 1000, .pool = 3000, .missing = 20}, 3},
		{{.samples = 10, .rates = 1000, .pool = 2000, .drops = 9}, 2},
		{{.samples = 10, .rates = 1000, .pool = 900, .missing = 1}, 1},
		{{.samples = 10, .rates = 1000, .pool = 1U << 31, .missing = 1}, 1000},
		{{.samples = 10, .rates = 1000, .pool = 9000, .missing = 1, .restarted = true}, 1},
		{{.datagrams = true, .samples = 10, .missing = 5}, 1},
		{{.samples = 1, .missing = 7}, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_true(source_factor(&rows[i].said) == rows[i].factor);
}

static void intervals_are_as_wide_as_theory_says(void **state)
{
	/* c equal samples: the classic 196 sqrt(1/c) percent, a little more where c is small. */
	static const struct {
		uint32_t samples;
		double percent;
	} rows[] = {{9604, 2}, {1537, 5}, {385, 10}, {100, 19.6}};
	struct traffic_sums counted = {.bytes = 5000};
	struct estimate e;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		double each = 1000.0 * 1000;
		double half;
		struct traffic_sums sums = {.bytes = (uint64_t)(each * rows[i].samples),
					    .square = each * each * rows[i].samples,
					    .samples = rows[i].samples};

		e = estimate_of(&sums, 0);
		half = (double)(e.high - e.low) / 2 / (double)sums.bytes * 100;
		assert_true(half > rows[i].percent * 0.99 && half < rows[i].percent * 1.03);
		assert_true(e.low < e.bytes && e.bytes < e.high);
	}
	e = estimate_of(&counted, 70);
	assert_int_equal(e.low, 5000);
	assert_int_equal(e.high, 5070);
}

/* A minute's rows stay in their places for the next one, without sums: what is found in them goes
 * on, what is silent now is nobody's, and when most are, all go. */
static void rows_stay_for_the_next_minute(void **state)
{
	static const struct traffic_limits limits = {
		.shares = 16, .pairs = 64, .flows = 64, .pairs_kept = 64, .flows_kept = 64};
	const struct traffic_sums sums = {.bytes = 100, .packets = 1, .square = 4, .samples = 1};
	const struct conversation_key flow = {.source_port = 1};
	struct traffic_spot spots[8];
	struct traffic_set set;
	struct traffic_set hour;
	uint32_t layout;

	(void)state;
	assert_int_equal(traffic_set_init_live(&set, &limits), 0);
	assert_int_equal(traffic_set_init(&hour, &limits), 0);
	layout = set.layout;
	for (uint32_t i = 0; i < COUNT_OF(spots); i++) {
		const struct share_key share = {.place = i / 4};
		struct pair_key pair = {.a = {.kind = END_NODE}, .b = {.kind = END_NODE}};

		pair.a.bytes[0] = (uint8_t)i;
		spots[i] = traffic_set_spot(&set, &share, &pair, &flow);
		traffic_set_add_at(&set, &spots[i], &sums);
	}
	assert_int_equal(traffic_set_prune(&set), 0);
	traffic_set_restart(&set);
	assert_int_equal(set.layout, layout);
	assert_int_equal(set.pair_table.count, COUNT_OF(spots));

	/* of the first one nothing comes: it is not told, and its row is not made elsewhere */
	for (uint32_t i = 1; i < COUNT_OF(spots); i++)
		traffic_set_add_at(&set, &spots[i], &sums);
	assert_int_equal(set.pair_touched.count, COUNT_OF(spots) - 1);
	assert_true(traffic_is_silent(&set.pairs[spots[0].pair].sums));
	assert_int_equal(set.pairs[spots[1].pair].sums.bytes, 100);
	assert_int_equal(set.shares[spots[0].share].sums.bytes, 300);
	traffic_set_merge(&hour, &set);
	assert_int_equal(hour.pair_table.count, COUNT_OF(spots) - 1);
	assert_int_equal(hour.flow_table.count, COUNT_OF(spots) - 1);
	traffic_set_restart(&set);
	assert_int_equal(set.layout, layout);

	traffic_set_add_at(&set, &spots[5], &sums);
	traffic_set_restart(&set);
	assert_int_not_equal(set.layout, layout);
	assert_int_equal(set.pair_table.count + set.share_table.count, 0);
	traffic_set_done(&set);
	traffic_set_done(&hour);
}

/* The same rows again and again are no more than they are: nothing is dropped for them. */
static void a_full_set_takes_what_it_has(void **state)
{
	struct truth *truth = calloc(1, sizeof(*truth));
	struct traffic_limits longer = tight;
	struct traffic_set minute;
	struct traffic_set hour;

	(void)state;
	assert_non_null(truth);
	longer.pairs = 60;
	longer.flows = 1;
	longer.flows_kept = 0;
	assert_int_equal(traffic_set_init(&minute, &tight), 0);
	assert_int_equal(traffic_set_init(&hour, &longer), 0);
	for (unsigned i = 0; i < 50; i++)
		add(&minute, truth, i % SHARES, i, 0, 1000 + i);
	for (unsigned i = 0; i < 10; i++)
		traffic_set_merge(&hour, &minute);
	assert_int_equal(hour.prunes, 0);
	assert_int_equal(hour.pair_table.count, 50);
	for (uint32_t i = 0; i < hour.pair_table.count; i++) {
		const struct traffic_pair *pair = &hour.pairs[i];

		assert_int_equal(pair->sums.bytes, 10 * (1000 + number_of(&pair->key.a)));
		assert_int_equal(pair->missed, 0);
		assert_int_equal(pair->floor, pair->sums.bytes);
	}
	traffic_set_done(&minute);
	traffic_set_done(&hour);
	free(truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_stay_exact_whatever_does_not_fit),
		cmocka_unit_test(parts_make_the_whole),
		cmocka_unit_test(rows_stay_for_the_next_minute),
		cmocka_unit_test(a_full_set_takes_what_it_has),
		cmocka_unit_test(seconds_are_right_while_rows_are_dropped),
		cmocka_unit_test(memory_of_the_ring_is_bounded),
		cmocka_unit_test(the_ring_knows_how_far_it_reaches),
		cmocka_unit_test(lost_samples_are_made_up_for),
		cmocka_unit_test(intervals_are_as_wide_as_theory_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
