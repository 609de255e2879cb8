#include "peregrine/flowd/traffic_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/log.h"

LEAKS_LEFT_TO_SANITIZER

/* After it was told to stop. */
#define TRAFFIC_WRITER_STOP_MS 2000

struct waiting_batch {
	struct waiting_batch *next;
	struct traffic_batch batch;
};

struct traffic_writer {
	struct loop *loop;
	struct worker *worker;
	struct loop_timer *retry;
	struct traffic_writer_options options;
	struct traffic_writer_counts counts;
	struct waiting_batch *first, **last;
	uint64_t put; /* batches taken so far */

	/* Under way: the worker's until it is done. */
	struct waiting_batch *current;
	int rc;
	struct problem problem;
	atomic_bool ran;

	struct problem reason;               /* why the last attempt failed */
	struct traffic_writer_counts before; /* when the last batch was taken */
};

static bool is_failing(const struct traffic_writer *writer)
{
	return problem_is_set(&writer->reason);
}

/* --- in the worker --- */

static void traffic_writer_work(void *context)
{
	struct traffic_writer *writer = context;
	const struct traffic_sink *sink = &writer->options.sink;

	atomic_store(&writer->ran, true);
	writer->problem = (struct problem){0};
	writer->rc = sink->write(sink->context, &writer->current->batch, &writer->problem);
}

/* --- in the loop --- */

static void traffic_writer_start(struct traffic_writer *writer);

static void free_waiting(struct waiting_batch *waiting)
{
	traffic_batch_done(&waiting->batch);
	free(waiting);
}

static void take_first(struct traffic_writer *writer)
{
	writer->current = writer->first;
	writer->first = writer->first->next;
	if (!writer->first)
		writer->last = &writer->first;
	writer->current->next = NULL;
	writer->current->batch.given_up = writer->counts.dropped;
}

static void traffic_writer_put_back(struct traffic_writer *writer)
{
	writer->current->next = writer->first;
	if (!writer->first)
		writer->last = &writer->current->next;
	writer->first = writer->current;
	writer->current = NULL;
}

static void traffic_writer_ended(struct traffic_writer *writer, bool written)
{
	size_t size = traffic_batch_size(&writer->current->batch);

	writer->counts.waiting--;
	writer->counts.waiting_bytes -= size;
	if (written) {
		writer->counts.batches++;
		writer->counts.rows_bytes += size;
		writer->counts.written_s = clock_wall_us() / 1000000;
	} else {
		writer->counts.dropped++;
	}
	free_waiting(writer->current);
	writer->current = NULL;
}

static void traffic_writer_fail(struct traffic_writer *writer)
{
	const struct traffic_sink *sink = &writer->options.sink;

	writer->counts.failures++;
	if (!is_failing(writer))
		log_warn(sink->subject, "%s (detail=\"%s\" waiting=%" PRIu64 ")",
			 writer->problem.message, writer->problem.detail, writer->counts.waiting);
	writer->reason = writer->problem;
}

static void traffic_writer_recover(struct traffic_writer *writer)
{
	if (is_failing(writer))
		log_info(writer->options.sink.subject,
			 "traffic is written again (waiting=%" PRIu64 " without_flows=%" PRIu64
			 " given_up=%" PRIu64 ")",
			 writer->counts.waiting - 1,
			 writer->counts.thinned - writer->before.thinned,
			 writer->counts.dropped - writer->before.dropped);
	writer->reason = (struct problem){0};
	writer->before = writer->counts;
}

static void traffic_writer_done(void *context)
{
	struct traffic_writer *writer = context;
	const struct traffic_sink *sink = &writer->options.sink;

	if (!writer->retry) /* freed: it was not waited for */
		return;
	if (!atomic_load(&writer->ran)) { /* the worker goes */
		traffic_writer_put_back(writer);
		return;
	}
	switch (writer->rc) {
	case 0:
	case E_CONFLICT: /* it was committed, and we did not hear of it */
		traffic_writer_recover(writer);
		traffic_writer_ended(writer, true);
		break;
	case E_INVALID:
		log_error(sink->subject, "%s refuses a bucket, it is dropped (detail=\"%s\")",
			  sink->name, writer->problem.detail);
		traffic_writer_ended(writer, false);
		break;
	default:
		traffic_writer_fail(writer);
		traffic_writer_put_back(writer);
		loop_timer_arm(writer->retry, writer->options.retry_ms);
		return;
	}
	traffic_writer_start(writer);
}

static void traffic_writer_start(struct traffic_writer *writer)
{
	if (writer->current || !writer->first)
		return;
	take_first(writer);
	atomic_store(&writer->ran, false);
	if (worker_submit(writer->worker, traffic_writer_work, traffic_writer_done, writer)) {
		traffic_writer_put_back(writer);
		loop_timer_arm(writer->retry, writer->options.retry_ms);
	}
}

static void traffic_writer_on_retry(void *context)
{
	traffic_writer_start(context);
}

int traffic_writer_new(struct loop *loop, struct worker *worker,
		       const struct traffic_writer_options *options, struct traffic_writer **ret)
{
	struct traffic_writer *writer = calloc(1, sizeof(*writer));
	int rc = writer ? loop_timer_new(loop, traffic_writer_on_retry, writer, &writer->retry)
			: -ENOMEM;

	if (rc) {
		options->sink.free(options->sink.context);
		free(writer);
		return rc;
	}
	writer->loop = loop;
	writer->worker = worker;
	writer->options = *options;
	writer->last = &writer->first;
	*ret = writer;
	return 0;
}

/* Pairs and flows are most of the bytes; totals by owner are what must not be lost. */
static void traffic_writer_thin(struct traffic_writer *writer, struct waiting_batch *waiting)
{
	size_t before = traffic_batch_size(&waiting->batch);

	text_done(&waiting->batch.tables[TABLE_PAIR]);
	text_done(&waiting->batch.tables[TABLE_FLOW]);
	waiting->batch.cut = true;
	writer->counts.thinned++;
	writer->counts.waiting_bytes -= before - traffic_batch_size(&waiting->batch);
}

static void drop_oldest(struct traffic_writer *writer)
{
	struct waiting_batch *oldest = writer->first;

	writer->first = oldest->next;
	writer->counts.dropped++;
	writer->counts.waiting--;
	writer->counts.waiting_bytes -= traffic_batch_size(&oldest->batch);
	free_waiting(oldest);
}

static void traffic_writer_make_room(struct traffic_writer *writer)
{
	uint64_t thinned = writer->counts.thinned;
	uint64_t dropped = writer->counts.dropped;
	const struct traffic_sink *sink = &writer->options.sink;

	for (struct waiting_batch *each = writer->first;
	     each && writer->counts.waiting_bytes > writer->options.waiting_max; each = each->next)
		if (!each->batch.cut)
			traffic_writer_thin(writer, each);
	while (writer->first && writer->first->next &&
	       writer->counts.waiting_bytes > writer->options.waiting_max)
		drop_oldest(writer);
	/* Once an outage each: metrics count the others. */
	if (thinned == writer->before.thinned && writer->counts.thinned > thinned)
		log_warn(sink->subject, "too much waits for %s: buckets lose their pairs and flows",
			 sink->name);
	if (dropped == writer->before.dropped && writer->counts.dropped > dropped)
		log_warn(sink->subject, "too much waits for %s: buckets are dropped", sink->name);
}

static void traffic_writer_put_batch(struct traffic_writer *writer, struct traffic_batch *batch)
{
	struct waiting_batch *waiting = malloc(sizeof(*waiting));

	if (!waiting || !traffic_batch_whole(batch)) {
		log_error(writer->options.sink.subject, "no memory for a bucket, it is dropped");
		writer->counts.dropped++;
		traffic_batch_done(batch);
		free(waiting);
		return;
	}
	*waiting = (struct waiting_batch){.batch = *batch};
	*batch = (struct traffic_batch){0};
	*writer->last = waiting;
	writer->last = &waiting->next;
	writer->counts.waiting++;
	writer->counts.waiting_bytes += traffic_batch_size(&waiting->batch);
	traffic_writer_make_room(writer);
	traffic_writer_start(writer);
}

void traffic_writer_put(struct traffic_writer *writer, struct traffic_batch *batch)
{
	struct traffic_batch copy;

	batch->number = writer->put++;
	if (writer->options.copy_to && batch->step == STEP_MINUTE) {
		traffic_batch_copy(batch, &copy);
		traffic_writer_put_batch(writer->options.copy_to, &copy);
	}
	traffic_writer_put_batch(writer, batch);
}

/* Runs the loop while a batch is being written. Those that wait follow, until one fails: a sink that
 * failed before is asked once more. So is one that fails in an attempt that is under way already: it
 * may have come back since that began. */
static void traffic_writer_finish(struct traffic_writer *writer, bool waiting_too, int64_t wait_ms)
{
	int64_t until_ms = clock_monotonic_ms() + wait_ms;
	uint64_t failures = writer->counts.failures + (writer->current ? 1 : 0);

	while ((writer->current ||
		(waiting_too && writer->first && writer->counts.failures <= failures)) &&
	       clock_monotonic_ms() < until_ms) {
		if (waiting_too)
			traffic_writer_start(writer);
		loop_run_once(writer->loop);
		(void)poll(NULL, 0, 5);
	}
}

void traffic_writer_free(struct traffic_writer *writer, int64_t wait_ms)
{
	const struct traffic_sink *sink;

	if (!writer)
		return;
	sink = &writer->options.sink;
	traffic_writer_finish(writer, true, wait_ms);
	if (sink->stop) {
		sink->stop(sink->context);
		traffic_writer_finish(writer, false, TRAFFIC_WRITER_STOP_MS);
	}
	loop_timer_free(writer->retry);
	writer->retry = NULL;
	/* A COPY that hangs ends with the process; its memory is not waited for. */
	if (writer->current) {
		log_warn(sink->subject, "a bucket is still being written to %s, it may be lost",
			 sink->name);
		return;
	}
	if (writer->first)
		log_warn(sink->subject,
			 "%" PRIu64 " buckets could not be written to %s and are lost",
			 writer->counts.waiting, sink->name);
	while (writer->first) {
		struct waiting_batch *next = writer->first->next;

		free_waiting(writer->first);
		writer->first = next;
	}
	sink->free(sink->context);
	free(writer);
}

struct traffic_writer_counts traffic_writer_counts(const struct traffic_writer *writer)
{
	return writer->counts;
}

const struct problem *traffic_writer_problem(const struct traffic_writer *writer)
{
	return is_failing(writer) ? &writer->reason : NULL;
}

static int64_t earlier_minute(int64_t at_s, const struct waiting_batch *waiting)
{
	const struct traffic_batch *batch = waiting ? &waiting->batch : NULL;

	return batch && batch->step == STEP_MINUTE && batch->at_s < at_s ? batch->at_s : at_s;
}

int64_t traffic_writer_pending_s(const struct traffic_writer *writer)
{
	int64_t at_s = earlier_minute(INT64_MAX, writer->current);

	for (const struct waiting_batch *each = writer->first; each; each = each->next)
		at_s = earlier_minute(at_s, each);
	return at_s;
}
