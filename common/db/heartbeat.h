/* The heartbeat of a daemon: its row of haas.daemon, written every 3 s while its loop turns and its
 * database is there. db_new makes one where db_options names a daemon. Readers judge by the
 * database's clock. */
#pragma once

#include "common/base/macros.h"
#include "common/io/loop.h"

struct db;
struct heartbeat;

enum { HEARTBEAT_MS = 3000 };

/* `instance` NULL or "" = the host's name. */
MUST_USE int heartbeat_new(struct loop *loop, struct db *db, const char *name, const char *instance,
			   struct heartbeat **ret);
/* After the db has answered all. */
void heartbeat_free(struct heartbeat *heartbeat);
