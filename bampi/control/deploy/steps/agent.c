#include "common/base/error.h"
#include "common/base/macros.h"

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

	for (size_t i = 0; i < COUNT_OF(stages); i++)
		if (facts_seen_now(facts, stages[i].kind))
			return stages[i].text;
	return "it fetched nothing";
}

void step_agent(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	ret->memo = facts->memo;
	if (facts_boot_ended(facts)) {
		agent_work_ended(facts, ret);
		return;
	}
	if (facts_intent_is(facts, INTENT_AGENT) && facts_seen_now(facts, SEEN_AGENT)) {
		outcome_finish(ret);
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
