// links: control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* The step *agent* of a node that starts signed images only: the TPM is asked before anything else. What is believed of its answer:
 * attest_test.c. */
#include "bampi/control/deploy/steps/steps.h"
#include "tests/unit/step_run.h"

static const struct attest_trust trust = {.count = 0};

static struct facts facts_of(enum node_secure_boot secure_boot)
{
	struct facts facts = test_facts(PLAN_INSTALL);

	set_agent(&facts);
	facts.node.secure_boot = secure_boot;
	facts.signed_images = &trust;
	return facts;
}

static void asks_where_it_matters(void **state)
{
	struct facts facts = facts_of(SECURE_BOOT_OFF);
	struct outcome o = run(step_agent, &facts);

	(void)state;
	assert_int_equal(o.verdict, STEP_DONE);
	assert_int_equal(o.post, TASK_NONE);
	facts = facts_of(SECURE_BOOT_SIGNED);
	facts.seen[SEEN_AGENT].at_ms = 0;
	assert_int_equal(run(step_agent, &facts).post, TASK_NONE); /* nobody is there yet */
	for (int mark = SECURE_BOOT_SIGNED; mark <= SECURE_BOOT_ATTESTED; mark++) {
		facts = facts_of((enum node_secure_boot)mark);
		o = run(step_agent, &facts);
		assert_int_equal(o.verdict, STEP_WAITING);
		assert_int_equal(o.post, TASK_ATTEST);
		assert_false(o.judged);
		outcome_done(&o);
	}
}

static void demands_what_the_site_demands(void **state)
{
	json_t *result = json("{\"tpm\":false,\"problem\":\"it has no TPM 2.0\"}");
	struct facts facts = facts_of(SECURE_BOOT_SIGNED);
	struct outcome o;

	(void)state;
	set_task(&facts, "agent", TASK_ATTEST, TASK_DONE, result);
	o = run(step_agent, &facts);
	assert_int_equal(o.verdict, STEP_DONE);
	assert_true(o.judged && !o.attest.attested);
	assert_string_equal(o.attest.why, "it has no TPM 2.0");
	assert_non_null(strstr(o.note, "is not attested: it has no TPM 2.0; "));
	facts.node.secure_boot = SECURE_BOOT_ATTESTED;
	o = run(step_agent, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_true(o.permanent && o.judged);
	assert_non_null(strstr(o.problem.message, "is not attested: it has no TPM 2.0"));
	assert_non_null(strstr(o.problem.hint, "secure_boot=signed"));
	/* what another boot of this node proved says nothing of this one */
	set_task(&facts, "agent", TASK_ATTEST, TASK_TAKEN, result);
	(void)text_copy(facts.task.token, sizeof(facts.task.token), FRESH);
	o = run(step_agent, &facts);
	assert_int_equal(o.post, TASK_ATTEST);
	assert_false(o.judged);
	outcome_done(&o);
	json_decref(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_where_it_matters),
		cmocka_unit_test(demands_what_the_site_demands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
