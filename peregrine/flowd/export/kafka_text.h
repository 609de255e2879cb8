/* A bucket as Kafka messages: rows of one table each, in the text format that PostgreSQL's COPY and
 * ClickHouse's TabSeparated share (docs/decision/kafka-export.md). The rows of COPY are reused.
 * Each row's step and time are replaced by its key (time, writer, batch, number) and by the name of
 * its switch. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/traffic_text.h"

/* Changes with the columns of any topic; part of their names. */
#define KAFKA_SCHEMA 1

/* What is sent: the tables, then what says that they are complete. */
enum kafka_topic { TOPIC_BUCKET = TRAFFIC_TABLE_COUNT, KAFKA_TOPIC_COUNT };

/* "haas.traffic.share.v1"; false: too long */
#define KAFKA_TOPIC_SIZE 250
MUST_USE bool kafka_topic_name(const char *prefix, unsigned topic, char ret[KAFKA_TOPIC_SIZE]);

/* "host:1700000000:123:7:share:0": the same for a message that is sent again, and no other's. */
#define KAFKA_KEY_SIZE 256
void kafka_key(const struct traffic_batch *batch, const char *writer, unsigned topic, uint32_t part,
	       char ret[KAFKA_KEY_SIZE]);

struct kafka_switch {
	int64_t id;
	const char *name; /* of the batch's text: escaped, not terminated */
	size_t size;
};

/* Borrows the batch and the writer's name. */
struct kafka_rows {
	const struct traffic_batch *batch;
	char before[64];               /* what each row of COPY begins with */
	struct text head;              /* what takes its place */
	struct kafka_switch *switches; /* by id */
	size_t switch_count;
	const struct kafka_switch *last; /* rows of one switch come together */
	size_t at[TRAFFIC_TABLE_COUNT];  /* read so far */
	uint32_t rows[TRAFFIC_TABLE_COUNT];
};

MUST_USE int kafka_rows_init(struct kafka_rows *rows, const struct traffic_batch *batch,
			     const char *writer);
void kafka_rows_done(struct kafka_rows *rows);
/* The next rows of a table, `limit` bytes or one row more; false: there are none. Empties `ret`
 * first. */
bool kafka_rows_next(struct kafka_rows *rows, enum traffic_table_kind table, size_t limit,
		     struct text *ret);
/* The one row of TOPIC_BUCKET, when all others were given out. */
void kafka_rows_bucket(const struct kafka_rows *rows, struct text *ret);
