/* Connections for reads. Each has one transaction at a time, so a slow one holds up nobody else's; who comes next is read_turn's to say. */
#pragma once

#include "common/db/db.h"

struct read_pool;

#define READ_POOL_CALLS 4 /* of one transaction */

struct read_pool_options {
	struct db_options db;        /* of each connection */
	unsigned connections, among; /* of one asker while others are about (read_turn.h) */
	int64_t wait_ms;             /* for a turn; then E_UNAVAILABLE */
};

/* The transaction of one who asks. */
struct read_ask {
	const char *asker; /* who shares a queue */
	const struct db_call *calls;
	size_t count;
	/* Its turn begins: is the answer still wanted? Asked of the context of the last call; else it gets E_UNAVAILABLE. May
	 * be NULL. */
	bool (*wanted)(void *context);
};

MUST_USE int read_pool_new(struct loop *loop, const struct read_pool_options *options,
			   struct read_pool **ret);
/* Calls back all that runs or waits. */
void read_pool_free(struct read_pool *pool);
/* As db_submit_all; parameters are copied. The last call has a callback. E_LIMIT: too many reads of this asker wait already. */
MUST_USE int read_pool_submit(struct read_pool *pool, const struct read_ask *ask);
/* NULL: at least one connection is there; else the first of them. */
const struct db *read_pool_away(const struct read_pool *pool);
size_t read_pool_waiting(const struct read_pool *pool);
