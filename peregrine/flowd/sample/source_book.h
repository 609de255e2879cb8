/* What each sampling source says of itself, so that loss is seen and undone. Sequence numbers of
 * its samples, the pool of frames that they stand for, frames that the agent could not sample. And
 * the sequence of each agent's datagrams. sFlow v5 5.3: pool and sequence count since the source
 * began, wrap at 2^32, and start again with the agent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* One source in one harvest. */
struct source_sums {
	uint16_t agent;
	bool datagrams; /* of the agent's datagrams, not of a source: samples = datagrams */
	bool exporter;  /* of NetFlow or IPFIX */
	bool restarted; /* it began anew within this harvest: `pool` is from then on */
	uint32_t sub_agent;
	uint64_t source;    /* class << 32 | index */
	uint32_t rate;      /* the last one told */
	uint64_t samples;   /* received */
	uint64_t rates;     /* the sum of their rates: the frames that they stand for */
	uint64_t pool;      /* frames that the agent saw meanwhile; 0 = not known yet */
	uint64_t drops;     /* samples that the agent had to drop */
	uint64_t missing;   /* sequence numbers that never came */
	uint64_t unread;    /* sets of an exporter that gave nothing */
	uint32_t uptime_ms; /* of the last datagram */
};

struct source_book;

/* Room for `limit` sources in all. */
MUST_USE int source_book_new(uint32_t limit, struct source_book **ret);
void source_book_free(struct source_book *book);

/* An agent will speak: has what leads to its sources fetched from memory; and then those. */
void source_book_expect(const struct source_book *book, uint16_t agent);
void source_book_approach(const struct source_book *book, uint16_t agent);

struct source_said {
	uint16_t agent;
	uint64_t source;
	uint32_t sub_agent, sequence, rate, pool, drops;
};
/* Notes one flow sample; returns the source's index in this harvest's sums, UINT32_MAX when there
 * is no room (counted in `refused`). */
uint32_t source_book_sample(struct source_book *book, const struct source_said *said);
/* Notes one datagram; returns its number in this harvest, from 1; 0: there is no room. */
uint64_t source_book_datagram(struct source_book *book, uint16_t agent, uint32_t sub_agent,
			      uint32_t sequence, uint32_t uptime_ms);

/* An exporter of NetFlow or IPFIX is a source of its own; UINT32_MAX: no room. */
uint32_t source_book_exporter(struct source_book *book, uint16_t agent, uint32_t domain);
/* What it exported; what is missing is in its protocol's own unit. */
struct source_export {
	uint64_t records, missing, unread;
	bool restarted;
};
void source_book_exported(struct source_book *book, uint32_t sums,
			  const struct source_export *said);
void source_book_rate(struct source_book *book, uint32_t sums, uint32_t rate);

/* The sums since the last call, of those that said something; borrowed until the next call. */
const struct source_sums *source_book_harvest(struct source_book *book, size_t *ret_count);
