/* Exchanges the key that certificates are signed with (table seal_rotation, key 'certificate'). The
 * new key is made beside the old one, which vouches for it; PostgreSQL knows it before it signs. The
 * old one is destroyed then: what it signed is verified by its public half. Each step can be done
 * again, so it does not matter when bampid ends. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "bampi/control/deploy/certificate.h"

struct certificate_rotation;

/* Borrowed. `key` is what the runner signs with: it is replaced. Certificates are saved by the same
 * `db`, so one that the old key signed is there before the old key ends. */
struct certificate_rotation_options {
	struct db *db;
	const char *path; /* of the key file; copied */
	struct certificate_key *key;
};

MUST_USE int certificate_rotation_new(struct loop *loop,
				      const struct certificate_rotation_options *options,
				      struct certificate_rotation **ret);
/* After db_free. */
void certificate_rotation_free(struct certificate_rotation *rotation);
void certificate_rotation_wake(struct certificate_rotation *rotation);
void certificate_rotation_db_state(struct certificate_rotation *rotation, bool connected);
