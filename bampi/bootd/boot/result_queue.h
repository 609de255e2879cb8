/* Results of agent tasks on their way into the database: gathered while one statement is out,
 * stored by the next, answered when durable. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/http/server.h"

#include "bampi/bootd/boot/boot_counters.h"
#include "bampi/bootd/boot/boot_report.h"

struct result_queue;

/* Called when the task is over in the database, by this result or before it. */
typedef void (*result_over_fn)(void *context, int64_t task_id);

/* db and counters are borrowed. */
MUST_USE int result_queue_new(struct db *db, struct boot_counters *counters, result_over_fn on_over,
			      void *context, struct result_queue **ret);
/* Requests that wait are answered 503: whether their result was stored is unknown, the agent asks
 * again. */
void result_queue_free(struct result_queue *queue);
/* Takes over the request and moves the result. Answers:
 *
 *   204  stored, now or before
 *   401  not signed by the agent that the task is for
 *   404  not a task of this token
 *   410  nobody wants it
 *   503  PostgreSQL is away; with Retry-After */
void result_queue_add(struct result_queue *queue, struct http_request *request, const char *token,
		      int64_t task_id, struct boot_result *result);
