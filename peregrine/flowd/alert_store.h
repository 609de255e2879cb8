/* What is told of alerts, into PostgreSQL through its one door (alert_put, alert.sql): in
 * order, kept while it is away and sent again; and what an earlier life left open. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

struct alert_store;

/* Rows that wait at most; beyond, the oldest are given up. */
enum { ALERT_STORE_LIMIT = 4096 };

struct alert_store_counts {
	uint64_t written, failures, refused, dropped, waiting;
};

MUST_USE int alert_store_new(struct loop *loop, struct alert_store **ret);
void alert_store_free(struct alert_store *store);
/* The connection, once it is made; borrowed. */
void alert_store_use(struct alert_store *store, struct db *db);
/* One row of alert_put as JSON; taken (free). NULL = there was no memory for it: counted. */
void alert_store_put(struct alert_store *store, char *json);
/* Sends what waits, if nothing is under way: after a put, and when PostgreSQL is there again. */
void alert_store_flush(struct alert_store *store);
struct alert_store_counts alert_store_counts(const struct alert_store *store);
/* Rows that were given up, for whatever reason. */
uint64_t alert_store_lost(const struct alert_store *store);
