/* Which disk an image goes to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "bampi/agent/disk.h"

struct disk_choice {
	size_t index;
	char reason[160]; /* for the log */
};

/* `wanted` is "auto", a name or a serial. auto = the smallest disk that is large enough, writable,
 * not removable and not on USB. Of equal ones the first by name, so the same node always chooses
 * the same. By name or serial a person decided: only a disk that cannot work is refused.
 * E_NOT_FOUND, E_CONFLICT, E_LIMIT with the problem set. */
MUST_USE int disk_choose(const struct disk disks[], size_t count, const char *wanted,
			 uint64_t size_bytes, struct disk_choice *ret, struct problem *problem);
