#include "common/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/transfer.h"

#define PIECE_SIZE 65536

/* Sizes told by fstat are not believed: /proc says 0, and a file may grow meanwhile. */
int file_read(const char *path, size_t limit, char **ret, size_t *ret_size)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct text text = {0};
	size_t got = 1;
	int rc = 0;

	if (fd < 0)
		return -errno;
	while (rc == 0 && got > 0) {
		char piece[PIECE_SIZE];

		rc = read_piece(fd, piece, sizeof(piece), &got);
		if (rc == 0 && got > limit - text.size)
			rc = E_LIMIT;
		if (rc == 0)
			text_add_bytes(&text, piece, got);
		if (rc == 0 && text.failed)
			rc = -ENOMEM;
	}
	if (rc == 0) {
		size_t size = text.size;

		*ret = text_take(&text);
		if (!*ret)
			return -ENOMEM;
		if (ret_size)
			*ret_size = size;
	}
	text_done(&text);
	return rc;
}

/* Without this a rename may be lost with the power (fsync(2), "the directory ... has also reached
 * disk"). */
static int sync_folder_of(const char *path)
{
	CLEANUP(freep) char *folder = strdup(path);
	CLEANUP(closep) int fd = -1;
	char *slash;

	if (!folder)
		return -ENOMEM;
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder ? 1 : 0] = '\0';
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) != 0)
		return -errno;
	return 0;
}

/* Writes a temporary sibling and lets `publish` give it its name. */
static int write_beside(const char *path, const void *data, size_t size, mode_t mode,
			int (*publish)(const char *temporary, const char *path))
{
	CLEANUP(freep) char *temporary = NULL;
	CLEANUP(closep) int fd = -1;
	int rc;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write_whole(fd, data, size);
	if (rc == 0 && (fchmod(fd, mode) != 0 || fsync(fd) != 0))
		rc = -errno;
	if (rc == 0 && publish(temporary, path) != 0)
		rc = -errno;
	if (rc != 0) {
		(void)unlink(temporary);
		return rc;
	}
	return sync_folder_of(path);
}

int file_write_atomic(const char *path, const void *data, size_t size, mode_t mode)
{
	return write_beside(path, data, size, mode, rename);
}

/* link() refuses a name that is taken, rename() does not. */
static int publish_new(const char *temporary, const char *path)
{
	if (link(temporary, path) != 0)
		return -1;
	(void)unlink(temporary);
	return 0;
}

int file_write_new(const char *path, const void *data, size_t size, mode_t mode)
{
	return write_beside(path, data, size, mode, publish_new);
}

static int make_one(const char *path, mode_t mode)
{
	struct stat status;

	if (mkdir(path, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (stat(path, &status) != 0)
		return -errno;
	return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

int file_make_folder(const char *path, mode_t mode)
{
	CLEANUP(freep) char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = copy; (slash = strchr(slash + 1, '/')) != NULL;) {
		int rc;

		*slash = '\0';
		rc = make_one(copy, mode);
		if (rc != 0)
			return rc;
		*slash = '/';
	}
	return make_one(copy, mode);
}
