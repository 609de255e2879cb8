/* The SQL of node actions: claimed, extended and saved like deployments, each in one statement for
 * a batch. */
#pragma once

#include "common/db/db.h"

#include "bampi/control/deploy/deploy_store.h"

#define ACTION_LIMIT 128

struct action_row {
	int64_t id, generation, node_id;
	char node[64];
	char action[32];
	bool repeated; /* somebody began it before and did not end it */
	bool uefi;
	json_t *params; /* owned */
};

MUST_USE int action_store_claim(struct db *db, const struct save_options *options, db_result_fn fn,
				void *context);
MUST_USE int action_row_read(const PGresult *result, int row, struct action_row *ret);
/* The result has (id, generation) of those that are not ours any more. */
MUST_USE int action_store_extend(struct db *db, const struct extend_options *options,
				 db_result_fn fn, void *context);
/* rows: [{id, generation, result|null, problem|null}]. One transaction with the events. */
MUST_USE int action_store_save(struct db *db, const json_t *rows, db_result_fn fn, void *context);
