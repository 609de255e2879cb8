/* Makes the node start from our servers: a new token in the boot intent first, then boot device and
 * power through the BMC, then the proof, which is not what the BMC claims but that our own HTTP
 * server was asked for the boot script under this token. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"

#define NETBOOT_CYCLES_MAX 3 /* for a node that was let down; then the deadline decides */

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

static void netboot_start(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	bool started = bmc_restart(facts, now_ms, BMC_BOOT_PXE, BMC_POWER_CYCLE, ret);

	if (ret->bmc_count > 0)
		ret->memo.asked_ms = now_ms;
	if (!started)
		return;
	ret->memo.powered_ms = now_ms;
	ret->memo.unverified = facts->bmc.unverified;
	if (facts->bmc.unverified)
		(void)text_copy(
			ret->note, sizeof(ret->note),
			"boot device is unverified: the BMC does not show it; waiting for the node itself");
}

static int64_t netboot_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The last that the node wanted of us since it was started; 0 = nothing. A bampi-bootd that died
 * right after an ACK may not have written what it saw: the lease tells as well. */
static int64_t netboot_heard_ms(const struct facts *facts, int64_t now_ms, int64_t asked_ms)
{
	int64_t heard_ms = 0;

	if (facts_seen_now(facts, SEEN_DHCP))
		heard_ms = facts->seen[SEEN_DHCP].at_ms;
	if (facts_seen_now(facts, SEEN_TFTP))
		heard_ms = netboot_later(heard_ms, facts->seen[SEEN_TFTP].at_ms);
	if (facts_seen_now(facts, SEEN_LOADER))
		heard_ms = netboot_later(heard_ms, facts->seen[SEEN_LOADER].at_ms);
	if (facts->leased_ms <= now_ms)
		heard_ms = netboot_later(heard_ms, facts->leased_ms);
	return heard_ms >= asked_ms ? heard_ms : 0;
}

/* It took an address, and our servers said nothing more: firmware does not ask for ever. */
static bool netboot_let_down(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	int64_t heard_ms = netboot_heard_ms(facts, now_ms, facts->memo.asked_ms);
	int64_t end_ms =
		netboot_later(heard_ms, facts->memo.powered_ms) + facts->settings->let_down_ms;
	struct facts again = *facts;

	if (heard_ms == 0 || facts->memo.cycles >= NETBOOT_CYCLES_MAX)
		return false;
	if (now_ms < end_ms) {
		if (ret->until_ms > end_ms)
			ret->until_ms = end_ms;
		return false;
	}
	again.bmc.state = BMC_WORK_NONE;
	ret->memo.powered_ms = 0;
	ret->memo.cycles++;
	netboot_start(&again, now_ms, ret);
	(void)text_format(
		ret->note, sizeof(ret->note),
		"it took an address %lld s ago and got no boot script since: started again (%d of %d)",
		(long long)((now_ms - heard_ms) / 1000), ret->memo.cycles, NETBOOT_CYCLES_MAX);
	return true;
}

/* Another machine may have the token: a new one, and the node is started again. */
static bool netboot_ended(const struct facts *facts, struct outcome *ret)
{
	if (!facts_boot_ended(facts) || strcmp(facts->intent.token, facts->memo.token) != 0)
		return false;
	if (facts->memo.cycles >= NETBOOT_CYCLES_MAX) {
		agent_work_ended(facts, ret);
		return true;
	}
	ret->memo.token[0] = '\0';
	ret->memo.powered_ms = 0;
	ret->memo.asked_ms = 0;
	ret->memo.cycles++;
	(void)text_format(ret->note, sizeof(ret->note), "started again (%d of %d): %s",
			  ret->memo.cycles, NETBOOT_CYCLES_MAX, facts->intent.ended);
	return false;
}

/* The first program that the firmware fetched in this boot, by HTTP or TFTP; "" = none. */
static const char *netboot_loader(const struct facts *facts)
{
	if (facts_seen_now(facts, SEEN_LOADER))
		return facts->seen[SEEN_LOADER].detail;
	return facts_seen_now(facts, SEEN_TFTP) ? facts->seen[SEEN_TFTP].detail : "";
}

/* Firmware that refuses a signature tells nobody but its screen: what it fetched and did not start
 * is all that we see. True when that is so. */
static bool netboot_refused(const struct facts *facts, int64_t until_ms, struct outcome *ret)
{
	const char *loader = netboot_loader(facts);
	bool is_signed = facts->node.secure_boot != SECURE_BOOT_OFF;

	if (facts->node.firmware != BMC_FIRMWARE_UEFI || !loader[0])
		return false;
	outcome_wait(ret, until_ms, E_TIMEOUT,
		     "node %s fetched %s and never asked for its boot script", facts->node.name,
		     loader);
	if (is_signed)
		problem_hint(
			&ret->problem,
			"its firmware refuses a changed file, and a signer it does not know: build the signed image again, enrol db.auth");
	else
		problem_hint(
			&ret->problem,
			"with Secure Boot its firmware refuses iPXE: import the node with secure_boot=signed, or look at its console");
	outcome_say(ret, "node %s fetched %s and has not asked for its boot script",
		    facts->node.name, loader);
	return true;
}

static void netboot_watch(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	int64_t until_ms = now_ms + facts->settings->poll_ms;

	if (netboot_refused(facts, until_ms, ret))
		return;
	if (netboot_heard_ms(facts, now_ms, ret->memo.asked_ms)) {
		outcome_wait(ret, until_ms, E_TIMEOUT,
			     "node %s asked for an address but never for its boot script",
			     facts->node.name);
		problem_hint(
			&ret->problem,
			"its firmware or iPXE stopped after DHCP: look at haasctl node console %s",
			facts->node.name);
		outcome_say(ret, "node %s took an address and has not asked for its boot script",
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
	outcome_say(ret, "node %s was started and has not asked for an address yet",
		    facts->node.name);
}

void step_netboot(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	const char *token = facts->memo.token;
	bool placed = facts_intent_is(facts, INTENT_AGENT) && token[0] &&
		      strcmp(facts->intent.token, token) == 0;

	ret->memo = facts->memo;
	if (netboot_ended(facts, ret))
		return;
	placed = placed && !facts_boot_ended(facts);
	if (facts_agent_alive(facts, now_ms) ||
	    (placed && (facts->intent.fetched || facts_seen_now(facts, SEEN_SCRIPT)))) {
		outcome_finish(ret);
		return;
	}
	if (!placed) {
		netboot_choose(facts, now_ms, ret);
		return;
	}
	if (!facts->memo.powered_ms) {
		netboot_start(facts, now_ms, ret);
		if (!ret->memo.powered_ms)
			return;
	}
	netboot_watch(facts, now_ms, ret);
	if (facts->memo.powered_ms)
		(void)netboot_let_down(facts, now_ms, ret);
}
