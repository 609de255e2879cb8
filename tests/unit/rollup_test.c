// links: peregrine_flow
/* Time through the rollup: whatever the clock and the threads do, each harvest is in one bucket. */
#include <malloc.h>
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/rollup.h"
#include "tests/support/cmocka.h"

#define SECOND INT64_C(1000000)

static const struct switch_row one_switch = {.id = 1, .name = "leaf1", .fabric = 1, .agent = 0};
static const struct port_row one_port = {
	.switch_id = 1, .name = "p1", .lag = "", .if_index = 1, .kind = PORT_KIND_EDGE};
static const struct network_row one_network = {
	.id = 1, .name = "red", .tenant = 1, .tenant_name = "acme"};
static const struct port_binding_row one_binding = {
	.switch_id = 1, .port = "p1", .network = 1, .from_us = 0, .to_us = INT64_MAX};
static const struct attribution_rows rows = {
	.switches = &one_switch,
	.switch_count = 1,
	.ports = &one_port,
	.port_count = 1,
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
	uint64_t bytes;
	bool partial;
};

struct site {
	struct attribution_index *index;
	struct rollup *rollup;
	struct flow_table flows;
	struct bucket_seen minutes[8];
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
	*seen = (struct bucket_seen){.at_s = at_s, .partial = partial};
	for (uint32_t i = 0; i < set->share_table.count; i++)
		seen->bytes += set->shares[i].sums.bytes;
}

static void site_start(struct site *site, int64_t now_s)
{
	*site = (struct site){0};
	assert_int_equal(attribution_index_new(&rows, &site->index), 0);
	assert_int_equal(rollup_new(&options, now_s, on_bucket, site, &site->rollup), 0);
	assert_int_equal(rollup_use(site->rollup, site->index), 0);
	assert_int_equal(flow_table_init(&site->flows, 8), 0);
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
	struct flow_key key = {.agent = 0, .input = 1, .output = PORT_DISCARDED};

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
			       .output = PORT_DISCARDED,
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_that_looks_back_does_not_turn_back),
		cmocka_unit_test(a_late_harvest_is_counted_a_little_later),
		cmocka_unit_test(a_remembered_way_ends_with_its_binding),
		cmocka_unit_test(memory_does_not_grow),
		cmocka_unit_test(a_clock_that_is_set_back_loses_nothing),
		cmocka_unit_test(a_clock_that_jumps_ahead_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
