// links: peregrine_health m
/* Differences of interface counters: wraps, agents and counters that began anew, what cannot be. */
#include <math.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/control/health/counter_policy.h"
#include "peregrine/control/health/health_text.h"
#include "tests/support/cmocka.h"

#define GIGABIT 1000000000ULL
#define NARROW  0x100000000ULL
#define ALL_WIDE                                                                       \
	((1U << COUNT_IN_BYTES) | (1U << COUNT_OUT_BYTES) | (1U << COUNT_IN_PACKETS) | \
	 (1U << COUNT_OUT_PACKETS))

static void test_seconds(void **state)
{
	static const struct {
		const char *what;
		int64_t ours_ms;
		uint64_t before, now;
		double seconds;
	} rows[] = {
		{"a minute by both", 60000, 1000000, 1060010, 60.01},
		{"it does not tell", 60000, 0, 0, 60},
		{"only once", 60000, 0, 99, 60},
		{"began anew", 60000, 1000000, 30000, 0},
		{"began anew long ago", 60000, 1000000, 900000, 0},
		{"the clock wrapped", 60000, (NARROW - 1) * 10, 59990, 60},
		{"a clock that jumps is not believed", 60000, 1000000, 9000000, 60},
		{"one that stands is not either", 60000, 1000000, 1000000, 60},
		{"too far apart", 16 * 60000, 1000000, 1960000, 0},
		{"no time at all", 0, 1000000, 1000000, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct counter_look before = {.at_ms = 5, .uptime_ms = rows[i].before};
		const struct counter_look now = {.at_ms = 5 + rows[i].ours_ms,
						 .uptime_ms = rows[i].now};
		double seconds = counter_seconds(&before, &now);

		if (fabs(seconds - rows[i].seconds) > 1e-9)
			fail_msg("%s: %f", rows[i].what, seconds);
	}
}

static void test_values(void **state)
{
	static const struct {
		const char *what;
		enum port_count count;
		bool wide;
		uint64_t speed_bps, before, now;
		int64_t value; /* -1 = not known */
	} rows[] = {
		{"wide", COUNT_IN_BYTES, true, GIGABIT, NARROW - 5, NARROW + 5, 10},
		{"wide and back", COUNT_IN_BYTES, true, GIGABIT, 1000, 10, -1},
		{"wide, 64 bits", COUNT_OUT_BYTES, true, GIGABIT, UINT64_MAX - 9, UINT64_MAX, 9},
		{"more than the port can", COUNT_IN_BYTES, true, GIGABIT, 0, 10 * GIGABIT, -1},
		{"as much as it can", COUNT_IN_BYTES, true, GIGABIT, 0, 60 * GIGABIT / 8,
		 60 * GIGABIT / 8},
		{"narrow wraps once", COUNT_IN_BYTES, false, 100000000, NARROW - 100, 400, 500},
		{"narrow could wrap twice", COUNT_IN_BYTES, false, GIGABIT, 100, 600, -1},
		{"narrow of an unknown speed", COUNT_IN_BYTES, false, 0, 100, 600, -1},
		{"narrow packets", COUNT_IN_PACKETS, false, GIGABIT, NARROW - 1, 9, 10},
		{"narrow and cleared", COUNT_IN_BYTES, false, 100000000, NARROW / 2, 7, -1},
		{"errors", COUNT_IN_ERRORS, false, 100 * GIGABIT, 500, 507, 7},
		{"errors wrap", COUNT_OUT_ERRORS, false, 100 * GIGABIT, NARROW - 1, 1, 2},
		{"errors were cleared", COUNT_IN_DISCARDS, false, 400 * GIGABIT, 500, 3, -1},
		{"nothing", COUNT_OUT_DISCARDS, false, GIGABIT, 3, 3, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t bit = (uint8_t)(1U << rows[i].count);
		struct port_health before = {.known = bit, .wide = rows[i].wide ? bit : 0};
		struct port_health now = {.speed_bps = rows[i].speed_bps};
		struct counter_interval interval;
		bool known;

		before.counts[rows[i].count] = rows[i].before;
		now.known = before.known;
		now.wide = before.wide;
		now.counts[rows[i].count] = rows[i].now;
		known = counter_interval(&before, &now, 60, &interval);
		if (known != (rows[i].value >= 0) ||
		    (known && (interval.values[rows[i].count] != (uint64_t)rows[i].value ||
			       interval.known != bit)))
			fail_msg("%s: %d %llu", rows[i].what, known,
				 (unsigned long long)interval.values[rows[i].count]);
	}
}

static void test_began_anew(void **state)
{
	struct port_health before = {.known = 0xff, .wide = ALL_WIDE, .discontinuity = 100};
	struct port_health now = {.known = 0xff, .wide = ALL_WIDE, .discontinuity = 200};
	struct counter_interval interval;

	(void)state;
	assert_false(counter_interval(&before, &now, 60, &interval));
	now.discontinuity = 100;
	assert_true(counter_interval(&before, &now, 60, &interval));
	assert_int_equal(interval.known, 0xff);
	assert_false(counter_interval(&before, &now, 0, &interval));
	/* it has 64 bits now: another agent */
	now.wide = 0;
	now.speed_bps = GIGABIT;
	assert_true(counter_interval(&before, &now, 60, &interval));
	assert_int_equal(interval.known, 0xff & ~ALL_WIDE);
}

static void test_rows(void **state)
{
	struct port_health port = {.name = "Eth1\\2", .up = true, .speed_bps = GIGABIT};
	struct counter_interval interval = {.seconds = 60, .known = 1U << COUNT_IN_ERRORS};
	struct text rows = {0};

	(void)state;
	interval.values[COUNT_IN_ERRORS] = 7;
	health_counter_row(&rows, 1700000000123456, 4, &port, &interval);
	assert_string_equal(
		text_get(&rows),
		"2023-11-14T22:13:20.123456Z\t4\tEth1\\\\2\t60.000\t\\N\t\\N\t\\N\t\\N\t7\t"
		"\\N\t\\N\t\\N\t1000000000\tt\n");
	text_done(&rows);
}

static void test_documents(void **state)
{
	struct port_health ports[] = {
		{.if_index = 1,
		 .name = "up1",
		 .up = true,
		 .stp_state = 5,
		 .stp_role = STP_ROLE_ROOT,
		 .lag = 9,
		 .lag_selected = 9,
		 .lag_member = true,
		 .lag_actor = 0xbc,
		 .lag_partner = 0x3d,
		 .lag_partner_system = "52:54:00:00:00:01"},
		{.if_index = 2,
		 .name = "up2",
		 .up = true,
		 .stp_state = 2,
		 .stp_role = STP_ROLE_ALTERNATE,
		 .lag_selected = 9,
		 .lag_member = true,
		 .lag_actor = 0x84},
		{.if_index = 3, .name = "p1", .lag_selected = 3, .lag_member = true},
		{.if_index = 9, .name = "ae1", .up = true},
	};
	struct port_health ios = {.if_index = 7, .name = "Te1/1/2"};
	const struct switch_health shorter = {.ports = &ios, .port_count = 1};
	struct switch_sensor sensors[] = {
		{.index = 1,
		 .name = "rx",
		 .port = "up1",
		 .type = 14,
		 .scale = 9,
		 .precision = 2,
		 .value = -312,
		 .status = 1},
		{.index = 2, .name = "fan", .type = 10, .scale = 10, .value = 5, .status = 3},
		{.index = 3, .name = "?", .type = 1, .value = 5},
		{.index = 4,
		 .name = "bias",
		 .type = 5,
		 .scale = 8,
		 .precision = 1,
		 .value = 65,
		 .status = 77},
	};
	const struct switch_health health = {
		.parts = HEALTH_ALL,
		.ports = ports,
		.port_count = COUNT_OF(ports),
		.sensors = sensors,
		.sensor_count = COUNT_OF(sensors),
		.stp = {.there = true,
			.version = 2,
			.bridge = {2, 0, 0, 0, 0, 1},
			.priority = 32768,
			.root = {0x10, 0, 2, 0, 0, 0, 0, 9},
			.root_cost = 2000,
			.root_port = 1,
			.root_port_name = "up1",
			.changes = 4,
			.changed_ticks = 1000},
	};
	struct switch_health none = {.parts = HEALTH_STP};
	struct text text = {0};

	(void)state;
	health_numbers_text(&health, &text);
	assert_string_equal(text_get(&text),
			    "[{\"port\":\"up1\",\"if_index\":1},{\"port\":\"up2\",\"if_index\":2},"
			    "{\"port\":\"p1\",\"if_index\":3},{\"port\":\"ae1\",\"if_index\":9}]");
	text_done(&text);
	text = (struct text){0};
	health_numbers_text(&shorter, &text);
	assert_string_equal(text_get(&text),
			    "[{\"port\":\"Te1/1/2\",\"if_index\":7},"
			    "{\"port\":\"TenGigabitEthernet1/1/2\",\"if_index\":7}]");
	text_done(&text);
	text = (struct text){0};
	health_stp_text(&health, 1700000010999999, &text);
	assert_string_equal(
		text_get(&text),
		"{\"running\":true,\"version\":\"rstp\",\"bridge\":\"02:00:00:00:00:01\",\"priority\":32768,"
		"\"root\":\"1000.02:00:00:00:00:09\",\"is_root\":false,\"root_cost\":2000,\"root_port\":\"up1\",\"changes\":4,"
		"\"changed_at\":\"2023-11-14T22:13:20.000000Z\",\"ports\":[{\"port\":\"up1\",\"state\":\"forwarding\",\"role\":\"root\","
		"\"transitions\":0},{\"port\":\"up2\",\"state\":\"blocking\",\"role\":\"alternate\",\"transitions\":0}]}");
	text_clear(&text);
	health_stp_text(&none, 0, &text);
	assert_string_equal(text_get(&text), "{\"running\":false,\"ports\":[]}");
	text_clear(&text);
	none.parts = HEALTH_COUNTERS;
	health_stp_text(&none, 0, &text);
	assert_string_equal(text_get(&text), "null");
	text_clear(&text);
	health_lags_text(&health, &text);
	assert_string_equal(
		text_get(&text),
		"[{\"lag\":\"ae1\",\"members\":[{\"port\":\"up1\",\"up\":true,\"bundled\":true,\"partner\":\"52:54:00:00:00:01\","
		"\"actor_state\":\"bc\",\"partner_state\":\"3d\"},{\"port\":\"up2\",\"up\":true,\"bundled\":false,\"partner\":\"\","
		"\"actor_state\":\"84\",\"partner_state\":\"00\"}]}]");
	text_clear(&text);
	health_sensors_text(&health, &text);
	assert_string_equal(
		text_get(&text),
		"[{\"name\":\"rx\",\"text\":\"\",\"port\":\"up1\",\"value\":-3.12,\"unit\":\"dBm\",\"status\":\"ok\"},"
		"{\"name\":\"fan\",\"text\":\"\",\"port\":\"\",\"value\":5000,\"unit\":\"rpm\",\"status\":\"broken\"},"
		"{\"name\":\"bias\",\"text\":\"\",\"port\":\"\",\"value\":0.0065,\"unit\":\"A\",\"status\":\"unknown\"}]");
	text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds),    cmocka_unit_test(test_values),
		cmocka_unit_test(test_began_anew), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
