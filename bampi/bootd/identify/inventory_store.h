/* Keeps inventory and cable equal to PostgreSQL: a full read on connect, on NOTIFY (at most one per
 * 100 ms) and every 30 s. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "bampi/bootd/identify/cable.h"
#include "bampi/bootd/identify/inventory.h"

struct inventory_store;

/* Called after each read that became the current picture. */
typedef void (*inventory_change_fn)(void *context, int64_t read_ms); /* when it was begun */

/* Channels whose notifications call inventory_store_wake; NULL-ended, for db_options. */
extern const char *const inventory_channels[];

/* All borrowed. */
struct inventory_store_options {
	struct db *db;
	struct inventory *inventory;
	struct cable *cable;
	inventory_change_fn fn; /* may be NULL */
	void *context;
};

MUST_USE int inventory_store_new(struct loop *loop, const struct inventory_store_options *options,
				 struct inventory_store **ret);
/* After db_free, which calls back what is in flight. */
void inventory_store_free(struct inventory_store *store);
/* Something may have changed: read again soon. */
void inventory_store_wake(struct inventory_store *store);
/* No read begins for so long after one that took `took_ms`: nine times as long on a large site, at
 * most the 30 s. A read that waited for a stalled PostgreSQL took long too, and what it missed is
 * read then. */
MUST_USE int64_t inventory_store_rest_ms(int64_t took_ms);
