/* One PostgreSQL connection on the loop, in pipeline mode. Statements are prepared once per connection; results come in order.
 * A lost connection fails what is in flight (E_UNAVAILABLE: unknown whether it was committed) and everything submitted while away, and
 * reconnects with back-off for ever. Single-threaded, like the loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

struct db;

/* A statement of a _store table. Parameters and results are text; arrays go as '{...}' or jsonb and unnest on the server. */
struct db_query {
	const char *name; /* unique per program, prepared under this name */
	const char *sql;
	int param_count;
};

/* `result` is NULL when rc != 0; borrowed for the call. rc: 0, E_UNAVAILABLE (away), E_CONFLICT (constraint 23xxx), E_NOT_FOUND (our SQLSTATE
 * HA404), E_DENIED (42501), -EINVAL other server errors; `problem` then holds message, detail and hint of the server. */
typedef void (*db_result_fn)(void *context, int rc, const PGresult *result, const struct problem *problem);
typedef void (*db_state_fn)(void *context, bool connected);
typedef void (*db_notify_fn)(void *context, const char *channel);

struct db_options {
	const char *conninfo;
	const char *application; /* application_name */
	db_state_fn on_state;    /* may be NULL */
	db_notify_fn on_notify;  /* may be NULL */
	const char *const *channels; /* LISTENed on every connect; NULL-ended; may be NULL */
	void *context;
};

MUST_USE int db_new(struct loop *loop, const struct db_options *options, struct db **ret);
/* Callbacks of what is in flight are called with E_UNAVAILABLE first. */
void db_free(struct db *db);
bool db_connected(const struct db *db);
/* How many statements wait for their result. */
size_t db_in_flight(const struct db *db);

/* Submits one statement as its own transaction. params: param_count strings, NULL = SQL NULL; copied. `fn` may be NULL.
 * Always calls back exactly once, never from inside this call. */
MUST_USE int db_submit(struct db *db, const struct db_query *query, const char *const params[], db_result_fn fn, void *context);

/* Several statements as one transaction (one pipeline sync); each has its callback; after a failed one the rest get E_CONFLICT "aborted". */
struct db_call {
	const struct db_query *query;
	const char *const *params;
	db_result_fn fn;
	void *context;
};
MUST_USE int db_submit_all(struct db *db, const struct db_call calls[], size_t count);

/* Result readers: NULL column -> the fallback. Column by number. */
const char *db_text(const PGresult *result, int row, int column, const char *fallback);
int64_t db_int(const PGresult *result, int row, int column, int64_t fallback);
bool db_bool(const PGresult *result, int row, int column);
bool db_is_null(const PGresult *result, int row, int column);

/* Fills a problem from a failed PGresult (message, detail, hint) and returns the code as above. */
int db_problem(const PGresult *result, struct problem *ret);
