#include "peregrine/capture/packet_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

enum { BUFFER_SIZE = 1 << 18 };

struct packet_ring {
	struct packet_ring_options options;
	uint8_t head[PCAPNG_SECTION_MAX];
	size_t head_size;
	int files[PACKET_RING_FILES];
	uint64_t sizes[PACKET_RING_FILES]; /* written */
	unsigned newest;
	bool wrapped;
	int rc; /* of a write that failed: the end */
	uint8_t buffer[BUFFER_SIZE];
	size_t buffered;
};

static int open_files(struct packet_ring *ring)
{
	for (unsigned i = 0; i < ring->options.files; i++) {
		char name[24];

		(void)text_format(name, sizeof(name), "%u.pcapng", i);
		ring->files[i] = openat(ring->options.folder, name,
					O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (ring->files[i] < 0)
			return -errno;
	}
	return 0;
}

/* What was written of it last may have been cut by a full disk. */
static int packet_ring_write_all(struct packet_ring *ring, const uint8_t *data, size_t size)
{
	unsigned at = ring->newest;
	size_t done = 0;
	int rc = 0;

	while (done < size) {
		ssize_t wrote = pwrite(ring->files[at], data + done, size - done,
				       (off_t)(ring->sizes[at] + done));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			rc = wrote < 0 ? -errno : -ENOSPC;
			break;
		}
		done += (size_t)wrote;
	}
	ring->sizes[at] += rc ? pcapng_whole(data, done) : done;
	if (rc && ftruncate(ring->files[at], (off_t)ring->sizes[at]) != 0)
		rc = -errno;
	return rc;
}

int packet_ring_flush(struct packet_ring *ring)
{
	if (!ring->rc && ring->buffered > 0)
		ring->rc = packet_ring_write_all(ring, ring->buffer, ring->buffered);
	ring->buffered = 0;
	return ring->rc;
}

static int packet_ring_begin_file(struct packet_ring *ring, unsigned at)
{
	ring->newest = at;
	ring->sizes[at] = 0;
	if (ftruncate(ring->files[at], 0) != 0)
		ring->rc = -errno;
	if (!ring->rc)
		ring->rc = packet_ring_write_all(ring, ring->head, ring->head_size);
	return ring->rc;
}

int packet_ring_new(const struct packet_ring_options *options, struct packet_ring **ret)
{
	struct packet_ring *ring = calloc(1, sizeof(*ring));
	struct wire_writer head;
	int rc;

	if (!ring)
		return -ENOMEM;
	ring->options = *options;
	memset(ring->files, -1, sizeof(ring->files));
	head = wire_writer(ring->head, sizeof(ring->head));
	pcapng_put_section(&head, &options->section);
	ring->head_size = wire_written(&head);
	rc = options->files < 1 || options->files > PACKET_RING_FILES || head.bad ||
			     options->file_bytes < BUFFER_SIZE
		     ? E_INVALID
		     : open_files(ring);
	if (!rc)
		rc = packet_ring_begin_file(ring, 0);
	if (rc)
		packet_ring_free(ring);
	else
		*ret = ring;
	return rc;
}

void packet_ring_free(struct packet_ring *ring)
{
	if (!ring)
		return;
	for (unsigned i = 0; i < PACKET_RING_FILES; i++)
		closep(&ring->files[i]);
	free(ring);
}

static int next_file(struct packet_ring *ring)
{
	unsigned next = ring->newest + 1;
	int rc = packet_ring_flush(ring);

	if (rc)
		return rc;
	if (next == ring->options.files) {
		if (!ring->options.wrap)
			return E_LIMIT;
		next = 0;
		ring->wrapped = true;
	}
	return packet_ring_begin_file(ring, next);
}

int packet_ring_put(struct packet_ring *ring, int64_t time_us, const void *data, uint32_t size,
		    uint32_t length)
{
	struct wire_writer writer;
	int rc = ring->rc;

	if (rc)
		return rc;
	if (ring->sizes[ring->newest] + ring->buffered + size + PCAPNG_PACKET_EXTRA +
		    PCAPNG_STATISTICS_SIZE >
	    ring->options.file_bytes)
		rc = next_file(ring);
	if (!rc && ring->buffered + size + PCAPNG_PACKET_EXTRA > BUFFER_SIZE)
		rc = packet_ring_flush(ring);
	if (rc)
		return rc;
	writer = wire_writer(ring->buffer + ring->buffered, BUFFER_SIZE - ring->buffered);
	pcapng_put_packet(&writer, time_us, data, size, length);
	if (writer.bad)
		return E_LIMIT;
	ring->buffered += wire_written(&writer);
	return 0;
}

int packet_ring_end(struct packet_ring *ring, int64_t time_us,
		    const struct pcapng_statistics *statistics)
{
	int rc = packet_ring_flush(ring);
	struct wire_writer writer = wire_writer(ring->buffer, BUFFER_SIZE);

	if (rc)
		return rc;
	pcapng_put_statistics(&writer, time_us, statistics);
	ring->buffered = wire_written(&writer);
	return packet_ring_flush(ring);
}

uint64_t packet_ring_bytes(const struct packet_ring *ring)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ring->options.files; i++)
		sum += ring->sizes[i];
	return sum;
}

unsigned packet_ring_newest(const struct packet_ring *ring)
{
	return ring->newest;
}

unsigned packet_ring_oldest(const struct packet_ring *ring)
{
	return ring->wrapped ? (ring->newest + 1) % ring->options.files : 0;
}
