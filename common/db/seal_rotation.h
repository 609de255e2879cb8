/* Exchanges the seal key of a daemon (table seal_rotation): a new key beside the old one, every row
 * sealed anew, the old one kept for a while, then destroyed. Each step can be done again, so it does
 * not matter when the daemon ends. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/io/seal_key.h"

struct seal_rotation;

/* Borrowed. */
struct seal_rotation_options {
	struct db *db;
	const char *daemon; /* "bampid" */
	const struct seal_key_file *file;
	/* The key that is in use; NULL: none was loaded yet, and `reload` does it. */
	const struct seal_key *(*key)(void *context);
	/* The file has changed: load it, use it, publish its public key. */
	int (*reload)(void *context, struct problem *problem);
	void *context;
};

MUST_USE int seal_rotation_new(struct loop *loop, const struct seal_rotation_options *options,
			       struct seal_rotation **ret);
/* After db_free. */
void seal_rotation_free(struct seal_rotation *rotation);
/* Something may be to do; else it looks every few seconds. */
void seal_rotation_wake(struct seal_rotation *rotation);
void seal_rotation_db_state(struct seal_rotation *rotation, bool connected);
