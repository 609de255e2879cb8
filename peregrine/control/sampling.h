/* Keeps switches sampling as they are told (haasctl sampling set): reads from PostgreSQL what is
 * wanted, has the drivers look and mend (driver/sampling_policy.h), writes how each stands. What
 * drifts is repaired at the next look, unless its fabric only wants to be told; foreign set-ups are
 * left alone. Looks come every minute, which also renews what runs out on switches. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "peregrine/switch/switch_queue.h"

struct sampling;

/* Borrowed. */
MUST_USE int sampling_new(struct loop *loop, struct db *db, struct switch_queue *queue,
			  struct sampling **ret);
/* After the queue has gone. NULL is fine. */
void sampling_free(struct sampling *sampling);
void sampling_db_state(struct sampling *sampling, bool connected);
/* What is wanted may have changed. */
void sampling_wake(struct sampling *sampling);
