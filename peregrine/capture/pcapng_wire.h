/* Writing pcapng (draft-ietf-opsawg-pcapng): a section with one Ethernet interface, packets, and
 * what was lost. Big endian, as the section's magic number says; times in microseconds. Each file
 * of a ring is a section, so that several in a row are one good file as well. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/net/wire.h"

enum {
	PCAPNG_SECTION_MAX = 2048, /* a section's head never takes more: texts are cut */
	PCAPNG_PACKET_EXTRA =
		36, /* a packet's block is at most so much longer than what it holds */
	PCAPNG_STATISTICS_SIZE = 64 /* what the last block takes at most */
};

/* Texts may be NULL or "". */
struct pcapng_section {
	const char *application; /* "peregrine-capture 0.1" */
	const char *comment;     /* what was captured, and who let it be */
	const char *interface;
	const char *filter;
	uint32_t snap_length;
};

struct pcapng_statistics {
	uint64_t received, dropped;
};

void pcapng_put_section(struct wire_writer *writer, const struct pcapng_section *section);
/* `size` bytes of a frame of `length`. */
void pcapng_put_packet(struct wire_writer *writer, int64_t time_us, const void *data, uint32_t size,
		       uint32_t length);
void pcapng_put_statistics(struct wire_writer *writer, int64_t time_us,
			   const struct pcapng_statistics *statistics);
/* How many of these bytes are whole blocks, from the first on. */
size_t pcapng_whole(const void *data, size_t size);
