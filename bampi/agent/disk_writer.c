#include "bampi/agent/disk_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/transfer.h"

#include "bampi/agent/task.h"

/* One zero range at a time stays short enough to be cancelled between two. */
#define ZERO_RUN_LIMIT   ((uint64_t)64 << 20)
#define DROP_BEHIND_SIZE ((uint64_t)8 << 20)
#define REREAD_TRIES     20

struct disk_writer {
	const struct disk *disk;
	int fd;
	bool block;
	bool cached; /* writes go through the page cache and are dropped behind */
	bool zero_range_fails;
	uint64_t zero_start;
	uint64_t zero_size; /* a run of zeros that is still owed */
	uint64_t zeroed_bytes;
	uint64_t dropped_to;
	uint8_t *head;
	size_t head_size;
	uint8_t *zeros;
};

bool disk_is_zero(const void *data, size_t size)
{
	const unsigned char *bytes = data;

	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

int disk_zero_range(int fd, bool block, uint64_t offset, uint64_t size)
{
	uint64_t range[2] = {offset, size};

	if (!block)
		return E_UNSUPPORTED;
	return ioctl(fd, BLKZEROOUT, range) < 0 ? E_UNSUPPORTED : 0;
}

static int disk_writer_failed(const struct disk_writer *writer, int rc, const char *doing,
			      uint64_t offset, struct problem *problem)
{
	(void)problem_set(problem, rc, "disk %s: %s failed: %s", writer->disk->name, doing,
			  error_text(rc));
	problem_detail(problem, "at byte %llu of %llu (serial %s)", (unsigned long long)offset,
		       (unsigned long long)writer->disk->size_bytes, writer->disk->serial);
	if (rc == -EIO)
		problem_hint(problem,
			     "the drive reports a medium error; replace it or choose another disk");
	return rc;
}

int disk_writer_new(const struct agent_env *env, const struct disk *disk, struct disk_writer **ret,
		    struct problem *problem)
{
	CLEANUP(disk_writer_freep) struct disk_writer *writer = calloc(1, sizeof(*writer));
	int rc;

	if (!writer)
		return -ENOMEM;
	writer->fd = -1;
	writer->disk = disk;
	writer->head = aligned_alloc(4096, DISK_HEAD_SIZE);
	writer->zeros = aligned_alloc(4096, DISK_HEAD_SIZE);
	if (!writer->head || !writer->zeros)
		return -ENOMEM;
	memset(writer->zeros, 0, DISK_HEAD_SIZE);
	rc = disk_open(env, disk, O_DIRECT, &writer->fd, &writer->block, problem);
	if (rc)
		return rc;
	writer->cached = (fcntl(writer->fd, F_GETFL) & O_DIRECT) == 0;

	*ret = TAKE(writer);
	return 0;
}

void disk_writer_free(struct disk_writer *writer)
{
	if (!writer)
		return;
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->head);
	free(writer->zeros);
	free(writer);
}

void disk_writer_freep(struct disk_writer **writer)
{
	disk_writer_free(*writer);
}

/* The last piece of an image or a disk may be smaller than O_DIRECT's unit on a 4Kn drive or a
 * file: that one goes through the cache. */
static int write_piece(struct disk_writer *writer, const void *data, size_t size, uint64_t offset)
{
	int flags = fcntl(writer->fd, F_GETFL);
	int rc = write_whole_at(writer->fd, data, size, offset);

	if (rc != -EINVAL || writer->cached || flags < 0)
		return rc;
	if (fcntl(writer->fd, F_SETFL, flags & ~O_DIRECT) < 0)
		return -errno;
	writer->cached = true;
	return write_whole_at(writer->fd, data, size, offset);
}

static int disk_writer_write_zeros(struct disk_writer *writer, uint64_t offset, uint64_t size)
{
	if (!writer->zero_range_fails) {
		if (disk_zero_range(writer->fd, writer->block, offset, size) == 0) {
			writer->zeroed_bytes += size;
			return 0;
		}
		/* Some or none of the range may be zero now: all of it is written, here and from
		 * now on. */
		writer->zero_range_fails = true;
	}
	while (size > 0) {
		size_t piece = size < DISK_HEAD_SIZE ? (size_t)size : DISK_HEAD_SIZE;
		int rc = write_piece(writer, writer->zeros, piece, offset);

		if (rc)
			return rc;
		offset += piece;
		size -= piece;
	}
	return 0;
}

static int pay_zeros(struct disk_writer *writer, struct problem *problem)
{
	uint64_t start = writer->zero_start;
	uint64_t size = writer->zero_size;
	int rc;

	if (size == 0)
		return 0;
	writer->zero_size = 0;
	rc = disk_writer_write_zeros(writer, start, size);
	return rc ? disk_writer_failed(writer, rc, "zeroing", start, problem) : 0;
}

/* A node with little memory must not fill it with pages that nobody reads again. */
static void drop_behind(struct disk_writer *writer, uint64_t end)
{
	if (!writer->cached || end - writer->dropped_to < DROP_BEHIND_SIZE)
		return;
	(void)sync_file_range(
		writer->fd, (off_t)writer->dropped_to, (off_t)(end - writer->dropped_to),
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	(void)posix_fadvise(writer->fd, (off_t)writer->dropped_to,
			    (off_t)(end - writer->dropped_to), POSIX_FADV_DONTNEED);
	writer->dropped_to = end;
}

int disk_writer_begin(struct disk_writer *writer, struct problem *problem)
{
	uint64_t size = writer->disk->size_bytes;
	size_t head = size < DISK_HEAD_SIZE ? (size_t)size : DISK_HEAD_SIZE;
	int rc = disk_writer_write_zeros(writer, 0, head);

	/* The backup partition table is in the last sectors (UEFI 2.10, 5.3.2). */
	if (!rc)
		rc = disk_writer_write_zeros(writer, size - head, head);
	if (!rc && fdatasync(writer->fd) < 0)
		rc = -errno;
	return rc ? disk_writer_failed(writer, rc, "wiping the partition table", 0, problem) : 0;
}

int disk_writer_block(struct disk_writer *writer, uint64_t offset, const void *data, size_t size,
		      struct problem *problem)
{
	int rc;

	if (offset == 0) {
		memcpy(writer->head, data, size);
		writer->head_size = size;
		return 0;
	}
	if (disk_is_zero(data, size)) {
		if (writer->zero_size == 0)
			writer->zero_start = offset;
		writer->zero_size += size;
		return writer->zero_size < ZERO_RUN_LIMIT ? 0 : pay_zeros(writer, problem);
	}
	rc = pay_zeros(writer, problem);
	if (rc)
		return rc;
	rc = write_piece(writer, data, size, offset);
	if (rc)
		return disk_writer_failed(writer, rc, "writing", offset, problem);
	drop_behind(writer, offset + size);
	return 0;
}

int disk_writer_flush(struct disk_writer *writer, struct problem *problem)
{
	int rc = pay_zeros(writer, problem);

	if (rc)
		return rc;
	return fdatasync(writer->fd) < 0
		       ? disk_writer_failed(writer, -errno, "flushing", 0, problem)
		       : 0;
}

int disk_writer_commit(struct disk_writer *writer, struct problem *problem)
{
	int rc = write_piece(writer, writer->head, writer->head_size, 0);

	if (!rc && fdatasync(writer->fd) < 0)
		rc = -errno;
	if (rc)
		return disk_writer_failed(writer, rc, "writing the first MiB", 0, problem);
	if (!writer->block)
		return 0;
	/* A probe of the old table may hold a partition open for a moment. */
	for (int i = 0; i < REREAD_TRIES; i++) {
		if (ioctl(writer->fd, BLKRRPART) == 0 ||
		    errno == EINVAL) /* EINVAL: a device without partitions */
			return 0;
		if (errno != EBUSY)
			break;
		usleep(100 * 1000);
	}
	return disk_writer_failed(writer, -errno, "reading the new partition table", 0, problem);
}

uint64_t disk_writer_zeroed_bytes(const struct disk_writer *writer)
{
	return writer->zeroed_bytes;
}
