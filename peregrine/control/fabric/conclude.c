/* The second half of discovery: facts from the database, conclusions by the policies, rows back. At
 * work one at a time, soon after the last reading and never more than a tenth of the time; what is
 * as it was when it was written last is not written again but for its "seen". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/control/fabric/conclude_private.h"
#include "peregrine/control/fabric/link_policy.h"
#include "peregrine/control/fabric/place_policy.h"

LEAKS_LEFT_TO_SANITIZER

#define CONCLUDE_SUBJECT "fabric"
#define GAP_MS           200   /* readings that come together are concluded together */
#define SETTLE_MS        10000 /* after a start, for all switches to be asked once */
#define LOOK_MS          200
#define FACTS_OLD_MS     10000 /* option 82 and inventories come without a word */
#define BLOCK_OLD_MS     1000  /* nothing is taken from a tenant by older facts */

/* --- one conclusion --- */

static void keep_kinds(struct work *work)
{
	for (size_t i = 0; i < work->facts.source_count; i++) {
		struct sight *sight = work->sights[i];

		if (!work->conclusion.kinds || !work->conclusion.kinds[i])
			continue;
		free(sight->kinds);
		sight->kinds = malloc(sight->reading.port_count + 1);
		if (sight->kinds)
			memcpy(sight->kinds, work->conclusion.kinds[i], sight->reading.port_count);
	}
}

/* Both ends of a cable that only one of them tells are asked again, and soon. */
static void keep_doubts(struct work *work)
{
	bool *doubtful = calloc(work->facts.source_count + 1, sizeof(*doubtful));

	for (size_t i = 0; doubtful && i < work->conclusion.link_count; i++) {
		const struct fabric_link *link = &work->conclusion.links[i];

		if (link->state == LINK_CLAIMED)
			doubtful[link->a.source] = doubtful[link->b.source] = true;
	}
	for (size_t i = 0; doubtful && i < work->facts.source_count; i++)
		sight_doubt(work->sights[i], doubtful[i]);
	free(doubtful);
}

static void conclude_work_done(struct work *work)
{
	fabric_conclusion_done(&work->conclusion);
	fabric_index_done(&work->index);
	free(work->wiring.items);
	free(work->guard.items);
	free(work->guard.look);
	free(work->sights);
	free(work->sources);
	free(work->priors);
	free(work->given);
	free(work->bundle);
	free(work->holder);
	free(work->unread);
	for (int table = 0; table < TABLE_COUNT; table++)
		text_done(&work->rows[table]);
	text_done(&work->port_switches);
	text_done(&work->link_switches);
}

static int conclude_decide(struct work *work)
{
	struct discovery *discovery = work->discovery;
	int rc = facts_gather(work);

	if (rc == 0)
		rc = link_policy_conclude(&work->facts, &work->conclusion);
	if (rc == 0)
		rc = place_policy_conclude(&work->facts, work->now_us, &work->conclusion);
	if (rc == 0)
		rc = wiring_policy_compare(&work->facts, &work->conclusion, discovery->facts.wiring,
					   discovery->facts.wiring_count, &work->wiring);
	if (rc == 0)
		rc = guard_policy_decide(
			&work->facts, &work->conclusion,
			&(struct guard_facts){.ports = discovery->facts.guards,
					      .port_count = discovery->facts.guard_count,
					      .before = discovery->blocks,
					      .before_count = discovery->block_count},
			&work->guard);
	return rc;
}

static bool has_new_block(const struct work *work)
{
	for (size_t i = 0; i < work->guard.count; i++) {
		if (work->guard.items[i].is_new)
			return true;
	}
	return false;
}

static void conclude_keep_blocks(struct work *work)
{
	struct discovery *discovery = work->discovery;

	for (size_t i = 0; i < work->guard.look_count; i++)
		discovery_changed(discovery, work->guard.look[i]);
	free(discovery->blocks);
	discovery->blocks = TAKE(work->guard.items);
	discovery->block_count = work->guard.count;
}

static void keep_all(struct work *work)
{
	struct discovery *discovery = work->discovery;

	keep_kinds(work);
	keep_doubts(work);
	memory_keep(work);
	conclude_keep_blocks(work);
	discovery->stats.conclusions++;
	discovery->stats.links = work->conclusion.link_count;
	discovery->stats.places = work->conclusion.place_count;
	discovery->stats.problems =
		work->conclusion.conflict_count + work->wiring.count + work->guard.count;
}

void conclude_now(struct discovery *discovery)
{
	int64_t begin_us = clock_wall_us();
	struct work work = {
		.discovery = discovery, .now_us = begin_us, .now_ms = loop_now_ms(discovery->loop)};
	int rc = conclude_decide(&work);

	if (rc == 0 && has_new_block(&work) && work.now_ms - discovery->facts_ms > BLOCK_OLD_MS) {
		facts_read(discovery); /* and once more, with what is meant for the port now */
	} else if (rc == 0) {
		keep_all(&work);
		conclude_rows(&work);
		conclude_write(&work);
	} else {
		log_error(CONCLUDE_SUBJECT, "no memory for a conclusion");
		conclude_arm(discovery, RETRY_MS);
	}
	conclude_work_done(&work);
	discovery->cost_ms = (clock_wall_us() - begin_us) / 1000;
}

/* After a start half of the fabric would look as if it was gone. */
static bool is_settled(struct discovery *discovery)
{
	bool all = discovery->first_ms != 0;

	for (const struct sight *sight = discovery->sights; sight; sight = sight->hh.next)
		all = all && sight->asked && (sight->has_reading || !sight->reachable);
	discovery->settled = discovery->settled || all ||
			     (discovery->first_ms &&
			      loop_now_ms(discovery->loop) - discovery->first_ms >= SETTLE_MS);
	return discovery->settled;
}

static void conclude_on_timer(void *context)
{
	struct discovery *discovery = context;
	int64_t age_ms = loop_now_ms(discovery->loop) - discovery->facts_ms;

	discovery->armed = false;
	discovery->again = discovery->state != CONCLUDE_IDLE;
	if (!discovery->connected || discovery->again)
		return; /* it is begun when the connection is back, or that is over */
	if (!is_settled(discovery)) {
		conclude_arm(discovery, LOOK_MS);
		return;
	}
	if (discovery->facts_stale || age_ms > FACTS_OLD_MS)
		facts_read(discovery);
	else
		conclude_now(discovery);
}

void conclude_arm(struct discovery *discovery, int64_t after_ms)
{
	if (discovery->armed)
		return;
	discovery->armed = true;
	loop_timer_arm(discovery->timer, after_ms);
}

void conclude_wake(struct discovery *discovery)
{
	int64_t wait_ms = 10 * discovery->cost_ms;

	conclude_arm(discovery, wait_ms > GAP_MS ? wait_ms : GAP_MS);
}

int conclude_start(struct discovery *discovery)
{
	return loop_timer_new(discovery->loop, conclude_on_timer, discovery, &discovery->timer);
}

void conclude_stop(struct discovery *discovery)
{
	memory_done(discovery);
	fact_rows_done(&discovery->facts);
	loop_timer_free(discovery->timer);
}
