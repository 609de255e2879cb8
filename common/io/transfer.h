/* Reading and writing that goes on after a signal and after a partial transfer (read(2), write(2)).
 * All return 0 or -errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* Writes all `size` bytes. -ENOSPC: the kernel takes no more and says no reason. */
MUST_USE int write_whole(int fd, const void *data, size_t size);
MUST_USE int write_whole_at(int fd, const void *data, size_t size, uint64_t offset);
/* Reads all `size` bytes. -EIO: the file or the connection ends before. */
MUST_USE int read_whole(int fd, void *room, size_t size);
MUST_USE int read_whole_at(int fd, void *room, size_t size, uint64_t offset);
/* Reads once, at most `most` bytes. *ret is 0 at the end. */
MUST_USE int read_piece(int fd, void *room, size_t most, size_t *ret);
MUST_USE int read_piece_at(int fd, void *room, size_t most, uint64_t offset, size_t *ret);
