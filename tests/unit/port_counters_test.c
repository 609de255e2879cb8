// links: peregrine_flow
#include <math.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/port_counters.h"
#include "tests/support/cmocka.h"

#define SECOND 1000000LL

/* Seconds of a ring, in each of which so many bytes left place 5 by samples. */
struct seconds {
	struct traffic_ring *ring;
	struct traffic_set set;
};

static void seconds_begin(struct seconds *ret)
{
	static const struct traffic_limits limits = {
		.shares = 64, .pairs = 64, .flows = 64, .pairs_kept = 8, .flows_kept = 8};

	assert_int_equal(traffic_ring_new(360, 64 << 20, &ret->ring), 0);
	assert_int_equal(traffic_set_init_live(&ret->set, &limits), 0);
}

static void seconds_end(struct seconds *seconds)
{
	traffic_set_done(&seconds->set);
	traffic_ring_free(seconds->ring);
}

static void second_is_over(struct seconds *seconds, struct port_counters *counters, int64_t at_s,
			   uint64_t bytes)
{
	const struct share_key share = {.place = 5, .direction = TRAFFIC_OUT};
	const struct pair_key pair = {.a = {.kind = END_NODE}, .b = {.kind = END_NODE}};
	const struct conversation_key flow = {.protocol = 6};
	const struct traffic_sums sums = {.bytes = bytes, .packets = 1, .square = 1, .samples = 1};

	traffic_set_add(&seconds->set, &share, &pair, &flow, &sums);
	assert_int_equal(
		traffic_ring_put(seconds->ring, at_s, &seconds->set, &seconds->set.limits, 1), 0);
	traffic_set_next_second(&seconds->set);
	port_counters_sum(counters, seconds->ring, at_s - at_s % 60);
}

static void readings_become_sums(void **state)
{
	static const struct {
		const char *what;
		int64_t at_s;
		uint64_t in, out;
		uint32_t packets;
		bool follows;
	} rows[] = {
		{"the first one tells nothing", 10, 1000, 500, 10, false},
		{"five seconds later", 15, 6000, 500, 60, true},
		{"the same instant again", 15, 6000, 500, 60, false},
		{"the clock went back", 12, 6500, 500, 0xfffffffa, false},
		{"packets wrap", 20, 8500, 600, 4, true},
		{"the agent began anew", 25, 10, 10, 1, false},
		{"and goes on", 30, 1010, 10, 2, true},
		{"too long a gap", 3000, 5000000, 10, 3, false},
		{"faster than any port", 3001, 900000000000, 10, 4, false},
	};
	struct port_counters *counters = NULL;
	const struct port_sums *sums;
	struct seconds seconds;

	(void)state;
	seconds_begin(&seconds);
	assert_int_equal(port_counters_new(300, &counters), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct port_reading reading = {.in_octets = rows[i].in,
						     .out_octets = rows[i].out,
						     .in_packets = rows[i].packets,
						     .speed_bps = 1000000000,
						     .up = true};

		print_message("%s\n", rows[i].what);
		assert_int_equal(port_counters_note(counters, 200, rows[i].at_s * SECOND, &reading),
				 rows[i].follows);
	}
	assert_null(port_counters_take(counters, 200, STEP_MINUTE)); /* not over yet */
	second_is_over(&seconds, counters, 3001, 100);
	sums = port_counters_take(counters, 200, STEP_MINUTE);
	assert_non_null(sums);
	assert_true(sums->unsampled); /* nobody has these seconds */
	assert_int_equal(sums->values[COUNTER_IN_BYTES], 8000);
	assert_true(sums->seconds > 17.9 && sums->seconds < 18.1);
	assert_null(port_counters_take(counters, 200, STEP_MINUTE));
	assert_non_null(port_counters_take(counters, 200, STEP_HOUR));
	assert_null(port_counters_take(counters, 3, STEP_HOUR));
	assert_null(port_counters_take(counters, 70000, STEP_HOUR));
	port_counters_free(counters);
	seconds_end(&seconds);
}

/* Of a switch that sends no readings itself. */
static void others_may_tell_rates(void **state)
{
	struct port_counters *counters = NULL;
	struct port_reading reading = {.speed_bps = 1000000000};
	struct port_rates rates = {.at_us = 60 * SECOND, .seconds = 60, .speed_bps = 1};

	(void)state;
	assert_int_equal(port_counters_new(300, &counters), 0);
	rates.per_second[COUNTER_IN_ERRORS] = 7;
	assert_true(port_counters_tell(counters, 5, &rates));
	assert_false(port_counters_tell(counters, 5, &rates));
	assert_float_equal(port_counters_rates(counters, 5)->per_second[COUNTER_IN_ERRORS], 7, 0);
	assert_null(port_counters_take(counters, 5, STEP_MINUTE));
	/* It sends some now: these are better, and for as long as they may still come. */
	(void)port_counters_note(counters, 5, 100 * SECOND, &reading);
	assert_true(port_counters_note(counters, 5, 105 * SECOND, &reading));
	rates.at_us = 120 * SECOND;
	assert_false(port_counters_tell(counters, 5, &rates));
	assert_float_equal(port_counters_rates(counters, 5)->seconds, 5, 0);
	rates.at_us = 300 * SECOND;
	assert_true(port_counters_tell(counters, 5, &rates));
	port_counters_free(counters);
}

/* They are sums, too, once their seconds are over: each interval once. */
static void others_may_tell_sums(void **state)
{
	struct port_counters *counters = NULL;
	struct port_reading reading = {.speed_bps = 1000000000};
	struct port_rates rates = {.at_us = 610 * SECOND, .seconds = 10};
	const struct port_sums *sums;
	struct seconds seconds;
	struct port_time time;

	(void)state;
	seconds_begin(&seconds);
	assert_int_equal(port_counters_new(300, &counters), 0);
	for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
		rates.per_second[i] = (double)NAN;
	rates.per_second[COUNTER_OUT_BYTES] = 100;
	rates.per_second[COUNTER_IN_ERRORS] = 0.3;
	assert_false(port_counters_wait(counters, 5, &rates)); /* nobody told of it */
	assert_true(port_counters_tell(counters, 5, &rates));
	assert_true(port_counters_wait(counters, 5, &rates));
	assert_false(port_counters_wait(counters, 5, &rates));
	for (int64_t at_s = 600; at_s < 615; at_s++) {
		assert_null(at_s < 610 ? port_counters_take(counters, 5, STEP_MINUTE) : NULL);
		second_is_over(&seconds, counters, at_s, 90);
	}
	rates.at_us = 620 * SECOND;
	rates.per_second[COUNTER_OUT_BYTES] = (double)NAN;
	assert_true(port_counters_tell(counters, 5, &rates));
	assert_false(port_counters_wait(counters, 5, &rates));
	sums = port_counters_take(counters, 5, STEP_FIVE_MINUTES);
	assert_non_null(sums);
	assert_int_equal(sums->values[COUNTER_OUT_BYTES], 1000);
	assert_int_equal(sums->values[COUNTER_IN_ERRORS], 3);
	assert_int_equal(sums->values[COUNTER_IN_BYTES], 0);
	assert_int_equal(sums->out_sampled, 900);
	assert_false(sums->unsampled);
	assert_float_equal(sums->seconds, 10, 0);
	assert_true(port_counters_of(counters, 5, 600, 660, &time));
	assert_int_equal(time.out_bytes, 1000);
	assert_int_equal(time.out_sampled, 900);
	assert_float_equal(time.seconds, 10, 1e-6);
	/* Of what the ring does not have, others are not summed up. */
	rates.at_us = 630 * SECOND;
	rates.seconds = 60;
	rates.per_second[COUNTER_OUT_BYTES] = 100;
	assert_true(port_counters_wait(counters, 5, &rates));
	second_is_over(&seconds, counters, 631, 90);
	assert_null(port_counters_take(counters, 5, STEP_FIVE_MINUTES));
	/* Its own readings are better. */
	reading.seen_us = 632 * SECOND;
	(void)port_counters_note(counters, 5, 632 * SECOND, &reading);
	rates.at_us = 640 * SECOND;
	rates.seconds = 5;
	assert_false(port_counters_wait(counters, 5, &rates));
	assert_false(port_counters_of(counters, 5, 660, 720, &time));
	assert_false(port_counters_of(counters, 4000, 600, 660, &time));
	port_counters_free(counters);
	seconds_end(&seconds);
}

/* Bursts of 4 s each 9 s, a reading each so many: what samples said is of the very seconds that
 * were counted, whenever the reading's harvest came; and it is known which seconds these are. */
static void counted_and_sampled_are_of_the_same_seconds(void **state)
{
	enum { BEGIN = 600, SECONDS = 200 };

	(void)state;
	for (int64_t each = 1; each <= 20; each += 19) {
		struct port_counters *counters = NULL;
		struct port_reading reading = {.speed_bps = 1000000000};
		struct seconds seconds;
		struct port_time time;
		uint64_t left = 0;

		seconds_begin(&seconds);
		assert_int_equal(port_counters_new(300, &counters), 0);
		second_is_over(&seconds, counters, BEGIN - 1, 0);
		for (int64_t at_s = BEGIN; at_s < BEGIN + SECONDS; at_s++) {
			uint64_t bytes = at_s % 9 < 4 ? 1000 : 0;

			if (at_s % each == 0) { /* in the middle of this second */
				reading.out_octets = left + bytes / 2;
				reading.seen_us = at_s * SECOND + SECOND / 2;
				(void)port_counters_note(counters, 5, (at_s + 1) * SECOND,
							 &reading);
			}
			left += bytes;
			second_is_over(&seconds, counters, at_s, bytes);
		}
		for (int64_t from_s = BEGIN + 30; from_s < BEGIN + 120; from_s++) {
			assert_true(port_counters_of(counters, 5, from_s, from_s + 60, &time));
			assert_int_equal(time.out_bytes, time.out_sampled);
			assert_true(time.out_bytes > 0);
			assert_true(time.from_us < from_s * SECOND + SECOND);
			assert_true(time.from_us >= (from_s - each) * SECOND);
			assert_true(time.to_us > (from_s + 60 - each) * SECOND);
			assert_true(time.to_us <= (from_s + 60) * SECOND);
			/* No more than it is asked for. */
			assert_true(time.seconds > (double)(60 - each) - 1 && time.seconds < 60.01);
		}
		port_counters_free(counters);
		seconds_end(&seconds);
	}
}

/* What a port counted in a part of a minute, asked while the minute goes on: whenever it is asked
 * for, once its end is over, it is the same; parts add up to the minute, and that is what is stored
 * of it. Readings come each second, in bunches, late, and say that they are of later or earlier. */
static void what_is_over_does_not_change(void **state)
{
	enum { BEGIN = 600, SECONDS = 290 };
	static struct port_time told[SECONDS + 1];
	struct port_counters *counters = NULL;
	struct port_reading reading = {.speed_bps = 1000000000};
	uint64_t minute_bytes = 0;
	struct seconds seconds;
	unsigned random = 1;

	(void)state;
	seconds_begin(&seconds);
	assert_int_equal(port_counters_new(300, &counters), 0);
	for (int64_t at_s = BEGIN - 5; at_s < BEGIN; at_s++)
		second_is_over(&seconds, counters, at_s, 0);
	reading.seen_us = (BEGIN - 1) * SECOND;
	(void)port_counters_note(counters, 5, (BEGIN - 1) * SECOND, &reading);
	for (int64_t at_s = BEGIN; at_s < BEGIN + SECONDS; at_s++) {
		int64_t minute_s = at_s - at_s % 60;
		const struct port_sums *sums;
		struct port_time time;

		for (unsigned i = 0; i < random % 3; i++) {
			reading.out_octets += 1000 + random % 777;
			reading.seen_us =
				at_s * SECOND + (int64_t)i * 1000 - (random >> 8) % 3 * SECOND;
			random = random * 1103515245 + 12345;
			(void)port_counters_note(counters, 5,
						 at_s * SECOND + (int64_t)i * 1000 +
							 (random >> 8) % 3 * SECOND,
						 &reading);
		}
		random = random * 1103515245 + 12345;
		second_is_over(&seconds, counters, at_s, 900 + random % 333);
		/* It is over. Of all that ended before: from the begin of the minute to its end. */
		for (int64_t end_s = BEGIN + 1; end_s <= at_s + 1; end_s++) {
			int64_t from_s = (end_s - 1) - (end_s - 1) % 60;

			(void)port_counters_of(counters, 5, from_s, end_s, &time);
			if (end_s == at_s + 1)
				told[end_s - BEGIN] = time;
			assert_memory_equal(&told[end_s - BEGIN], &time, sizeof(time));
		}
		if (at_s % 60 != 59)
			continue;
		sums = port_counters_take(counters, 5, STEP_MINUTE);
		assert_non_null(sums);
		(void)port_counters_of(counters, 5, minute_s, minute_s + 60, &time);
		assert_int_equal(time.out_bytes, sums->values[COUNTER_OUT_BYTES]);
		assert_int_equal(time.out_sampled, sums->out_sampled);
		for (int64_t cut_s = 1; cut_s < 60; cut_s++) {
			struct port_time parts[2];

			minute_bytes = time.out_bytes;
			(void)port_counters_of(counters, 5, minute_s, minute_s + cut_s, &parts[0]);
			(void)port_counters_of(counters, 5, minute_s + cut_s, minute_s + 60,
					       &parts[1]);
			assert_int_equal(parts[0].out_bytes + parts[1].out_bytes, minute_bytes);
		}
	}
	assert_true(minute_bytes > 0);
	port_counters_free(counters);
	seconds_end(&seconds);
}

/* Nothing is told of a port before something left there; then its time without counts, too. */
static void idle_time_counts_from_the_first_bytes_on(void **state)
{
	struct port_counters *counters = NULL;
	struct port_reading reading = {.speed_bps = 1000000000};
	struct seconds seconds;
	struct port_time time;

	(void)state;
	seconds_begin(&seconds);
	assert_int_equal(port_counters_new(300, &counters), 0);
	for (int64_t at_s = 600; at_s < 2200; at_s++) {
		if (at_s == 1600)
			assert_false(port_counters_of(counters, 5, 1500, 1600, &time));
		reading.seen_us = at_s * SECOND + SECOND / 2;
		reading.out_octets += at_s >= 1600 ? 7000 : 0;
		(void)port_counters_note(counters, 5, at_s * SECOND, &reading);
		second_is_over(&seconds, counters, at_s, 0);
		if (at_s != 1620)
			continue;
		assert_true(port_counters_of(counters, 5, 1500, 1560, &time));
		assert_float_equal(time.seconds, 60, 1e-6);
		assert_int_equal(time.out_bytes, 0);
		assert_true(port_counters_of(counters, 5, 1560, 1620, &time));
		assert_float_equal(time.seconds, 60, 0.6);
		assert_int_equal(time.out_bytes, 20 * 7000);
	}
	/* Not kept so long. */
	assert_false(port_counters_of(counters, 5, 600, 660, &time));
	assert_false(port_counters_of(counters, 5, 1600, 1660, &time));
	assert_true(port_counters_of(counters, 5, 1860, 1920, &time));
	assert_int_equal(time.out_bytes, 60 * 7000);
	port_counters_free(counters);
	seconds_end(&seconds);
}

/* What was of a time that comes a second time is not added to what is of it then. */
static void a_clock_that_is_set_back_begins_anew(void **state)
{
	struct port_counters *counters = NULL;
	struct port_reading reading = {.speed_bps = 1000000000};
	struct seconds seconds;
	struct port_time time;

	(void)state;
	seconds_begin(&seconds);
	assert_int_equal(port_counters_new(300, &counters), 0);
	second_is_over(&seconds, counters, 599, 0);
	for (int64_t at_s = 600; at_s < 721; at_s++) {
		reading.seen_us = at_s * SECOND + 1;
		(void)port_counters_note(counters, 5, at_s * SECOND, &reading);
		reading.out_octets += 1000;
		second_is_over(&seconds, counters, at_s, 1000);
	}
	assert_true(port_counters_of(counters, 5, 660, 720, &time));
	second_is_over(&seconds, counters, 640, 0);
	assert_true(port_counters_of(counters, 5, 600, 640, &time));
	assert_int_equal(time.out_bytes, 39000);
	assert_false(port_counters_of(counters, 5, 640, 720, &time));
	reading.seen_us = 640 * SECOND + 2;
	(void)port_counters_note(counters, 5, 640 * SECOND, &reading);
	reading.out_octets += 500;
	reading.seen_us = 641 * SECOND + 1;
	assert_true(port_counters_note(counters, 5, 641 * SECOND, &reading));
	second_is_over(&seconds, counters, 641, 1000);
	assert_true(port_counters_of(counters, 5, 640, 720, &time));
	assert_int_equal(time.out_bytes, 500);
	port_counters_free(counters);
	seconds_end(&seconds);
}

static void octets_of_32_bits_wrap_too(void **state)
{
	struct port_counters *counters = NULL;
	struct port_reading reading = {.in_octets = 0xffffff00, .out_octets = 0xffffffffffffff00};
	const struct port_rates *rates;

	(void)state;
	assert_int_equal(port_counters_new(300, &counters), 0);
	assert_null(port_counters_rates(counters, 0));
	assert_false(port_counters_note(counters, 0, 10 * SECOND, &reading));
	assert_null(port_counters_rates(counters, 0));
	reading.in_octets = 0x100;
	reading.out_octets = 0x300;
	assert_true(port_counters_note(counters, 0, 12 * SECOND, &reading));
	rates = port_counters_rates(counters, 0);
	assert_non_null(rates);
	assert_true(rates->per_second[COUNTER_IN_BYTES] == 256);
	assert_true(rates->per_second[COUNTER_OUT_BYTES] == 512);
	port_counters_free(counters);
}

/* Two readings of one second each that arrive together are no second of twice the traffic. */
static void the_agents_clock_says_how_long_it_was(void **state)
{
	static const struct {
		const char *what;
		int64_t at_ms;
		uint32_t uptime_ms;
		uint64_t in;
		bool follows;
		double rate;
	} rows[] = {
		{"first", 10000, 4294966796U, 0, false, 0},
		{"late, its clock wraps", 12900, 500, 1000, true, 1000},
		{"together with the next", 12900, 1500, 2000, true, 1000},
		{"twice the same", 12900, 1500, 2000, false, 1000},
		{"it began anew, its counters did not", 14900, 100, 4000, true, 1000},
		{"not told", 16900, 0, 6000, true, 1000},
		{"our clock was set back", 5000, 3000, 7000, false, 1000},
		{"and goes on", 6000, 4000, 8000, true, 1000},
	};
	struct port_counters *counters = NULL;

	(void)state;
	assert_int_equal(port_counters_new(300, &counters), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct port_reading reading = {.in_octets = rows[i].in,
						     .uptime_ms = rows[i].uptime_ms};
		const struct port_rates *rates;

		print_message("%s\n", rows[i].what);
		assert_int_equal(port_counters_note(counters, 0, rows[i].at_ms * 1000, &reading),
				 rows[i].follows);
		rates = port_counters_rates(counters, 0);
		if (rates)
			assert_true(rates->per_second[COUNTER_IN_BYTES] == rows[i].rate);
	}
	port_counters_free(counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_may_tell_rates),
		cmocka_unit_test(others_may_tell_sums),
		cmocka_unit_test(readings_become_sums),
		cmocka_unit_test(counted_and_sampled_are_of_the_same_seconds),
		cmocka_unit_test(what_is_over_does_not_change),
		cmocka_unit_test(idle_time_counts_from_the_first_bytes_on),
		cmocka_unit_test(a_clock_that_is_set_back_begins_anew),
		cmocka_unit_test(octets_of_32_bits_wrap_too),
		cmocka_unit_test(the_agents_clock_says_how_long_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
