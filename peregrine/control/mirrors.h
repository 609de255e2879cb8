/* Mirror sessions of captures: rows say which there shall be (037_capture), a switch is told the
 * whole of it whenever that changes, and from time to time: what a killed program left goes so. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"

#include "peregrine/control/driver/switch_queue.h"

struct mirrors;

MUST_USE int mirrors_new(struct loop *loop, struct db *db, struct switch_queue *queue,
			 struct mirrors **ret);
/* After the database and the queue; NULL is fine. */
void mirrors_free(struct mirrors *mirrors);
void mirrors_db_state(struct mirrors *mirrors, bool connected);
/* Looks now. */
void mirrors_wake(struct mirrors *mirrors);
