#include "common/tftp/tftp_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

static bool same_file(const struct tftp_file *file, const struct stat *status, uint64_t size)
{
	return file->status.st_dev == status->st_dev && file->status.st_ino == status->st_ino &&
	       file->status.st_mtim.tv_sec == status->st_mtim.tv_sec &&
	       file->status.st_mtim.tv_nsec == status->st_mtim.tv_nsec && file->size == size;
}

static int tftp_file_map(struct tftp_file *file)
{
	void *bytes;

	if (file->size == 0)
		return 0;
	bytes = mmap(NULL, file->size, PROT_READ, MAP_SHARED, file->fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	/* Reading ahead is the kernel's; it only shall know that all of it is wanted. */
	(void)madvise(bytes, file->size, MADV_WILLNEED);
	file->bytes = bytes;
	return 0;
}

int tftp_file_use(struct tftp_file **files, int fd, uint64_t size, struct tftp_file **ret)
{
	struct stat status;
	struct tftp_file *file;
	int rc;

	if (fstat(fd, &status) < 0)
		return -errno;
	DL_FOREACH(*files, file)
	{
		if (same_file(file, &status, size)) {
			file->users++;
			close(fd);
			*ret = file;
			return 0;
		}
	}
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	*file = (struct tftp_file){.size = size, .fd = fd, .status = status, .users = 1};
	rc = tftp_file_map(file);
	if (rc) {
		free(file);
		return rc;
	}
	DL_APPEND(*files, file);

	*ret = file;
	return 0;
}

void tftp_file_leave(struct tftp_file **files, struct tftp_file *file)
{
	union {
		const uint8_t *constant;
		void *plain;
	} bytes;

	if (!file || --file->users > 0)
		return;
	DL_DELETE(*files, file);
	bytes.constant = file->bytes;
	if (bytes.plain)
		(void)munmap(bytes.plain, file->size);
	close(file->fd);
	free(file);
}

bool tftp_file_is_whole(const struct tftp_file *file)
{
	struct stat status;

	return fstat(file->fd, &status) == 0 && status.st_size >= 0 &&
	       (uint64_t)status.st_size >= file->size;
}
