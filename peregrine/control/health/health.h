/* The health of switches. Each switch is polled by SNMP once a minute for the counters of all its
 * ports. Every fifth poll also reads spanning tree, aggregates and sensors. A poll is one call per
 * switch and pass, last in the switch's queue. Only the peregrined with the claim of the switch's
 * fabric polls. Counters go into rows (counter_writer.h); the switch's own state, and whether it
 * answers, go into switch_health. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

#include "peregrine/switch/switch_queue.h"

struct health;

/* Borrowed, but for `conninfo`. */
struct health_options {
	struct db *db;
	struct switch_queue *queue;
	struct worker *worker;
	const char *conninfo;
	int64_t period_ms;
	/* By which claim a fabric's switches are asked (reconcile_claim); 0 = another peregrined
	 * asks them, or nobody may. */
	int64_t (*claim)(void *context, int64_t fabric_id);
	void *context;
};

MUST_USE int health_new(struct loop *loop, const struct health_options *options,
			struct health **ret);
/* After the queue and the worker have gone. NULL is fine. */
void health_free(struct health *health);
void health_db_state(struct health *health, bool connected);
/* Borrowed for the call; unchanged is a no-op. -ENOMEM. */
MUST_USE int health_put(struct health *health, int64_t switch_id, int64_t fabric_id,
			const char *name);
/* Unknown ids are fine. */
void health_remove(struct health *health, int64_t switch_id);
