#include "peregrine/switch/snmp/snmp_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

enum { SNMP_WALK_ERRORS_LIMIT = 2 }; /* a subagent that is late is a genErr of the agent */
enum { VALUES_AT_ONCE = 120 }; /* about four full Ethernet frames; agents cut where they must */

struct snmp_walk_column {
	struct snmp_oid at;    /* the last one read, the root at first */
	struct snmp_oid first; /* count 0 = none yet */
	bool ended;
};

struct snmp_walk {
	struct snmp_peer *peer;
	struct snmp_walk_plan plan;
	struct snmp_walk_column columns[SNMP_WALK_COLUMNS];
	size_t asked[SNMP_WALK_COLUMNS]; /* columns of the request under way */
	size_t asked_count;
	uint16_t repetitions;
	uint32_t values;
	unsigned errors; /* genErr in a row */
	bool by_next;    /* GETBULK was refused here: by GETNEXT */
	bool disordered; /* a row stood before the one behind which it came */
};

const char snmp_walk_limited[] = "more rows than we take";
const char snmp_walk_disordered[] = "rows out of order";

static int ask_next(struct snmp_walk *walk);

static void snmp_walk_end(struct snmp_walk *walk, int rc, const char *why)
{
	struct snmp_walk_plan plan = walk->plan;

	free(walk);
	plan.done(plan.context, rc, why);
}

/* False: the caller wants no more. */
static bool snmp_walk_take(struct snmp_walk *walk, size_t number,
			   const struct snmp_binding *binding)
{
	struct snmp_walk_column *column = &walk->columns[number];
	const struct snmp_oid *root = &walk->plan.columns[number];

	if (column->ended)
		return true;
	if (binding->value.type == SNMP_END_OF_VIEW || !snmp_oid_is_below(&binding->name, root)) {
		column->ended = true;
		return true;
	}
	if (snmp_oid_order(&binding->name, &column->at) <= 0) {
		/* Some tables end with their last row again, or with their first. */
		walk->disordered |= snmp_oid_order(&binding->name, &column->at) != 0 &&
				    snmp_oid_order(&binding->name, &column->first) != 0;
		column->ended = true;
		return true;
	}
	column->at = binding->name;
	if (!column->first.count)
		column->first = binding->name;
	if (++walk->values > walk->plan.row_limit)
		return false;
	return walk->plan.row(walk->plan.context, number, binding->name.ids + root->count,
			      (size_t)binding->name.count - root->count, &binding->value);
}

static void on_status(struct snmp_walk *walk, const struct snmp_answer *answer)
{
	int rc = 0;
	bool large = answer->status == SNMP_STATUS_TOO_BIG && walk->repetitions > 1;
	bool late =
		answer->status == SNMP_STATUS_GENERAL && walk->errors++ < SNMP_WALK_ERRORS_LIMIT;

	if (large || late) {
		snmp_peer_repetitions_bad(walk->peer);
		rc = ask_next(walk);
		if (rc)
			snmp_walk_end(walk, rc, "no memory");
		return;
	}
	if (!walk->by_next && !snmp_peer_bulk_refused(walk->peer)) {
		walk->by_next = true;
		rc = ask_next(walk);
		if (rc)
			snmp_walk_end(walk, rc, "no memory");
		return;
	}
	snmp_walk_end(walk, snmp_status_code(answer->status), snmp_status_text(answer->status));
}

static void snmp_walk_on_answer(void *context, struct snmp_answer *answer)
{
	struct snmp_walk *walk = context;
	struct snmp_binding binding;
	size_t number = 0;
	int rc;

	if (answer->rc) {
		snmp_walk_end(walk, answer->rc, "");
		return;
	}
	if (answer->status) {
		on_status(walk, answer);
		return;
	}
	if (walk->by_next)
		snmp_peer_bulk_bad(walk->peer);
	else if (!snmp_peer_bulk_refused(walk->peer))
		snmp_peer_bulk_taken(walk->peer);
	/* One that is lost is the path's; two of the same may be their size's. */
	if (answer->sends > 2)
		snmp_peer_repetitions_bad(walk->peer);
	else if (answer->sends == 1)
		snmp_peer_repetitions_good(walk->peer);
	walk->errors = 0;
	while (snmp_answer_next(answer, &binding)) {
		if (!snmp_walk_take(walk, walk->asked[number % walk->asked_count], &binding)) {
			snmp_walk_end(walk, E_LIMIT, snmp_walk_limited);
			return;
		}
		number++;
	}
	/* An answer without anything in it would be asked for for ever. */
	for (size_t i = 0; number == 0 && i < walk->asked_count; i++)
		walk->columns[walk->asked[i]].ended = true;
	rc = ask_next(walk);
	if (rc)
		snmp_walk_end(walk, rc, "no memory");
}

static int ask_next(struct snmp_walk *walk)
{
	struct snmp_binding bindings[SNMP_WALK_COLUMNS];
	struct snmp_ask ask = {.kind = SNMP_GETBULK,
			       .bindings = bindings,
			       .vlan = walk->plan.vlan,
			       .tries = walk->plan.tries};
	size_t at_once;

	walk->asked_count = 0;
	for (size_t i = 0; i < walk->plan.count; i++) {
		if (walk->columns[i].ended)
			continue;
		bindings[walk->asked_count] = (struct snmp_binding){.name = walk->columns[i].at};
		walk->asked[walk->asked_count++] = i;
	}
	if (walk->asked_count == 0) {
		snmp_walk_end(walk, walk->disordered ? E_PROTOCOL : 0,
			      walk->disordered ? snmp_walk_disordered : "");
		return 0;
	}
	ask.count = walk->asked_count;
	at_once = VALUES_AT_ONCE / walk->asked_count;
	walk->repetitions = snmp_peer_repetitions(walk->peer);
	if (walk->repetitions > at_once)
		walk->repetitions = (uint16_t)at_once;
	ask.repetitions = walk->repetitions;
	if (walk->by_next || snmp_peer_bulk_refused(walk->peer))
		ask.kind = SNMP_GETNEXT;
	return snmp_peer_ask(walk->peer, &ask, snmp_walk_on_answer, walk);
}

int snmp_walk_start(struct snmp_peer *peer, const struct snmp_walk_plan *plan,
		    struct snmp_walk **ret)
{
	struct snmp_walk *walk;
	int rc;

	if (plan->count < 1 || plan->count > SNMP_WALK_COLUMNS)
		return -EINVAL;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return -ENOMEM;
	walk->peer = peer;
	walk->plan = *plan;
	for (size_t i = 0; i < plan->count; i++)
		walk->columns[i].at = plan->columns[i];
	rc = ask_next(walk);
	if (rc) {
		free(walk);
		return rc;
	}
	*ret = walk;
	return 0;
}

void snmp_walk_cancel(struct snmp_walk *walk)
{
	if (!walk)
		return;
	snmp_peer_forget(walk->peer, walk);
	free(walk);
}
