/* portald's own key: the secrets of authenticators are sealed to it, and the state of a login by a
 * provider is signed with what derives from it. It is made when it is wanted first, in key_dir, and
 * exchanged when an operator asks for it (common/db/seal_rotation.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct login_key;
struct portal;
struct seal_key;

/* After the connections to the database are opened. Reads no file yet. E_LIMIT, -ENOMEM. */
MUST_USE int login_key_new(struct portal *portal, struct login_key **ret, struct problem *problem);
/* After the connections to the database are closed. */
void login_key_free(struct login_key *key);
/* Of the connection for writes: it works, or is away. `key` may be NULL. */
void login_key_db_state(struct login_key *key, bool connected);
/* Borrowed until the loop runs again: an exchange replaces it. */
MUST_USE int login_key_get(struct login_key *key, const struct seal_key **ret,
			   struct problem *problem);
