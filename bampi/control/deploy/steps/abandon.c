/* The end of a cancelled deployment: the node leaves it dirty as it is; one whose power nobody can
 * vouch for is held. */
#include "bampi/control/deploy/steps/steps.h"

static bool abandon_settled(const struct facts *facts)
{
	enum node_state state = facts->node.state;

	if (state == NODE_HELD || state == NODE_BROKEN)
		return true;
	return !facts->memo.trouble && state != NODE_RESERVED && state != NODE_SCRUBBING;
}

void step_abandon(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	(void)now_ms;
	ret->memo = facts->memo;
	/* Asked for, not waited for: a switch that is away does not keep a cancelled deployment. */
	ret->place = facts->network.managed ? PLACE_PARKING : PLACE_NONE;
	/* Fired once, in the transaction that ends the deployment: what the node says to it (a
	 * refusal is an event row) is the end of it either way. */
	if (!abandon_settled(facts) && !facts->memo.fired)
		ret->event = facts->memo.trouble ? NODE_EVENT_HOLD : NODE_EVENT_ABANDON;
	outcome_finish(ret);
}
