/* Gives BMCs new passwords (table rotation). The new one is sealed and stored before it is set, and
 * counts only after a login with it. The old one is kept until then and some time longer. So it does
 * not matter at which step bampid ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/io/seal_key.h"

#include "bampi/bmc/bmc_queue.h"
#include "bampi/control/endpoints.h"

struct rotations;

/* Borrowed. */
struct rotations_options {
	struct db *db;
	struct bmc_queue *queue;
	const struct endpoints *endpoints; /* whose key passwords are sealed to */
	const char *owner;
	int64_t claim_ms;
};

MUST_USE int rotations_new(struct loop *loop, const struct rotations_options *options,
			   struct rotations **ret);
/* After db_free, before bmc_queue_free. */
void rotations_free(struct rotations *rotations);
void rotations_wake(struct rotations *rotations);
/* `ready`: PostgreSQL is there, and the BMCs are in the queue. */
void rotations_db_state(struct rotations *rotations, bool ready);

/* --- for a test --- */

#define ROTATION_PASSWORD_LENGTH 16 /* what old BMCs keep of a password */
/* Letters of both kinds, digits and a sign: what BMCs demand of passwords. */
void rotation_password_make(char ret[ROTATION_PASSWORD_LENGTH + 1]);
/* What an answer to setting the password, or to using it, means: a step of rotation_step(). */
const char *rotation_step_after_set(int rc);
const char *rotation_step_after_use(int rc);
