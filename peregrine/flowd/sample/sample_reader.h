/* One datagram into the harvest under way: decoded, its agent checked, its samples hashed into
 * flows. No socket, no clock: the receiver, the tests and the fuzzer call it alike. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/wire.h"

#include "peregrine/flowd/sample/agent_directory.h"
#include "peregrine/flowd/sample/harvest.h"
#include "peregrine/flowd/sample/sflow_wire.h"

/* So many samples are read while the slot of one comes from memory. */
enum { SAMPLES_AHEAD = 32 };

struct sample_reader {
	struct harvest *harvest;
	struct source_book *book;
	const struct agent_directory *directory;
	struct flow_add adds[SAMPLES_AHEAD]; /* on their way to their slots; rate 0 = none */
	unsigned next;                       /* add: the oldest */
	/* Datagrams of each agent since sample_reader_renew, of AGENT_LIMIT + 1; NULL: there is no
	 * limit. Who forges the address of an agent has no more than that agent. */
	uint32_t *heard;
	uint32_t heard_max;
	unsigned thin;   /* use one of so many samples; 0 = each (thin_policy.h) */
	uint64_t chance; /* what draws them */
};

/* A datagram whose head was read and whose agent is known; its samples are still in `data`. */
struct opened_datagram {
	struct sflow_datagram head;
	struct wire_reader samples;
	uint16_t agent;
};

/* Counts a datagram of sFlow or IPFIX that was opened with `rc`. False: it is not for us to read. */
bool sample_reader_count(struct receive_counts *counts, size_t size, int rc);
/* Whose the address is, when he may send from `source` and has not sent too much; else negative and
 * counted. */
int sample_reader_agent(struct sample_reader *reader, const uint8_t address[16],
			const uint8_t source[16]);

/* In three steps, so that what is known of the agents of a batch is fetched from memory while
 * others are opened: open them, false = counted and refused; approach each; read each, in their
 * order. `source`: where it came from, IPv4 mapped. */
bool sample_reader_open(struct sample_reader *reader, const void *data, size_t size,
			const uint8_t source[16], struct opened_datagram *ret);
void sample_reader_approach(const struct sample_reader *reader,
			    const struct opened_datagram *opened);
void sample_reader_read(struct sample_reader *reader, struct opened_datagram *opened);
/* All three. */
void sample_reader_take(struct sample_reader *reader, const void *data, size_t size,
			const uint8_t source[16]);
/* A second has ended: each agent may speak again. */
void sample_reader_renew(struct sample_reader *reader);
/* Puts what waits into the table: before the harvest is looked at. */
void sample_reader_flush(struct sample_reader *reader);
