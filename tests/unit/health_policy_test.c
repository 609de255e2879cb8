// links: control_health common_base
/* Decision tables of health labels: what is seen, and when, to labels and when to look again. */
#include <string.h>

#include "common/base/macros.h"

#include "bampi/control/health/health_policy.h"
#include "tests/support/cmocka.h"

#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define T0     INT64_C(1700000000000)

/* --- the table --- */

static void rules_keep_their_promises(void **state)
{
	(void)state;
	for (size_t i = 0; i < health_rule_count; i++) {
		const struct health_rule *rule = &health_rules[i];

		assert_true(strlen(rule->label) < HEALTH_LABEL_SIZE);
		assert_int_equal(strspn(rule->label, "abcdefghijklmnopqrstuvwxyz_"),
				 strlen(rule->label));
		assert_true(rule->hint[0]);
		/* Who has effects is at least a warning; who is critical has them. */
		assert_true(rule->effects == 0 || rule->severity == HEALTH_CRITICAL);
		assert_true(rule->severity != HEALTH_CRITICAL || rule->effects != 0);
		assert_true((rule->cause == HEALTH_EVENT) == (rule->count > 0));
		assert_true((rule->count > 0) == (rule->window_s > 0));
		/* Rows of one label agree on how it goes. */
		for (size_t j = 0; j < i; j++) {
			if (strcmp(health_rules[j].label, rule->label) == 0) {
				assert_int_equal(health_rules[j].clear_s, rule->clear_s);
				assert_int_equal(health_rules[j].effects, rule->effects);
			}
		}
	}
}

static void words_find_their_rule(void **state)
{
	static const struct {
		enum health_cause cause;
		const char *type, *what, *label; /* NULL = none */
	} rows[] = {
		{HEALTH_SENSOR, "Temperature", "critical", "temperature_critical"},
		{HEALTH_SENSOR, "Temperature", "warning", "temperature_high"},
		{HEALTH_SENSOR, "Temperature", "nominal", NULL},
		{HEALTH_SENSOR, "Fan", "critical", "fan_failed"},
		{HEALTH_SENSOR, "Entity Presence", "critical", "sensor_critical"},
		{HEALTH_SENSOR, "Entity Presence", "warning", NULL},
		{HEALTH_EVENT, "Memory", "Uncorrectable memory error", "memory_fault"},
		{HEALTH_EVENT, "Memory", "Correctable memory error", "memory_errors"},
		{HEALTH_EVENT, "Memory", "Correctable memory error logging limit reached",
		 "memory_fault"},
		{HEALTH_EVENT, "Memory", "Memory Scrub Failed", NULL},
		{HEALTH_EVENT, "Processor", "IERR", "processor_fault"},
		{HEALTH_EVENT, "Critical Interrupt", "PCI SERR", "bus_fault"},
		{HEALTH_EVENT, "Critical Interrupt", "Bus Correctable Error", NULL},
		{HEALTH_EVENT, "Drive Slot", "Drive Presence", NULL},
		{HEALTH_EVENT, "OS Critical Stop", "Run-time critical stop", "os_stopped"},
		{HEALTH_EVENT, "System Boot Initiated", "Initiated by power up", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct health_rule *rule =
			health_rule_find(rows[i].cause, rows[i].type, rows[i].what);

		if (rows[i].label) {
			assert_non_null(rule);
			assert_string_equal(rule->label, rows[i].label);
		} else {
			assert_null(rule);
		}
	}
}

/* --- over time: one step after the other, the verdict's memory goes into the next --- */

struct step {
	int64_t at_ms; /* after T0 */
	const char *alarm_type, *alarm_state;
	bool off;
	int64_t failing_ms; /* after T0; 0 = the BMC answers */
	const char *label;  /* that is there then; NULL = none */
	int64_t next_ms;    /* after T0; 0 = time changes nothing */
};

static size_t remember(const struct health_verdict *verdict,
		       struct health_memory memories[static HEALTH_LABELS_MAX])
{
	size_t count = verdict->memory_count;

	memcpy(memories, verdict->memories, sizeof(verdict->memories));
	for (size_t i = 0; i < verdict->label_count; i++) {
		struct health_memory *memory = NULL;

		for (size_t j = 0; j < count; j++)
			if (strcmp(memories[j].label, verdict->labels[i].label) == 0)
				memory = &memories[j];
		if (!memory) {
			memory = &memories[count++];
			*memory = (struct health_memory){0};
			memcpy(memory->label, verdict->labels[i].label, sizeof(memory->label));
		}
		memory->raised_ms = verdict->labels[i].since_ms;
	}
	return count;
}

static void play(const struct step steps[], size_t count)
{
	struct health_memory memories[HEALTH_LABELS_MAX];
	struct health_verdict verdict = {0};

	for (size_t i = 0; i < count; i++) {
		const struct step *step = &steps[i];
		const struct health_alarm alarm = {"S1", step->alarm_type, step->alarm_state};
		const struct health_facts facts = {
			.powered = !step->off,
			.bmc_failing_ms = step->failing_ms ? T0 + step->failing_ms : 0,
			.bmc_problem = "no answer",
			.alarms = &alarm,
			.alarm_count = step->alarm_type ? 1 : 0,
			.memories = memories,
			.memory_count = remember(&verdict, memories),
		};

		health_decide(&facts, T0 + step->at_ms, &verdict);
		print_message("step %zu\n", i);
		assert_int_equal(verdict.label_count, step->label ? 1 : 0);
		if (step->label)
			assert_string_equal(verdict.labels[0].label, step->label);
		assert_int_equal(verdict.next_ms, step->next_ms ? T0 + step->next_ms : 0);
	}
}

static void temperature_comes_and_goes(void **state)
{
	static const struct step steps[] = {
		{0, NULL, NULL, false, 0, NULL, 0},
		{MINUTE, "Temperature", "critical", false, 0, NULL, 3 * MINUTE},
		/* well again before it counted: as if nothing had been */
		{2 * MINUTE, NULL, NULL, false, 0, NULL, 0},
		{3 * MINUTE, "Temperature", "critical", false, 0, NULL, 5 * MINUTE},
		{5 * MINUTE - 1, "Temperature", "critical", false, 0, NULL, 5 * MINUTE},
		{5 * MINUTE, "Temperature", "critical", false, 0, "temperature_critical", 0},
		{6 * MINUTE, NULL, NULL, false, 0, "temperature_critical", 16 * MINUTE},
		/* bad again: the time of being well begins anew */
		{7 * MINUTE, "Temperature", "critical", false, 0, "temperature_critical", 0},
		{8 * MINUTE, NULL, NULL, false, 0, "temperature_critical", 18 * MINUTE},
		{18 * MINUTE - 1, NULL, NULL, false, 0, "temperature_critical", 18 * MINUTE},
		{18 * MINUTE, NULL, NULL, false, 0, NULL, 0},
	};

	(void)state;
	play(steps, COUNT_OF(steps));
}

static void fans_of_a_node_that_is_off_say_nothing(void **state)
{
	static const struct step steps[] = {
		{0, "Fan", "critical", true, 0, NULL, 0},
		{HOUR, "Fan", "critical", true, 0, NULL, 0},
		/* on: now it counts, from now */
		{2 * HOUR, "Fan", "critical", false, 0, NULL, 2 * HOUR + 2 * MINUTE},
		{2 * HOUR + 2 * MINUTE, "Fan", "critical", false, 0, "fan_failed", 0},
		/* off: neither better nor worse */
		{3 * HOUR, "Fan", "critical", true, 0, "fan_failed", 0},
		{4 * HOUR, NULL, NULL, true, 0, "fan_failed", 0},
		{5 * HOUR, NULL, NULL, false, 0, "fan_failed", 5 * HOUR + 10 * MINUTE},
		{6 * HOUR, NULL, NULL, false, 0, NULL, 0},
	};

	(void)state;
	play(steps, COUNT_OF(steps));
}

static void silent_bmc(void **state)
{
	static const struct step steps[] = {
		{1, NULL, NULL, false, 1, NULL, 10 * MINUTE + 1},
		{10 * MINUTE, NULL, NULL, false, 1, NULL, 10 * MINUTE + 1},
		{10 * MINUTE + 1, NULL, NULL, false, 1, "bmc_silent", 0},
		{20 * MINUTE, NULL, NULL, false, 0, "bmc_silent", 22 * MINUTE},
		/* silent again: since then, but the label never went */
		{21 * MINUTE, NULL, NULL, false, 21 * MINUTE, "bmc_silent", 0},
		{30 * MINUTE, NULL, NULL, false, 0, "bmc_silent", 32 * MINUTE},
		{32 * MINUTE, NULL, NULL, false, 0, NULL, 0},
	};

	(void)state;
	play(steps, COUNT_OF(steps));
}

/* --- the event log --- */

static struct health_verdict decide_events(const struct health_event events[], size_t count,
					   int64_t cleared_ms, int64_t now_ms)
{
	const struct health_memory memory = {.label = "memory_fault", .cleared_ms = cleared_ms};
	struct health_verdict verdict;

	health_decide(&(struct health_facts){.bmc_problem = "",
					     .events = events,
					     .event_count = count,
					     .memories = &memory,
					     .memory_count = 1},
		      now_ms, &verdict);
	return verdict;
}

static void an_entry_is_judged_by_its_time(void **state)
{
	static const struct {
		int64_t bmc_ms, seen_ms, cleared_ms, now_ms;
		bool raised;
	} rows[] = {
		{T0, T0 + MINUTE, 0, T0 + MINUTE, true},
		{T0, T0 + MINUTE, 0, T0 + 29 * DAY, true},
		{T0, T0 + MINUTE, 0, T0 + 30 * DAY, false}, /* history */
		{T0 - 40 * DAY, T0, 0, T0, false},          /* old when we first read it */
		{0, T0, 0, T0 + DAY, true},                 /* not stamped */
		{T0 + 400 * DAY, T0, 0, T0 + DAY, true},    /* a clock that is wrong */
		{T0 + 400 * DAY, T0, 0, T0 + 31 * DAY, false},
		{T0, T0 + MINUTE, T0 + 2 * MINUTE, T0 + HOUR, false},    /* cleared by hand after */
		{T0, T0 + 3 * MINUTE, T0 + 2 * MINUTE, T0 + HOUR, true}, /* seen after that */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct health_event event = {
			"Memory", "DIMM A1",      "Uncorrectable memory error",
			true,     rows[i].bmc_ms, rows[i].seen_ms};
		struct health_verdict verdict =
			decide_events(&event, 1, rows[i].cleared_ms, rows[i].now_ms);

		print_message("row %zu\n", i);
		assert_int_equal(verdict.label_count, rows[i].raised);
	}
}

static void many_correctable_errors(void **state)
{
	struct health_event events[25];
	struct health_verdict verdict;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(events); i++)
		events[i] = (struct health_event){"Memory",
						  "DIMM B2",
						  "Correctable memory error",
						  true,
						  T0 + (int64_t)i * MINUTE,
						  T0 + HOUR};
	verdict = decide_events(events, 23, 0, T0 + HOUR);
	assert_int_equal(verdict.label_count, 0);
	verdict = decide_events(events, 25, 0, T0 + HOUR);
	assert_int_equal(verdict.label_count, 1);
	assert_string_equal(verdict.labels[0].label, "memory_errors");
	assert_string_equal(verdict.labels[0].reason,
			    "event log: Memory DIMM B2: Correctable memory error, and 24 more");
	assert_int_equal(verdict.labels[0].effects, 0);
	assert_int_equal(verdict.labels[0].since_ms, T0);
	assert_int_equal(verdict.next_ms, T0 + DAY + 1);
	/* The first of them is a day old: 24 are left; then 23. */
	assert_int_equal(decide_events(events, 25, 0, T0 + DAY + 1).label_count, 1);
	assert_int_equal(decide_events(events, 25, 0, T0 + DAY + MINUTE + 1).label_count, 0);
}

static void what_was_logged_to_be_over_is_over(void **state)
{
	const struct health_event events[] = {
		{"Drive Slot", "Slot 1", "Drive Fault", true, T0, T0},
		{"Drive Slot", "Slot 2", "Drive Fault", true, T0 + 1, T0},
		{"Drive Slot", "Slot 1", "Drive Fault", false, T0 + 2, T0},
	};
	struct health_verdict verdict = decide_events(events, 3, 0, T0 + MINUTE);

	(void)state;
	assert_int_equal(verdict.label_count, 1);
	assert_string_equal(verdict.labels[0].reason, "event log: Drive Slot Slot 2: Drive Fault");
	assert_int_equal(decide_events(events, 1, 0, T0 + MINUTE).label_count, 1);
	/* An end without a beginning means nothing. */
	assert_int_equal(decide_events(events + 2, 1, 0, T0 + MINUTE).label_count, 0);
}

static void by_hand_stays_when_history_has_passed(void **state)
{
	const struct health_memory memory = {.label = "memory_fault", .raised_ms = T0};
	struct health_verdict verdict;

	(void)state;
	health_decide(
		&(struct health_facts){.bmc_problem = "", .memories = &memory, .memory_count = 1},
		T0 + 90 * DAY, &verdict);
	assert_int_equal(verdict.label_count, 1);
	assert_string_equal(verdict.labels[0].reason, ""); /* as it was */
	assert_int_equal(verdict.labels[0].since_ms, T0);
	assert_int_equal(verdict.next_ms, 0);
	assert_int_equal(verdict.memory_count, 0);
}

static void drives_and_several_labels(void **state)
{
	static const struct health_drive drives[] = {{"sda", "read back other than zero"},
						     {"sdb", "timeout"}};
	static const struct health_alarm alarms[] = {
		{"Fan 1", "Fan", "critical"},
		{"Fan 2", "Fan", "critical"},
		{"Intrusion", "Physical Security", "critical"},
	};
	struct health_verdict verdict;

	(void)state;
	health_decide(&(struct health_facts){.powered = true,
					     .bmc_problem = "",
					     .alarms = alarms,
					     .alarm_count = COUNT_OF(alarms),
					     .drives = drives,
					     .drive_count = COUNT_OF(drives)},
		      T0, &verdict);
	assert_int_equal(verdict.label_count, 2);
	assert_string_equal(verdict.labels[0].label, "chassis_open");
	assert_int_equal(verdict.labels[0].effects, HEALTH_NO_ALLOCATION | HEALTH_NO_AUTOMATION);
	assert_string_equal(verdict.labels[1].reason,
			    "drive sda was not erased: read back other than zero, and 1 more");
	assert_int_equal(verdict.memory_count, 1); /* the fans are waited for */
	assert_string_equal(verdict.memories[0].label, "fan_failed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_keep_their_promises),
		cmocka_unit_test(words_find_their_rule),
		cmocka_unit_test(temperature_comes_and_goes),
		cmocka_unit_test(fans_of_a_node_that_is_off_say_nothing),
		cmocka_unit_test(silent_bmc),
		cmocka_unit_test(an_entry_is_judged_by_its_time),
		cmocka_unit_test(many_correctable_errors),
		cmocka_unit_test(what_was_logged_to_be_over_is_over),
		cmocka_unit_test(by_hand_stays_when_history_has_passed),
		cmocka_unit_test(drives_and_several_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
