/* Webhooks that operators and tenants have made (db/schema/webhook.sql): takes a delivery, calls its
 * URL, writes down what became of it. A few receivers are called at the same time, so a slow one holds
 * up no other. The key that opens their secrets is a file of ours. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct db;
struct fetcher;
struct loop;
struct outward_conf;
struct webhooks;

/* Loads the key, or makes it. Before privileges are dropped or after: the folder is ours. */
MUST_USE int webhooks_new(struct loop *loop, const struct outward_conf *conf, struct webhooks **ret,
			  struct problem *problem);
/* Both borrowed; before the loop runs. -ENOMEM. */
MUST_USE int webhooks_connect(struct webhooks *webhooks, struct db *db, struct fetcher *fetcher);
void webhooks_db_state(struct webhooks *webhooks, bool connected);
/* Something has happened. */
void webhooks_wake(struct webhooks *webhooks);
/* No call begins any more; those under way end untold. Before db_free. */
void webhooks_stop(struct webhooks *webhooks);
/* After db_free and fetcher_free. */
void webhooks_free(struct webhooks *webhooks);
