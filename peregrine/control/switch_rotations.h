/* New secrets of switches (table rotation): proven by sessions of their own before they count. The
 * former ones are kept for a while. When the switch refuses something meanwhile, both are proven
 * (rotation_policy.h). Each look begins with the rows, so peregrined may end at any time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "peregrine/control/switches.h"
#include "peregrine/switch/switch_queue.h"

struct switch_rotations;

/* Borrowed. */
struct switch_rotations_options {
	struct db *db;
	const struct switches *switches; /* whose key secrets are sealed to */
	const struct switch_queue *queue;
	struct switch_host host;
	/* A change is under way at the switch: another endpoint would break it off. */
	bool (*is_changing)(void *context, int64_t switch_id);
	void *context;
};

MUST_USE int switch_rotations_new(struct loop *loop, const struct switch_rotations_options *options,
				  struct switch_rotations **ret);
/* After db_free, before the queue and what the host has. NULL is fine. */
void switch_rotations_free(struct switch_rotations *rotations);
void switch_rotations_wake(struct switch_rotations *rotations);
void switch_rotations_db_state(struct switch_rotations *rotations, bool connected);
