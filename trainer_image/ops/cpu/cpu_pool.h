/* Threads that share the items of one loop. Which thread takes which item is not defined, so a loop's
 * items write to different memory. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

struct cpu_pool;

/* Runs items [first, last). `thread` is below the pool's thread count: it chooses scratch memory. */
typedef void (*cpu_pool_fn)(const void *context, unsigned thread, int64_t first, int64_t last);

/* `threads` 0 = as many as the process may run on. The caller is one of them. -ENOMEM, -EAGAIN. */
MUST_USE int cpu_pool_new(unsigned threads, struct cpu_pool **ret);
void cpu_pool_free(struct cpu_pool *pool);
unsigned cpu_pool_threads(const struct cpu_pool *pool);
/* Returns when all `count` items have run. One loop at a time. */
void cpu_pool_run(struct cpu_pool *pool, int64_t count, cpu_pool_fn fn, const void *context);
