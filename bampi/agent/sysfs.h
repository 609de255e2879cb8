/* Reading the kernel's little files (/sys, /proc) under an agent's root. All reads are bounded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define SYSFS_PATH_SIZE 512

struct agent_env;

/* root + the formatted path; false when it does not fit. */
bool sysfs_path(const struct agent_env *env, char ret[SYSFS_PATH_SIZE], const char *format, ...)
	PRINTF_LIKE(3, 4);
/* The first line of a file without surrounding blanks and unprintable bytes; "" when it cannot be
 * read. Returns ret. */
const char *sysfs_line(const struct agent_env *env, char *ret, size_t room, const char *format, ...)
	PRINTF_LIKE(4, 5);
/* A decimal number; `fallback` when there is none. */
int64_t sysfs_int(const struct agent_env *env, int64_t fallback, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* The last part of what a link points to ("virtio_net"); "" when it is no link. Returns ret. */
const char *sysfs_link_name(const struct agent_env *env, char *ret, size_t room, const char *format,
			    ...) PRINTF_LIKE(4, 5);
/* The names in a folder, sorted so that runs of digits count as numbers (sda sdb sdaa; nvme2n1
 * before nvme10n1). At most `limit` are kept; returns how many. An absent folder has none. */
size_t sysfs_names(const struct agent_env *env, const char *folder, char (*ret)[64], size_t limit);
/* The order that sysfs_names sorts by. */
int sysfs_name_compare(const char *a, const char *b);
