#include "peregrine/flowd/traffic_store.h"

#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/db/copy.h"

#define UNWRITTEN "traffic could not be written"

struct traffic_store {
	struct traffic_store_options options;
	PGconn *connection;
	struct problem *problem; /* of the attempt under way */
};

static int traffic_store_failed(struct traffic_store *store, int rc, const PGresult *result)
{
	(void)problem_set(store->problem, rc, UNWRITTEN);
	db_blocking_detail(store->connection, result, store->problem);
	return rc;
}

static int traffic_store_run(struct traffic_store *store, const char *sql,
			     const char *const params[], int count)
{
	PGresult *result = PQexecParams(store->connection, sql, count, NULL, params, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(result);
	int rc = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 0
									 : db_blocking_rc(result);

	if (rc)
		(void)traffic_store_failed(store, rc, result);
	PQclear(result);
	return rc;
}

static int traffic_store_copy(struct traffic_store *store, enum traffic_table_kind table,
			      const struct traffic_batch *batch)
{
	const struct text *rows = &batch->tables[table];
	char sql[COPY_STATEMENT_SIZE];

	traffic_copy_statement(table, batch->step, sql);
	(void)problem_set(store->problem, E_UNAVAILABLE, UNWRITTEN);
	return db_copy_in(store->connection, sql, rows->data, rows->size, store->problem);
}

/* First of all, so that a batch which is there already is refused before its rows are sent. */
static int traffic_store_mark(struct traffic_store *store, const struct traffic_batch *batch)
{
	char texts[8][32];
	char name[192];
	const char *params[] = {texts[0], texts[1], name,     texts[2], texts[3],
				texts[4], texts[5], texts[6], texts[7]};

	(void)text_format(name, sizeof(name), "%s:%" PRIu64, store->options.name, batch->number);
	(void)text_format(texts[0], sizeof(texts[0]), "%d", traffic_step_seconds[batch->step]);
	(void)text_format(texts[1], sizeof(texts[1]), "%" PRId64, batch->at_s);
	(void)text_format(texts[2], sizeof(texts[2]), "%" PRId64, batch->from_s);
	(void)text_format(texts[3], sizeof(texts[3]), "%" PRId64, batch->to_s);
	(void)text_format(texts[4], sizeof(texts[4]), "%" PRIu64, batch->bytes);
	(void)text_format(texts[5], sizeof(texts[5]), "%" PRIu64, batch->unattributed_bytes);
	(void)text_format(texts[6], sizeof(texts[6]), "%" PRIu64, batch->lost_bytes);
	(void)text_format(texts[7], sizeof(texts[7]), "%u", batch->thinned);
	return traffic_store_run(
		store,
		"insert into haas.traffic_bucket (step, at, writer, from_at, to_at, bytes,"
		" unattributed_bytes, lost_bytes, thinned) values ($1::int, to_timestamp($2::bigint), $3,"
		" to_timestamp($4::bigint), to_timestamp($5::bigint), $6::bigint, $7::bigint,"
		" $8::bigint, $9::float8)",
		params, 9);
}

/* Whatever of its shares has no pair there now: any may have had all of it. */
static int mark_cut(struct traffic_store *store, const struct traffic_batch *batch)
{
	char step[12];
	const char *params[] = {step, batch->at_text};

	(void)text_format(step, sizeof(step), "%d", (int)traffic_step_seconds[batch->step]);
	return traffic_store_run(store, "select haas.traffic_cut($1::int, $2::timestamptz)", params,
				 2);
}

static int write_batch(struct traffic_store *store, const struct traffic_batch *batch)
{
	const char *const lead[] = {store->options.lead, store->options.life};
	int rc = traffic_store_run(store, "begin", NULL, 0);

	if (!rc && store->options.lead)
		rc = traffic_store_run(store, "select haas.lead_hold($1, $2)", lead, 2);
	if (!rc)
		rc = traffic_store_mark(store, batch);
	for (enum traffic_table_kind table = 0; table < TRAFFIC_TABLE_COUNT && !rc; table++)
		if (batch->tables[table].size)
			rc = traffic_store_copy(store, table, batch);
	if (!rc && batch->cut)
		rc = mark_cut(store, batch);
	if (!rc)
		rc = traffic_store_run(store, "commit", NULL, 0);
	return rc;
}

/* Partitions are made a little ahead of now: a batch of before a long absence may have none. */
static int write_with_partitions(struct traffic_store *store, const struct traffic_batch *batch)
{
	const char *params[] = {batch->at_text};
	int rc = write_batch(store, batch);

	if (rc != E_NOT_FOUND)
		return rc;
	rc = traffic_store_run(store, "rollback", NULL, 0);
	if (!rc)
		rc = traffic_store_run(
			store, "select haas.traffic_partitions_turn($1::timestamptz)", params, 1);
	if (!rc)
		rc = write_batch(store, batch);
	return rc == E_NOT_FOUND ? E_INVALID : rc;
}

static void forget_connection(struct traffic_store *store)
{
	PQfinish(store->connection);
	store->connection = NULL;
}

static int write_connected(struct traffic_store *store, const struct traffic_batch *batch)
{
	int rc;

	if (!store->connection)
		store->connection = db_blocking_connect(store->options.conninfo);
	if (PQstatus(store->connection) != CONNECTION_OK)
		return traffic_store_failed(store, E_UNAVAILABLE, NULL);
	rc = write_with_partitions(store, batch);
	/* The connection is as good as new only outside of a transaction. */
	if (rc)
		forget_connection(store);
	return rc;
}

/* A connection that was kept since the last batch does not tell that PostgreSQL was restarted
 * meanwhile: the batch finds out, and goes by a new one. One that was committed is refused then. */
static int write_to_store(void *context, const struct traffic_batch *batch, struct problem *problem)
{
	struct traffic_store *store = context;
	bool kept;
	int rc;

	store->problem = problem;
	if (store->connection && PQstatus(store->connection) != CONNECTION_OK)
		forget_connection(store);
	kept = store->connection != NULL;
	rc = write_connected(store, batch);
	if (!kept || rc != E_UNAVAILABLE)
		return rc;
	*problem = (struct problem){0};
	return write_connected(store, batch);
}

static void free_store(void *context)
{
	struct traffic_store *store = context;

	forget_connection(store);
	free(store);
}

int traffic_store_new(const struct traffic_store_options *options, struct traffic_sink *ret)
{
	struct traffic_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->options = *options;
	*ret = (struct traffic_sink){.subject = "writer",
				     .name = "PostgreSQL",
				     .write = write_to_store,
				     .free = free_store,
				     .context = store};
	return 0;
}
