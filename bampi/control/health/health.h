/* Health of nodes. BMCs' reports are collected and written in batches. Where they changed, or time
 * has passed, the labels of a node are decided anew (health_policy.h). Facts are read from the
 * database, so any bampid may have seen them. Single-threaded, on the loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

struct health;

/* Borrowed for the life of it. */
struct health_options {
	struct db *db;
	/* Labels came or went: deployments may stop or go on. May be NULL. */
	void (*changed)(void *context);
	void *context;
};

struct health_stats {
	uint64_t readings; /* of sensors, whole BMCs */
	uint64_t entries;  /* of event logs that were new */
	uint64_t decided;  /* nodes */
	uint64_t changes;  /* labels that came or went */
	uint64_t dropped;  /* readings that nobody could take: PostgreSQL was away for long */
};

MUST_USE int health_new(struct loop *loop, const struct health_options *options,
			struct health **ret);
/* After db_free. */
void health_free(struct health *health);
void health_db_state(struct health *health, bool connected);
const struct health_stats *health_stats(const struct health *health);

/* --- what was seen; texts are copied --- */

struct health_reading {
	unsigned number;
	const char *name, *type, *unit;
	bool has_reading;
	double reading;
	const char *state; /* "nominal", "warning", "critical", "unknown" */
};
/* All sensors of one node, read at `at_us` (wall clock). */
void health_note_sensors(struct health *health, int64_t node_id, int64_t at_us,
			 const struct health_reading readings[], size_t count);

struct health_entry {
	uint16_t record;
	int64_t time_s; /* of the BMC's clock; 0 = not stamped */
	const char *type, *sensor, *event;
	bool asserted;
};
/* The newest entry of an event log that is known. */
struct health_mark {
	bool known;
	uint16_t record;
	uint32_t stamp;
};
/* New entries of one node's event log, oldest first, and where it ends now. Entries that are known
 * are no harm. */
void health_note_log(struct health *health, int64_t node_id, const struct health_mark *mark,
		     const struct health_entry entries[], size_t count);
/* How far the log of this node was read, also by an earlier life; false = read all. */
bool health_log_mark(const struct health *health, int64_t node_id, struct health_mark *ret);
