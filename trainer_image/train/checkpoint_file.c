#include "trainer_image/train/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/transfer.h"

#include "trainer_image/record/crc32c.h"

enum { CHECKPOINT_FILE_PIECE = 1 << 20 };

/* --- reading --- */

static int checkpoint_file_problem(const struct checkpoint_file *file, int rc, const char *why,
				   struct problem *problem)
{
	problem_set(problem, rc, "checkpoint %s cannot be used", file->path);
	problem_detail(problem, "%s", why);
	return rc;
}

static int checkpoint_file_header(struct checkpoint_file *file, uint64_t file_size)
{
	uint8_t begin[CHECKPOINT_BEGIN];

	if (file_size < sizeof(begin))
		return E_MALFORMED;
	int rc = read_whole_at(file->fd, begin, sizeof(begin), 0);
	if (rc == 0)
		rc = checkpoint_wire_size(begin, sizeof(begin), &file->header_size);
	if (rc == 0 && file_size < file->header_size)
		rc = E_MALFORMED;
	if (rc < 0)
		return rc;
	CLEANUP(freep) uint8_t *data = malloc(file->header_size);
	if (!data)
		return -ENOMEM;
	rc = read_whole_at(file->fd, data, file->header_size, 0);
	return rc < 0 ? rc : checkpoint_wire_decode(data, file->header_size, &file->header);
}

static const char *checkpoint_file_why(int rc)
{
	switch (rc) {
	case E_MALFORMED: return "its header is cut off, or that of no checkpoint";
	case E_DIGEST: return "its header is damaged";
	case E_UNSUPPORTED: return "its version is another one than this program's";
	default: return error_text(rc);
	}
}

int checkpoint_file_open(const char *path, struct checkpoint_file *ret, struct problem *problem)
{
	struct checkpoint_file file = {.fd = open(path, O_RDONLY | O_CLOEXEC), .path = path};
	struct stat status = {0};
	int rc = file.fd < 0 || fstat(file.fd, &status) < 0 ? -errno : 0;

	if (rc == 0)
		rc = checkpoint_file_header(&file, (uint64_t)status.st_size);
	if (rc < 0) {
		checkpoint_file_close(&file);
		return checkpoint_file_problem(&file, rc, checkpoint_file_why(rc), problem);
	}
	uint64_t wanted = file.header_size + checkpoint_bytes(&file.header);
	if ((uint64_t)status.st_size != wanted) {
		checkpoint_file_close(&file);
		rc = problem_set(problem, E_MALFORMED, "checkpoint %s cannot be used", path);
		problem_detail(problem, "it has %" PRIu64 " bytes, its header promises %" PRIu64,
			       (uint64_t)status.st_size, wanted);
		return rc;
	}
	*ret = file;
	return 0;
}

void checkpoint_file_close(struct checkpoint_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
	free(file->header.rows);
	file->header.rows = NULL;
	file->header.count = 0;
}

/* One region: in pieces, each to its place or over the last one. */
static int checkpoint_file_region(const struct checkpoint_file *file,
				  const struct checkpoint_row *row, uint64_t first, uint8_t *to,
				  uint8_t *scratch, XXH64_state_t *digest)
{
	uint32_t crc = 0;

	for (uint64_t done = 0; done < row->bytes;) {
		uint64_t left = row->bytes - done;
		size_t size = left < CHECKPOINT_FILE_PIECE ? (size_t)left : CHECKPOINT_FILE_PIECE;
		uint8_t *at = to ? to + first + done : scratch;
		int rc = read_whole_at(file->fd, at, size, file->header_size + first + done);

		if (rc < 0)
			return rc;
		crc = crc32c(crc, at, size);
		XXH64_update(digest, at, size);
		done += size;
	}
	return crc == row->crc ? 0 : E_DIGEST;
}

int checkpoint_file_read(const struct checkpoint_file *file, void *to, struct problem *problem)
{
	CLEANUP(freep) uint8_t *scratch = to ? NULL : malloc(CHECKPOINT_FILE_PIECE);
	XXH64_state_t *digest = XXH64_createState();
	const struct checkpoint_row *row = NULL;
	uint64_t first = 0;
	int rc = digest && (to || scratch) ? 0 : -ENOMEM;

	if (rc == 0)
		XXH64_reset(digest, 0);
	for (size_t i = 0; rc == 0 && i < file->header.count; i++) {
		row = &file->header.rows[i];
		rc = checkpoint_file_region(file, row, first, to, scratch, digest);
		first += row->bytes;
	}
	if (rc < 0 && row) {
		problem_set(problem, rc, "checkpoint %s cannot be used", file->path);
		problem_detail(problem, "%s %s: %s", checkpoint_kind_text(row->kind), row->name,
			       rc == E_DIGEST ? "its crc32c is wrong" : error_text(rc));
	} else if (rc < 0) {
		(void)checkpoint_file_problem(file, rc, error_text(rc), problem);
	} else if (XXH64_digest(digest) != file->header.digest) {
		rc = checkpoint_file_problem(file, E_DIGEST, "its digest is wrong", problem);
	}
	XXH64_freeState(digest);
	return rc;
}

/* --- writing --- */

static void checkpoint_file_checksums(const struct checkpoint_file_write *is)
{
	const uint8_t *data = is->data;
	uint64_t first = 0;

	for (size_t i = 0; i < is->header->count; i++) {
		struct checkpoint_row *row = &is->header->rows[i];

		row->crc = crc32c(0, data + first, row->bytes);
		first += row->bytes;
	}
	is->header->digest = XXH64(data, first, 0);
	checkpoint_wire_encode(is->header, is->scratch, is->scratch_size);
}

/* The whole room is asked for before the first byte, so a full disk is told at once. */
static int checkpoint_file_fill(const struct checkpoint_file_write *is, int fd)
{
	uint64_t bytes = checkpoint_bytes(is->header);

	if (fallocate(fd, 0, 0, (off_t)(is->scratch_size + bytes)) < 0 && errno != EOPNOTSUPP)
		return -errno;
	int rc = write_whole(fd, is->scratch, is->scratch_size);
	if (rc == 0)
		rc = write_whole(fd, is->data, bytes);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	return rc;
}

static int checkpoint_file_failed(const struct checkpoint_file_write *is, int rc,
				  struct problem *problem)
{
	uint64_t need = is->scratch_size + checkpoint_bytes(is->header);
	struct statvfs disk;

	problem_set(problem, rc, "the checkpoint of step %" PRIu64 " is not saved: %s",
		    is->header->step, error_text(rc));
	if (fstatvfs(is->folder_fd, &disk) == 0)
		problem_detail(problem,
			       "%s/%s needs %" PRIu64 " bytes, %" PRIu64
			       " are free; the checkpoints before it are as they were",
			       is->folder, is->name, need, (uint64_t)disk.f_bavail * disk.f_frsize);
	problem_hint(problem, "%s",
		     rc == -ENOSPC || rc == -EDQUOT
			     ? "make room; training goes on and the next checkpoint tries again"
			     : "training goes on and the next checkpoint tries again");
	return rc;
}

int checkpoint_file_write(const struct checkpoint_file_write *is, struct problem *problem)
{
	char part[NAME_MAX + 1];

	if (!text_format(part, sizeof(part), "%s.part", is->name))
		return checkpoint_file_failed(is, -ENAMETOOLONG, problem);
	checkpoint_file_checksums(is);
	CLEANUP(closep)
	int fd = openat(is->folder_fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			0666);
	if (fd < 0)
		return checkpoint_file_failed(is, -errno, problem);
	int rc = checkpoint_file_fill(is, fd);
	if (rc == 0 && renameat(is->folder_fd, part, is->folder_fd, is->name) < 0)
		rc = -errno;
	/* Without this the new name may be lost with the power. */
	if (rc == 0 && fsync(is->folder_fd) < 0)
		rc = -errno;
	if (rc < 0) {
		(void)checkpoint_file_failed(is, rc, problem);
		(void)unlinkat(is->folder_fd, part, 0);
	}
	return rc;
}
