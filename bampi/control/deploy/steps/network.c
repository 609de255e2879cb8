/* The steps about switches: the ports of a node lead to the provisioning network, to the tenant's,
 * or nowhere. The step asks once in each attempt and waits until peregrined has read all of it
 * back. */
#include "common/base/error.h"

#include "bampi/control/deploy/steps/steps.h"

#define NETWORK_LOOK_MS 1000

static const char *const place_texts[PLACE_COUNT] = {
	[PLACE_NONE] = "nowhere",
	[PLACE_PARKING] = "off every network",
	[PLACE_PROVISIONING] = "in the provisioning network",
	[PLACE_TENANT] = "in its tenant's networks",
};

static void network_refused(const struct facts *facts, enum place place, struct outcome *ret)
{
	ret->verdict = STEP_FAILED;
	ret->problem = facts->network.refused;
	if (problem_is_set(&ret->problem))
		return;
	(void)problem_set(&ret->problem, E_CONFLICT,
			  "the ports of node %s are not known: it cannot be %s", facts->node.name,
			  place_texts[place]);
	problem_hint(&ret->problem,
		     "haasctl nic locate %s:NIC shows the findings; plan the cable: haasctl wiring",
		     facts->node.name);
}

static void network_wait(const struct facts *facts, int64_t now_ms, enum place place,
			 struct outcome *ret)
{
	const struct problem *problem = &facts->network.problem;

	if (problem_is_set(problem)) {
		outcome_wait(ret, now_ms + NETWORK_LOOK_MS, problem->code, "%s", problem->message);
		problem_detail(&ret->problem, "%s", problem->detail);
		problem_hint(&ret->problem, "%s", problem->hint);
		outcome_say(ret, "%s", problem->message);
		ret->waits_kind = WAIT_SWITCH;
		return;
	}
	outcome_wait(ret, now_ms + NETWORK_LOOK_MS, E_TIMEOUT,
		     "%d of %d ports of node %s are not yet %s", facts->network.open,
		     facts->network.ports, facts->node.name, place_texts[place]);
	problem_hint(&ret->problem, "is peregrined running? haasctl fabric show");
	outcome_say(ret, "the ports of node %s are not read back %s", facts->node.name,
		    place_texts[place]);
	problem_detail(&ret->waits, "%d of %d", facts->network.open, facts->network.ports);
}

static void be_at(const struct facts *facts, int64_t now_ms, enum place place, struct outcome *ret)
{
	const struct network_facts *network = &facts->network;

	ret->memo = facts->memo;
	if (!network->managed) { /* the last switch was taken from us meanwhile */
		outcome_finish(ret);
		return;
	}
	if (!facts->memo.fired) {
		ret->place = place;
		ret->memo.fired = true;
		outcome_wait(ret, now_ms, E_TIMEOUT,
			     "the request to put node %s %s was not written", facts->node.name,
			     place_texts[place]);
		return;
	}
	/* A node that is meant for networks and whose ports nobody knows would be handed over
	 * without them. */
	if (problem_is_set(&network->refused) ||
	    (place == PLACE_TENANT && network->networks > 0 && network->ports == 0)) {
		network_refused(facts, place, ret);
		return;
	}
	if (network->place == place && network->open == 0)
		outcome_finish(ret);
	else
		network_wait(facts, now_ms, place, ret);
}

void step_isolate(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	be_at(facts, now_ms, PLACE_PROVISIONING, ret);
}

void step_attach(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	be_at(facts, now_ms, PLACE_TENANT, ret);
}

void step_park(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	be_at(facts, now_ms, PLACE_PARKING, ret);
}
