/* Option 82 that no rule reads, kept as samples to learn from (table circuit_unknown). Anybody who
 * can send us a packet can make one, so everything is bounded: new ones per relay and in all, what
 * waits, and rows in the table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/net/circuit_rule.h"
#include "common/net/mac.h"

struct unknown_circuits;

/* db is borrowed. */
MUST_USE int unknown_circuits_new(struct loop *loop, struct db *db, struct unknown_circuits **ret);
/* After db_free. */
void unknown_circuits_free(struct unknown_circuits *circuits);
/* Submits what waits now (before a clean stop). */
void unknown_circuits_flush(struct unknown_circuits *circuits);

/* True when people should be told of it: the first of this relay for an hour. */
bool unknown_circuit_record(struct unknown_circuits *circuits, uint32_t relay,
			    const struct circuit_sample *sample, struct mac mac);
/* How many were too many. */
uint64_t unknown_circuits_dropped(const struct unknown_circuits *circuits);
