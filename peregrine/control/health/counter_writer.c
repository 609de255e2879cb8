#include "peregrine/control/health/counter_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/problem.h"
#include "common/db/copy.h"
#include "common/io/log.h"

#include "peregrine/control/health/health_text.h"

LEAKS_LEFT_TO_SANITIZER

#define COUNTER_WRITER_SUBJECT  "counters"
#define SOON_MS                 1000 /* switches that answer together are written together */
#define COUNTER_WRITER_RETRY_MS 5000
/* Waiting rows at most: about an hour of 500 switches with 64 ports. */
#define WAITING_MAX ((size_t)192 << 20)

struct counter_writer {
	struct loop *loop;
	struct worker *worker;
	struct loop_timer *timer;
	char *conninfo;
	struct text waiting;
	struct counter_writer_counts counts;
	bool complained;

	/* Under way: the worker's until it is done. */
	bool busy, ran;
	struct text rows;
	PGconn *connection;
	int rc;
	struct problem problem;
};

/* --- in the worker --- */

static bool counter_writer_connect_to(struct counter_writer *writer)
{
	if (writer->connection && PQstatus(writer->connection) != CONNECTION_OK) {
		PQfinish(writer->connection);
		writer->connection = NULL;
	}
	if (!writer->connection)
		writer->connection = db_blocking_connect(writer->conninfo);
	if (PQstatus(writer->connection) == CONNECTION_OK)
		return true;
	db_blocking_detail(writer->connection, NULL, &writer->problem);
	return false;
}

static int counter_writer_copy(struct counter_writer *writer)
{
	return db_copy_in(writer->connection, health_copy_statement, writer->rows.data,
			  writer->rows.size, &writer->problem);
}

static void counter_writer_work(void *context)
{
	struct counter_writer *writer = context;

	writer->ran = true;
	writer->problem = (struct problem){0};
	writer->rc =
		counter_writer_connect_to(writer) ? counter_writer_copy(writer) : E_UNAVAILABLE;
	if (writer->rc == E_NOT_FOUND) { /* partitions are made a little ahead of now */
		PQclear(PQexec(writer->connection, "select haas.traffic_partitions_turn(now())"));
		writer->rc = counter_writer_copy(writer);
		if (writer->rc == E_NOT_FOUND)
			writer->rc = E_INVALID;
	}
	if (writer->rc) {
		PQfinish(writer->connection);
		writer->connection = NULL;
	}
}

/* --- in the loop --- */

static void counter_writer_done(void *context)
{
	struct counter_writer *writer = context;

	writer->busy = false;
	if (!writer->ran) /* the worker goes */
		return;
	if (writer->rc && writer->rc != E_CONFLICT && writer->rc != E_INVALID) {
		writer->counts.failures++;
		if (!writer->complained)
			log_warn(COUNTER_WRITER_SUBJECT,
				 "counters of ports could not be written (detail=\"%s\")",
				 writer->problem.detail);
		writer->complained = true;
		loop_timer_arm(writer->timer, COUNTER_WRITER_RETRY_MS);
		return;
	}
	if (writer->rc == E_INVALID) {
		log_error(COUNTER_WRITER_SUBJECT,
			  "PostgreSQL refuses counters, they are dropped (detail=\"%s\")",
			  writer->problem.detail);
		writer->counts.dropped_bytes += writer->rows.size;
	}
	if (writer->complained)
		log_info(COUNTER_WRITER_SUBJECT, "counters of ports are written again");
	writer->complained = false;
	writer->counts.batches++;
	text_done(&writer->rows);
	if (writer->waiting.size)
		loop_timer_arm(writer->timer, SOON_MS);
}

static void counter_writer_on_timer(void *context)
{
	struct counter_writer *writer = context;

	if (writer->busy)
		return;
	/* What failed goes again as it was: it may be there, and is then refused as a whole. */
	if (!writer->rows.size) {
		writer->rows = writer->waiting;
		writer->waiting = (struct text){0};
	}
	if (!writer->rows.size)
		return;
	writer->ran = false;
	writer->busy = worker_submit(writer->worker, counter_writer_work, counter_writer_done,
				     writer) == 0;
	if (!writer->busy)
		loop_timer_arm(writer->timer, COUNTER_WRITER_RETRY_MS);
}

void counter_writer_put(struct counter_writer *writer, const struct text *rows)
{
	if (writer->waiting.failed || writer->waiting.size + rows->size > WAITING_MAX) {
		log_warn(COUNTER_WRITER_SUBJECT,
			 "too many counters wait for PostgreSQL, they are dropped (bytes=%zu)",
			 writer->waiting.size);
		writer->counts.dropped_bytes += writer->waiting.size;
		text_done(&writer->waiting);
	}
	/* Not put off by each that comes; after a failure the next attempt has its time. */
	if (!writer->busy && !writer->rows.size && !writer->waiting.size)
		loop_timer_arm(writer->timer, SOON_MS);
	text_add_bytes(&writer->waiting, rows->data, rows->size);
}

int counter_writer_new(struct loop *loop, struct worker *worker, const char *conninfo,
		       struct counter_writer **ret)
{
	struct counter_writer *writer = calloc(1, sizeof(*writer));
	int rc = -ENOMEM;

	if (!writer)
		return rc;
	*writer = (struct counter_writer){
		.loop = loop, .worker = worker, .conninfo = strdup(conninfo)};
	if (writer->conninfo)
		rc = loop_timer_new(loop, counter_writer_on_timer, writer, &writer->timer);
	if (rc) {
		counter_writer_free(writer);
		return rc;
	}
	*ret = writer;
	return 0;
}

void counter_writer_free(struct counter_writer *writer)
{
	if (!writer)
		return;
	loop_timer_free(writer->timer);
	PQfinish(writer->connection);
	text_done(&writer->waiting);
	text_done(&writer->rows);
	free(writer->conninfo);
	free(writer);
}

struct counter_writer_counts counter_writer_counts(const struct counter_writer *writer)
{
	return writer->counts;
}
