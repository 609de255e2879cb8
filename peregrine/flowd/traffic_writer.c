#include "peregrine/flowd/traffic_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/problem.h"
#include "common/io/log.h"

#define SUBJECT "writer"

struct waiting_batch {
	struct waiting_batch *next;
	struct traffic_batch batch;
	bool thinned;
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
	PGconn *connection;
	int rc;
	struct problem problem;
	atomic_bool ran;
	bool complained;
};

/* --- in the worker ------------------------------------------------------------------ */

static int failed(struct traffic_writer *writer, int rc, const PGresult *result)
{
	const char *reason =
		result ? PQresultErrorMessage(result) : PQerrorMessage(writer->connection);

	(void)problem_set(&writer->problem, rc, "traffic could not be written");
	problem_detail(&writer->problem, "%.*s", (int)strcspn(reason, "\n"), reason);
	return rc;
}

/* By SQLSTATE (PostgreSQL 15, appendix A). Rows that are wrong stay wrong; whatever else is the
 * matter may be over by the next attempt. */
static int rc_of(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (!state)
		return E_UNAVAILABLE;
	if (!strcmp(state, "23505")) /* unique_violation: the batch's number is there already */
		return E_CONFLICT;
	if (!strcmp(state, "23514")) /* check_violation: no partition has that time */
		return E_NOT_FOUND;
	return !strncmp(state, "22", 2) || !strncmp(state, "23", 2) ? E_INVALID : E_UNAVAILABLE;
}

static int run(struct traffic_writer *writer, const char *sql, const char *const params[],
	       int count)
{
	PGresult *result =
		PQexecParams(writer->connection, sql, count, NULL, params, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(result);
	int rc = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 0 : rc_of(result);

	if (rc)
		(void)failed(writer, rc, result);
	PQclear(result);
	return rc;
}

static int copy(struct traffic_writer *writer, enum traffic_table_kind table,
		const struct traffic_batch *batch)
{
	const struct text *rows = &batch->tables[table];
	char sql[COPY_STATEMENT_SIZE];
	PGresult *result;
	int rc;

	traffic_copy_statement(table, batch->step, sql);
	result = PQexec(writer->connection, sql);
	rc = PQresultStatus(result) == PGRES_COPY_IN ? 0 : rc_of(result);

	if (rc)
		(void)failed(writer, rc, result);
	PQclear(result);
	/* libpq takes an int: a large bucket goes in pieces. */
	for (size_t at = 0; !rc && at < rows->size;) {
		size_t piece = rows->size - at < 1 << 20 ? rows->size - at : 1 << 20;

		if (PQputCopyData(writer->connection, rows->data + at, (int)piece) != 1)
			rc = failed(writer, E_UNAVAILABLE, NULL);
		at += piece;
	}
	if (rc)
		return rc;
	if (PQputCopyEnd(writer->connection, NULL) != 1)
		return failed(writer, E_UNAVAILABLE, NULL);
	while ((result = PQgetResult(writer->connection))) {
		if (PQresultStatus(result) != PGRES_COMMAND_OK && !rc) {
			rc = rc_of(result);
			(void)failed(writer, rc, result);
		}
		PQclear(result);
	}
	return rc;
}

/* First of all, so that a batch which is there already is refused before its rows are sent. */
static int mark(struct traffic_writer *writer, const struct traffic_batch *batch)
{
	char texts[8][32], name[192];
	const char *params[] = {texts[0], texts[1], name,     texts[2], texts[3],
				texts[4], texts[5], texts[6], texts[7]};

	(void)text_format(name, sizeof(name), "%s:%" PRIu64, writer->options.name, batch->number);
	(void)text_format(texts[0], sizeof(texts[0]), "%d", traffic_step_seconds[batch->step]);
	(void)text_format(texts[1], sizeof(texts[1]), "%" PRId64, batch->at_s);
	(void)text_format(texts[2], sizeof(texts[2]), "%" PRId64, batch->from_s);
	(void)text_format(texts[3], sizeof(texts[3]), "%" PRId64, batch->to_s);
	(void)text_format(texts[4], sizeof(texts[4]), "%" PRIu64, batch->bytes);
	(void)text_format(texts[5], sizeof(texts[5]), "%" PRIu64, batch->unattributed_bytes);
	(void)text_format(texts[6], sizeof(texts[6]), "%" PRIu64, batch->lost_bytes);
	(void)text_format(texts[7], sizeof(texts[7]), "%u", batch->thinned);
	return run(
		writer,
		"insert into haas.traffic_bucket (step, at, writer, from_at, to_at, bytes,"
		" unattributed_bytes, lost_bytes, thinned) values ($1::int, to_timestamp($2::bigint), $3,"
		" to_timestamp($4::bigint), to_timestamp($5::bigint), $6::bigint, $7::bigint,"
		" $8::bigint, $9::float8)",
		params, 9);
}

static int write_batch(struct traffic_writer *writer, const struct traffic_batch *batch)
{
	int rc = run(writer, "begin", NULL, 0);

	if (!rc)
		rc = mark(writer, batch);
	for (enum traffic_table_kind table = 0; table < TRAFFIC_TABLE_COUNT && !rc; table++)
		if (batch->tables[table].size)
			rc = copy(writer, table, batch);
	if (!rc)
		rc = run(writer, "commit", NULL, 0);
	return rc;
}

/* Partitions are made a little ahead of now: a batch of before a long absence may have none. */
static int write_with_partitions(struct traffic_writer *writer, const struct traffic_batch *batch)
{
	const char *params[] = {batch->at_text};
	int rc = write_batch(writer, batch);

	if (rc != E_NOT_FOUND)
		return rc;
	rc = run(writer, "rollback", NULL, 0);
	if (!rc)
		rc = run(writer, "select haas.traffic_partitions_turn($1::timestamptz)", params, 1);
	if (!rc)
		rc = write_batch(writer, batch);
	return rc == E_NOT_FOUND ? E_INVALID : rc;
}

static void work(void *context)
{
	struct traffic_writer *writer = context;

	atomic_store(&writer->ran, true);
	if (writer->connection && PQstatus(writer->connection) != CONNECTION_OK) {
		PQfinish(writer->connection);
		writer->connection = NULL;
	}
	if (!writer->connection)
		writer->connection = PQconnectdb(writer->options.conninfo);
	if (PQstatus(writer->connection) != CONNECTION_OK) {
		writer->rc = failed(writer, E_UNAVAILABLE, NULL);
		return;
	}
	writer->rc = write_with_partitions(writer, &writer->current->batch);
	/* The connection is as good as new only outside of a transaction. */
	if (writer->rc) {
		PQfinish(writer->connection);
		writer->connection = NULL;
	}
}

/* --- in the loop ---------------------------------------------------------------------- */

static void start(struct traffic_writer *writer);

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
}

static void put_back(struct traffic_writer *writer)
{
	writer->current->next = writer->first;
	if (!writer->first)
		writer->last = &writer->current->next;
	writer->first = writer->current;
	writer->current = NULL;
}

static void ended(struct traffic_writer *writer, bool written)
{
	size_t size = traffic_batch_size(&writer->current->batch);

	writer->counts.waiting--;
	writer->counts.waiting_bytes -= size;
	if (written) {
		writer->counts.batches++;
		writer->counts.rows_bytes += size;
	} else {
		writer->counts.dropped++;
	}
	free_waiting(writer->current);
	writer->current = NULL;
}

static void complain(struct traffic_writer *writer)
{
	if (!writer->complained)
		log_warn(SUBJECT, "%s (detail=\"%s\" waiting=%" PRIu64 ")", writer->problem.message,
			 writer->problem.detail, writer->counts.waiting);
	writer->complained = true;
}

static void done(void *context)
{
	struct traffic_writer *writer = context;

	if (!atomic_load(&writer->ran)) { /* the worker goes */
		put_back(writer);
		return;
	}
	switch (writer->rc) {
	case 0:
		if (writer->complained)
			log_info(SUBJECT, "traffic is written again (waiting=%" PRIu64 ")",
				 writer->counts.waiting - 1);
		writer->complained = false;
		ended(writer, true);
		break;
	case E_CONFLICT: /* it was committed, and we did not hear of it */
		ended(writer, true);
		break;
	case E_INVALID:
		log_error(SUBJECT, "PostgreSQL refuses a bucket, it is given up (detail=\"%s\")",
			  writer->problem.detail);
		ended(writer, false);
		break;
	default:
		writer->counts.failures++;
		complain(writer);
		put_back(writer);
		loop_timer_arm(writer->retry, writer->options.retry_ms);
		return;
	}
	start(writer);
}

static void start(struct traffic_writer *writer)
{
	if (writer->current || !writer->first)
		return;
	take_first(writer);
	atomic_store(&writer->ran, false);
	if (worker_submit(writer->worker, work, done, writer)) {
		put_back(writer);
		loop_timer_arm(writer->retry, writer->options.retry_ms);
	}
}

static void on_retry(void *context)
{
	start(context);
}

int traffic_writer_new(struct loop *loop, struct worker *worker,
		       const struct traffic_writer_options *options, struct traffic_writer **ret)
{
	struct traffic_writer *writer = calloc(1, sizeof(*writer));
	int rc;

	if (!writer)
		return -ENOMEM;
	*writer = (struct traffic_writer){.loop = loop, .worker = worker, .options = *options};
	writer->last = &writer->first;
	rc = loop_timer_new(loop, on_retry, writer, &writer->retry);
	if (rc) {
		free(writer);
		return rc;
	}
	*ret = writer;
	return 0;
}

/* Pairs and flows are most of the bytes; totals by owner are what must not be lost. */
static void thin(struct traffic_writer *writer, struct waiting_batch *waiting)
{
	size_t before = traffic_batch_size(&waiting->batch);

	text_done(&waiting->batch.tables[TABLE_PAIR]);
	text_done(&waiting->batch.tables[TABLE_FLOW]);
	waiting->thinned = true;
	writer->counts.thinned++;
	writer->counts.waiting_bytes -= before - traffic_batch_size(&waiting->batch);
}

static void make_room(struct traffic_writer *writer)
{
	for (struct waiting_batch *each = writer->first;
	     each && writer->counts.waiting_bytes > writer->options.waiting_max; each = each->next)
		if (!each->thinned)
			thin(writer, each);
	while (writer->first && writer->first->next &&
	       writer->counts.waiting_bytes > writer->options.waiting_max) {
		struct waiting_batch *oldest = writer->first;

		writer->first = oldest->next;
		writer->counts.dropped++;
		writer->counts.waiting--;
		writer->counts.waiting_bytes -= traffic_batch_size(&oldest->batch);
		free_waiting(oldest);
	}
}

void traffic_writer_put(struct traffic_writer *writer, struct traffic_batch *batch)
{
	struct waiting_batch *waiting = malloc(sizeof(*waiting));

	if (!waiting || !traffic_batch_whole(batch)) {
		log_error(SUBJECT, "no memory for a bucket, it is given up");
		writer->counts.dropped++;
		traffic_batch_done(batch);
		free(waiting);
		return;
	}
	*waiting = (struct waiting_batch){.batch = *batch};
	waiting->batch.number = writer->put++;
	*batch = (struct traffic_batch){0};
	*writer->last = waiting;
	writer->last = &waiting->next;
	writer->counts.waiting++;
	writer->counts.waiting_bytes += traffic_batch_size(&waiting->batch);
	make_room(writer);
	start(writer);
}

void traffic_writer_free(struct traffic_writer *writer, int64_t wait_ms)
{
	int64_t until_ms = clock_monotonic_ms() + wait_ms;

	if (!writer)
		return;
	while ((writer->current || (writer->first && !writer->complained)) &&
	       clock_monotonic_ms() < until_ms) {
		start(writer);
		loop_run_once(writer->loop);
		(void)poll(NULL, 0, 5);
	}
	/* A COPY that hangs ends with the process; its memory is not waited for. */
	if (writer->current) {
		log_warn(SUBJECT, "a bucket is still being written, it may be lost");
		loop_timer_free(writer->retry);
		return;
	}
	if (writer->first)
		log_warn(SUBJECT, "%" PRIu64 " buckets could not be written and are lost",
			 writer->counts.waiting);
	while (writer->first) {
		struct waiting_batch *next = writer->first->next;

		free_waiting(writer->first);
		writer->first = next;
	}
	PQfinish(writer->connection);
	loop_timer_free(writer->retry);
	free(writer);
}

struct traffic_writer_counts traffic_writer_counts(const struct traffic_writer *writer)
{
	return writer->counts;
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
