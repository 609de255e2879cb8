// links: bampi_bmc common_http common_base
/* What a refusal means, per vendor: a table; and bodies and answers of redfish_json. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "common/base/error.h"

#include "bampi/bmc/redfish_policy.h"
#include "tests/support/cmocka.h"

static const struct {
	const char *vendor;
	enum bmc_op op;
	enum redfish_stage stage;
	int status;
	const char *id;
	unsigned tries;
	bool fresh, reread;
	enum redfish_verdict verdict;
	int64_t pause_ms;
	int rc;
} rows[] = {
	/* clang-format off */
	{"", BMC_POWER_STATUS, REDFISH_SYSTEM, 200, "", 0, false, false, REDFISH_PASS, 0, 0},
	/* a session that died is opened once more; a password is tried once */
	{"", BMC_POWER_STATUS, REDFISH_SYSTEM, 401, "", 0, false, false, REDFISH_ANEW, 0, 0},
	{"", BMC_POWER_STATUS, REDFISH_SYSTEM, 401, "", 0, true, false, REDFISH_FAIL, 0, E_AUTHENTICATION},
	{"", BMC_POWER_STATUS, REDFISH_LOGIN, 401, "", 0, true, false, REDFISH_FAIL, 0, E_AUTHENTICATION},
	{"", BMC_POWER_STATUS, REDFISH_LOGIN, 403, "", 0, true, false, REDFISH_FAIL, 0, E_AUTHENTICATION},
	/* all sessions taken: with each vendor's status */
	{"", BMC_POWER_STATUS, REDFISH_LOGIN, 503, "SessionLimitExceeded", 0, true, false, REDFISH_BASIC, 0, 0},
	{"Dell Inc.", BMC_POWER_STATUS, REDFISH_LOGIN, 400, "RAC0218", 0, true, false, REDFISH_BASIC, 0, 0},
	{"", BMC_POWER_STATUS, REDFISH_LOGIN, 404, "", 0, true, false, REDFISH_BASIC, 0, 0},
	{"", BMC_POWER_STATUS, REDFISH_LOGIN, 501, "", 0, true, false, REDFISH_BASIC, 0, 0},
	{"", BMC_POWER_STATUS, REDFISH_LOGIN, 503, "", 0, true, false, REDFISH_AGAIN, 1000, 0},
	/* iDRAC: the parent first; the number of tries is the vendor's */
	{"Dell", BMC_POWER_STATUS, REDFISH_SYSTEM, 404, "", 0, false, false, REDFISH_PARENT, 0, 0},
	{"Dell", BMC_POWER_STATUS, REDFISH_SYSTEM, 404, "", 2, false, false, REDFISH_PARENT, 2000, 0},
	{"Dell", BMC_POWER_STATUS, REDFISH_SYSTEM, 404, "", 3, false, false, REDFISH_FAIL, 0, E_PROTOCOL},
	{"", BMC_POWER_STATUS, REDFISH_SYSTEM, 404, "", 1, false, false, REDFISH_FAIL, 0, E_PROTOCOL},
	{"", BMC_SENSORS, REDFISH_THERMAL, 404, "", 0, false, false, REDFISH_SKIP, 0, 0},
	{"", BMC_FRU, REDFISH_FIRMWARES, 501, "", 0, false, false, REDFISH_SKIP, 0, 0},
	/* iDRAC10: 409 to power-on for up to 60 s */
	{"Dell", BMC_POWER_ON, REDFISH_RESET, 409, "", 0, false, false, REDFISH_AGAIN, 10000, 0},
	{"Dell", BMC_POWER_ON, REDFISH_RESET, 409, "", 5, false, false, REDFISH_AGAIN, 10000, 0},
	{"Dell", BMC_POWER_ON, REDFISH_RESET, 409, "", 6, false, false, REDFISH_FAIL, 0, E_CONFLICT},
	{"Dell", BMC_POWER_OFF, REDFISH_RESET, 409, "", 0, false, false, REDFISH_FAIL, 0, E_CONFLICT},
	/* iLO: no boot device during POST, 5 to 30 s */
	{"HPE", BMC_BOOT_SET, REDFISH_BOOT, 400, "UnableToModifyDuringSystemPOST", 0, false, false, REDFISH_AGAIN, 5000, 0},
	{"HPE", BMC_BOOT_SET, REDFISH_BOOT, 400, "UnableToModifyDuringSystemPOST", 2, false, false, REDFISH_AGAIN, 20000, 0},
	{"HPE", BMC_BOOT_SET, REDFISH_BOOT, 400, "UnableToModifyDuringSystemPOST", 5, false, false, REDFISH_AGAIN, 30000, 0},
	{"HPE", BMC_BOOT_SET, REDFISH_BOOT, 400, "UnableToModifyDuringSystemPOST", 6, false, false, REDFISH_FAIL, 0, E_CONFLICT},
	{"HPE", BMC_BOOT_SET, REDFISH_BOOT, 409, "", 0, false, false, REDFISH_AGAIN, 5000, 0},
	{"", BMC_BOOT_SET, REDFISH_BOOT, 400, "PropertyValueNotInList", 0, false, false, REDFISH_FAIL, 0, E_UNSUPPORTED},
	{"", BMC_BOOT_SET, REDFISH_BOOT, 400, "", 0, false, false, REDFISH_FAIL, 0, E_PROTOCOL},
	{"", BMC_BOOT_SET, REDFISH_BOOT, 412, "", 0, false, false, REDFISH_REREAD, 0, 0},
	{"", BMC_BOOT_SET, REDFISH_BOOT, 428, "", 0, false, true, REDFISH_FAIL, 0, E_CONFLICT},
	{"", BMC_POWER_STATUS, REDFISH_SYSTEM, 503, "", 1, false, false, REDFISH_AGAIN, 2000, 0},
	{"", BMC_POWER_STATUS, REDFISH_SYSTEM, 503, "", 3, false, false, REDFISH_FAIL, 0, -EBUSY},
	{"", BMC_POWER_STATUS, REDFISH_SYSTEM, 503, "", UINT_MAX, false, false, REDFISH_FAIL, 0, -EBUSY},
	{"", BMC_POWER_ON, REDFISH_RESET, 403, "", 0, true, false, REDFISH_FAIL, 0, E_DENIED},
	{"", BMC_POWER_ON, REDFISH_RESET, 405, "", 0, true, false, REDFISH_FAIL, 0, E_UNSUPPORTED},
	{"", BMC_POWER_ON, REDFISH_RESET, 500, "", 0, true, false, REDFISH_FAIL, 0, E_PROTOCOL},
	{"", BMC_POWER_ON, REDFISH_RESET, 302, "", 0, true, false, REDFISH_FAIL, 0, E_PROTOCOL},
	/* clang-format on */
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct redfish_error error = {0};
		struct redfish_refusal refusal = {
			.op = rows[i].op,
			.stage = rows[i].stage,
			.status = rows[i].status,
			.error = &error,
			.tries = rows[i].tries,
			.fresh = rows[i].fresh,
			.reread = rows[i].reread,
			.quirk = redfish_quirk_find(rows[i].vendor),
		};
		struct redfish_decision decision;

		(void)text_copy(error.id, sizeof(error.id), rows[i].id);
		decision = redfish_decide(&refusal);
		if (decision.verdict != rows[i].verdict || decision.pause_ms != rows[i].pause_ms ||
		    decision.rc != rows[i].rc)
			fail_msg("row %zu: verdict %d, pause %d, rc %d", i, (int)decision.verdict,
				 (int)decision.pause_ms, decision.rc);
		assert_true((decision.verdict == REDFISH_FAIL) == (decision.rc != 0));
		assert_true(decision.rc == 0 || decision.text);
	}
}

/* A BMC that says "in an hour" is not believed. */
static void test_retry_after(void **state)
{
	const struct redfish_error error = {0};
	struct redfish_refusal refusal = {
		.op = BMC_POWER_STATUS,
		.stage = REDFISH_SYSTEM,
		.status = 503,
		.error = &error,
		.retry_s = 3600,
		.quirk = redfish_quirk_find(""),
	};

	(void)state;
	assert_int_equal(redfish_decide(&refusal).pause_ms, 10000);
	refusal.retry_s = 2;
	assert_int_equal(redfish_decide(&refusal).pause_ms, 2000);
}

static void test_plans(void **state)
{
	(void)state;
	for (enum bmc_op op = 0; op < BMC_OP_COUNT; op++) {
		const enum redfish_stage *at = redfish_plan(op);

		if (!at)
			continue;
		assert_int_equal(at[0], REDFISH_ROOT);
		assert_int_equal(at[1], REDFISH_LOGIN);
		for (; *at != REDFISH_END; at++) {
			assert_non_null(redfish_stage_table[*at].what);
			assert_true(redfish_stage_table[*at].timeout_ms >= 10000);
		}
	}
	assert_null(redfish_plan(BMC_RAW));
	assert_int_equal(redfish_stage_table[REDFISH_FIRMWARES].timeout_ms, 180000);
	assert_int_equal(redfish_stage_table[REDFISH_RESET].timeout_ms, 10000);
}

static json_t *json_of(const char *text)
{
	struct problem problem = {0};
	json_t *json = NULL;

	if (redfish_read(text, strlen(text), 1 << 16, &json, &problem) != 0)
		fail_msg("%s: %s", text, problem.message);
	return json;
}

static void test_reset_types(void **state)
{
	const uint32_t button = 1U << REDFISH_RESET_BUTTON;

	(void)state;
	assert_int_equal(redfish_reset_choose(BMC_POWER_ON, 0), REDFISH_RESET_ON);
	assert_int_equal(redfish_reset_choose(BMC_POWER_ON, 1U << REDFISH_RESET_FORCE_ON),
			 REDFISH_RESET_FORCE_ON);
	assert_int_equal(redfish_reset_choose(BMC_POWER_OFF, button), -1);
	assert_int_equal(redfish_reset_choose(BMC_POWER_SOFT, button), REDFISH_RESET_BUTTON);
	assert_int_equal(redfish_reset_choose(BMC_POWER_RESET, 1U << REDFISH_RESET_CYCLE),
			 REDFISH_RESET_CYCLE);
}

/* No answer may send us elsewhere, nor bring bytes into a header or a log line. */
static void test_links(void **state)
{
	static const char *const bad[] = {
		"{\"x\":{\"@odata.id\":\"http://evil/redfish\"}}",
		"{\"x\":{\"@odata.id\":\"//evil/redfish\"}}",
		"{\"x\":{\"@odata.id\":\"/redfish/../../x\"}}",
		"{\"x\":{\"@odata.id\":\"/a b\"}}",
		"{\"x\":{\"@odata.id\":\"/a\\r\\nHost: b\"}}",
		"{\"x\":{\"@odata.id\":7}}",
		"{\"x\":[]}",
		"{}",
	};
	char path[REDFISH_PATH_SIZE];
	json_t *json;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		json = json_of(bad[i]);
		redfish_link_read(json, "x", path);
		assert_string_equal(path, "");
		json_decref(json);
	}
	json = json_of("{\"x\":{\"@odata.id\":\"/redfish/v1/Systems/1/?a=b\"}}");
	redfish_link_read(json, "x", path);
	assert_string_equal(path, "/redfish/v1/Systems/1/?a=b");
	json_decref(json);
}

static void test_bounds(void **state)
{
	static char deep[4096];
	struct text wide = {0};
	struct problem problem = {0};
	json_t *json = NULL;

	(void)state;
	memset(deep, '[', sizeof(deep));
	assert_int_equal(redfish_read(deep, sizeof(deep), 1 << 20, &json, &problem), E_LIMIT);
	text_add(&wide, "{\"a\":[{}");
	for (int i = 0; i < 60000; i++)
		text_add(&wide, ",{}");
	text_add(&wide, "]}");
	assert_int_equal(redfish_read(wide.data, wide.size, 1 << 20, &json, &problem), E_LIMIT);
	text_done(&wide);
	assert_int_equal(redfish_read("{\"a\":1,\"a\":2}", 13, 1 << 20, &json, &problem),
			 E_MALFORMED);
	assert_int_equal(redfish_read("[]", 2, 1 << 20, &json, &problem), E_MALFORMED);
	/* Brackets and commas in strings are no values. */
	json = json_of("{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[,,,\\\"[[[\"}");
	json_decref(json);
}

static void test_system(void **state)
{
	struct redfish_system system;
	json_t *json = json_of(
		"{\"@odata.id\":\"/s\",\"PowerState\":\"PoweringOff\",\"Boot\":{\"BootSourceOverrideTarget\":\"Pxe\","
		"\"BootSourceOverrideEnabled\":\"Once\",\"BootSourceOverrideTarget@Redfish.AllowableValues\":[\"None\",\"Pxe\"]},"
		"\"Actions\":{\"#ComputerSystem.Reset\":{\"target\":\"/s/reset\",\"ResetType@Redfish.AllowableValues\":[\"On\",\"Nmi\"]}}}");

	(void)state;
	assert_int_equal(redfish_system_read(json, &system), 0);
	assert_int_equal(system.power, REDFISH_POWER_GOES_OFF);
	assert_int_equal(system.boot.device, BMC_BOOT_PXE);
	assert_true(system.boot_valid && system.boot_pxe && !system.boot_disk);
	assert_false(system.boot_mode_known);
	assert_int_equal(system.resets, 1U << REDFISH_RESET_ON);
	assert_string_equal(system.reset, "/s/reset");
	json_decref(json);
	json = json_of("{\"PowerState\":\"On\"}");
	assert_int_equal(redfish_system_read(json, &system), E_PROTOCOL);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_plans),    cmocka_unit_test(test_reset_types),
		cmocka_unit_test(test_links),    cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
