/* The SQL of health (health.sql): what was read of BMCs goes in, facts come out, verdicts go
 * in.
 */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/db/db.h"
#include "common/http/json_reader.h"

#include "bampi/control/health/health_policy.h"

enum { HEALTH_CLAIM_LIMIT = 64 };

/* `rows`: JSON as the functions of the schema want it. */
MUST_USE int health_store_sensors(struct db *db, const char *rows, db_result_fn fn, void *context);
MUST_USE int health_store_log(struct db *db, const char *rows, db_result_fn fn, void *context);
/* Rows of (node, record, stamp): how far each event log has been read. */
MUST_USE int health_store_marks(struct db *db, db_result_fn fn, void *context);
/* At most HEALTH_CLAIM_LIMIT nodes whose labels are to be decided. */
MUST_USE int health_store_due(struct db *db, db_result_fn fn, void *context);
MUST_USE int health_store_save(struct db *db, const char *rows, db_result_fn fn, void *context);
/* One row: how many labels, acknowledgements' and silences' ends there were. */
MUST_USE int health_store_expire(struct db *db, db_result_fn fn, void *context);
/* Column 0 of one row. */
int64_t health_store_count(const PGresult *result);

/* One node's facts; everything in `facts` is borrowed from the rest. */
struct health_row {
	int64_t node_id, generation, now_ms;
	char node[64];
	struct health_facts facts;
	json_t *parts[3]; /* alarms, events, drives */
	struct health_alarm *alarms;
	struct health_event *events;
	struct health_drive *drives;
	struct health_memory memories[HEALTH_LABELS_MAX];
};
/* -ENOMEM, E_MALFORMED. End it with health_row_done. `result` outlives it. */
MUST_USE int health_row_read(const PGresult *result, int row, struct health_row *ret);
void health_row_done(struct health_row *row);
/* Adds one element to the array of health_store_save. */
void health_row_write(struct text *rows, const struct health_row *row,
		      const struct health_verdict *verdict);
