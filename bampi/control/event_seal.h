/* Seals events in blocks: every few seconds what is new is signed with the certificate key. Who writes
 * events waits for nothing of it. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "bampi/control/deploy/certificate.h"

struct event_seal;

/* Borrowed. `key` may be replaced. `db` is the one of certificate_rotation: a block that the old key
 * signed is saved before the old key ends. */
struct event_seal_options {
	struct db *db;
	int64_t period_ms;
	const struct certificate_key *key;
};

MUST_USE int event_seal_new(struct loop *loop, const struct event_seal_options *options,
			    struct event_seal **ret);
/* After db_free. */
void event_seal_free(struct event_seal *seal);
void event_seal_db_state(struct event_seal *seal, bool connected);
