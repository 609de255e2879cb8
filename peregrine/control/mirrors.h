/* Mirror sessions of captures: rows say which there shall be (capture.sql), a switch is told the
 * whole of it whenever that changes, and from time to time: what a killed program left goes so.
 * While PostgreSQL is away, or does not answer, a session ends at its time by our own clock. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"

#include "peregrine/switch/switch_queue.h"

struct mirrors;

struct mirrors_options {
	struct db *db;
	struct switch_queue *queue;
	/* The switch says that it has no session of ours any more; it may have had some since
	 * `since_ms` (clock_monotonic_ms), also in what was saved meanwhile. May be NULL. */
	void (*ended)(void *context, int64_t switch_id, int64_t since_ms);
	void *context;
};

MUST_USE int mirrors_new(struct loop *loop, const struct mirrors_options *options,
			 struct mirrors **ret);
/* After the database and the queue; NULL is fine. */
void mirrors_free(struct mirrors *mirrors);
void mirrors_db_state(struct mirrors *mirrors, bool connected);
/* It was read, and said how long it runs (0 = it does not say): one that has started again is told
 * anew what it shall have, since what it had when it was saved is back. */
void mirrors_seen(struct mirrors *mirrors, int64_t switch_id, uint64_t uptime_ms);
/* Looks now. */
void mirrors_wake(struct mirrors *mirrors);
