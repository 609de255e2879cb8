#include "common/io/transfer.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

/* A descriptor, and the offset that the next transfer has; without `placed` the file's own. */
struct transfer {
	int fd;
	bool placed;
	uint64_t offset;
};

static int transfer_write(struct transfer to, const uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t wrote = to.placed ? pwrite(to.fd, data, size, (off_t)to.offset)
					  : write(to.fd, data, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -ENOSPC;
		data += wrote;
		size -= (size_t)wrote;
		to.offset += (uint64_t)wrote;
	}
	return 0;
}

static int transfer_read(struct transfer from, void *room, size_t most, size_t *ret)
{
	ssize_t got;

	do
		got = from.placed ? pread(from.fd, room, most, (off_t)from.offset)
				  : read(from.fd, room, most);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	*ret = (size_t)got;
	return 0;
}

static int transfer_read_whole(struct transfer from, uint8_t *room, size_t size)
{
	while (size > 0) {
		size_t got = 0;
		int rc = transfer_read(from, room, size, &got);

		if (rc)
			return rc;
		if (got == 0)
			return -EIO;
		room += got;
		size -= got;
		from.offset += got;
	}
	return 0;
}

int write_whole(int fd, const void *data, size_t size)
{
	return transfer_write((struct transfer){.fd = fd}, data, size);
}

int write_whole_at(int fd, const void *data, size_t size, uint64_t offset)
{
	return transfer_write((struct transfer){fd, true, offset}, data, size);
}

int read_whole(int fd, void *room, size_t size)
{
	return transfer_read_whole((struct transfer){.fd = fd}, room, size);
}

int read_whole_at(int fd, void *room, size_t size, uint64_t offset)
{
	return transfer_read_whole((struct transfer){fd, true, offset}, room, size);
}

int read_piece(int fd, void *room, size_t most, size_t *ret)
{
	return transfer_read((struct transfer){.fd = fd}, room, most, ret);
}

int read_piece_at(int fd, void *room, size_t most, uint64_t offset, size_t *ret)
{
	return transfer_read((struct transfer){fd, true, offset}, room, most, ret);
}
