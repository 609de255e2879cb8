/* Writes buckets into PostgreSQL, each as one transaction of COPYs, on a connection of its own that
 * may block (COPY does not go with the pipeline of common/db), in a worker thread. While PostgreSQL
 * is away batches wait; when too many bytes wait, the oldest lose their pairs and flows first, so
 * that totals stay. A batch whose commit is in doubt is sent again and recognised (traffic_bucket).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

#include "peregrine/flowd/traffic_text.h"

struct traffic_writer;

struct traffic_writer_options {
	const char *conninfo;
	const char *name;   /* of this collector's life: the begin of traffic_bucket.writer */
	size_t waiting_max; /* bytes of batches that wait */
	int64_t retry_ms;
};

struct traffic_writer_counts {
	uint64_t batches, rows_bytes; /* written */
	uint64_t failures;            /* attempts */
	uint64_t waiting, waiting_bytes;
	uint64_t thinned; /* batches that lost their pairs and flows while they waited */
	uint64_t
		dropped; /* batches given up: even totals did not fit, or PostgreSQL refused them */
};

MUST_USE int traffic_writer_new(struct loop *loop, struct worker *worker,
				const struct traffic_writer_options *options,
				struct traffic_writer **ret);
/* Before the worker goes. Writes what waits if that takes no longer than `wait_ms`. */
void traffic_writer_free(struct traffic_writer *writer, int64_t wait_ms);
/* The batch's memory passes to it. */
void traffic_writer_put(struct traffic_writer *writer, struct traffic_batch *batch);
struct traffic_writer_counts traffic_writer_counts(const struct traffic_writer *writer);
/* The begin of the oldest minute that waits or is being written; INT64_MAX = none. What is older
 * has been committed, or given up. */
int64_t traffic_writer_pending_s(const struct traffic_writer *writer);
