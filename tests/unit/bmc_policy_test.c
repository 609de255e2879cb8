// links: bampi_bmc common_base
/* Decision tables of the breaker and of confirming effects: no clock, no BMC. */
#include <errno.h>
#include <string.h>

#include "common/base/breaker_policy.h"
#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/bmc/confirm_policy.h"
#include "bampi/bmc/refresh_policy.h"
#include "tests/support/cmocka.h"

/* --- breaker --- */

static void breaker_opens_grows_and_closes(void **state)
{
	static const struct {
		int64_t at_ms;
		int rc;
		bool open;
		int64_t retry_ms; /* when open */
	} steps[] = {
		{0, 0, false, 0},
		{1000, E_TIMEOUT, false, 0},
		{2000, E_TIMEOUT, false, 0},
		{3000, E_TIMEOUT, true, 8000},  /* third in a row: 5 s */
		{8000, E_TIMEOUT, true, 18000}, /* the probe failed: 10 s */
		{18000, E_TIMEOUT, true, 38000},
		{38000, E_TIMEOUT, true, 78000},
		{78000, E_TIMEOUT, true, 158000},
		{158000, E_TIMEOUT, true, 318000},
		{318000, E_TIMEOUT, true, 618000}, /* never longer than 5 min */
		{618000, E_TIMEOUT, true, 918000},
		{918000, -EBUSY, false, 0}, /* busy is alive */
		{919000, E_TIMEOUT, false, 0},
		{920000, E_UNSUPPORTED, false, 0},
		{921000, E_TIMEOUT, false, 0},
		{922000, E_TIMEOUT, false, 0},
		{923000, E_TIMEOUT, true, 928000}, /* the first row was forgotten */
		{928000, 0, false, 0},
	};
	struct breaker breaker = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		breaker = breaker_after(&breaker, steps[i].rc, 0, steps[i].at_ms);
		assert_int_equal(breaker.open, steps[i].open);
		if (!breaker.open) {
			assert_int_equal(breaker_ask(&breaker, false, steps[i].at_ms),
					 BREAKER_PASS);
			continue;
		}
		assert_int_equal(breaker.retry_ms, steps[i].retry_ms);
		assert_int_equal(breaker_ask(&breaker, false, steps[i].retry_ms - 1),
				 BREAKER_REFUSE);
		assert_int_equal(breaker_ask(&breaker, false, steps[i].retry_ms), BREAKER_PROBE);
	}
}

static void refused_password_opens_at_once(void **state)
{
	struct breaker breaker = breaker_after(&(struct breaker){0}, E_AUTHENTICATION, 0, 1000);

	(void)state;
	assert_true(breaker.open && breaker.refused);
	assert_int_equal(breaker.since_ms, 1000);
	assert_int_equal(breaker.retry_ms, 1000 + BREAKER_REFUSED_MS);
	breaker = breaker_after(&breaker, E_AUTHENTICATION, 0, breaker.retry_ms);
	assert_int_equal(breaker.open_ms, 2 * BREAKER_REFUSED_MS);
	for (int i = 0; i < 10; i++)
		breaker = breaker_after(&breaker, E_AUTHENTICATION, 0, breaker.retry_ms);
	assert_int_equal(breaker.open_ms, BREAKER_REFUSED_MAX_MS);
	/* Refused, then silent: from now on it is a dead one and may be probed sooner. */
	breaker = breaker_after(&breaker, E_TIMEOUT, 0, breaker.retry_ms);
	assert_true(breaker.open && !breaker.refused);
	assert_int_equal(breaker.open_ms, BREAKER_OPEN_MS);
}

/* A person's tries are few, and do not move the beat of the others. */
static void a_person_gets_one_try(void **state)
{
	struct breaker breaker = {0};

	(void)state;
	breaker = breaker_after(&breaker, E_AUTHENTICATION, 0, 1000);
	assert_int_equal(breaker_ask(&breaker, false, 2000), BREAKER_REFUSE);
	assert_int_equal(breaker_ask(&breaker, true, 2000), BREAKER_PROBE);
	breaker = breaker_after(&breaker, E_AUTHENTICATION, 0, 2000);
	assert_int_equal(breaker_ask(&breaker, true, 3000), BREAKER_REFUSE);
	assert_int_equal(breaker_ask(&breaker, true, 2000 + BREAKER_PERSON_MS), BREAKER_PROBE);
	/* Not even when the BMC does not answer at all this time. */
	breaker = breaker_after(&breaker, E_TIMEOUT, 0, 2000 + BREAKER_PERSON_MS);
	assert_int_equal(breaker_ask(&breaker, false, 999 + BREAKER_REFUSED_MS), BREAKER_REFUSE);
	assert_int_equal(breaker_ask(&breaker, false, 1000 + BREAKER_REFUSED_MS), BREAKER_PROBE);
	breaker = breaker_after(&breaker, 0, 0, 1000 + BREAKER_REFUSED_MS);
	assert_int_equal(breaker_ask(&breaker, false, 1001 + BREAKER_REFUSED_MS), BREAKER_PASS);
	/* A dead one is not knocked at more often because people ask. */
	for (int i = 0; i < BREAKER_FAILURES; i++)
		breaker = breaker_after(&breaker, E_TIMEOUT, 0, i);
	assert_int_equal(breaker_ask(&breaker, true, 10), BREAKER_REFUSE);
	/* One who knocks all the same (switch_ask.now) does not move the beat either. */
	int64_t retry_ms = breaker.retry_ms;
	breaker = breaker_after(&breaker, E_TIMEOUT, 0, retry_ms - 1);
	assert_true(breaker.open);
	assert_int_equal(breaker.retry_ms, retry_ms);
	breaker = breaker_after(&breaker, E_AUTHENTICATION, 0, retry_ms - 1);
	assert_true(breaker.refused);
}

static void breakers_of_a_rack_spread(void **state)
{
	struct breaker early = breaker_after(&(struct breaker){.failures = 2}, E_TIMEOUT, 0, 0);
	struct breaker late = breaker_after(&(struct breaker){.failures = 2}, E_TIMEOUT, 99, 0);

	(void)state;
	assert_int_equal(early.retry_ms, BREAKER_OPEN_MS);
	assert_in_range(late.retry_ms, BREAKER_OPEN_MS * 119 / 100, BREAKER_OPEN_MS * 120 / 100);
}

/* --- retries --- */

static void only_safe_things_are_tried_again(void **state)
{
	static const struct {
		int rc;
		bool idempotent;
		unsigned failures;
		int64_t want_ms;
	} cases[] = {
		{E_TIMEOUT, true, 1, 250},       {E_TIMEOUT, true, 2, 1000},
		{E_TIMEOUT, true, 3, 2000},      {E_TIMEOUT, true, 4, -1},
		{E_TIMEOUT, false, 1, -1}, /* may have been executed */
		{-EBUSY, true, 1, 250},          {-EBUSY, false, 1, 250}, /* was not executed */
		{E_CONFLICT, false, 2, 1000},    {-EBUSY, false, 4, -1},
		{E_AUTHENTICATION, true, 1, -1}, {E_UNSUPPORTED, true, 1, -1},
		{E_PROTOCOL, true, 1, -1},       {E_DENIED, true, 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(
			confirm_backoff_ms(cases[i].rc, cases[i].idempotent, cases[i].failures),
			cases[i].want_ms);
}

/* --- confirming: scripts of (expected call, what the BMC says) --- */

struct line {
	enum bmc_op call; /* BMC_OP_COUNT: the script ends here */
	int rc;
	bool on;              /* power status */
	struct bmc_boot boot; /* boot get */
};

struct script {
	const char *name;
	struct bmc_request request;
	struct line lines[12];
	int want_rc;
	bool want_changed;
	enum bmc_confirm want;
	int64_t least_ms; /* the operation takes at least so long on the policy's own clock */
};

/* Plays the policy against the script on a clock that jumps to each wait. */
static void play(const struct script *script)
{
	int64_t now_ms = 1000;
	struct confirm confirm = confirm_begin(&script->request, now_ms, now_ms + 600000);
	size_t at = 0;

	for (unsigned turns = 0; turns < 200; turns++) {
		struct confirm_next next = confirm_next(&confirm, now_ms);
		const struct line *line = &script->lines[at];
		struct bmc_result result = {.op = next.call};

		if (next.kind == CONFIRM_FINISHED)
			break;
		if (next.kind == CONFIRM_WAIT) {
			assert_true(next.until_ms > now_ms);
			now_ms = next.until_ms;
			continue;
		}
		if (line->call != next.call)
			fail_msg("%s: call %zu is %s, not %s", script->name, at,
				 bmc_op_text(next.call), bmc_op_text(line->call));
		if (next.call == BMC_POWER_STATUS)
			result.power.on = line->on;
		if (next.call == BMC_BOOT_GET) {
			result.boot.flags = line->boot;
			result.boot.valid = true;
		}
		now_ms += 10;
		confirm_heard(&confirm, next.call, line->rc, line->rc ? NULL : &result, now_ms);
		at++;
	}
	if (script->lines[at].call != BMC_OP_COUNT)
		fail_msg("%s: stopped before line %zu", script->name, at);
	assert_int_equal(confirm.phase, CONFIRM_END);
	assert_int_equal(confirm.rc, script->want_rc);
	assert_true(now_ms - 1000 >= script->least_ms);
	if (confirm.rc == 0 && bmc_op_is_power(script->request.op)) {
		assert_int_equal(confirm.result.power.changed, script->want_changed);
		assert_int_equal(confirm.result.power.confirm, script->want);
	}
	if (confirm.rc == 0 && script->request.op == BMC_BOOT_SET)
		assert_int_equal(confirm.result.boot.device, script->want);
}

#define STATUS(value)                       \
	{                                   \
		BMC_POWER_STATUS, 0, value, \
		{                           \
			0                   \
		}                           \
	}
#define SENT(op)              \
	{                     \
		op, 0, false, \
		{             \
			0     \
		}             \
	}
#define FAILED(op, rc)         \
	{                      \
		op, rc, false, \
		{              \
			0      \
		}              \
	}
#define END                             \
	{                               \
		BMC_OP_COUNT, 0, false, \
		{                       \
			0               \
		}                       \
	}
#define SHOWS(...)                      \
	{                               \
		BMC_BOOT_GET, 0, false, \
		{                       \
			__VA_ARGS__     \
		}                       \
	}

/* clang-format off */
static const struct script scripts[] = {
	{.name = "on: is on", .request.op = BMC_POWER_ON,
	 .lines = {STATUS(true), END}, .want = BMC_CONFIRMED},
	{.name = "on", .request.op = BMC_POWER_ON,
	 .lines = {STATUS(false), SENT(BMC_POWER_ON), STATUS(false), STATUS(false), STATUS(true), END},
	 .want = BMC_CONFIRMED, .want_changed = true, .least_ms = 500},
	{.name = "on: the command's answer is lost, but it worked", .request.op = BMC_POWER_ON,
	 .lines = {STATUS(false), FAILED(BMC_POWER_ON, E_TIMEOUT), STATUS(true), END},
	 .want = BMC_CONFIRMED, .want_changed = true},
	{.name = "on: busy, then taken", .request.op = BMC_POWER_ON,
	 .lines = {STATUS(false), FAILED(BMC_POWER_ON, -EBUSY), STATUS(false), SENT(BMC_POWER_ON), STATUS(true), END},
	 .want = BMC_CONFIRMED, .want_changed = true, .least_ms = 250},
	{.name = "on: busy for good", .request.op = BMC_POWER_ON,
	 .lines = {STATUS(false), FAILED(BMC_POWER_ON, -EBUSY), STATUS(false), FAILED(BMC_POWER_ON, -EBUSY), STATUS(false),
		   FAILED(BMC_POWER_ON, -EBUSY), STATUS(false), FAILED(BMC_POWER_ON, -EBUSY), END},
	 .want_rc = -EBUSY, .least_ms = 3250},
	{.name = "on: wrong password at once", .request.op = BMC_POWER_ON,
	 .lines = {FAILED(BMC_POWER_STATUS, E_AUTHENTICATION), END}, .want_rc = E_AUTHENTICATION},
	{.name = "off: silent for good", .request.op = BMC_POWER_OFF,
	 .lines = {FAILED(BMC_POWER_STATUS, E_TIMEOUT), FAILED(BMC_POWER_STATUS, E_TIMEOUT), FAILED(BMC_POWER_STATUS, E_TIMEOUT),
		   FAILED(BMC_POWER_STATUS, E_TIMEOUT), END}, .want_rc = E_TIMEOUT, .least_ms = 3250},
	{.name = "off: unsupported", .request.op = BMC_POWER_OFF,
	 .lines = {STATUS(true), FAILED(BMC_POWER_OFF, E_UNSUPPORTED), END}, .want_rc = E_UNSUPPORTED},
	{.name = "soft: off by itself", .request.op = BMC_POWER_SOFT,
	 .lines = {STATUS(true), SENT(BMC_POWER_SOFT), STATUS(true), STATUS(false), END},
	 .want = BMC_CONFIRMED, .want_changed = true},
	{.name = "cycle: from on", .request.op = BMC_POWER_CYCLE,
	 .lines = {STATUS(true), SENT(BMC_POWER_OFF), STATUS(false), SENT(BMC_POWER_ON), STATUS(true), END},
	 .want = BMC_CONFIRMED, .want_changed = true, .least_ms = CONFIRM_CYCLE_PAUSE_MS},
	{.name = "cycle: from off needs no pause", .request.op = BMC_POWER_CYCLE,
	 .lines = {STATUS(false), SENT(BMC_POWER_ON), STATUS(true), END}, .want = BMC_CONFIRMED, .want_changed = true},
	{.name = "cycle: off and its answer was lost", .request.op = BMC_POWER_CYCLE,
	 .lines = {STATUS(true), FAILED(BMC_POWER_OFF, E_TIMEOUT), STATUS(false), SENT(BMC_POWER_ON), STATUS(true), END},
	 .want = BMC_CONFIRMED, .want_changed = true, .least_ms = CONFIRM_CYCLE_PAUSE_MS},
	{.name = "reset once", .request.op = BMC_POWER_RESET,
	 .lines = {SENT(BMC_POWER_RESET), END}, .want = BMC_UNVERIFIED, .want_changed = true},
	{.name = "reset: never sent twice on silence", .request.op = BMC_POWER_RESET,
	 .lines = {FAILED(BMC_POWER_RESET, E_TIMEOUT), END}, .want_rc = E_TIMEOUT},
	{.name = "raw: never sent twice on silence", .request.op = BMC_RAW,
	 .lines = {FAILED(BMC_RAW, E_TIMEOUT), END}, .want_rc = E_TIMEOUT},
	{.name = "status: asked again", .request.op = BMC_POWER_STATUS,
	 .lines = {FAILED(BMC_POWER_STATUS, E_TIMEOUT), STATUS(true), END}, .want = BMC_CONFIRMED},
	{.name = "boot: confirmed", .request = {.op = BMC_BOOT_SET, .boot = {.device = BMC_BOOT_PXE}},
	 .lines = {SENT(BMC_BOOT_SET), SHOWS(.device = BMC_BOOT_PXE), END}, .want = BMC_CONFIRMED},
	{.name = "boot: wrong echo twice", .request = {.op = BMC_BOOT_SET, .boot = {.device = BMC_BOOT_PXE}},
	 .lines = {SENT(BMC_BOOT_SET), SHOWS(.device = BMC_BOOT_DISK), SENT(BMC_BOOT_SET), SHOWS(.device = BMC_BOOT_DISK), END},
	 .want_rc = E_PROTOCOL},
	{.name = "boot: wrong echo once", .request = {.op = BMC_BOOT_SET, .boot = {.device = BMC_BOOT_DISK}},
	 .lines = {SENT(BMC_BOOT_SET), SHOWS(.device = BMC_BOOT_NONE), SENT(BMC_BOOT_SET), SHOWS(.device = BMC_BOOT_DISK), END},
	 .want = BMC_CONFIRMED},
	{.name = "boot: cannot show it", .request = {.op = BMC_BOOT_SET, .boot = {.device = BMC_BOOT_PXE}},
	 .lines = {SENT(BMC_BOOT_SET), FAILED(BMC_BOOT_GET, E_UNSUPPORTED), END}, .want = BMC_UNVERIFIED},
	{.name = "boot: reading back is tried again", .request = {.op = BMC_BOOT_SET, .boot = {.device = BMC_BOOT_PXE}},
	 .lines = {SENT(BMC_BOOT_SET), FAILED(BMC_BOOT_GET, E_TIMEOUT), SHOWS(.device = BMC_BOOT_PXE), END}, .want = BMC_CONFIRMED},
	{.name = "boot: refused", .request = {.op = BMC_BOOT_SET, .boot = {.device = BMC_BOOT_PXE}},
	 .lines = {FAILED(BMC_BOOT_SET, E_UNSUPPORTED), END}, .want_rc = E_UNSUPPORTED},
};
/* clang-format on */

static void operations_follow_their_scripts(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(scripts); i++)
		play(&scripts[i]);
}

/* A BMC that takes the command and does nothing gets it again after a while, not with each poll. */
static void power_command_is_repeated_slowly(void **state)
{
	struct bmc_request request = {.op = BMC_POWER_ON};
	int64_t now_ms = 0;
	struct confirm confirm = confirm_begin(&request, now_ms, 60000);
	unsigned polls = 0;

	(void)state;
	while (now_ms < 60000) {
		struct confirm_next next = confirm_next(&confirm, now_ms);
		struct bmc_result off = {.op = BMC_POWER_STATUS};

		assert_int_not_equal(next.kind, CONFIRM_FINISHED);
		if (next.kind == CONFIRM_WAIT) {
			now_ms = next.until_ms;
			continue;
		}
		polls += next.call == BMC_POWER_STATUS;
		confirm_heard(&confirm, next.call, 0, &off, now_ms);
	}
	assert_int_equal(confirm.commands, 4); /* at 0, 15, 30, 45 s */
	assert_in_range(polls, 25, 60);
}

static void boot_fields_are_judged_one_by_one(void **state)
{
	const struct bmc_boot wanted = {
		.device = BMC_BOOT_PXE, .persistent = true, .firmware = BMC_FIRMWARE_UEFI};
	struct bmc_result seen = {.op = BMC_BOOT_GET, .boot = {.flags = wanted, .valid = true}};

	(void)state;
	assert_int_equal(confirm_boot_compare(&wanted, &seen), 0);
	assert_int_equal(seen.boot.device, BMC_CONFIRMED);
	assert_int_equal(seen.boot.lifetime, BMC_CONFIRMED);
	assert_int_equal(seen.boot.firmware, BMC_CONFIRMED);
	assert_int_equal(seen.boot.valid_bit, BMC_CONFIRMED);

	seen = (struct bmc_result){.op = BMC_BOOT_GET, .boot.flags.device = BMC_BOOT_PXE};
	assert_int_equal(confirm_boot_compare(&wanted, &seen), 0);
	assert_int_equal(seen.boot.device, BMC_CONFIRMED);
	assert_int_equal(seen.boot.lifetime, BMC_UNVERIFIED);
	assert_int_equal(seen.boot.firmware, BMC_UNVERIFIED);
	assert_int_equal(seen.boot.valid_bit, BMC_UNVERIFIED);

	seen.boot.flags.device = BMC_BOOT_OTHER;
	assert_int_equal(confirm_boot_compare(&wanted, &seen), E_PROTOCOL);
}

static void workaround_words(void **state)
{
	struct problem problem = {0};
	char text[128];
	uint32_t bits;

	(void)state;
	assert_int_equal(bmc_workarounds_parse("", &bits, &problem), 0);
	assert_int_equal(bits, 0);
	assert_int_equal(bmc_workarounds_parse("opensesspriv, intel20", &bits, &problem), 0);
	assert_int_equal(bits, BMC_WORKAROUND_OPENSESSPRIV | BMC_WORKAROUND_INTEL20);
	assert_true(bmc_workarounds_text(bits, text, sizeof(text)));
	assert_string_equal(text, "intel20,opensesspriv");
	assert_false(bmc_workarounds_text(bits, text, 10));
	assert_int_equal(bmc_workarounds_parse("opensesspri", &bits, &problem), E_NOT_FOUND);
	assert_non_null(strstr(problem.message, "opensesspri"));
	assert_non_null(strstr(problem.hint, "supermicro20"));
}

/* --- regular looks --- */

/* 10,000 BMCs, a minute: every second of it has its share, and nobody is left out or asked twice.
 */
static void looks_are_spread_evenly(void **state)
{
	enum { BMCS = 10000, PERIOD_MS = 60000 };
	static unsigned seconds[PERIOD_MS / 1000];
	const int64_t now_ms = 123456789;

	(void)state;
	for (int64_t id = 1; id <= BMCS; id++) {
		int64_t due_ms = refresh_next_ms(id, REFRESH_POWER, PERIOD_MS, now_ms);

		assert_in_range(due_ms, now_ms + 1, now_ms + PERIOD_MS);
		seconds[(due_ms - now_ms - 1) / 1000]++;
		/* It keeps its beat, also when it is served late. */
		assert_int_equal(refresh_next_ms(id, REFRESH_POWER, PERIOD_MS, due_ms),
				 due_ms + PERIOD_MS);
		assert_int_equal(refresh_next_ms(id, REFRESH_POWER, PERIOD_MS, due_ms + 700),
				 due_ms + PERIOD_MS);
		assert_in_range(refresh_first_ms(id, REFRESH_POWER, PERIOD_MS, now_ms), now_ms + 1,
				now_ms + 10000);
	}
	for (size_t i = 0; i < COUNT_OF(seconds); i++)
		assert_in_range(seconds[i], BMCS / 60 * 8 / 10, BMCS / 60 * 12 / 10);
	assert_int_equal(refresh_next_ms(7, REFRESH_FRU, 0, now_ms), INT64_MAX);
	assert_int_equal(refresh_first_ms(7, REFRESH_FRU, 0, now_ms), INT64_MAX);
	assert_int_not_equal(refresh_next_ms(7, REFRESH_POWER, PERIOD_MS, 0),
			     refresh_next_ms(7, REFRESH_SEL, PERIOD_MS, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaker_opens_grows_and_closes),
		cmocka_unit_test(refused_password_opens_at_once),
		cmocka_unit_test(a_person_gets_one_try),
		cmocka_unit_test(breakers_of_a_rack_spread),
		cmocka_unit_test(only_safe_things_are_tried_again),
		cmocka_unit_test(operations_follow_their_scripts),
		cmocka_unit_test(power_command_is_repeated_slowly),
		cmocka_unit_test(boot_fields_are_judged_one_by_one),
		cmocka_unit_test(workaround_words),
		cmocka_unit_test(looks_are_spread_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
