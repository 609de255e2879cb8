/* Rows of counters into PostgreSQL by COPY, several switches' together, on a worker and a
 * connection of its own. While PostgreSQL is away they wait in bounded memory; then the oldest are
 * given up, and that is said. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

struct counter_writer;

struct counter_writer_counts {
	uint64_t batches, failures, dropped_bytes;
};

/* Borrowed. */
MUST_USE int counter_writer_new(struct loop *loop, struct worker *worker, const char *conninfo,
				struct counter_writer **ret);
/* After the worker has gone: what was not written is lost. NULL is fine. */
void counter_writer_free(struct counter_writer *writer);
/* Rows for health_copy_statement; copied. */
void counter_writer_put(struct counter_writer *writer, const struct text *rows);
struct counter_writer_counts counter_writer_counts(const struct counter_writer *writer);
