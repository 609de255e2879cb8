#include "bampi/control/deploy/action_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/http/json_reader.h"

#include "bampi/control/deploy/action_store_sql.h"

int action_store_claim(struct db *db, const struct save_options *options, db_result_fn fn,
		       void *context)
{
	char claim_ms[24];
	const char *params[] = {options->owner, claim_ms};

	(void)text_format(claim_ms, sizeof(claim_ms), "%lld", (long long)options->claim_ms);
	return db_submit(db, &action_claim_query, params, fn, context);
}

int action_row_read(const PGresult *result, int row, struct action_row *ret)
{
	const char *params = db_text(result, row, ACTION_CLAIM_PARAMS, "{}");
	struct problem ignored = {0};

	*ret = (struct action_row){
		.id = db_int(result, row, ACTION_CLAIM_ID, 0),
		.generation = db_int(result, row, ACTION_CLAIM_GENERATION, 0),
		.node_id = db_int(result, row, ACTION_CLAIM_NODE_ID, 0),
		.repeated = db_bool(result, row, ACTION_CLAIM_REPEATED),
		.uefi = db_bool(result, row, ACTION_CLAIM_UEFI),
	};
	(void)text_copy(ret->node, sizeof(ret->node), db_text(result, row, ACTION_CLAIM_NODE, ""));
	(void)text_copy(ret->action, sizeof(ret->action),
			db_text(result, row, ACTION_CLAIM_ACTION, ""));
	return json_read(params, strlen(params), JSON_LIMIT_DEFAULT, &ret->params, &ignored);
}

int action_store_extend(struct db *db, const struct extend_options *options, db_result_fn fn,
			void *context)
{
	return claim_extend(db, &action_extend_query, options, fn, context);
}

int action_store_save(struct db *db, const json_t *rows, db_result_fn fn, void *context)
{
	CLEANUP(freep) char *text = json_dumps(rows, JSON_COMPACT);
	const char *params[] = {text};

	return text ? db_submit(db, &action_save_query, params, fn, context) : -ENOMEM;
}
