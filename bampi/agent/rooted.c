#include "bampi/agent/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/io/transfer.h"

#define PATH_SIZE 512

static int open_in_root(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd;
	int tries = 8;

	/* EAGAIN: something was renamed while the kernel looked, which it cannot tell from an
	 * escape. */
	do
		fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && --tries > 0);
	return fd < 0 ? -errno : (int)fd;
}

/* "/etc/haas/callback" -> "/etc/haas", "callback". */
static int rooted_split(const char *path, char ret_folder[PATH_SIZE], const char **ret_name)
{
	const char *slash = strrchr(path, '/');

	if (!slash || !slash[1] || !text_copy(ret_folder, PATH_SIZE, path))
		return -EINVAL;
	ret_folder[slash == path ? 1 : slash - path] = '\0';
	*ret_name = slash + 1;
	return 0;
}

static int open_folder_of(int root_fd, const char *path, int *ret, const char **ret_name)
{
	char folder[PATH_SIZE];
	int fd;
	int rc = rooted_split(path, folder, ret_name);

	if (rc)
		return rc;
	fd = open_in_root(root_fd, folder, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	*ret = fd;
	return 0;
}

int rooted_make_folder(int root_fd, const char *path, mode_t mode)
{
	char partial[PATH_SIZE];
	size_t size = strlen(path);

	if (path[0] != '/' || size >= sizeof(partial))
		return -EINVAL;
	for (size_t at = 1; at <= size; at++) {
		CLEANUP(closep) int folder_fd = -1;
		const char *name;
		int rc;

		if (path[at] != '/' && path[at] != '\0')
			continue;
		memcpy(partial, path, at);
		partial[at] = '\0';
		rc = open_folder_of(root_fd, partial, &folder_fd, &name);
		if (rc)
			return rc;
		if (mkdirat(folder_fd, name, at == size ? mode : 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int temporary_of(const char *name, char ret[NAME_MAX + 1])
{
	return text_format(ret, NAME_MAX + 1, ".%s.haas", name) ? 0 : -ENAMETOOLONG;
}

/* The folder of `path`, and the name that what will replace it has until then: free, also when an
 * agent that died left something behind. */
static int open_sibling_of(int root_fd, const char *path, int *ret_folder, const char **ret_name,
			   char ret_temporary[NAME_MAX + 1])
{
	int rc = open_folder_of(root_fd, path, ret_folder, ret_name);

	if (!rc)
		rc = temporary_of(*ret_name, ret_temporary);
	if (!rc && unlinkat(*ret_folder, ret_temporary, 0) < 0 && errno != ENOENT)
		rc = -errno;
	return rc;
}

int rooted_create(int root_fd, const char *path, int *ret_fd)
{
	CLEANUP(closep) int folder_fd = -1;
	char temporary[NAME_MAX + 1];
	const char *name;
	int fd;
	int rc = open_sibling_of(root_fd, path, &folder_fd, &name, temporary);

	if (rc)
		return rc;
	fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int rooted_publish(int root_fd, const char *path, int fd, mode_t mode)
{
	CLEANUP(closep) int folder_fd = -1;
	char temporary[NAME_MAX + 1];
	const char *name;
	int rc = open_folder_of(root_fd, path, &folder_fd, &name);

	if (!rc)
		rc = temporary_of(name, temporary);
	if (!rc && (fchmod(fd, mode) < 0 || fsync(fd) < 0 ||
		    renameat(folder_fd, temporary, folder_fd, name) < 0))
		rc = -errno;
	return rc;
}

void rooted_discard(int root_fd, const char *path)
{
	CLEANUP(closep) int folder_fd = -1;
	char temporary[NAME_MAX + 1];
	const char *name;

	if (open_folder_of(root_fd, path, &folder_fd, &name) == 0 &&
	    temporary_of(name, temporary) == 0)
		(void)unlinkat(folder_fd, temporary, 0);
}

int rooted_append(int fd, const void *data, size_t size)
{
	return write_whole(fd, data, size);
}

int rooted_write(int root_fd, const char *path, const void *data, size_t size, mode_t mode)
{
	CLEANUP(closep) int fd = -1;
	int rc = rooted_create(root_fd, path, &fd);

	if (rc)
		return rc;
	rc = write_whole(fd, data, size);
	if (!rc)
		rc = rooted_publish(root_fd, path, fd, mode);
	if (rc)
		rooted_discard(root_fd, path);
	return rc;
}

int rooted_link(int root_fd, const char *path, const char *target)
{
	CLEANUP(closep) int folder_fd = -1;
	char temporary[NAME_MAX + 1];
	const char *name;
	int rc = open_sibling_of(root_fd, path, &folder_fd, &name, temporary);

	if (rc)
		return rc;
	if (symlinkat(target, folder_fd, temporary) < 0)
		return -errno;
	if (renameat(folder_fd, temporary, folder_fd, name) < 0) {
		rc = -errno;
		(void)unlinkat(folder_fd, temporary, 0);
	}
	return rc;
}

bool rooted_exists(int root_fd, const char *path)
{
	CLEANUP(closep) int fd = open_in_root(root_fd, path, O_PATH);

	return fd >= 0;
}
