/* Power off, confirmed by the BMC; nothing of ours is to start the node again. As the first step of
 * cancel it also takes the work away from the agent, and reads the power once more later: another
 * bampid may have had a command on its way. */
#include "common/base/error.h"

#include "bampi/control/deploy/steps/steps.h"

#define CANCEL_BMC_MS 20000

static void power_off_settle(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	int64_t again_ms = facts->memo.powered_ms + facts->settings->settle_ms;
	const struct bmc_request status[] = {{.op = BMC_POWER_OFF}};

	/* powered_ms < 0: the second reading is under way. */
	if (facts->memo.powered_ms > 0 && now_ms < again_ms) {
		outcome_wait(ret, again_ms, E_TIMEOUT, "the power of node %s was not read again",
			     facts->node.name);
		return;
	}
	if (facts->memo.powered_ms > 0) {
		ret->memo.powered_ms = -1;
		ret->bmc[0] = status[0];
		ret->bmc_count = 1;
		ret->bmc_deadline_ms = CANCEL_BMC_MS;
		outcome_wait(ret, now_ms + CANCEL_BMC_MS, E_TIMEOUT,
			     "the power of node %s was not read again", facts->node.name);
		return;
	}
	if (bmc_work(facts, now_ms, status, 1, ret))
		outcome_finish(ret);
	ret->bmc_deadline_ms = CANCEL_BMC_MS;
}

void step_power_off(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	const struct bmc_request off[] = {{.op = BMC_POWER_OFF}};
	bool cancelling = facts->deployment.state == DEPLOYMENT_CANCELLING;

	ret->memo = facts->memo;
	if (facts->intent.deployment_id == facts->deployment.id &&
	    facts->intent.target != INTENT_NONE)
		ret->intent = INTENT_REMOVE;
	ret->drop_tasks = cancelling;
	if (cancelling && facts->memo.powered_ms != 0) {
		power_off_settle(facts, now_ms, ret);
		return;
	}
	ret->bmc_deadline_ms = cancelling ? CANCEL_BMC_MS : 0;
	if (!bmc_work(facts, now_ms, off, 1, ret))
		return;
	if (!cancelling || facts->settings->settle_ms == 0) {
		outcome_finish(ret);
		return;
	}
	ret->memo.powered_ms = now_ms;
	outcome_wait(ret, now_ms + facts->settings->settle_ms, E_TIMEOUT,
		     "the power of node %s was not read again", facts->node.name);
}
