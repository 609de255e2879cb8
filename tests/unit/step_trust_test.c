// links: control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* Boots that are not to be trusted, and images that are not to be written. */
#include <sodium.h>

#include "common/base/error.h"
#include "common/base/hex.h"

#include "bampi/control/deploy/steps/steps.h"
#include "tests/unit/step_run.h"

/* Another machine asked for the script: a new token, a new start, three times at most. */
static void netboot_ended_begins_anew(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	facts.intent.fetched = true;
	(void)text_copy(facts.intent.ended, sizeof(facts.intent.ended), "asked for twice");
	(void)text_copy(facts.memo.token, sizeof(facts.memo.token), TOKEN);
	facts.memo.asked_ms = NOW - 5000;
	facts.memo.powered_ms = NOW - 4000;
	facts.bmc.state = BMC_WORK_DONE;
	set_seen(&facts, SEEN_SCRIPT, 400, TOKEN);
	set_seen(&facts, SEEN_AGENT, 300, TOKEN);
	o = run(step_netboot, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.intent, INTENT_PUT);
	assert_string_equal(o.intent_token, FRESH);
	assert_string_equal(o.memo.token, FRESH);
	assert_int_equal(o.memo.powered_ms, 0);
	assert_int_equal(o.memo.cycles, 1);
	assert_true(o.drop_tasks);
	assert_non_null(strstr(o.note, "started again (1 of 3): asked for twice"));
	/* with the new one in place the node is started */
	facts.memo = o.memo;
	set_intent(&facts, INTENT_AGENT);
	(void)text_copy(facts.intent.token, sizeof(facts.intent.token), FRESH);
	facts.bmc.state = BMC_WORK_NONE;
	o = run(step_netboot, &facts);
	assert_int_equal(o.bmc_count, 2);
	assert_int_equal(o.bmc[1].op, BMC_POWER_CYCLE);
	/* not for ever */
	(void)text_copy(facts.intent.ended, sizeof(facts.intent.ended), "asked for twice");
	facts.memo.cycles = 3;
	o = run(step_netboot, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_string_equal(o.problem.message, "asked for twice");
}

/* What a bampi-bootd saw may have died with it: the row says that the script was given. */
static void netboot_given(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	(void)text_copy(facts.memo.token, sizeof(facts.memo.token), TOKEN);
	facts.memo.powered_ms = NOW - 1000;
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_WAITING);
	facts.intent.fetched = true;
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_DONE);
}

/* A forged erase: reported in a boot whose token another machine may have. */
static void ended_boot_is_not_believed(void **state)
{
	static const step_run_fn steps[] = {step_agent, step_inventory, step_scrub,
					    step_verify_scrubbed, step_local_boot};
	json_t *result = json("{\"drives\":[{\"serial\":\"a\",\"verdict\":\"erased\"}]}");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		struct facts facts = test_facts(PLAN_RELEASE);
		struct outcome o;

		set_agent(&facts);
		set_task(&facts, "scrub", TASK_ERASE, TASK_DONE, result);
		facts.results = result;
		(void)text_copy(facts.intent.ended, sizeof(facts.intent.ended), "asked for twice");
		o = run(steps[i], &facts);
		assert_int_equal(o.verdict, STEP_FAILED);
		assert_string_equal(o.problem.message, "asked for twice");
		assert_int_equal(o.post, TASK_NONE);
		assert_int_equal(o.permanent, steps[i] == step_local_boot);
		outcome_done(&o);
	}
	json_decref(result);
}

/* A task is signed for one agent: without its key there is none. */
static void agent_without_key(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_agent(&facts);
	facts.intent.agent_key[0] = '\0';
	o = run(step_inventory, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.post, TASK_NONE);
	assert_non_null(strstr(o.problem.message, "told no key"));
}

/* A version that was withdrawn, and a report of another digest than the one asked for. */
static void image_that_was_asked_for(void **state)
{
	static const char manifest[] = "{\"name\":\"demo\",\"digest\":\"d1\"}\n";
	static const struct {
		const char *result;
		bool withdrawn;
		int code; /* 0: done */
	} cases[] = {
		{"{\"digest\":\"d1\"}", false, 0},
		{"{\"digest\":\"d2\"}", false, E_DIGEST},
		{"{}", false, E_DIGEST},
		{"{\"digest\":7}", false, E_DIGEST},
		{"{\"digest\":\"d1\"}", true, E_DENIED},
	};
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	uint8_t signature[crypto_sign_BYTES];
	struct image_trust trust = {.count = 1};
	char hex[2 * sizeof(signature) + 1];

	(void)state;
	assert_true(sodium_init() >= 0);
	(void)crypto_sign_keypair(trust.keys[0], secret);
	(void)crypto_sign_detached(signature, NULL, (const unsigned char *)manifest,
				   strlen(manifest), secret);
	hex_encode(signature, sizeof(signature), hex);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		json_t *result = json(cases[i].result);
		struct outcome o;

		set_agent(&facts);
		set_task(&facts, "write_image", TASK_WRITE_IMAGE, TASK_DONE, result);
		facts.trust = &trust;
		facts.image = (struct image_facts){.present = true,
						   .withdrawn = cases[i].withdrawn,
						   .manifest = manifest,
						   .signature = hex};
		o = run(step_write_image, &facts);
		assert_int_equal(o.verdict, cases[i].code ? STEP_FAILED : STEP_DONE);
		assert_int_equal(o.problem.code, cases[i].code);
		assert_int_equal(o.permanent, cases[i].withdrawn);
		outcome_done(&o);
		json_decref(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netboot_ended_begins_anew),  cmocka_unit_test(netboot_given),
		cmocka_unit_test(ended_boot_is_not_believed), cmocka_unit_test(agent_without_key),
		cmocka_unit_test(image_that_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
