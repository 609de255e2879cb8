// links: control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* netboot of a node that our servers let down. */
#include "bampi/control/deploy/steps/steps.h"
#include "tests/unit/step_run.h"

/* "Anything that leaves a node in doubt" of the user's findings: bampi-bootd killed between ACK and
 * script. The node is started again after 90 s, not after the 900 s of the step. */
static void netboot_lets_nobody_down(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	(void)text_copy(facts.memo.token, sizeof(facts.memo.token), TOKEN);
	facts.memo.asked_ms = NOW - 200000;
	facts.memo.powered_ms = NOW - 195000;
	facts.bmc.state = BMC_WORK_DONE; /* of the start before */
	/* nothing of this boot was heard: a slow firmware is left alone */
	assert_int_equal(run(step_netboot, &facts).bmc_count, 0);
	set_seen(&facts, SEEN_DHCP, 300000, TOKEN);
	assert_int_equal(run(step_netboot, &facts).bmc_count, 0);
	facts.leased_ms = NOW - 300000;
	assert_int_equal(run(step_netboot, &facts).bmc_count, 0);
	set_seen(&facts, SEEN_DHCP, 91000, "00000000000000000000000000000000");
	assert_int_equal(run(step_netboot, &facts).bmc_count, 0);

	/* an ACK of this boot: not before 90 s, and looked at then */
	set_seen(&facts, SEEN_DHCP, 85000, TOKEN);
	o = run(step_netboot, &facts);
	assert_int_equal(o.bmc_count, 0);
	assert_int_equal(o.until_ms, NOW + 5000);
	set_seen(&facts, SEEN_DHCP, 90000, TOKEN);
	o = run(step_netboot, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.bmc_count, 2);
	assert_int_equal(o.bmc[0].boot.device, BMC_BOOT_PXE);
	assert_int_equal(o.bmc[1].op, BMC_POWER_CYCLE);
	assert_int_equal(o.intent, INTENT_KEEP); /* the same token: what it gets now counts */
	assert_int_equal(o.memo.powered_ms, 0);
	assert_int_equal(o.memo.asked_ms, NOW);
	assert_int_equal(o.memo.cycles, 1);
	assert_non_null(strstr(o.note, "started again (1 of 3)"));
	/* a file that it fetched meanwhile counts from there */
	set_seen(&facts, SEEN_TFTP, 20000, TOKEN);
	assert_int_equal(run(step_netboot, &facts).bmc_count, 0);
	facts.seen[SEEN_TFTP].at_ms = 0;
	/* the lease alone tells it: what bampi-bootd saw died with it */
	facts.seen[SEEN_DHCP].at_ms = 0;
	facts.leased_ms = NOW - 95000;
	assert_int_equal(run(step_netboot, &facts).bmc_count, 2);
	/* not for ever */
	facts.memo.cycles = 3;
	assert_int_equal(run(step_netboot, &facts).bmc_count, 0);
	/* and not while it goes on */
	facts.memo.cycles = 0;
	set_seen(&facts, SEEN_SCRIPT, 400, TOKEN);
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_DONE);
}

/* Firmware that refuses a signature says so to nobody: what was fetched and not started is named. */
static void netboot_names_a_refused_file(void **state)
{
	static const struct {
		enum node_secure_boot secure_boot;
		enum seen kind;
		const char *file, *hint;
	} rows[] = {
		{SECURE_BOOT_SIGNED, SEEN_LOADER, "agent.efi", "db.auth"},
		{SECURE_BOOT_ATTESTED, SEEN_TFTP, "agent.efi", "db.auth"},
		{SECURE_BOOT_OFF, SEEN_LOADER, "snponly.efi", "secure_boot=signed"},
		{SECURE_BOOT_OFF, SEEN_TFTP, "snponly.efi", "secure_boot=signed"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		struct outcome o;

		set_intent(&facts, INTENT_AGENT);
		(void)text_copy(facts.memo.token, sizeof(facts.memo.token), TOKEN);
		facts.memo.asked_ms = NOW - 30000;
		facts.memo.powered_ms = NOW - 25000;
		facts.node.firmware = BMC_FIRMWARE_UEFI;
		facts.node.secure_boot = rows[i].secure_boot;
		set_seen(&facts, rows[i].kind, 5000, TOKEN);
		(void)text_copy(facts.seen[rows[i].kind].detail,
				sizeof(facts.seen[rows[i].kind].detail), rows[i].file);
		o = run(step_netboot, &facts);
		assert_int_equal(o.verdict, STEP_WAITING);
		assert_non_null(strstr(o.problem.message, rows[i].file));
		assert_non_null(strstr(o.problem.hint, rows[i].hint));
		assert_non_null(strstr(o.waits.message, rows[i].file));
		assert_string_equal(o.waits.hint, o.problem.hint);
		/* of another boot */
		set_seen(&facts, rows[i].kind, 5000, "00000000000000000000000000000000");
		o = run(step_netboot, &facts);
		assert_null(strstr(o.problem.message, rows[i].file));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netboot_lets_nobody_down),
		cmocka_unit_test(netboot_names_a_refused_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
