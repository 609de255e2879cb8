#include "peregrine/control/fabric/discovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/control/fabric/discovery_private.h"

LEAKS_LEFT_TO_SANITIZER

#define DISCOVERY_SUBJECT "fabric"
#define FIRST_WITHIN      1000 /* all first looks, so that a start is no burst */
#define READ_LIMIT_MS     60000
#define RETRY_AFTER_MS    1000 /* no memory, no line: soon again */
#define CHANGED_MS        500  /* changes come in bunches */
#define BUNCH_MS          5000 /* a look waits so long for the end of one: else it is broken off */
#define DOUBT_MS          2000 /* a cable told by one end: the other may speak soon */
#define UNSEEN_MS         2000 /* a port whose link came: whoever is there may speak soon */
#define REST_SHARE        3 /* between readings for links: so many times what the last one took */

/* --- what a look brought --- */

static bool is_different(const struct switch_identity *before, const struct switch_identity *now)
{
	return now->uptime_ms < before->uptime_ms || now->vlan_changes != before->vlan_changes ||
	       strcmp(now->object_id, before->object_id) != 0 ||
	       strcmp(now->system, before->system) != 0;
}

/* Not every answer has the digest. */
static bool moved_links(const struct switch_identity *before, const struct switch_identity *now)
{
	return before->link_changes && now->link_changes &&
	       before->link_changes != now->link_changes;
}

/* An agent without the mark (0) is asked with all the rest only. */
static bool heard_others(const struct switch_identity *before, const struct switch_identity *now)
{
	return now->neighbor_changes != before->neighbor_changes;
}

static void sight_failed(struct sight *sight, const struct problem *problem)
{
	bool told = sight->asked && !sight->reachable;

	sight->discovery->stats.failed++;
	sight->reachable = false;
	sight->asked = true;
	sight->asked_us = clock_wall_us();
	sight->unobserved = true;
	/* "Left alone" says less than why. */
	if (!told || problem->code != E_UNAVAILABLE || !problem_is_set(&sight->problem))
		sight->problem = *problem;
	if (!told)
		log_problem(LOG_LEVEL_WARN, DISCOVERY_SUBJECT, problem);
	conclude_wake(sight->discovery);
}

/* The problem of a switch that answers: what it lacks to be set. */
static bool sight_lacks(struct sight *sight)
{
	struct problem before = sight->problem;

	sight->problem = (struct problem){0};
	if (sight->row.managed)
		(void)switch_queue_lacks(sight->discovery->options.queue, sight->row.id,
					 &sight->problem);
	return before.code != sight->problem.code ||
	       strcmp(before.message, sight->problem.message) != 0;
}

static void sight_heard(struct sight *sight, struct switch_reading *reading)
{
	bool was = sight->reachable;
	bool twin;

	if (sight->asked && !was)
		log_info(DISCOVERY_SUBJECT, "switch %s answers again", sight->row.name);
	sight->reachable = true;
	sight->asked = true;
	sight->asked_us = clock_wall_us();
	if (sight_lacks(sight)) {
		sight->unobserved = true;
		conclude_wake(sight->discovery);
	}
	if (!was || is_different(&sight->identity, &reading->identity)) {
		sight->full_due = sight->full_due || (reading->parts & PART_ALL) != PART_ALL;
		sight->unobserved = true;
	}
	sight->neighbors_due |= heard_others(&sight->identity, &reading->identity) &&
				!(reading->parts & PART_NEIGHBORS);
	if (moved_links(&sight->identity, &reading->identity)) {
		sight->links_due |= (reading->parts & PART_ALL) != PART_ALL;
		sight->unseen_ms = 0; /* soon again, if somebody else's wait is long by now */
	}
	if (!reading->identity.link_changes)
		reading->identity.link_changes = sight->identity.link_changes;
	twin = strcmp(sight->identity.twin, reading->identity.twin) != 0;
	sight->identity = reading->identity;
	if (!was || twin)
		conclude_wake(sight->discovery);
}

/* Whoever was plugged in may be silent for a while. */
static void look_for_unseen(struct sight *sight)
{
	int64_t now_ms = loop_now_ms(sight->discovery->loop);

	if (!sight_is_unseen(sight, sight->reading_us)) {
		sight->unseen_ms = 0;
		return;
	}
	sight->unseen_ms = sight->unseen_ms ? 2 * sight->unseen_ms : UNSEEN_MS;
	sight->unseen_at_ms = now_ms + sight->unseen_ms;
	if (sight->unseen_ms < sight->row.poll_ms)
		loop_timer_arm(sight->timer, sight->unseen_ms + 1);
}

/* A full reading replaces the last one; its parts that did not come stay unknown. */
static void sight_take(struct sight *sight, struct switch_reading *reading, int64_t since_ms)
{
	struct discovery *discovery = sight->discovery;

	sight_heard(sight, reading);
	if (since_ms < sight->reading_ms)
		return; /* an older one that came late */
	sight_carry(sight, reading, clock_wall_us());
	switch_reading_done(&sight->reading);
	sight->reading = *reading;
	*reading = (struct switch_reading){0};
	sight->has_reading = true;
	sight->full_due = false;
	sight->links_due = false;
	sight->neighbors_due = false;
	sight->unobserved = true;
	sight->reading_ms = since_ms;
	sight->reading_us = clock_wall_us();
	sight->rest_until_ms = loop_now_ms(discovery->loop);
	sight->rest_until_ms += REST_SHARE * (sight->rest_until_ms - since_ms);
	look_for_unseen(sight);
	discovery->stats.full_readings++;
	if (discovery->note)
		discovery->note(discovery->note_context, sight->row.id, &sight->reading, since_ms);
	conclude_wake(discovery);
}

/* Neighbours alone: the rest of the last full reading stays. */
static void sight_take_neighbors(struct sight *sight, struct switch_reading *reading)
{
	struct switch_reading *whole = &sight->reading;

	sight_heard(sight, reading);
	if (!sight->has_reading || sight->since_ms < sight->reading_ms)
		return;
	free(whole->neighbors);
	whole->neighbors = reading->neighbors;
	whole->neighbor_count = reading->neighbor_count;
	whole->neighbors_uncounted = reading->neighbors_uncounted;
	whole->parts =
		(whole->parts & ~(unsigned)PART_NEIGHBORS) | (reading->parts & PART_NEIGHBORS);
	sight->unobserved |=
		whole->told[TOLD_NEIGHBORS].state != reading->told[TOLD_NEIGHBORS].state;
	whole->told[TOLD_NEIGHBORS] = reading->told[TOLD_NEIGHBORS];
	whole->identity = reading->identity;
	reading->neighbors = NULL;
	reading->neighbor_count = 0;
	sight->neighbors_due = false;
	sight->discovery->stats.neighbor_readings++;
	conclude_wake(sight->discovery);
}

void sight_doubt(struct sight *sight, bool doubtful)
{
	int64_t now_ms = loop_now_ms(sight->discovery->loop);

	if (!doubtful) {
		sight->doubt_ms = 0;
		return;
	}
	if (sight->doubt_ms && now_ms < sight->doubt_at_ms)
		return; /* it is to come */
	sight->doubt_ms = sight->doubt_ms ? 2 * sight->doubt_ms : DOUBT_MS;
	if (sight->doubt_ms > sight->discovery->options.full_ms)
		sight->doubt_ms = sight->discovery->options.full_ms;
	sight->doubt_at_ms = now_ms + sight->doubt_ms;
	if (sight->doubt_ms < sight->row.poll_ms)
		loop_timer_arm(sight->timer, sight->doubt_ms + 1);
}

/* --- looking --- */

/* A switch that is silent gets the small request only, until it answers. */
static enum look what_to_ask(const struct sight *sight, int64_t now_ms)
{
	if (!sight->reachable)
		return LOOK_IDENTITY;
	if (sight->full_due || !sight->has_reading ||
	    now_ms - sight->reading_ms >= sight->discovery->options.full_ms)
		return LOOK_ALL;
	if (now_ms >= sight->rest_until_ms &&
	    (sight->links_due || (sight->unseen_ms && now_ms >= sight->unseen_at_ms)))
		return LOOK_ALL;
	if (sight->neighbors_due || (sight->doubt_ms && now_ms >= sight->doubt_at_ms))
		return LOOK_NEIGHBORS;
	return LOOK_IDENTITY;
}

static void sight_look(struct sight *sight);

static void discovery_on_looked(void *context, const struct switch_answer *answer)
{
	struct sight *sight = context;
	struct discovery *discovery = sight->discovery;

	sight->ticket = 0;
	if (answer->rc) {
		sight_failed(sight, answer->problem);
		return;
	}
	switch (sight->asking) {
	case LOOK_ALL: sight_take(sight, answer->reading, sight->since_ms); return;
	case LOOK_NEIGHBORS: sight_take_neighbors(sight, answer->reading); return;
	case LOOK_IDENTITY: break;
	}
	sight_heard(sight, answer->reading);
	if (discovery->note)
		discovery->note(discovery->note_context, sight->row.id, answer->reading,
				sight->since_ms);
	if (what_to_ask(sight, loop_now_ms(discovery->loop)) != LOOK_IDENTITY)
		sight_look(sight);
}

static int discovery_submit(struct sight *sight, unsigned parts, enum call_priority priority,
			    switch_done_fn done, void *context, uint64_t *ret_ticket)
{
	const struct switch_request request = {.op = SWITCH_READ, .parts = parts};
	const struct switch_ask ask = {.switch_id = sight->row.id,
				       .request = &request,
				       .priority = priority,
				       .person = priority == CALL_PERSON,
				       .now = priority == CALL_PERSON,
				       .deadline_ms = READ_LIMIT_MS};

	return switch_queue_submit(sight->discovery->options.queue, &ask, done, context,
				   ret_ticket);
}

static void sight_look(struct sight *sight)
{
	static const unsigned parts[] = {[LOOK_IDENTITY] = PART_IDENTITY,
					 [LOOK_NEIGHBORS] = PART_IDENTITY | PART_NEIGHBORS,
					 [LOOK_ALL] = PART_ALL};
	struct discovery *discovery = sight->discovery;
	int64_t now_ms = loop_now_ms(discovery->loop);

	if (sight->ticket || problem_is_set(&sight->row.problem))
		return;
	sight->asking = what_to_ask(sight, now_ms);
	sight->since_ms = now_ms;
	discovery->stats.looks++;
	if (discovery_submit(sight, parts[sight->asking], CALL_POLL, discovery_on_looked, sight,
			     &sight->ticket) != 0) {
		sight->ticket = 0;
		loop_timer_arm(sight->timer, RETRY_AFTER_MS);
	}
}

static void sight_due(void *context)
{
	struct sight *sight = context;
	const struct discovery *discovery = sight->discovery;

	if (sight->full_due && loop_now_ms(discovery->loop) < sight->bunch_until_ms &&
	    discovery->busy && discovery->busy(discovery->note_context, sight->row.id)) {
		loop_timer_arm(sight->timer, CHANGED_MS);
		return;
	}
	loop_timer_arm(sight->timer, sight->row.poll_ms);
	sight_look(sight);
}

static struct sight *sight_find(const struct discovery *discovery, int64_t id)
{
	struct sight *sight = NULL;

	HASH_FIND(hh, discovery->sights, &id, sizeof(id), sight);
	return sight;
}

int discovery_put(struct discovery *discovery, const struct discovery_switch *row)
{
	struct sight *sight = sight_find(discovery, row->id);
	bool is_new = !sight;
	bool changed;

	if (is_new) {
		sight = calloc(1, sizeof(*sight));
		if (!sight)
			return -ENOMEM;
		if (loop_timer_new(discovery->loop, sight_due, sight, &sight->timer) != 0) {
			free(sight);
			return -ENOMEM;
		}
		sight->discovery = discovery;
		sight->row.id = row->id;
		if (!discovery->first_ms)
			discovery->first_ms = loop_now_ms(discovery->loop);
		HASH_ADD(hh, discovery->sights, row.id, sizeof(sight->row.id), sight);
	}
	changed = is_new || sight->row.poll_ms != row->poll_ms ||
		  sight->row.managed != row->managed ||
		  problem_is_set(&sight->row.problem) != problem_is_set(&row->problem);
	sight->row = *row;
	if (problem_is_set(&row->problem) && changed)
		sight_failed(sight, &row->problem);
	else if (changed)
		loop_timer_arm(sight->timer,
			       1 + (int64_t)hash_even((uint64_t)row->id, FIRST_WITHIN));
	return 0;
}

void discovery_changed(struct discovery *discovery, int64_t switch_id)
{
	struct sight *sight = sight_find(discovery, switch_id);

	if (!sight || sight->full_due)
		return;
	sight->full_due = true;
	sight->bunch_until_ms = loop_now_ms(discovery->loop) + BUNCH_MS;
	loop_timer_arm(sight->timer, CHANGED_MS);
}

static void readers_drop(struct discovery *discovery, const struct sight *sight,
			 const void *context)
{
	for (struct reader **link = &discovery->readers; *link;) {
		struct reader *reader = *link;

		if ((sight && reader->sight != sight) || (context && reader->context != context)) {
			link = &reader->next;
			continue;
		}
		*link = reader->next;
		switch_queue_cancel(discovery->options.queue, reader->ticket);
		free(reader);
	}
}

static void sight_free(struct sight *sight)
{
	struct discovery *discovery = sight->discovery;

	readers_drop(discovery, sight, NULL);
	if (sight->ticket)
		switch_queue_cancel(discovery->options.queue, sight->ticket);
	HASH_DEL(discovery->sights, sight);
	loop_timer_free(sight->timer);
	switch_reading_done(&sight->reading);
	free(sight->kinds);
	free(sight->cut_us);
	free(sight->fdb_old);
	free(sight);
}

void discovery_remove(struct discovery *discovery, int64_t switch_id)
{
	struct sight *sight = sight_find(discovery, switch_id);

	if (!sight)
		return;
	/* Whoever waits for it is told. */
	for (struct reader *reader = discovery->readers; reader; reader = reader->next) {
		struct problem problem = {0};

		if (reader->sight != sight)
			continue;
		(void)problem_set(&problem, E_NOT_FOUND, "switch %s is no longer managed",
				  sight->row.name);
		reader->done(reader->context, E_NOT_FOUND, NULL, &problem);
	}
	sight_free(sight);
	conclude_wake(discovery);
}

/* --- for others --- */

void discovery_listen(struct discovery *discovery, discovery_note_fn fn, discovery_busy_fn busy,
		      void *context)
{
	discovery->note = fn;
	discovery->busy = busy;
	discovery->note_context = context;
}

static void discovery_on_read(void *context, const struct switch_answer *answer)
{
	struct reader *reader = context;
	struct sight *sight = reader->sight;
	struct discovery *discovery = sight->discovery;

	for (struct reader **link = &discovery->readers; *link; link = &(*link)->next) {
		if (*link == reader) {
			*link = reader->next;
			break;
		}
	}
	if (answer->rc)
		sight_failed(sight, answer->problem);
	else
		sight_take(sight, answer->reading, reader->since_ms);
	reader->done(reader->context, answer->rc, answer->rc ? NULL : &sight->reading,
		     answer->problem);
	free(reader);
}

int discovery_read(struct discovery *discovery, int64_t switch_id, discovery_done_fn done,
		   void *context)
{
	struct sight *sight = sight_find(discovery, switch_id);
	struct reader *reader;
	int rc;

	if (!sight)
		return E_NOT_FOUND;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	*reader = (struct reader){.sight = sight,
				  .done = done,
				  .context = context,
				  .since_ms = loop_now_ms(discovery->loop),
				  .next = discovery->readers};
	rc = discovery_submit(sight, PART_ALL, CALL_PERSON, discovery_on_read, reader,
			      &reader->ticket);
	if (rc) {
		free(reader);
		return rc;
	}
	discovery->readers = reader;
	return 0;
}

void discovery_forget(struct discovery *discovery, const void *context)
{
	readers_drop(discovery, NULL, context);
}

const struct discovery_stats *discovery_stats(struct discovery *discovery)
{
	discovery->stats.switches = HASH_COUNT(discovery->sights);
	discovery->stats.reachable = 0;
	for (const struct sight *sight = discovery->sights; sight; sight = sight->hh.next)
		discovery->stats.reachable += sight->reachable;
	return &discovery->stats;
}

/* --- life --- */

void discovery_db_state(struct discovery *discovery, bool connected)
{
	discovery->connected = connected;
	if (connected) {
		discovery->facts_stale = true;
		conclude_wake(discovery);
	}
}

void discovery_wake(struct discovery *discovery)
{
	discovery->facts_stale = true;
	conclude_wake(discovery);
}

int discovery_new(struct loop *loop, const struct discovery_options *options,
		  struct discovery **ret)
{
	struct discovery *discovery = calloc(1, sizeof(*discovery));
	int rc;

	if (!discovery)
		return -ENOMEM;
	*discovery = (struct discovery){.loop = loop, .options = *options, .facts_stale = true};
	rc = conclude_start(discovery);
	if (rc) {
		free(discovery);
		return rc;
	}
	*ret = discovery;
	return 0;
}

void discovery_free(struct discovery *discovery)
{
	struct sight *sight;
	struct sight *next;

	if (!discovery)
		return;
	HASH_ITER(hh, discovery->sights, sight, next)
	sight_free(sight);
	conclude_stop(discovery);
	free(discovery);
}
