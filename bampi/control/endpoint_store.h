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
MUST_USE int endpoint_store_publish(struct db *db, const struct seal_key *secret, db_result_fn fn,
				    void *context);

struct endpoint_seen {
	int64_t node_id;
	struct bmc_observation observation;
};
MUST_USE int endpoint_store_observe(struct db *db, const struct endpoint_seen rows[], size_t count,
				    db_result_fn fn, void *context);
