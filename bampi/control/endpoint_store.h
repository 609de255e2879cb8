/* The SQL of BMCs: who there is, the key that secrets are sealed to, what was observed. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/seal_key.h"

#include "bampi/bmc/bmc_queue.h"

MUST_USE int endpoint_store_read(struct db *db, db_result_fn fn, void *context);
/* The password is opened with `secret`; end the endpoint with bmc_endpoint_wipe. E_DENIED: sealed
 * to another key. */
MUST_USE int endpoint_row_read(const PGresult *result, int row, const struct seal_key *secret,
			       struct bmc_endpoint *ret, struct problem *problem);
/* Says to portald which key to seal to. */
#define ENDPOINT_PASSWORD_SIZE 21 /* of bmc_endpoint.password */

/* Opens a sealed password, in hex; "" is the empty one. Wipe it after use. */
MUST_USE int endpoint_password_open(const char *sealed_hex, const struct seal_key *secret,
				    char ret[ENDPOINT_PASSWORD_SIZE]);
/* The same of one node. */
MUST_USE int endpoint_store_read_one(struct db *db, int64_t node_id, db_result_fn fn,
				     void *context);
MUST_USE int endpoint_store_publish(struct db *db, const struct seal_key *secret, db_result_fn fn,
				    void *context);

struct endpoint_seen {
	int64_t node_id;
	struct bmc_observation observation;
};
MUST_USE int endpoint_store_observe(struct db *db, const struct endpoint_seen rows[], size_t count,
				    db_result_fn fn, void *context);
