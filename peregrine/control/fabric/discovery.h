/* Polls every switch, all side by side; a silent switch delays no other. Readings go to conclude.h,
 * which derives cables and places, and to listeners.
 *
 *   each poll_s     its facts about itself (one small request)
 *   neighbours      when LLDP's mark of change has moved, or only one end tells of a cable
 *   all of it       when anything else has changed, after a while, or when somebody asks */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "peregrine/switch/switch_queue.h"

struct discovery;

/* Borrowed. */
struct discovery_options {
	struct db *db;
	struct switch_queue *queue;
	int64_t full_ms; /* interval of full readings, also when the small request shows no change */
	int64_t seen_ms; /* what is as it was is marked as seen in the database this often */
};

struct discovery_switch {
	int64_t id, fabric_id;
	int64_t since_us; /* when the operator added it, since 1970 */
	char name[64];
	int64_t poll_ms;
	bool managed;           /* false: read only, by the operator's wish */
	struct problem problem; /* set: why it cannot be polled */
};

MUST_USE int discovery_new(struct loop *loop, const struct discovery_options *options,
			   struct discovery **ret);
/* After db_free, before switch_queue_free. */
void discovery_free(struct discovery *discovery);
void discovery_db_state(struct discovery *discovery, bool connected);
/* Adds a switch or changes its settings; the first poll comes soon. -ENOMEM. */
MUST_USE int discovery_put(struct discovery *discovery, const struct discovery_switch *row);
void discovery_remove(struct discovery *discovery, int64_t switch_id);
/* Nodes, their inventory or the plan of cables have changed. */
void discovery_wake(struct discovery *discovery);

/* We changed the switch: a full reading follows soon, after the rest of that change. Unknown ids
 * are fine. */
void discovery_changed(struct discovery *discovery, int64_t switch_id);

/* Every good reading: of PART_ALL, or of PART_IDENTITY alone. Borrowed for the call. */
typedef void (*discovery_note_fn)(void *context, int64_t switch_id,
				  const struct switch_reading *reading, int64_t since_ms);
/* Is it being changed? */
typedef bool (*discovery_busy_fn)(void *context, int64_t switch_id);
void discovery_listen(struct discovery *discovery, discovery_note_fn fn, discovery_busy_fn busy,
		      void *context);

/* Reads all of it now, for a person. `done` is called once, from the loop, unless cancelled; the
 * reading is borrowed for the call. *ret_ticket is for switch_queue_cancel. -ENOMEM. */
typedef void (*discovery_done_fn)(void *context, int rc, const struct switch_reading *reading,
				  const struct problem *problem);
MUST_USE int discovery_read(struct discovery *discovery, int64_t switch_id, discovery_done_fn done,
			    void *context);
/* Cancels `done`: the caller no longer waits. */
void discovery_forget(struct discovery *discovery, const void *context);

struct discovery_stats {
	uint64_t looks, full_readings, neighbor_readings, failed;
	uint64_t conclusions, writes, failed_writes;
	uint64_t switches, reachable, links, places, problems;
};
const struct discovery_stats *discovery_stats(struct discovery *discovery);
