/* Makes the node start from our servers: a new token in the boot intent first, then boot device and
 * power through the BMC, then the proof, which is not what the BMC claims but that our own HTTP
 * server was asked for the boot script under this token. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"

static void netboot_choose(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	const char *nonce = facts->fresh_nonce;

	/* An OS that was configured by an earlier round of this deployment calls back with the
	 * nonce it was given. */
	if (facts->intent.deployment_id == facts->deployment.id && facts->intent.nonce[0])
		nonce = facts->intent.nonce;
	if (!ret->memo.token[0])
		(void)text_copy(ret->memo.token, sizeof(ret->memo.token), facts->fresh_token);
	ret->intent = INTENT_PUT;
	ret->intent_target = INTENT_AGENT;
	(void)text_copy(ret->intent_token, sizeof(ret->intent_token), ret->memo.token);
	(void)text_copy(ret->intent_nonce, sizeof(ret->intent_nonce), nonce);
	ret->drop_tasks = true;
	outcome_wait(ret, now_ms, E_TIMEOUT, "the boot intent of node %s was not written",
		     facts->node.name);
}

static void netboot_watch(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	const struct observation *dhcp = &facts->seen[SEEN_DHCP];
	int64_t until_ms = now_ms + facts->settings->poll_ms;

	if (dhcp->at_ms >= ret->memo.powered_ms) {
		outcome_wait(ret, until_ms, E_TIMEOUT,
			     "node %s asked for an address but never for its boot script",
			     facts->node.name);
		problem_hint(
			&ret->problem,
			"its firmware or iPXE stopped after DHCP: look at haasctl node console %s",
			facts->node.name);
		return;
	}
	outcome_wait(
		ret, until_ms, E_TIMEOUT,
		"the BMC says that node %s started from the network, but our servers got no request from it",
		facts->node.name);
	problem_hint(
		&ret->problem, "%s",
		ret->memo.unverified
			? "this BMC does not show its boot device: check the boot order in the firmware"
			: "check the cable and the MAC of the boot NIC, and the boot order in the firmware");
}

void step_netboot(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	const char *token = facts->memo.token;
	bool placed = facts_intent_is(facts, INTENT_AGENT) && token[0] &&
		      strcmp(facts->intent.token, token) == 0;

	ret->memo = facts->memo;
	if (facts_agent_alive(facts, now_ms) || (placed && facts_seen_now(facts, SEEN_SCRIPT))) {
		outcome_finish(ret);
		return;
	}
	if (!placed) {
		netboot_choose(facts, now_ms, ret);
		return;
	}
	if (!facts->memo.powered_ms) {
		if (!bmc_restart(facts, now_ms, BMC_BOOT_PXE, BMC_POWER_CYCLE, ret))
			return;
		ret->memo.powered_ms = now_ms;
		ret->memo.unverified = facts->bmc.unverified;
		if (facts->bmc.unverified)
			(void)text_copy(
				ret->note, sizeof(ret->note),
				"boot device is unverified: the BMC does not show it; waiting for the node itself");
	}
	netboot_watch(facts, now_ms, ret);
}
