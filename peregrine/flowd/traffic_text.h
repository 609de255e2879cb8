/* A bucket as the text format of PostgreSQL's COPY (PostgreSQL 15 manual, COPY, "Text Format"): one
 * block of lines per table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#include "peregrine/flowd/flow/port_counters.h"
#include "peregrine/flowd/flow/rollup.h"

enum traffic_table_kind { TABLE_SHARE, TABLE_PAIR, TABLE_FLOW, TABLE_PORT, TRAFFIC_TABLE_COUNT };

/* What one transaction writes. */
struct traffic_batch {
	enum traffic_step step;
	uint64_t number;            /* among those of this life: a bucket may come in parts */
	int64_t at_s, from_s, to_s; /* the bucket, and what of it was collected */
	char at_text[CLOCK_TEXT_SIZE];
	uint64_t bytes, unattributed_bytes, lost_bytes;
	unsigned thinned; /* one of so many samples was used, at worst */
	/* While it waited: its pairs and flows were given up, and so many others before it. */
	bool cut;
	uint64_t given_up;
	struct text switches; /* "id<tab>name" lines of those that the tables name */
	struct text tables[TRAFFIC_TABLE_COUNT];
};

/* "copy haas.traffic_60_share (...) from stdin" */
#define COPY_STATEMENT_SIZE 400
void traffic_copy_statement(enum traffic_table_kind table, enum traffic_step step,
			    char ret[COPY_STATEMENT_SIZE]);

/* A value as a field: backslash, tab and line ends would end it or its row. */
void traffic_add_field(struct text *text, const char *value);

void traffic_batch_begin(struct traffic_batch *batch, enum traffic_step step, int64_t at_s,
			 int64_t from_s, int64_t to_s);
void traffic_batch_set(struct traffic_batch *batch, bool partial, const struct traffic_set *set,
		       const struct traffic_names *names);
void traffic_batch_port(struct traffic_batch *batch, const struct traffic_place *place,
			const struct port_sums *sums, const struct port_rates *rates);
/* One of its own; without memory it is not whole. */
void traffic_batch_copy(const struct traffic_batch *batch, struct traffic_batch *ret);
void traffic_batch_done(struct traffic_batch *batch);
/* All bytes of it. */
size_t traffic_batch_size(const struct traffic_batch *batch);
/* False: no memory for a part of it. */
bool traffic_batch_whole(const struct traffic_batch *batch);

/* An end or an address as it is shown: a node's name, an address, a MAC. */
#define END_TEXT_SIZE 72
const char *traffic_end_text(const struct traffic_end *end, const struct traffic_names *names,
			     char ret[END_TEXT_SIZE]);
const char *traffic_address_text(const uint8_t address[16], bool ip, char ret[END_TEXT_SIZE]);
