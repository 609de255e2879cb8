/* SQL of the mailbox: agent_task, progress. Each statement serves a whole batch. */
#pragma once

#include "common/db/db.h"

/* $1 tokens. Takes the oldest open task of each: id, token, deployment_id, kind, params. A task
 * that was taken before is given again: its agent polls, so it never got it. */
extern const struct db_query mailbox_take_query;
/* $1 task ids. Those that are over: id, dropped. */
extern const struct db_query mailbox_over_query;
/* $1 task id, $2 token: deployment_id of an open task. */
extern const struct db_query mailbox_find_query;
/* $1 deployment ids, $2 percents, $3 done bytes, $4 total bytes, $5 texts. */
extern const struct db_query mailbox_progress_query;
/* $1 task ids, $2 tokens, $3 states, $4 results, $5 problems. Stores the result, makes the
 * deployments due and notifies, in one transaction. Per row: id, outcome: stored, repeated,
 * dropped, unknown. */
extern const struct db_query mailbox_result_query;
