/* The keys of one storage, each a file in key_dir. CHAP secrets are sealed to stored-seal.key. An
 * operator may have it exchanged (common/db/seal_rotation.h). By stored-targets.key the daemon knows
 * the targets that it opened before it was started anew. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/io/seal_key.h"

#include "bampi/storage/driver/storage_driver.h"

struct stored_key;

/* Reads both files, or makes them. `folder` is borrowed. E_LIMIT, E_DENIED, E_MALFORMED, -errno. */
MUST_USE int stored_key_new(const char *folder, struct stored_key **ret, struct problem *problem);
/* From now on the seal key may be exchanged. -ENOMEM. */
MUST_USE int stored_key_start(struct stored_key *key, struct loop *loop, struct db *db);
/* After db_free and worker_free. NULL is fine. */
void stored_key_free(struct stored_key *key);
/* Borrowed until the loop runs again: an exchange replaces it. Not for workers. */
const struct seal_key *stored_key_get(const struct stored_key *key);
/* The same after each start, whatever seals. */
const uint8_t *stored_key_mark(const struct stored_key *key);
/* Something may be to do. */
void stored_key_wake(struct stored_key *key);
void stored_key_db_state(struct stored_key *key, bool connected);
