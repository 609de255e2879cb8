/* The root of the OS that was just written: found on its disk, and mounted detached: gone with its
 * descriptor, nowhere to be found by name. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "bampi/agent/sysfs.h"
#include "bampi/agent/task.h"

/* The device of partition `number` of the disk that `wanted` names (disk_choose); waits until it is
 * there. E_NOT_FOUND, -ECANCELED. */
MUST_USE int os_partition_find(const struct task *task, const char *wanted, uint32_t number,
			       char ret[SYSFS_PATH_SIZE], struct problem *problem);
/* Its ext4, without setuid programs, devices or anything that could run; the caller closes *ret. */
MUST_USE int os_mount(const char *device, int *ret, struct problem *problem);
