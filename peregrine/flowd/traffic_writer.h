/* Buckets wait here for a sink (PostgreSQL, Kafka) that may block and may be away. The sink is
 * called in a worker thread, one bucket at a time, in order. A bucket is tried again until the sink
 * has it or refuses it. So it may come to the sink twice, with the number that it had.
 *
 * Waiting is bounded. When too many bytes wait, the oldest buckets lose their pairs and flows
 * first, so totals stay. Then they go altogether. Both are counted and said. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

#include "peregrine/flowd/traffic_text.h"

struct traffic_writer;

struct traffic_sink {
	const char *subject; /* of its log lines */
	const char *name;    /* "PostgreSQL" */
	/* In the worker. 0: it is there for good. E_CONFLICT: it was there already. E_INVALID: it
	 * will never be taken. Else: not now. */
	int (*write)(void *context, const struct traffic_batch *batch, struct problem *problem);
	/* In the loop, while a write may be under way, and for good: it shall end soon. NULL = such
	 * a write cannot be ended. */
	void (*stop)(void *context);
	void (*free)(void *context);
	void *context;
};

struct traffic_writer_options {
	struct traffic_sink sink; /* passes to the writer, also when that cannot be made */
	size_t waiting_max;       /* bytes of batches that wait */
	int64_t retry_ms;
	/* Gets a copy of each minute, with its number; NULL = nobody. To be freed after this one.
	 */
	struct traffic_writer *copy_to;
};

struct traffic_writer_counts {
	uint64_t batches, rows_bytes; /* written */
	uint64_t failures;            /* attempts */
	uint64_t waiting, waiting_bytes;
	uint64_t thinned;  /* batches that lost their pairs and flows while they waited */
	uint64_t dropped;  /* batches given up: even totals did not fit, or they were refused */
	int64_t written_s; /* when the last one was; 0 = none yet */
};

MUST_USE int traffic_writer_new(struct loop *loop, struct worker *worker,
				const struct traffic_writer_options *options,
				struct traffic_writer **ret);
/* Before the worker goes. Writes what waits if that takes no longer than `wait_ms`. */
void traffic_writer_free(struct traffic_writer *writer, int64_t wait_ms);
/* The batch's memory passes to it. */
void traffic_writer_put(struct traffic_writer *writer, struct traffic_batch *batch);
struct traffic_writer_counts traffic_writer_counts(const struct traffic_writer *writer);
/* Why the last attempt failed; NULL = it did not. */
const struct problem *traffic_writer_problem(const struct traffic_writer *writer);
/* The begin of the oldest minute that waits or is being written; INT64_MAX = none. What is older
 * has been committed, or given up. */
int64_t traffic_writer_pending_s(const struct traffic_writer *writer);
