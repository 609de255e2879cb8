#include "bampi/bmc/console_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/io/file.h"

#define FILE_FULL   ((off_t)CONSOLE_LOG_KEPT / 8 * 9) /* with its heads */
#define FILE_MAX    ((size_t)FILE_FULL + CONSOLE_LOG_HEAD + CONSOLE_LOG_BYTES_MAX)
#define MERGE_MS    1000
#define SIZE_OFFSET 2 /* of the size in a head */

static const char *const bmc_console_log_suffixes[] = {"old", "log"}; /* in the order of time */

static int bmc_console_log_path_of(const char *folder, int64_t id, const char *suffix,
				   char ret[PATH_MAX])
{
	return text_format(ret, PATH_MAX, "%s/%lld.%s", folder, (long long)id, suffix)
		       ? 0
		       : -ENAMETOOLONG;
}

/* 0 and nothing when there is no such file. */
static int bmc_console_log_read_part(const char *folder, int64_t id, const char *suffix, char **ret,
				     size_t *ret_size)
{
	char path[PATH_MAX];
	int rc = bmc_console_log_path_of(folder, id, suffix, path);

	*ret = NULL;
	*ret_size = 0;
	if (rc == 0)
		rc = file_read(path, 2 * FILE_MAX, ret, ret_size);
	return rc == -ENOENT ? 0 : rc;
}

/* --- writing --- */

/* The first time after a start: a record that was cut off would hide all that come after it. */
static int make_whole(const char *folder, int64_t id, int fd)
{
	CLEANUP(freep) char *bytes = NULL;
	struct console_log_record record;
	struct wire_reader reader;
	size_t size;
	int rc = bmc_console_log_read_part(folder, id, "log", &bytes, &size);

	if (rc)
		return rc;
	reader = wire_reader(bytes ? bytes : "", size);
	while (console_log_read(&reader, &record) == 0)
		continue;
	if (wire_left(&reader) == 0)
		return 0;
	return ftruncate(fd, (off_t)(size - wire_left(&reader))) < 0 ? -errno : 0;
}

static int open_log(struct console_log *log, const char *folder, int *ret)
{
	char path[PATH_MAX];
	int rc = bmc_console_log_path_of(folder, log->id, "log", path);
	int fd;

	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT) {
		rc = file_make_folder(folder, 0700);
		if (rc)
			return rc;
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	if (fd < 0)
		return -errno;
	if (!log->whole) {
		rc = make_whole(folder, log->id, fd);
		if (rc) {
			(void)close(fd);
			return rc;
		}
		log->whole = true;
	}
	*ret = fd;
	return 0;
}

static int bmc_console_log_rotate(const struct console_log *log, const char *folder)
{
	char from[PATH_MAX];
	char to[PATH_MAX];
	int rc = bmc_console_log_path_of(folder, log->id, "log", from);

	if (rc == 0)
		rc = bmc_console_log_path_of(folder, log->id, "old", to);
	if (rc == 0 && rename(from, to) < 0)
		rc = -errno;
	return rc;
}

static int bmc_console_log_put(int fd, const void *bytes, size_t size, off_t at)
{
	ssize_t written = pwrite(fd, bytes, size, at);

	if (written < 0)
		return -errno;
	return (size_t)written < size ? -ENOSPC : 0;
}

/* Bytes first, then the size that makes them count. */
static int bmc_console_log_merge(struct console_log *log, int fd,
				 const struct console_log_record *record, off_t end)
{
	size_t size = log->last_size + record->size;
	const uint8_t head[] = {(uint8_t)(size >> 8), (uint8_t)size};
	int rc = bmc_console_log_put(fd, record->bytes, record->size, end);

	if (rc == 0)
		rc = bmc_console_log_put(fd, head, sizeof(head), (off_t)log->last_at + SIZE_OFFSET);
	if (rc == 0)
		log->last_size = size;
	return rc;
}

static int bmc_console_log_add(struct console_log *log, int fd,
			       const struct console_log_record *record, off_t end)
{
	char bytes[CONSOLE_LOG_HEAD + CONSOLE_LOG_BYTES_MAX];
	size_t size = console_log_write(record, bytes, sizeof(bytes));
	int rc = size > 0 ? bmc_console_log_put(fd, bytes, size, end) : -EMSGSIZE;

	log->last_at = end;
	log->last_ms = record->at_ms;
	log->last_size = record->kind == CONSOLE_LOG_OUTPUT ? record->size : 0;
	return rc;
}

static bool bmc_console_log_fits(const struct console_log *log,
				 const struct console_log_record *record, off_t end)
{
	return record->kind == CONSOLE_LOG_OUTPUT && log->last_size > 0 &&
	       record->at_ms - log->last_ms < MERGE_MS &&
	       log->last_size + record->size <= CONSOLE_LOG_BYTES_MAX &&
	       end == (off_t)log->last_at + CONSOLE_LOG_HEAD + (off_t)log->last_size;
}

static int append_one(struct console_log *log, const char *folder,
		      const struct console_log_record *record)
{
	off_t end;
	int fd = -1;
	int rc = open_log(log, folder, &fd);

	if (rc)
		return rc;
	end = lseek(fd, 0, SEEK_END);
	rc = bmc_console_log_fits(log, record, end) ? bmc_console_log_merge(log, fd, record, end)
						    : bmc_console_log_add(log, fd, record, end);
	if (rc) { /* half a record may stand there */
		log->whole = false;
		log->last_size = 0;
	}
	end = lseek(fd, 0, SEEK_END);
	(void)close(fd);
	if (rc == 0 && end >= FILE_FULL) {
		log->last_size = 0;
		rc = bmc_console_log_rotate(log, folder);
	}
	return rc;
}

int console_log_append(struct console_log *log, const char *folder,
		       const struct console_log_record *record)
{
	struct console_log_record piece = *record;
	size_t left = record->size;
	int rc;

	do {
		piece.size = left < CONSOLE_LOG_BYTES_MAX ? left : CONSOLE_LOG_BYTES_MAX;
		rc = append_one(log, folder, &piece);
		left -= piece.size;
		if (left > 0)
			piece.bytes += piece.size;
	} while (rc == 0 && left > 0);
	return rc;
}

void console_log_remove(const char *folder, int64_t id)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < COUNT_OF(bmc_console_log_suffixes); i++)
		if (bmc_console_log_path_of(folder, id, bmc_console_log_suffixes[i], path) == 0)
			(void)unlink(path);
}

/* --- reading --- */

static size_t output_size(const void *bytes, size_t size)
{
	struct wire_reader reader = wire_reader(bytes, size);
	struct console_log_record record;
	size_t total = 0;

	while (console_log_read(&reader, &record) == 0)
		total += record.kind == CONSOLE_LOG_OUTPUT ? record.size : 0;
	return total;
}

/* `skip` bytes of output are too old. */
static void each_of(const void *bytes, size_t size, size_t *skip, console_log_fn fn, void *context)
{
	struct wire_reader reader = wire_reader(bytes, size);
	struct console_log_record record;

	while (console_log_read(&reader, &record) == 0) {
		size_t cut = *skip < record.size ? *skip : record.size;

		if (*skip > 0) {
			*skip -= record.kind == CONSOLE_LOG_OUTPUT ? cut : 0;
			if (record.kind != CONSOLE_LOG_OUTPUT || cut == record.size)
				continue;
			record.bytes += cut;
			record.size -= cut;
		}
		fn(context, &record);
	}
}

int console_log_each(const char *folder, int64_t id, console_log_fn fn, void *context)
{
	CLEANUP(freep) char *older = NULL;
	CLEANUP(freep) char *newer = NULL;
	size_t older_size;
	size_t newer_size = 0;
	size_t total;
	size_t skip;
	int rc = bmc_console_log_read_part(folder, id, "old", &older, &older_size);

	if (rc == 0)
		rc = bmc_console_log_read_part(folder, id, "log", &newer, &newer_size);
	if (rc)
		return rc;
	total = output_size(older ? older : "", older_size) +
		output_size(newer ? newer : "", newer_size);
	skip = total > CONSOLE_LOG_KEPT ? total - CONSOLE_LOG_KEPT : 0;
	each_of(older ? older : "", older_size, &skip, fn, context);
	each_of(newer ? newer : "", newer_size, &skip, fn, context);
	return 0;
}
