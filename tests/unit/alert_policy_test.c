// links: peregrine_alert
#include <math.h>
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/flowd/alert/alert_policy.h"
#include "tests/support/cmocka.h"

#define SECOND 1000000LL

/* What becomes of a row of seconds: one letter each, "-" nothing, "R" raised, "C" over. Values are
 * digits times ten, "?" is unknown, a space is a second without any value, "<" sets the clock back
 * by a minute. */
static void seconds_become_alerts(void **state)
{
	static const struct {
		const char *what;
		struct alert_rule rule;
		const char *values, *expected;
	} rows[] = {
		{"below all the time", {90, 70, 1, 3}, "0128888", "-------"},
		{"the first second above", {90, 70, 1, 3}, "19", "-R"},
		{"three seconds above", {90, 70, 3, 3}, "1999", "---R"},
		{"one second below the threshold begins anew", {90, 70, 3, 3}, "998999", "-----R"},
		{"over after three below", {90, 70, 1, 3}, "9666", "R--C"},
		{"between the two it stays", {90, 70, 1, 3}, "97888878", "R-------"},
		{"flapping is one alert", {90, 70, 1, 3}, "969696966999", "R-----------"},
		{"again after it was over", {90, 70, 1, 2}, "9669", "R-CR"},
		{"unknown changes nothing", {90, 70, 3, 3}, "9?9?9", "--R--"},
		{"unknown while it is open", {90, 70, 1, 3}, "9?6?66", "R---C-"},
		{"a short gap is waited through", {90, 70, 5, 3}, "99  9", "----R"},
		{"a long one is not", {90, 70, 5, 3}, "999      999", "------------"},
		{"nor while it is below", {90, 70, 1, 5}, "9666      666", "R------------"},
		{"the clock is set back while it rises", {90, 70, 3, 3}, "99<999", "-----R"},
		{"and while it is open", {90, 70, 1, 3}, "96<6669", "R----CR"},
		{"never", {0, 0, 1, 1}, "999", "---"},
		{"zero is below any threshold", {10, 10, 1, 1}, "1010", "RCRC"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct alert_state at = {0};
		int64_t now_us = 1000 * SECOND;
		char said[32] = "";

		print_message("%s\n", rows[i].what);
		for (size_t n = 0; rows[i].values[n]; n++) {
			char value = rows[i].values[n];
			enum alert_change change = ALERT_SAME;

			now_us += SECOND;
			if (value == '<')
				now_us -= 60 * SECOND;
			else if (value != ' ')
				change = alert_step(&rows[i].rule, &at,
						    value == '?' ? UNKNOWN : (value - '0') * 10.0,
						    now_us);
			said[n] = "-RC"[change];
		}
		assert_string_equal(said, rows[i].expected);
	}
}

/* 1 Gbit/s, frames of 1,500 bytes drawn one in 100. */
static struct traffic_sums drawn(uint32_t samples)
{
	return (struct traffic_sums){.bytes = samples * 150000ULL,
				     .packets = samples * 100ULL,
				     .square = samples * 150000.0 * 150000.0,
				     .samples = samples};
}

static void a_port_is_as_full_as_its_best_witness_says(void **state)
{
	static const struct alert_rule rule = {90, 75, 1, 30};
	/* 105 MB/s = 84 % out, 12 % in */
	static const struct port_rates slow = {.at_us = 990 * SECOND,
					       .seconds = 30,
					       .speed_bps = 1000000000,
					       .per_second = {115e6, 105e6}};
	static const struct port_rates quick = {.at_us = 999 * SECOND,
						.seconds = 2,
						.speed_bps = 1000000000,
						.per_second = {115e6, 105e6}};
	static const struct port_rates old = {.at_us = 900 * SECOND,
					      .seconds = 30,
					      .speed_bps = 1000000000,
					      .per_second = {115e6, 105e6}};
	static const struct port_rates faster = {.at_us = 999 * SECOND,
						 .seconds = 1,
						 .speed_bps = 10000000000,
						 .per_second = {115e6, 105e6}};
	static const struct {
		const char *what;
		bool sampled;
		uint32_t samples;
		uint64_t speed;
		const struct port_rates *counted;
		double expected; /* NAN = unknown */
		double window_s;
	} rows[] = {
		{"800 samples", true, 800, 1000000000, NULL, 96, 1},
		{"no sample of a switch that samples", true, 0, 1000000000, NULL, 0, 1},
		{"nothing of one that does not", false, 0, 1000000000, NULL, UNKNOWN, 0},
		{"no speed", true, 800, 0, NULL, UNKNOWN, 0},
		{"samples are newer than slow counters", true, 800, 1000000000, &slow, 96, 1},
		{"quick counters are better than samples", true, 800, 1000000000, &quick, 84, 2},
		{"without samples slow counters will do", false, 0, 1000000000, &slow, 84, 30},
		{"but not of two minutes ago", false, 0, 1000000000, &old, UNKNOWN, 0},
		{"the port knows its speed", false, 0, 1000000000, &faster, 8.4, 1},
	};
	double window_s = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct port_facts facts = {.speed_bps = rows[i].speed,
						 .sampled = rows[i].sampled,
						 .out = drawn(rows[i].samples),
						 .seconds = 1,
						 .counted = rows[i].counted,
						 .at_us = 1000 * SECOND};
		double value = alert_utilisation(&facts, &rule, &window_s);

		print_message("%s: %f\n", rows[i].what, value);
		assert_int_equal(isnan(value), isnan(rows[i].expected));
		if (isnan(value))
			continue;
		assert_true(fabs(value - rows[i].expected) < 0.01);
		assert_true(window_s == rows[i].window_s);
	}
	/* 8 samples of one in 10,000: 96 % with an interval from 45 to 170. */
	struct traffic_sums few = {
		.bytes = 120000000, .packets = 80000, .square = 8 * 15e6 * 15e6, .samples = 8};
	const struct port_facts doubtful = {
		.speed_bps = 1000000000, .sampled = true, .out = few, .seconds = 1};
	assert_true(isnan(alert_utilisation(&doubtful, &rule, &window_s)));
	/* Half a second of samples is half a second's worth. */
	const struct port_facts half = {
		.speed_bps = 1000000000, .sampled = true, .out = drawn(400), .seconds = 0.5};
	assert_true(fabs(alert_utilisation(&half, &rule, &window_s) - 96) < 0.01);
}

/* Through port_counters: errors that wrap, an agent that began anew, a gap between readings. */
static void counters_that_wrap_are_no_errors(void **state)
{
	static const struct {
		const char *what;
		int64_t at_s;
		uint32_t errors, discards;
		double expected; /* NAN = unknown */
	} rows[] = {
		{"the first reading", 10, 4294967290U, 5, UNKNOWN},
		{"it wraps: 16 in 10 s", 20, 10, 5, 1.6},
		{"nothing new", 30, 10, 5, 0},
		{"the agent began anew: the last word holds", 40, 3, 0, 0},
		{"and goes on", 50, 53, 0, 5},
		{"after twenty minutes", 1300, 1000053, 0, UNKNOWN},
	};
	struct port_counters *counters = NULL;

	(void)state;
	assert_int_equal(port_counters_new(300, &counters), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct port_reading reading = {.in_octets = 1000 + (uint64_t)i,
						     .in_errors = rows[i].errors,
						     .out_discards = rows[i].discards,
						     .speed_bps = 1000000,
						     .up = true};

		(void)port_counters_note(counters, 0, rows[i].at_s * SECOND, &reading);
		const struct port_facts facts = {.counted = port_counters_rates(counters, 0),
						 .at_us = rows[i].at_s * SECOND};
		double value = alert_errors(&facts);

		print_message("%s: %f\n", rows[i].what, value);
		assert_int_equal(isnan(value), isnan(rows[i].expected));
		if (!isnan(value))
			assert_true(fabs(value - rows[i].expected) < 0.01);
	}
	port_counters_free(counters);
}

/* An interface of the switch itself that is down throws away all that is flooded: user 11. */
static void a_port_without_link_misses_no_frames(void **state)
{
	static const struct port_rates down = {
		.at_us = 999 * SECOND, .seconds = 1, .per_second = {[COUNTER_OUT_DISCARDS] = 300}};
	struct port_rates up = down;
	struct port_facts facts = {.counted = &down, .at_us = 1000 * SECOND};

	(void)state;
	assert_true(alert_discards(&facts) == 0);
	up.up = true;
	facts.counted = &up;
	assert_true(alert_discards(&facts) == 300);
}

static void imbalance_share_gap_and_silence(void **state)
{
	struct balance balance = {0};
	struct gap gap = {0};

	(void)state;
	balance_add(&balance, 80);
	assert_true(isnan(alert_imbalance(&balance)));
	balance_add(&balance, UNKNOWN);
	assert_true(isnan(alert_imbalance(&balance)));
	balance_add(&balance, 0);
	assert_true(fabs(alert_imbalance(&balance) - 40) < 0.01);
	balance_add(&balance, 70);
	assert_true(fabs(alert_imbalance(&balance) - 30) < 0.01);

	/* Alone on a link a tenant may have all of it. */
	assert_true(alert_share(95, 0) == 0);
	assert_true(fabs(alert_share(70, 5) - 70) < 0.01);

	assert_true(alert_gap(&gap, 10, 7) == 0); /* one lost datagram */
	assert_true(alert_gap(&gap, 1000, 0) == 0);
	assert_true(alert_gap(&gap, 900, 100) > 5);
	for (int i = 0; i < 40; i++)
		(void)alert_gap(&gap, 1000, 0);
	assert_true(alert_gap(&gap, 1000, 0) == 0);

	assert_true(isnan(alert_silence(0, 50 * SECOND)));
	assert_true(fabs(alert_silence(10 * SECOND, 71 * SECOND) - 61) < 0.01);
	assert_true(alert_silence(100 * SECOND, 71 * SECOND) == 0);
}

/* Whose silence counts, and from when on. */
static void who_is_missed(void **state)
{
	static const struct {
		const char *what;
		int64_t heard_s, due_s, raised_s;
		int64_t since_s; /* it is 1000 now */
	} rows[] = {
		{"nobody told it to speak", 0, DUE_UNKNOWN, 0, 0},
		{"it was heard", 900, DUE_UNKNOWN, 0, 900},
		{"told to speak, it never did", 0, 800, 0, 800},
		{"told to speak again", 700, 800, 0, 800},
		{"heard since it was told", 900, 800, 0, 900},
		{"silent in the life before", 0, DUE_UNKNOWN, 500, 440},
		{"silent in the life before, told then", 0, 990, 500, 440},
		{"told to send none", 0, DUE_NEVER, 0, 1000},
		{"told to send none, which it did before", 700, DUE_NEVER, 0, 1000},
		{"told to send none since it is silent", 0, DUE_NEVER, 500, 1000},
		{"it refuses, and was silent before", 0, DUE_OTHER, 500, 1000},
		{"it refuses, and never spoke", 0, DUE_OTHER, 0, 1000},
		{"somebody else's, heard and no more", 700, DUE_OTHER, 0, 700},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const int64_t due = rows[i].due_s;
		const struct silence_facts facts = {.heard_us = rows[i].heard_s * SECOND,
						    .due_us = due > 0 ? due * SECOND : due,
						    .raised_us = rows[i].raised_s * SECOND,
						    .raise = 60};

		if (alert_silent_since(&facts, 1000 * SECOND) != rows[i].since_s * SECOND)
			fail_msg("%s", rows[i].what);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_become_alerts),
		cmocka_unit_test(a_port_is_as_full_as_its_best_witness_says),
		cmocka_unit_test(counters_that_wrap_are_no_errors),
		cmocka_unit_test(a_port_without_link_misses_no_frames),
		cmocka_unit_test(imbalance_share_gap_and_silence),
		cmocka_unit_test(who_is_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
