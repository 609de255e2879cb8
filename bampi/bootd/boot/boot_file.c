#include "bampi/bootd/boot/boot_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/error.h"

int boot_file_name(const char *asked, char *ret)
{
	size_t size = 0;
	bool part_begins = true;

	while (*asked == '/' || *asked == '\\')
		asked++;
	for (; *asked; asked++) {
		char c = *asked == '\\' ? '/' : *asked;

		if (size == BOOT_NAME_MAX)
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

int boot_file_open(const char *folder, const char *name, int *ret_fd, uint64_t *ret_size)
{
	CLEANUP(closep) int folder_fd = -1;
	CLEANUP(closep) int fd = -1;
	struct stat stat;

	/* Opened anew each time: a folder that was replaced as a whole counts at once. */
	folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0)
		return -errno;
	fd = open_beneath(folder_fd, name);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EXDEV || errno == ELOOP ||
				       errno == ENXIO || errno == ENAMETOOLONG
			       ? E_NOT_FOUND
			       : -errno;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode) || stat.st_size < 0)
		return E_NOT_FOUND;

	*ret_fd = fd;
	*ret_size = (uint64_t)stat.st_size;
	fd = -1;
	return 0;
}
