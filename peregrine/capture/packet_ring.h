/* Where the packets of a capture go: a few files of bounded size, each a pcapng section. All are
 * opened before privileges are dropped; afterwards nothing is opened any more. When the last is
 * full the first is begun anew, or the capture ends. Blocks are written whole: a file that could
 * not be written to its end (a full disk) is cut back to what is whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/capture/pcapng_wire.h"

enum { PACKET_RING_FILES = 16 };

struct packet_ring;

struct packet_ring_options {
	int folder; /* descriptor; files are 0.pcapng ... in it */
	unsigned files;
	uint64_t file_bytes;
	bool wrap; /* else it ends when the last is full */
	struct pcapng_section section;
};

MUST_USE int packet_ring_new(const struct packet_ring_options *options, struct packet_ring **ret);
/* Cuts and closes what is open; nothing is flushed. */
void packet_ring_free(struct packet_ring *ring);
/* E_LIMIT: all files are full. -ENOSPC and other reasons of the system: what was put before the
 * last flush is kept, and nothing can be put any more. */
MUST_USE int packet_ring_put(struct packet_ring *ring, int64_t time_us, const void *data,
			     uint32_t size, uint32_t length);
MUST_USE int packet_ring_flush(struct packet_ring *ring);
/* The last block, where there is room for it. */
MUST_USE int packet_ring_end(struct packet_ring *ring, int64_t time_us,
			     const struct pcapng_statistics *statistics);
/* On disk, in all files; and which file is the oldest, which the newest. */
uint64_t packet_ring_bytes(const struct packet_ring *ring);
unsigned packet_ring_oldest(const struct packet_ring *ring);
unsigned packet_ring_newest(const struct packet_ring *ring);
