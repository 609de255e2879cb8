/* Events on their way to the database: written once a second in one statement, at most
 * some thousand kept while it is away. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

struct event_store;

/* db is borrowed. */
MUST_USE int event_store_new(struct loop *loop, struct db *db, struct event_store **ret);
/* After db_free, which calls back what is in flight. */
void event_store_free(struct event_store *store);
/* Submits what waits now (before a clean stop). */
void event_store_flush(struct event_store *store);

/* All texts are copied. detail is a JSON object or NULL. */
void event_store_add(struct event_store *store, const char *kind, const char *subject_kind,
		     const char *subject, const char *message, const char *detail);
