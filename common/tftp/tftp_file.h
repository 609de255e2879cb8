/* Files that are being sent: each is mapped once for all its transfers. Only the kernel reads the
 * mapping, while it copies into packets. So a file that became shorter is an -EFAULT of that send
 * and never a SIGBUS. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/base/macros.h"

struct tftp_file {
	const uint8_t *bytes; /* NULL for an empty file; not for our own eyes */
	uint64_t size;
	int fd;
	struct stat status; /* when it was mapped */
	unsigned users;
	struct tftp_file *prev, *next;
};

/* Finds or maps the file open as `fd`, which is taken over on success. -errno. */
MUST_USE int tftp_file_use(struct tftp_file **files, int fd, uint64_t size, struct tftp_file **ret);
/* The last one to leave closes it. NULL is fine. */
void tftp_file_leave(struct tftp_file **files, struct tftp_file *file);
/* False when it has become shorter: what was sent of its last page may be zeros. */
bool tftp_file_is_whole(const struct tftp_file *file);
