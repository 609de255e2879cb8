/* The installed OS itself says that it is up, with a nonce that only its disk holds: by HTTP, or on
 * its serial console where its networks do not lead to us. Then the node is the tenant's. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/console_policy.h"
#include "bampi/control/deploy/steps/steps.h"

#define PACKAGES_TOLD_MS 15000

static bool called_back(const struct facts *facts)
{
	const struct observation *seen = &facts->seen[SEEN_CALLBACK];

	if (!facts_intent_is(facts, INTENT_DISK) || seen->at_ms == 0)
		return false;
	/* bootd records it under the intent whose nonce was named. */
	return strcmp(seen->token, facts->intent.token) == 0 ||
	       strcmp(seen->token, facts->intent.nonce) == 0;
}

/* Behind switches of ours. */
static bool said_on_console(const struct facts *facts)
{
	return facts->network.managed && facts_intent_is(facts, INTENT_DISK) && facts->nonce_seen;
}

/* Nobody can hear an OS whose network does not lead to us and whose BMC shows no console. */
static bool verify_unheard(const struct facts *facts)
{
	return facts->network.managed && facts->console_blind;
}

/* It says so before it calls back, but by a slower way. */
static bool may_still_tell(const struct facts *facts, int64_t now_ms)
{
	return facts->packages && !facts->packages_ended && !facts->console_blind &&
	       called_back(facts) && now_ms < facts->seen[SEEN_CALLBACK].at_ms + PACKAGES_TOLD_MS;
}

/* What became of the packages is known on the node; we know what its console said. */
static void note_packages(const struct facts *facts, struct outcome *ret)
{
	CLEANUP(text_done) struct text text = {0};
	const json_t *package;
	size_t i;

	json_array_foreach(facts->packages, i, package)
	{
		if (i < 32 && facts->packages_failed & UINT32_C(1) << i)
			text_addf(&text, "%s%s:%s", text.size ? ", " : "", text_of(package, "name"),
				  text_of(package, "version"));
	}
	if (text.size)
		(void)text_format(ret->note, sizeof(ret->note),
				  "the OS could not install %s, and tries again at each boot: "
				  "haasctl node console %s",
				  text_get(&text), facts->node.name);
	else if (facts->packages_ended)
		(void)text_format(ret->note, sizeof(ret->note), "the OS installed its packages");
	else if (!facts->console_blind)
		(void)text_format(ret->note, sizeof(ret->note),
				  "its console did not say whether the OS installed its packages");
}

/* A console that says nothing is told: it may be listened to in vain. */
static void verify_say(const struct facts *facts, struct outcome *ret)
{
	if (facts->console_mute_ms < console_mute_ms(0)) {
		outcome_say(ret, "the installed OS of node %s has not called back",
			    facts->node.name);
		return;
	}
	outcome_say(ret, "the installed OS of node %s has not called back: its console is mute",
		    facts->node.name);
	ret->waits_kind = WAIT_CONSOLE;
	problem_detail(&ret->waits, "for %lld s; its session was opened anew %u times",
		       (long long)(facts->console_mute_ms / 1000), facts->console_reopened);
	problem_hint(&ret->waits, "haasctl node console %s --reopen", facts->node.name);
}

void step_verify(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	ret->memo = facts->memo;
	if (!called_back(facts) && !said_on_console(facts) && !verify_unheard(facts)) {
		outcome_wait(ret, now_ms + facts->settings->poll_ms, E_TIMEOUT,
			     "the installed OS of node %s did not call back", facts->node.name);
		problem_hint(&ret->problem,
			     "it did not start, or has no network: haasctl node console %s",
			     facts->node.name);
		verify_say(facts, ret);
		return;
	}
	if (may_still_tell(facts, now_ms)) {
		outcome_wait(ret, now_ms + 1000, E_TIMEOUT,
			     "the OS of node %s did not report its packages", facts->node.name);
		outcome_say(ret, "the OS of node %s installs its packages", facts->node.name);
		return;
	}
	if (facts->node.state == NODE_ACTIVE) {
		outcome_finish(ret);
		return;
	}
	if (facts->memo.fired || facts->node.state != NODE_RESERVED) {
		outcome_fail(ret, E_CONFLICT, "node %s is %s and cannot become active",
			     facts->node.name, node_state_words[facts->node.state]);
		problem_hint(&ret->problem,
			     "its state was changed meanwhile: haasctl node trace %s shows by whom",
			     facts->node.name);
		ret->permanent = true;
		return;
	}
	if (!called_back(facts) && !said_on_console(facts))
		(void)text_format(
			ret->note, sizeof(ret->note),
			"the start of its OS is not verified: no path leads from its networks to us, and its BMC offers no console");
	else if (facts->packages)
		note_packages(facts, ret);
	ret->event = NODE_EVENT_ACTIVATE;
	ret->memo.fired = true;
	outcome_wait(ret, now_ms, E_TIMEOUT, "node %s did not become active", facts->node.name);
}
