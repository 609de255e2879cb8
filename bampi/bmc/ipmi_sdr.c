#include "bampi/bmc/ipmi_sdr.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

void ipmi_sdr_freep(ipmi_sdr_ctx_t *sdr)
{
	if (*sdr)
		ipmi_sdr_ctx_destroy(*sdr);
}

void ipmi_fd_closep(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

void ipmi_fd_path(int fd, char ret[IPMI_FD_PATH_SIZE])
{
	(void)text_format(ret, IPMI_FD_PATH_SIZE, "/proc/self/fd/%d", fd);
}

int ipmi_sdr_copy(int fd, void **ret, size_t *ret_size)
{
	struct stat status;
	void *bytes;

	if (fstat(fd, &status) < 0)
		return -errno;
	bytes = malloc((size_t)status.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	if (pread(fd, bytes, (size_t)status.st_size, 0) != status.st_size) {
		free(bytes);
		return -EIO;
	}
	*ret = bytes;
	*ret_size = (size_t)status.st_size;
	return 0;
}

int ipmi_sdr_open_copy(const void *copy, size_t size, ipmi_ctx_t context, ipmi_sdr_ctx_t *ret)
{
	CLEANUP(ipmi_sdr_freep) ipmi_sdr_ctx_t sdr = ipmi_sdr_ctx_create();
	CLEANUP(ipmi_fd_closep) int fd = memfd_create("sdr", MFD_CLOEXEC);
	char path[IPMI_FD_PATH_SIZE];

	if (!sdr || fd < 0 || write(fd, copy, size) != (ssize_t)size)
		return -ENOMEM;
	ipmi_fd_path(fd, path);
	if (ipmi_sdr_cache_open(sdr, context, path) < 0)
		return E_UNAVAILABLE;
	*ret = TAKE(sdr);
	return 0;
}
