/* One datagram into the harvest under way: decoded, its agent checked, its samples hashed into
 * flows. No socket, no clock: the receiver, the tests and the fuzzer call it alike. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "peregrine/flowd/sample/agent_directory.h"
#include "peregrine/flowd/sample/harvest.h"

/* So many samples are read while the slot of one comes from memory. */
enum { SAMPLES_AHEAD = 32 };

struct sample_reader {
	struct harvest *harvest;
	struct source_book *book;
	const struct agent_directory *directory;
	struct flow_add adds[SAMPLES_AHEAD]; /* on their way to their slots; rate 0 = none */
	unsigned next;                       /* add: the oldest */
	unsigned thin;   /* use one of so many samples; 0 = each (thin_policy.h) */
	uint64_t chance; /* what draws them */
};

/* `source`: where it came from, IPv4 mapped. */
void sample_reader_take(struct sample_reader *reader, const void *data, size_t size,
			const uint8_t source[16]);
/* Puts what waits into the table: before the harvest is looked at. */
void sample_reader_flush(struct sample_reader *reader);
