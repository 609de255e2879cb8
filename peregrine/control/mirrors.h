/* Mirror sessions of captures. Rows list the wanted sessions (capture.sql). A switch gets its whole
 * list whenever the list changes, and from time to time: so sessions that a killed program left are
 * removed. While PostgreSQL is away or does not answer, a session ends at its time by our own
 * clock. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"

#include "peregrine/switch/switch_queue.h"

struct mirrors;

struct mirrors_options {
	struct db *db;
	struct switch_queue *queue;
	/* The switch reports that it has no session of ours any more. It may have had some since
	 * `since_ms` (clock_monotonic_ms). A configuration saved in that time may hold them. May be
	 * NULL. */
	void (*ended)(void *context, int64_t switch_id, int64_t since_ms);
	void *context;
};

MUST_USE int mirrors_new(struct loop *loop, const struct mirrors_options *options,
			 struct mirrors **ret);
/* After the database and the queue; NULL is fine. */
void mirrors_free(struct mirrors *mirrors);
void mirrors_db_state(struct mirrors *mirrors, bool connected);
/* The switch was read and reported its uptime (0 = not reported). A switch that has restarted gets
 * its list anew, since the sessions of its saved configuration are back. */
void mirrors_seen(struct mirrors *mirrors, int64_t switch_id, uint64_t uptime_ms);
/* Looks now. */
void mirrors_wake(struct mirrors *mirrors);
