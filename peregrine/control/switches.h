/* The switches of the site in the queue: read from PostgreSQL when they change, their secrets
 * opened with the key that portald seals to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/io/seal_key.h"

#include "peregrine/switch/switch_queue.h"

struct switches;

/* One row, without how it is reached. */
struct switch_row {
	int64_t id, fabric_id;
	int64_t since_us; /* when it was entered, since 1970 */
	char name[64];
	bool managed; /* false: read, never write */
	int64_t poll_ms;
	struct problem
		problem; /* set: nobody can speak to it (its secrets cannot be opened, ...) */
};

/* A switch came, changed (row set, borrowed for the call) or went (NULL). */
typedef void (*switches_change_fn)(void *context, int64_t switch_id, const struct switch_row *row);

/* Borrowed. */
struct switches_options {
	struct db *db;
	struct switch_queue *queue;
	const char *key_path; /* made when missing */
	switches_change_fn change;
	void *context;
};

MUST_USE int switches_new(struct loop *loop, const struct switches_options *options,
			  struct switches **ret, struct problem *problem);
/* After db_free, before switch_queue_free. */
void switches_free(struct switches *switches);
void switches_db_state(struct switches *switches, bool connected);
/* They have changed: read again soon. */
void switches_wake(struct switches *switches);
/* The key of their secrets may have to be exchanged. */
void switches_rotate(struct switches *switches);
/* The key that secrets are sealed to, for the call. */
const struct seal_key *switches_key(const struct switches *switches);
/* NULL = no switch of that name is managed. Borrowed until the next turn of the loop. */
const struct switch_row *switches_find(const struct switches *switches, const char *name);
