/* Files: bounded reads, atomic durable writes. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/base/macros.h"

/* Reads a whole file of at most `limit` bytes; *ret is NUL-terminated, the caller frees. -errno,
 * E_LIMIT. */
MUST_USE int file_read(const char *path, size_t limit, char **ret, size_t *ret_size);
/* Writes a temporary sibling, fsyncs, renames, fsyncs the folder. */
MUST_USE int file_write_atomic(const char *path, const void *data, size_t size, mode_t mode);
/* The same for a name that is not taken, else -EEXIST: of several programs the first one wins. */
MUST_USE int file_write_new(const char *path, const void *data, size_t size, mode_t mode);
/* mkdir -p. */
MUST_USE int file_make_folder(const char *path, mode_t mode);
