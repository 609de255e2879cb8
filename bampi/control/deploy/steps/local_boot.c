/* From the agent to the installed OS: intent disk (the nonce stays), boot device disk for good,
 * restart. */
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"

/* A reset is what the running agent's node needs: nothing of the agent outlives it, and neither the
 * supplies nor the clock pay for an off. Its effect no BMC can show; the callback that is waited
 * for next does. Where that did not come, or the reset was refused, the power is taken away. */
static enum bmc_op restart_of(const struct facts *facts)
{
	return facts->deployment.attempt > 1 ? BMC_POWER_CYCLE : BMC_POWER_RESET;
}

void step_local_boot(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	ret->memo = facts->memo;
	/* Its disk was written in a boot whose token another machine may have. */
	if (facts_boot_ended(facts)) {
		agent_work_ended(facts, ret);
		ret->permanent = true;
		return;
	}
	if (facts_intent_is(facts, INTENT_AGENT)) {
		ret->intent = INTENT_PUT;
		ret->intent_target = INTENT_DISK;
		(void)text_copy(ret->intent_token, sizeof(ret->intent_token), facts->intent.token);
		(void)text_copy(ret->intent_nonce, sizeof(ret->intent_nonce), facts->intent.nonce);
		outcome_wait(ret, now_ms, E_TIMEOUT, "the boot intent of node %s was not written",
			     facts->node.name);
		return;
	}
	if (!facts_intent_is(facts, INTENT_DISK)) {
		outcome_fail(ret, E_CONFLICT, "the boot intent of node %s was taken away",
			     facts->node.name);
		problem_hint(&ret->problem, "release the node and install it anew");
		ret->permanent = true;
		return;
	}
	if (bmc_restart(facts, now_ms, BMC_BOOT_DISK, restart_of(facts), ret))
		outcome_finish(ret);
}
