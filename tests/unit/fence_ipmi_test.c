// links: bampi_bmc common_io common_base
//: timeout 120
/* The real IPMI driver against a real ipmi_sim: what changes something is sent within its claim only, by the loop as by a
 * thread. The chassis program's log is the witness. */
#include <stdlib.h>

#include "common/base/error.h"

#include "bampi/bmc/ipmi_driver.h"
#include "tests/support/bmc_call.h"
#include "tests/support/bmc_lab.h"

static int start(void **state)
{
	struct bmc_lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	assert_int_equal(ipmi_driver_setup(), 0);
	lab_start(lab);
	*state = lab;
	return 0;
}

static int stop(void **state)
{
	struct bmc_lab *lab = *state;

	lab_stop(lab);
	free(lab);
	return 0;
}

/* The real driver: what changes something is sent within its claim only, by the loop as by a thread. */
static void nothing_is_changed_after_the_end_of_its_fence(void **state)
{
	static const enum bmc_op changes[] = {BMC_POWER_ON,  BMC_BOOT_SET, BMC_IDENTIFY,
					      BMC_SEL_CLEAR, BMC_USER_SET, BMC_PASSWORD_SET,
					      BMC_RAW};
	struct bmc_lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(lab);
	struct bmc_caller caller;

	bmc_caller_open(&caller, lab->loop, &bmc);
	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		if (bmc_caller_ask(&caller, changes[i], 0) != E_LAPSED)
			fail_msg("%s: %d", bmc_op_text(changes[i]), caller.rc);
		assert_non_null(strstr(caller.problem.detail, "not sent"));
	}
	assert_int_equal(lab_chassis_count(lab, "set"), 0);
	/* Too short for a library that sends again by itself: that is no silence of the BMC. */
	assert_int_equal(bmc_caller_ask(&caller, BMC_SEL_CLEAR, 600), E_LAPSED);
	/* A look has no fence, and a claim that lasts is no hindrance. */
	assert_int_equal(bmc_caller_ask(&caller, BMC_POWER_STATUS, 0), 0);
	assert_false(caller.result.power.on);
	assert_int_equal(bmc_caller_ask(&caller, BMC_SEL_LIST, 0), 0);
	assert_int_equal(bmc_caller_ask(&caller, BMC_SEL_CLEAR, 60000), 0);
	assert_int_equal(bmc_caller_ask(&caller, BMC_POWER_ON, 60000), 0);
	assert_ipmitool(lab, "chassis power status", "Chassis Power is on");
	bmc_caller_close(&caller);
}

/* The command was made in time and waits for the loop, and then we are stopped: it does not go out, and
 * is no silence of the BMC. */
static void what_waits_in_the_loop_has_its_fence(void **state)
{
	struct bmc_request request = {.op = BMC_POWER_RESET};
	struct bmc_lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(lab);
	struct bmc_caller caller;

	lab_write(lab, "power", "1\n");
	lab_write(lab, "chassis.log", "");
	bmc_caller_open(&caller, lab->loop, &bmc);
	assert_int_equal(bmc_caller_ask(&caller, BMC_BOOT_GET, 0), 0); /* as an operator */
	assert_int_equal(fence_new(clock_boot_ms() + 60000, &request.fence), 0);
	bmc_caller_start(&caller, &request);
	fence_drop(request.fence);
	bmc_caller_wait(&caller);
	assert_int_equal(caller.rc, E_LAPSED);
	assert_non_null(strstr(caller.problem.detail, "not sent"));
	assert_int_equal(lab_chassis_count(lab, "set reset"), 0);
	fence_unref(request.fence);
	assert_int_equal(bmc_caller_ask(&caller, BMC_POWER_RESET, 60000), 0);
	assert_int_equal(lab_chassis_count(lab, "set reset"), 1);
	bmc_caller_close(&caller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_changed_after_the_end_of_its_fence),
		cmocka_unit_test(what_waits_in_the_loop_has_its_fence),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
