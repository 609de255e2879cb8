#include "common/io/served_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/error.h"

int served_file_name(const char *asked, char *ret)
{
	size_t size = 0;
	bool part_begins = true;

	while (*asked == '/' || *asked == '\\')
		asked++;
	for (; *asked; asked++) {
		char c = (char)(*asked == '\\' ? '/' : *asked);

		if (size == SERVED_NAME_MAX)
			return E_LIMIT;
		if ((unsigned char)c < ' ' || c == 0x7f || (part_begins && c == '.'))
			return E_MALFORMED;
		part_begins = c == '/';
		ret[size++] = c;
	}
	if (size == 0 || part_begins)
		return E_MALFORMED;
	ret[size] = '\0';
	return 0;
}

/* glibc 2.36 has no wrapper. O_NONBLOCK: a FIFO must not stop the loop. */
static int open_beneath(int folder, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
}

/* Gives the descriptor, or what served_file_open gives. */
static int open_regular(int folder, const char *name, uint64_t *ret_size)
{
	int fd = open_beneath(folder, name);
	struct stat status;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EXDEV || errno == ELOOP ||
				       errno == ENXIO || errno == ENAMETOOLONG
			       ? E_NOT_FOUND
			       : -errno;
	if (fstat(fd, &status) < 0)
		rc = -errno;
	else if (!S_ISREG(status.st_mode) || status.st_size < 0)
		rc = E_NOT_FOUND;
	if (rc) {
		close(fd);
		return rc;
	}
	*ret_size = (uint64_t)status.st_size;
	return fd;
}

int served_file_open(const char *folder, const char *name, int *ret_fd, uint64_t *ret_size)
{
	/* Opened anew each time: a folder that was replaced as a whole counts at once. */
	CLEANUP(closep) int folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t size = 0;
	int fd;

	if (folder_fd < 0)
		return -errno;
	fd = open_regular(folder_fd, name, &size);
	if (fd < 0)
		return fd;

	*ret_fd = fd;
	*ret_size = size;
	return 0;
}
