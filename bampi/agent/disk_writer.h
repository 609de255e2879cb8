/* Writes an image to a disk so that two things always hold.
 *
 * - A former tenant's data never shows through a hole: a block of zeros is written, or the kernel
 *   confirmed that the range reads as zeros.
 * - The disk cannot boot before the image was proven: its first MiB is wiped at the begin and
 *   written last. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "bampi/agent/disk.h"

#define DISK_HEAD_SIZE ((size_t)1 << 20)

struct agent_env;
struct disk_writer;

MUST_USE int disk_writer_new(const struct agent_env *env, const struct disk *disk,
			     struct disk_writer **ret, struct problem *problem);
/* Without disk_writer_commit the disk stays unbootable. */
void disk_writer_free(struct disk_writer *writer);
void disk_writer_freep(struct disk_writer **writer);
/* Wipes the first and the last MiB: no partition table is left for anybody to find. */
MUST_USE int disk_writer_begin(struct disk_writer *writer, struct problem *problem);
/* Blocks in order; the first is DISK_HEAD_SIZE (or the whole image). `data` is aligned to 4096. */
MUST_USE int disk_writer_block(struct disk_writer *writer, uint64_t offset, const void *data,
			       size_t size, struct problem *problem);
/* All bytes but the head are on the medium. */
MUST_USE int disk_writer_flush(struct disk_writer *writer, struct problem *problem);
/* Writes the head, flushes, has the kernel read the partition table again. */
MUST_USE int disk_writer_commit(struct disk_writer *writer, struct problem *problem);
/* Bytes that went over as zero ranges instead of writes. */
uint64_t disk_writer_zeroed_bytes(const struct disk_writer *writer);

/* Zeros for certain: BLKZEROOUT (the kernel falls back to writing; reads give zeros afterwards).
 * E_UNSUPPORTED when `fd` is no block device or refuses: then zeros must be written. */
MUST_USE int disk_zero_range(int fd, bool block, uint64_t offset, uint64_t size);
bool disk_is_zero(const void *data, size_t size);
