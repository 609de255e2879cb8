/* LEDs that blink until they are told to end: who told them to begin may be gone by then, so they
 * are rows (fabric.sql). */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"

#include "peregrine/switch/switch_queue.h"

struct beacons;

MUST_USE int beacons_new(struct loop *loop, struct db *db, struct switch_queue *queue,
			 struct beacons **ret);
/* After the database and before or after the queue; NULL is fine. */
void beacons_free(struct beacons *beacons);
/* Away: nothing is asked of it any more until it is there again. */
void beacons_db_state(struct beacons *beacons, bool connected);
/* Before the LED is told to begin: `fn` once the row is committed (db.h). */
MUST_USE int beacons_put(struct beacons *beacons, int64_t switch_id, const char *port,
			 uint16_t seconds, db_result_fn fn, void *context);
/* Looks which are due, soon. */
void beacons_wake(struct beacons *beacons);
