// links: peregrine_flow
/* Time through the rollup: whatever the clock and the threads do, each harvest is in one bucket. */
#include <malloc.h>
#include <math.h>
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/egress_book.h"
#include "peregrine/flowd/flow/rollup.h"
#include "peregrine/flowd/sample/sample_reader.h"
#include "tests/support/cmocka.h"
#include "tests/unit/flow_fixture.h"

#define SECOND INT64_C(1000000)

static const struct switch_row one_switch = {.id = 1, .name = "leaf1", .fabric = 1, .agent = 0};
static const struct port_row ports[] = {
	{.switch_id = 1, .name = "p1", .lag = "", .if_index = 1, .kind = PORT_KIND_EDGE},
	{.switch_id = 1, .name = "up1", .lag = "", .if_index = 3, .kind = PORT_KIND_UPLINK},
	{.switch_id = 1, .name = "up2", .lag = "", .if_index = 4, .kind = PORT_KIND_UPLINK},
};
static const struct network_row one_network = {
	.id = 1, .name = "red", .tenant = 1, .tenant_name = "acme"};
static const struct port_binding_row one_binding = {
	.switch_id = 1, .port = "p1", .network = 1, .from_us = 0, .to_us = INT64_MAX};
static const struct attribution_rows rows = {
	.switches = &one_switch,
	.switch_count = 1,
	.ports = ports,
	.port_count = COUNT_OF(ports),
	.networks = &one_network,
	.network_count = 1,
	.port_bindings = &one_binding,
	.port_binding_count = 1,
};
static const struct rollup_options options = {
	.ring_seconds = 5,
	.ring_bytes = 1 << 20,
	.route_bits = 8,
	.kept = {.shares = 16, .pairs = 16, .flows = 16, .pairs_kept = 4, .flows_kept = 4},
	.bucket = {.shares = 16, .pairs = 16, .flows = 16, .pairs_kept = 4, .flows_kept = 4},
};

struct bucket_seen {
	int64_t at_s;
	uint64_t bytes, out_bytes; /* of all shares, and of those that left */
	double out_square;
	unsigned thinned;
	bool partial;
};

struct site {
	struct attribution_index *index;
	struct rollup *rollup;
	struct flow_table flows;
	struct bucket_seen minutes[16];
	size_t minute_count;
};

static void on_bucket(void *context, enum traffic_step step, int64_t at_s, bool partial,
		      const struct traffic_set *set)
{
	struct site *site = context;
	struct bucket_seen *seen = &site->minutes[site->minute_count];

	if (step != STEP_MINUTE)
		return;
	assert_true(site->minute_count++ < COUNT_OF(site->minutes));
	*seen = (struct bucket_seen){.at_s = at_s, .partial = partial, .thinned = set->thinned};
	for (uint32_t i = 0; i < set->share_table.count; i++) {
		const struct traffic_share *share = &set->shares[i];

		seen->bytes += share->sums.bytes;
		if (share->key.direction == TRAFFIC_OUT) {
			seen->out_bytes += share->sums.bytes;
			seen->out_square += share->sums.square;
		}
	}
}

static void site_start(struct site *site, int64_t now_s)
{
	*site = (struct site){0};
	assert_int_equal(attribution_index_new(&rows, &site->index), 0);
	assert_int_equal(rollup_new(&options, now_s, on_bucket, site, &site->rollup), 0);
	assert_int_equal(rollup_use(site->rollup, site->index), 0);
	assert_int_equal(flow_table_init(&site->flows, 8, 0), 0);
}

static void site_end(struct site *site)
{
	rollup_free(site->rollup);
	attribution_index_free(site->index);
	flow_table_done(&site->flows);
}

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

/* Bytes that are allocated; under a sanitizer its own count. */
static size_t in_use(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	return mallinfo2().uordblks + mallinfo2().hblkhd;
#endif
}

/* One packet of so many bytes, told within second `at_s`. */
static void take(struct site *site, int64_t at_s, uint64_t bytes)
{
	struct harvest harvest = {.from_us = at_s * SECOND, .until_us = at_s * SECOND + 10};
	struct flow_key key = {.agent = 0, .input = 1, .output = (uint32_t)PORT_DISCARDED};

	flow_table_clear(&site->flows);
	flow_table_add_sum(&site->flows, &key, 0, 1, bytes, 1);
	harvest.flows = site->flows;
	rollup_take(site->rollup, &harvest);
}

static void check_minute(const struct site *site, size_t i, int64_t at_s, uint64_t bytes)
{
	assert_true(i < site->minute_count);
	assert_int_equal(site->minutes[i].at_s, at_s);
	assert_int_equal(site->minutes[i].bytes, bytes);
}

/* A harvest of the new minute comes before the tick that still looks a second back: the new bucket
 * stays, and is not handed out empty. */
static void a_tick_that_looks_back_does_not_turn_back(void **state)
{
	struct site site;

	(void)state;
	site_start(&site, 60);
	take(&site, 119, 100);
	take(&site, 120, 10);
	rollup_tick(site.rollup, 119);
	rollup_tick(site.rollup, 121);
	take(&site, 121, 1);
	rollup_tick(site.rollup, 181);
	rollup_flush(site.rollup);
	assert_int_equal(site.minute_count, 3);
	check_minute(&site, 0, 60, 100);
	check_minute(&site, 1, 120, 11);
	check_minute(&site, 2, 180, 0);
	site_end(&site);
}

/* Two samples of 60 bytes, 1 in 100: each frame left with a tag, whether its way was looked up or
 * remembered. */
static void what_leaves_is_told_with_its_tag(void **state)
{
	const struct flow_key key = {.input = 1, .output = 3};
	const struct flow_add adds[] = {{.key = key, .rate = 100, .frame_bytes = 60},
					{.key = key, .rate = 100, .frame_bytes = 60}};
	struct site site;

	(void)state;
	site_start(&site, 60);
	for (int64_t at_s = 70; at_s < 73; at_s++) {
		struct harvest harvest = {.from_us = at_s * SECOND, .until_us = at_s * SECOND + 10};

		flow_table_clear(&site.flows);
		for (size_t i = 0; i < COUNT_OF(adds); i++)
			put_sample(&site.flows, adds[i]);
		harvest.flows = site.flows;
		rollup_take(site.rollup, &harvest);
	}
	rollup_flush(site.rollup);
	check_minute(&site, 0, 60, UINT64_C(600) * (60 + 64));
	assert_int_equal(site.minutes[0].out_bytes, 3 * 2 * 100 * 64);
	assert_true(fabs(site.minutes[0].out_square - 3 * 2 * 6400.0 * 6400) < 1);
	site_end(&site);
}

/* By samples, in a second that is over. */
static double left_in(const struct site *site, uint32_t port, int64_t at_s)
{
	struct ring_span span = {.place = rollup_place(site->rollup, port),
				 .from_us = at_s * SECOND,
				 .to_us = (at_s + 1) * SECOND};

	assert_int_equal(traffic_ring_left(rollup_ring(site->rollup), &span, 1,
					   traffic_place_count(rollup_names(site->rollup))),
			 0);
	return span.out_bytes;
}

/* While a port is mirrored Open vSwitch tells that frames left by two ports. They are on the link
 * that others to the same MAC left by; where none did so lately, on none, until one does. */
static void what_is_mirrored_stays_on_its_link(void **state)
{
	static const struct {
		int64_t at_s;
		uint32_t output;
		uint8_t to;
		uint64_t left;
	} seconds[] = {
		{70, (uint32_t)PORT_TWO, 9, 0},
		{71, 3, 9, 6400},
		{72, (uint32_t)PORT_TWO, 9, 6400},
		{73, (uint32_t)PORT_TWO, 8, 0},
		{74, (uint32_t)PORT_MULTIPLE, 9, 0},
		{75, (uint32_t)PORT_TWO, 7, 0},
		{71 + EGRESS_AGE_S, (uint32_t)PORT_TWO, 9, 6400},
		{72 + EGRESS_AGE_S, (uint32_t)PORT_TWO, 9, 0}, /* nobody saw it since */
	};
	struct site site;

	(void)state;
	site_start(&site, 60);
	for (size_t i = 0; i < COUNT_OF(seconds); i++) {
		int64_t at_s = seconds[i].at_s;
		struct harvest harvest = {.from_us = at_s * SECOND, .until_us = at_s * SECOND + 10};
		struct flow_add add = {.key = {.input = 1,
					       .output = seconds[i].output,
					       .source_mac = {2, 0, 0, 0, 0, 7},
					       .target_mac = {2, 0, 0, 0, 0, seconds[i].to}},
				       .rate = 100,
				       .frame_bytes = 60};

		flow_table_clear(&site.flows);
		put_sample(&site.flows, add);
		harvest.flows = site.flows;
		rollup_take(site.rollup, &harvest);
		rollup_tick(site.rollup, at_s + 1);
		assert_true(left_in(&site, 1, at_s) == (double)seconds[i].left);
		assert_true(left_in(&site, 0, at_s) == 0);
	}
	site_end(&site);
}

/* wire 2: an exporter that watches its uplinks in both directions, and no edge port. What it tells
 * of an uplink counts at the edge port too; between two uplinks each record counts at its end. */
static void records_count_where_no_others_do(void **state)
{
	static const struct {
		int64_t at_s;
		struct {
			uint32_t input, output;
			bool egress;
			uint64_t bytes;
		} records[4];
		uint64_t left[3]; /* by p1, up1, up2 */
	} seconds[] = {
		{6010,
		 {{3, 1, false, 100}, {1, 3, true, 10}, {3, 4, false, 1000}, {3, 4, true, 1000}},
		 {100, 10, 1000}},
		{6011, {{3, 4, false, 1000}, {1, 3, false, 7}}, {0, 0, 0}},
		{6012, {{1, 3, true, 20}, {1, 4, true, 5}}, {0, 20, 5}},
		/* So long after the last record of what left by up2 it is not watched any more. */
		{6640, {{3, 4, false, 1000}, {4, 3, true, 30}}, {0, 30, 1000}},
	};
	struct site site;

	(void)state;
	site_start(&site, 6000);
	for (size_t i = 0; i < COUNT_OF(seconds); i++) {
		int64_t at_s = seconds[i].at_s;
		struct harvest harvest = {.from_us = at_s * SECOND, .until_us = at_s * SECOND + 10};

		flow_table_clear(&site.flows);
		for (size_t j = 0; j < 4; j++) {
			struct flow_key key = {
				.input = seconds[i].records[j].input,
				.output = seconds[i].records[j].output,
				.flags =
					(uint8_t)(FLOW_RECORD |
						  (seconds[i].records[j].egress ? FLOW_EGRESS : 0)),
			};

			if (key.input)
				flow_table_add_sum(&site.flows, &key, 0, 1,
						   seconds[i].records[j].bytes, 1);
		}
		harvest.flows = site.flows;
		rollup_take(site.rollup, &harvest);
		rollup_tick(site.rollup, at_s + 1);
		for (uint32_t port = 0; port < 3; port++)
			assert_true(left_in(&site, port, at_s) == (double)seconds[i].left[port]);
	}
	/* What came in by the edge port: of the third second nothing, because the second one told of it itself. */
	assert_int_equal(site.minutes[0].bytes - site.minutes[0].out_bytes, 10 + 7);
	site_end(&site);
}

/* What left a port while its interface was asked twice: of seconds that it begins or ends in, the
 * part. */
static void what_left_in_some_time_is_found(void **state)
{
	static const struct {
		int64_t from_ms, to_ms;
		uint64_t bytes;
	} asked[] = {
		{70000, 73000, 19200}, {70500, 72250, 6400 / 2 + 6400 + 6400 / 4},
		{71200, 71300, 640},   {72000, 73000, 6400},
		{69900, 71000, 6400},  {72500, 73001, 3200},
	};
	struct flow_add add = {.key = {.input = 1, .output = 3}, .rate = 100, .frame_bytes = 60};
	struct ring_span spans[COUNT_OF(asked) + 1] = {{0}};
	struct site site;

	(void)state;
	site_start(&site, 60);
	for (int64_t at_s = 70; at_s < 73; at_s++) {
		struct harvest harvest = {.from_us = at_s * SECOND, .until_us = at_s * SECOND + 10};

		flow_table_clear(&site.flows);
		put_sample(&site.flows, add);
		harvest.flows = site.flows;
		rollup_take(site.rollup, &harvest);
	}
	rollup_tick(site.rollup, 74);
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		spans[i] = (struct ring_span){.place = rollup_place(site.rollup, 1),
					      .from_us = asked[i].from_ms * 1000,
					      .to_us = asked[i].to_ms * 1000};
	/* Where it came in nothing left. */
	spans[COUNT_OF(asked)] = (struct ring_span){.place = rollup_place(site.rollup, 0),
						    .from_us = 70 * SECOND,
						    .to_us = 73 * SECOND};
	assert_int_equal(traffic_ring_left(rollup_ring(site.rollup), spans, COUNT_OF(spans),
					   traffic_place_count(rollup_names(site.rollup))),
			 0);
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		assert_int_equal(llround(spans[i].out_bytes), asked[i].bytes);
	assert_true(spans[COUNT_OF(asked)].out_bytes == 0);
	site_end(&site);
}

/* Each receiver thins by a factor of its own: of a second and of a bucket the worst is told. */
static void the_worst_of_several_receivers_is_told(void **state)
{
	static const unsigned thin[3][2] = {{1, 8}, {4, 0}, {1, 1}};
	static const unsigned told[3] = {8, 4, 1};
	struct flow_add add = {.key = {.input = 1, .output = 3}, .rate = 100, .frame_bytes = 60};
	struct site site;

	(void)state;
	site_start(&site, 60);
	for (int64_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < 2; j++) {
			struct harvest harvest = {.from_us = (70 + i) * SECOND,
						  .until_us = (70 + i) * SECOND + 10,
						  .thin = thin[i][j]};

			flow_table_clear(&site.flows);
			put_sample(&site.flows, add);
			harvest.flows = site.flows;
			rollup_take(site.rollup, &harvest);
		}
	}
	rollup_tick(site.rollup, 74);
	for (int64_t i = 0; i < 3; i++)
		assert_int_equal(traffic_ring_get(rollup_ring(site.rollup), 70 + i)->thinned,
				 told[i]);
	rollup_flush(site.rollup);
	assert_int_equal(site.minutes[0].thinned, 8);
	site_end(&site);
}

/* A receiver that was late tells of a second, and of a minute, that is over. */
static void a_late_harvest_is_counted_a_little_later(void **state)
{
	struct site site;

	(void)state;
	site_start(&site, 60);
	take(&site, 119, 100);
	rollup_tick(site.rollup, 120);
	take(&site, 119, 10);
	take(&site, 121, 1);
	rollup_flush(site.rollup);
	/* What the ring had stays, too. */
	assert_non_null(traffic_ring_get(rollup_ring(site.rollup), 119));
	assert_int_equal(traffic_ring_get(rollup_ring(site.rollup), 120)->shares[0].bytes, 10);
	assert_int_equal(site.minute_count, 2);
	check_minute(&site, 0, 60, 100);
	check_minute(&site, 1, 120, 11);
	site_end(&site);
}

/* A way that is remembered holds as long as the bindings do: a sample from before the change is the
 * former tenant's, even when the change is known already. */
static void a_remembered_way_ends_with_its_binding(void **state)
{
	static const struct network_row networks[] = {
		{.id = 1, .name = "red", .tenant = 1, .tenant_name = "acme"},
		{.id = 2, .name = "blue", .tenant = 2, .tenant_name = "globex"}};
	static const struct port_binding_row bindings[] = {
		{.switch_id = 1, .port = "p1", .network = 1, .to_us = 1003 * SECOND},
		{.switch_id = 1,
		 .port = "p1",
		 .network = 2,
		 .from_us = 1003 * SECOND,
		 .to_us = INT64_MAX}};
	struct attribution_rows changed = rows;
	struct attribution_index *index = NULL;
	const struct ring_second *second;
	struct site site;

	(void)state;
	changed.networks = networks;
	changed.network_count = COUNT_OF(networks);
	changed.port_bindings = bindings;
	changed.port_binding_count = COUNT_OF(bindings);
	assert_int_equal(attribution_index_new(&changed, &index), 0);
	site_start(&site, 1000);
	take(&site, 1000, 1);
	take(&site, 1001, 10);
	assert_int_equal(rollup_use(site.rollup, index), 0);
	take(&site, 1002, 100);
	take(&site, 1003, 1000);
	take(&site, 1004, 10000);
	rollup_tick(site.rollup, 1005);
	for (int64_t at = 1000; at <= 1004; at++) {
		second = traffic_ring_get(rollup_ring(site.rollup), at);
		assert_non_null(second);
		assert_int_equal(second->share_count, 1);
		assert_int_equal(
			traffic_group_get(rollup_names(site.rollup), second->shares[0].key.group)
				->tenant,
			at < 1003 ? 1 : 2);
	}
	rollup_flush(site.rollup);
	check_minute(&site, 0, 960, 11111);
	rollup_free(site.rollup);
	attribution_index_free(site.index);
	attribution_index_free(index);
	flow_table_done(&site.flows);
}

/* Set back by hours: what was gathered is handed out, and the same minutes may come again. */
static void a_clock_that_is_set_back_loses_nothing(void **state)
{
	struct site site;

	(void)state;
	site_start(&site, 7200);
	take(&site, 7200, 100);
	take(&site, 3660, 10);
	take(&site, 7200, 1);
	rollup_flush(site.rollup);
	assert_int_equal(rollup_counts(site.rollup).clock_jumps, 1);
	assert_int_equal(site.minute_count, 3);
	check_minute(&site, 0, 7200, 100);
	check_minute(&site, 1, 3660, 10);
	check_minute(&site, 2, 7200, 1);
	assert_true(site.minutes[2].partial);
	site_end(&site);
}

/* Hours ahead, and days: what was gathered is handed out, hours that nobody saw are not made up,
 * and the minute that it jumped into says that it is not whole. */
static void a_clock_that_jumps_ahead_loses_nothing(void **state)
{
	struct site site;

	(void)state;
	site_start(&site, 3600);
	take(&site, 3600, 100);
	take(&site, 7230, 10);
	rollup_tick(site.rollup, 7231);
	take(&site, 7230 + 86400 * 3, 1);
	rollup_flush(site.rollup);
	assert_int_equal(site.minute_count, 3);
	check_minute(&site, 0, 3600, 100);
	assert_false(site.minutes[0].partial);
	check_minute(&site, 1, 7200, 10);
	assert_true(site.minutes[1].partial);
	check_minute(&site, 2, 7200 + 86400 * 3, 1);
	assert_true(site.minutes[2].partial);
	site_end(&site);
}

/* Six hours of seconds whose flows are new each time, as a scan makes them: what was allocated
 * after the first hour is what is allocated after the last. */
static void memory_does_not_grow(void **state)
{
	enum { HOURS = 6, PER_SECOND = 12 };
	struct site site;
	struct flow_key key = {.agent = 0,
			       .input = 1,
			       .output = (uint32_t)PORT_DISCARDED,
			       .flags = FLOW_IPV4,
			       .ethertype = 0x0800,
			       .protocol = 17};
	uint32_t number = 0;
	size_t after_first = 0;
	size_t ring = 0;

	(void)state;
	site_start(&site, 7200);
	for (int64_t at = 7200; at < 7200 + HOURS * 3600; at++) {
		struct harvest harvest = {.from_us = at * SECOND, .until_us = at * SECOND + 10};

		flow_table_clear(&site.flows);
		for (unsigned i = 0; i < PER_SECOND; i++) {
			number++;
			memcpy(key.source + 12, &number, sizeof(number));
			memcpy(key.source_mac + 2, &number, sizeof(number));
			key.source_port = (uint16_t)number;
			flow_table_add_sum(&site.flows, &key, 0, 1, 100, 1);
		}
		harvest.flows = site.flows;
		site.minute_count = 0;
		rollup_take(site.rollup, &harvest);
		if (at == 7200 + 3600) {
			after_first = in_use();
			ring = traffic_ring_bytes(rollup_ring(site.rollup));
		}
	}
	assert_true(rollup_counts(site.rollup).prunes > 3600);
	assert_int_equal(traffic_ring_bytes(rollup_ring(site.rollup)), ring);
	assert_true(in_use() <= after_first + 4096);
	site_end(&site);
}

/* A switch that takes part in segmentation offload samples frames of 64 KiB (65,234 bytes with FCS
 * were the largest in the lab): all of them count, at every level, also at a rate that passes 32
 * bits. */
static void a_frame_of_64_kib_counts_whole(void **state)
{
	enum { FRAME = 65234, SAMPLES = 3 };
	static const uint32_t rates[] = {400, 131072};
	/* n1 to n3, TCP 40001 to 5201; 56 bytes were sampled. */
	static const uint8_t header[] = {
		2,    0, 0,  0, 0, 2, 2,    0,    0, 0, 0,  1, 8, 0, 0x45, 0,    0xfe, 0xc0, 0, 0,
		0x40, 0, 64, 6, 0, 0, 10,   0,    0, 1, 10, 0, 3, 1, 0x9c, 0x41, 0x14, 0x51, 0, 0,
		0,    0, 0,  0, 0, 0, 0x50, 0x10, 0, 0, 0,  0, 0, 0, 0,    0,    0,    0};
	const struct agent_row agent = {.agent = {[10] = 0xff, 0xff, [15] = 1},
					.source = {[15] = 1}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rates); i++) {
		uint64_t bytes = (uint64_t)SAMPLES * rates[i] * (FRAME - 4);
		/* clang-format off */
		const uint32_t head[] = {
			5, 1, 1, 0, 1, 1, 1, /* agent 0.0.0.1, one sample */
			1, 56 + sizeof(header), 1, 1, rates[i], 0, 0, 1, 2, 1,
			1, 16 + sizeof(header), 1, FRAME, 4, sizeof(header), /* its header */
		};
		/* clang-format on */
		uint8_t datagram[256];
		struct wire_writer writer = wire_writer(datagram, sizeof(datagram));
		struct agent_directory *directory = NULL;
		struct harvest harvest = {.from_us = 1000 * SECOND, .until_us = 1000 * SECOND + 10};
		struct sample_reader reader = {.harvest = &harvest};
		const struct ring_second *second;
		struct site site;

		site_start(&site, 1000);
		assert_int_equal(agent_directory_new(&agent, 1, &directory), 0);
		assert_int_equal(source_book_new(8, &reader.book), 0);
		assert_int_equal(flow_table_init(&harvest.flows, 8, 0), 0);
		reader.directory = directory;
		for (size_t j = 0; j < COUNT_OF(head); j++)
			wire_put_u32(&writer, head[j]);
		wire_put_bytes(&writer, header, sizeof(header));
		for (unsigned j = 0; j < SAMPLES; j++)
			sample_reader_take(&reader, datagram, wire_written(&writer), agent.source);
		sample_reader_flush(&reader);
		assert_int_equal(harvest.counts.samples, SAMPLES);
		rollup_take(site.rollup, &harvest);
		rollup_tick(site.rollup, 1001);
		second = traffic_ring_get(rollup_ring(site.rollup), 1000);
		assert_non_null(second);
		assert_int_equal(second->share_count, 1);
		assert_int_equal(second->shares[0].bytes, bytes);
		assert_int_equal(second->shares[0].packets, (uint64_t)SAMPLES * rates[i]);
		assert_int_equal(
			traffic_group_get(rollup_names(site.rollup), second->shares[0].key.group)
				->tenant,
			1);
		assert_int_equal(second->pair_count, 1);
		assert_int_equal(second->pairs[0].bytes, bytes);
		assert_int_equal(second->flow_count, 1);
		assert_int_equal(second->flows[0].bytes, bytes);
		rollup_flush(site.rollup);
		check_minute(&site, 0, 960, bytes);
		site_end(&site);
		flow_table_done(&harvest.flows);
		source_book_free(reader.book);
		agent_directory_free(directory);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_that_looks_back_does_not_turn_back),
		cmocka_unit_test(a_late_harvest_is_counted_a_little_later),
		cmocka_unit_test(what_leaves_is_told_with_its_tag),
		cmocka_unit_test(what_is_mirrored_stays_on_its_link),
		cmocka_unit_test(records_count_where_no_others_do),
		cmocka_unit_test(a_remembered_way_ends_with_its_binding),
		cmocka_unit_test(a_frame_of_64_kib_counts_whole),
		cmocka_unit_test(memory_does_not_grow),
		cmocka_unit_test(what_left_in_some_time_is_found),
		cmocka_unit_test(the_worst_of_several_receivers_is_told),
		cmocka_unit_test(a_clock_that_is_set_back_loses_nothing),
		cmocka_unit_test(a_clock_that_jumps_ahead_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
