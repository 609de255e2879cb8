/* One PostgreSQL connection on the loop, in pipeline mode. Statements are prepared once per
 * connection; results come in order. Single-threaded, like the loop.
 *
 * A lost connection fails what is in flight (E_UNAVAILABLE: unknown whether it was committed) and
 * everything submitted while away. It reconnects with back-off for ever.
 *
 * A transaction that met another one (40P01, 40001) is done again, a few times and unseen by its
 * caller. Statements submitted after it may then be done before it. */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

struct db;

/* A statement of X.sql, made by cmake/statements.py; lives as long as the db. Parameters and results
 * are text. Arrays go as '{...}' or jsonb, and the server unnests them. */
struct db_query {
	const char *name; /* unique per program, prepared under this name. NULL: made for one call,
			     parsed for it alone; it lives until its callback has returned */
	const char *sql;
	int param_count;
	const char *const
		*columns; /* the names that its answer must have, in this order; NULL-ended.
				       NULL = not checked */
};

/* `result` is NULL when rc != 0; borrowed for the call. rc 0 means committed: it is told only after
 * the transaction's end. Else `problem` holds the server's message, detail and hint, and rc is:
 *
 *   E_UNAVAILABLE  away, unknown whether committed; 40xxx, 53xxx, 57Pxx, and what was aborted with it
 *   E_TIMEOUT      statement_timeout
 *   -EINVAL        among others: columns are not those of the query, which may be committed
 *   E_CONFLICT     23xxx, HA409, or aborted with its transaction
 *   E_AUTHENTICATION HA401
 *   E_NOT_FOUND    HA404
 *   E_DENIED       42501, HA403
 *   E_STALE        HA412
 *   E_UNREAD       HA428
 *   E_INVALID      22xxx, HA422 */
typedef void (*db_result_fn)(void *context, int rc, const PGresult *result,
			     const struct problem *problem);
/* On every change, and once when the first attempt fails (db_away tells why). true: LISTEN is
 * committed, so what is read from now on misses nothing. */
typedef void (*db_state_fn)(void *context, bool connected);
typedef void (*db_notify_fn)(void *context, const char *channel);

/* For db_options.setup, where statements are few and large. PostgreSQL keeps the plan that it made
 * when a table was empty (a quiet night). That plan reads the whole table for each of two thousand
 * rows. These statements look rows up by key in memory. */
extern const char *const db_plan_anew[];

/* Of several hosts: a statement that is not answered for so long is given up with its connection. */
enum { DB_PATIENCE_MS = 30000 };

struct db_options {
	/* May name several hosts, "host=a,b": the one that can write is taken (db_target.h). */
	const char *conninfo;
	const char *application; /* application_name */
	const char *daemon;      /* its heartbeat goes over this connection (heartbeat.h);
					NULL = none */
	const char *instance;    /* of the daemon; NULL or "" = the host's name */
	const char *lead;        /* "bampid": one instance at a time works, the others stand by
					(lead.h); NULL = all work */
	struct db *lead_of;      /* with `lead`: a further connection of the one that leads */
	bool (*may_lead)(
		void *context);      /* asked before it takes the lead and while it has it; NULL =
					    it may */
	int64_t patience_ms;         /* of several hosts; 0 = DB_PATIENCE_MS */
	db_state_fn on_state;        /* may be NULL */
	db_notify_fn on_notify;      /* may be NULL */
	const char *const *channels; /* LISTENed on every connect; NULL-ended; may be NULL */
	const char *const *setup;    /* statements after every connect (SET ...); NULL-ended; may be
					NULL; borrowed */
	void *context;
};

MUST_USE int db_new(struct loop *loop, const struct db_options *options, struct db **ret);
/* Callbacks of what is in flight are called with E_UNAVAILABLE first. Not from inside a callback of
 * this db. */
void db_free(struct db *db);
bool db_connected(const struct db *db);
/* Connected, but another instance leads; db_away says where. */
bool db_stands_by(const struct db *db);
/* Of a db with a lead: this life of the program, as haas.lead_hold() takes it. */
const char *db_life(const struct db *db);
/* Why the last attempt or connection failed; a zeroed problem before that. Borrowed. */
const struct problem *db_away(const struct db *db);
/* How many statements wait for their result. */
size_t db_in_flight(const struct db *db);

/* Submits one statement as its own transaction. params: param_count strings, NULL = SQL NULL;
 * copied. `fn` may be NULL. Always calls back exactly once, never from inside this call. */
MUST_USE int db_submit(struct db *db, const struct db_query *query, const char *const params[],
		       db_result_fn fn, void *context);

/* Several statements as one transaction (one pipeline sync). Each has its callback, called after
 * the end of all. When one fails, nothing is committed and the others get E_CONFLICT "aborted". */
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

/* Begins the message of what PostgreSQL itself says, and our schema does not:
 * "PostgreSQL 23505 nic.nic_pkey: duplicate key value ..." has SQLSTATE, table, and constraint or
 * column. It has no detail. */
#define DB_STRANGE "PostgreSQL "

/* Fills a problem from a failed PGresult (message, detail, hint) and returns the code as above. */
int db_problem(const PGresult *result, struct problem *ret);
