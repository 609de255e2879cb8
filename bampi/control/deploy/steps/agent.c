#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"

/* What the node got from us so far, in the order of a boot. */
static const char *steps_agent_stage(const struct facts *facts)
{
	static const struct {
		enum seen kind;
		const char *text;
	} stages[] = {
		{SEEN_RAMDISK, "it fetched kernel and ramdisk"},
		{SEEN_KERNEL, "it fetched the kernel, not the ramdisk"},
		{SEEN_SCRIPT, "it fetched its boot script, not the kernel"},
	};

	if (facts->node.secure_boot != SECURE_BOOT_OFF && facts_seen_now(facts, SEEN_SCRIPT))
		return "its signed image runs and fetched its boot script";
	for (size_t i = 0; i < COUNT_OF(stages); i++)
		if (facts_seen_now(facts, stages[i].kind))
			return stages[i].text;
	return "it fetched nothing";
}

/* A node that starts signed images only is asked what its TPM says of this boot. Where the site
 * demands the proof, nothing else is asked of a node that has none. */
static void steps_agent_attest(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	struct attest_facts asked = {
		.result = facts->task.result,
		.token = facts->intent.token,
		.seal = facts->intent.agent_key,
		.pins = facts->node.pins,
		.trust = facts->signed_images,
	};

	if (!agent_work(facts, now_ms, TASK_ATTEST, NULL, ret))
		return;
	attest_judge(&asked, &ret->attest);
	ret->judged = true;
	if (ret->attest.attested && !facts->node.pins.key[0])
		(void)text_format(
			ret->note, sizeof(ret->note),
			"the TPM of node %s is known from now on; it attests the signed image",
			facts->node.name);
	if (ret->attest.attested) {
		outcome_finish(ret);
		return;
	}
	if (facts->node.secure_boot == SECURE_BOOT_ATTESTED) {
		outcome_fail(ret, E_DENIED, "node %s is not attested: %s", facts->node.name,
			     ret->attest.why);
		problem_hint(&ret->problem, "%s", ret->attest.hint);
		ret->permanent = true;
		return;
	}
	(void)text_format(ret->note, sizeof(ret->note), "node %s is not attested: %s; %s",
			  facts->node.name, ret->attest.why, ret->attest.hint);
	outcome_finish(ret);
}

void step_agent(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	ret->memo = facts->memo;
	if (facts_boot_ended(facts)) {
		agent_work_ended(facts, ret);
		return;
	}
	if (facts_intent_is(facts, INTENT_AGENT) && facts_seen_now(facts, SEEN_AGENT)) {
		if (facts->node.secure_boot == SECURE_BOOT_OFF)
			outcome_finish(ret);
		else
			steps_agent_attest(facts, now_ms, ret);
		return;
	}
	outcome_wait(ret, now_ms + facts->settings->poll_ms, E_TIMEOUT,
		     "the agent of node %s did not call: %s", facts->node.name,
		     steps_agent_stage(facts));
	problem_hint(&ret->problem,
		     "the serial console shows how far it came: haasctl node console %s",
		     facts->node.name);
	outcome_say(ret, "the agent of node %s has not called: %s", facts->node.name,
		    steps_agent_stage(facts));
}
