/* Opening what a client named, inside one folder and nowhere else. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

#define SERVED_NAME_MAX 200

/* Cleans a name as clients send it: '\' becomes '/', leading slashes go. E_LIMIT; E_MALFORMED for
 * an empty name, control characters, or a part that begins with a dot (".." and hidden files).
 * `ret` holds SERVED_NAME_MAX + 1 bytes. */
MUST_USE int served_file_name(const char *asked, char *ret);
/* Opens a regular file below `folder` for reading. The kernel holds the confinement (openat2
 * RESOLVE_BENEATH), so a symbolic link that leads out of the folder is refused too. E_NOT_FOUND for
 * all that is no such file, else -errno. */
MUST_USE int served_file_open(const char *folder, const char *name, int *ret_fd,
			      uint64_t *ret_size);
