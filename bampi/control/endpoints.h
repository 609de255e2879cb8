/* The BMCs of the site in the queue: read from PostgreSQL when they change, their passwords opened
 * with the key that portald seals to; what the queue observes is written back. Also polls the power
 * of nodes that nobody works on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "bampi/control/bmc/bmc_queue.h"

struct endpoints;

/* A BMC came, changed (endpoint set, borrowed for the call) or went (NULL). */
typedef void (*endpoints_change_fn)(void *context, int64_t node_id,
				    const struct bmc_endpoint *endpoint);

/* Borrowed. */
struct endpoints_options {
	struct db *db;
	struct bmc_queue *queue;
	const char *key_path;       /* made when missing */
	endpoints_change_fn change; /* may be NULL */
	void *context;
};

MUST_USE int endpoints_new(struct loop *loop, const struct endpoints_options *options,
			   struct endpoints **ret, struct problem *problem);
/* After db_free, before bmc_queue_free. */
void endpoints_free(struct endpoints *endpoints);
void endpoints_db_state(struct endpoints *endpoints, bool connected);
/* The inventory has changed: read again soon. */
void endpoints_wake(struct endpoints *endpoints);
/* Node id by name; -1 = no BMC of that node is known. */
int64_t endpoints_find(const struct endpoints *endpoints, const char *node);
size_t endpoints_count(const struct endpoints *endpoints);
