#include <errno.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "bampi/control/deploy/steps/steps.h"

/* Longer than any deadline of the queue's: the answer comes first, this only says who is waited
 * for. */
#define ANSWER_MS 300000

/* The BMC may be back any moment (or its row not read yet: E_NOT_FOUND): asked again instead of
 * spending an attempt, for a while. */
static bool may_come_back(const struct facts *facts, int64_t now_ms)
{
	int code = facts->bmc.problem.code;

	return (code == E_TIMEOUT || code == E_UNAVAILABLE || code == -EBUSY ||
		code == E_NOT_FOUND) &&
	       now_ms - facts->deployment.step_started_ms < facts->settings->bmc_patience_ms;
}

/* For what of the BMC is waited. One that does not answer is named with the time of its next try. */
static void bmc_work_say(const struct facts *facts, enum bmc_op op, struct outcome *ret)
{
	const struct bmc_facts *bmc = &facts->bmc;
	char at[CLOCK_TEXT_SIZE];

	if (bmc->retry_ms == 0 && bmc->state == BMC_WORK_FAILED) {
		outcome_say(ret, "%s", bmc->problem.message);
		ret->waits_kind = WAIT_BMC;
		return;
	}
	if (bmc->retry_ms == 0) {
		outcome_say(ret, "the BMC of node %s has not finished: %s", facts->node.name,
			    bmc_op_text(op));
		problem_detail(&ret->waits, "%s", bmc->last_problem);
		return;
	}
	outcome_say(ret, "the BMC of node %s does not answer: it is in back-off", facts->node.name);
	ret->waits_kind = WAIT_BMC;
	problem_detail(&ret->waits, "asked again at %s%s%s", clock_text(bmc->retry_ms * 1000, at),
		       bmc->last_problem[0] ? "; the last problem: " : "", bmc->last_problem);
	problem_hint(&ret->waits,
		     "look at its power, cable and address: haasctl node power status %s",
		     facts->node.name);
}

bool bmc_work(const struct facts *facts, int64_t now_ms, const struct bmc_request requests[],
	      size_t count, struct outcome *ret)
{
	switch (facts->bmc.state) {
	case BMC_WORK_DONE: return true;
	case BMC_WORK_FAILED:
		if (may_come_back(facts, now_ms)) {
			/* The job is forgotten with this look; the next one asks anew. */
			outcome_wait(ret, now_ms + facts->settings->backoff_ms,
				     facts->bmc.problem.code, "%s", facts->bmc.problem.message);
			problem_detail(&ret->problem, "%s", facts->bmc.problem.detail);
			problem_hint(&ret->problem, "%s", facts->bmc.problem.hint);
			bmc_work_say(facts, facts->bmc.last, ret);
			return false;
		}
		ret->verdict = STEP_FAILED;
		ret->problem = facts->bmc.problem;
		/* Only a person can give another password; one more attempt could lock the account.
		 */
		ret->permanent = facts->bmc.problem.code == E_AUTHENTICATION;
		if (!problem_is_set(&ret->problem))
			(void)problem_set(&ret->problem, E_PROTOCOL,
					  "the BMC of node %s failed at %s", facts->node.name,
					  bmc_op_text(facts->bmc.last));
		return false;
	case BMC_WORK_NONE:
		for (size_t i = 0; i < count && i < BMC_WORK_MAX; i++)
			ret->bmc[i] = requests[i];
		ret->bmc_count = count < BMC_WORK_MAX ? count : BMC_WORK_MAX;
		break;
	case BMC_WORK_BUSY: break;
	}
	outcome_wait(ret, now_ms + ANSWER_MS, E_TIMEOUT,
		     "the BMC of node %s did not finish its operation in time", facts->node.name);
	problem_hint(&ret->problem, "ask it by hand: haasctl node power status %s",
		     facts->node.name);
	bmc_work_say(facts, requests[count - 1].op, ret);
	return false;
}

bool bmc_restart(const struct facts *facts, int64_t now_ms, enum bmc_boot_device device,
		 enum bmc_op how, struct outcome *ret)
{
	const struct bmc_request requests[] = {
		{.op = BMC_BOOT_SET,
		 .boot = {.device = device,
			  .persistent = device == BMC_BOOT_DISK,
			  .firmware = facts->node.firmware}},
		{.op = how},
	};

	return bmc_work(facts, now_ms, requests, sizeof(requests) / sizeof(requests[0]), ret);
}
