/* A bounded pool of threads for what blocks (IPMI contexts, argon2). The only threads of ours:
 * `work` runs on one of them, `done` in the loop. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"

struct worker;

typedef void (*worker_fn)(void *context);

MUST_USE int worker_new(struct loop *loop, unsigned threads, unsigned queue_limit,
			struct worker **ret);
/* Waits for running work, drops queued work (its `done` is called with nothing run: check in your
 * context). */
void worker_free(struct worker *worker);
/* -EAGAIN when the queue is full. `context` stays the caller's until `done` was called. */
MUST_USE int worker_submit(struct worker *worker, worker_fn work, worker_fn done, void *context);
unsigned worker_queued(const struct worker *worker);
