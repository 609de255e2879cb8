/* The end of a release: certificate and node event in one transaction, then the node is seen to be
 * free. */
#include "common/base/error.h"

#include "bampi/control/deploy/steps/steps.h"

void step_free(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	ret->memo = facts->memo;
	if (facts->certified && facts->node.state == NODE_FREE && !facts->node.dirty) {
		outcome_finish(ret);
		return;
	}
	if (facts->memo.fired || facts->node.state != NODE_SCRUBBING) {
		outcome_fail(ret, E_CONFLICT, "node %s is %s%s and cannot become free",
			     facts->node.name, node_state_words[facts->node.state],
			     facts->node.dirty ? " and dirty" : "");
		problem_hint(&ret->problem,
			     "its state was changed meanwhile: haasctl node trace %s shows by whom",
			     facts->node.name);
		ret->permanent = true;
		return;
	}
	ret->intent = INTENT_REMOVE;
	ret->certify = !facts->certified;
	ret->place = facts->network.managed ? PLACE_PARKING : PLACE_NONE;
	ret->event = NODE_EVENT_SCRUBBED;
	ret->memo.fired = true;
	outcome_wait(ret, now_ms, E_TIMEOUT, "node %s did not become free", facts->node.name);
}
