/* Fetching one file of known size over breaking connections: goes on at the byte where it stopped
 * (RFC 9110 14). */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "bampi/agent/task.h"

/* The next bytes in order. Non-zero ends the download with that code. */
typedef int (*download_fn)(void *context, const void *data, size_t size, struct problem *problem);

/* Blocks until `size` bytes of `target` ("/boot/image/<digest>") came, on the calling thread, with
 * a loop of its own. -ECANCELED when the task is no longer wanted. */
MUST_USE int download_run(const struct task *task, const char *target, uint64_t size,
			  download_fn fn, void *context, struct problem *problem);
