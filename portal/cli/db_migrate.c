#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/embedded.h"
#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/db/copy.h"

#include "portal/cli/db_admin.h"

extern const struct embedded db_schema[];

/* Any number: two migrating at once take turns. */
#define MIGRATION_LOCK "select pg_advisory_lock(7301)"

static void result_clear(PGresult **result)
{
	PQclear(*result);
}

static void connection_finish(PGconn **connection)
{
	PQfinish(*connection);
}

int db_admin_connect(const char *conninfo, PGconn **ret, struct problem *problem)
{
	PGconn *connection = db_blocking_connect(conninfo);

	if (PQstatus(connection) != CONNECTION_OK) {
		problem_set(problem, E_UNAVAILABLE, "cannot connect to the database");
		problem_detail(problem, "%s", PQerrorMessage(connection));
		problem_hint(problem,
			     "haasctl db start for the private cluster, or --database CONNINFO");
		PQfinish(connection);
		return E_UNAVAILABLE;
	}
	*ret = connection;
	return 0;
}

static int db_migrate_check(const PGresult *result, struct problem *problem)
{
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
		return 0;
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	problem_set(problem, E_CONFLICT, "%s", message ? message : "the server gave no answer");
	problem_detail(problem, "%s", detail ? detail : "");
	problem_hint(problem, "%s", hint ? hint : "");
	return E_CONFLICT;
}

int db_admin_exec(PGconn *connection, const char *sql, struct problem *problem)
{
	CLEANUP(result_clear) PGresult *result = PQexec(connection, sql);

	return db_migrate_check(result, problem);
}

static int db_migrate_number_of(const struct embedded *file)
{
	return (int)strtol(file->name, NULL, 10);
}

int db_migration_newest(void)
{
	int newest = 0;

	for (const struct embedded *file = db_schema; file->name; file++)
		newest = db_migrate_number_of(file) > newest ? db_migrate_number_of(file) : newest;
	return newest;
}

static int db_migrate_prepare(PGconn *connection, struct problem *problem)
{
	static const char *const statements[] = {
		"set client_min_messages = warning",
		MIGRATION_LOCK,
		"create schema if not exists haas",
		/* one statement */
		("create table if not exists haas.schema_migration (number integer primary key, "
		 "name text not null, digest text not null, "
		 "applied_at timestamptz not null default now())"),
	};

	for (size_t i = 0; i < COUNT_OF(statements); i++) {
		int rc = db_admin_exec(connection, statements[i], problem);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Whether `file` is applied, and that what was applied is what we have. */
static int db_migrate_applied(PGconn *connection, const struct embedded *file, bool *ret,
			      char *ret_at, size_t room, struct problem *problem)
{
	char digest[DIGEST_TEXT_SIZE];
	char number[16];
	const char *const params[] = {number};

	digest_text(file->data, file->size, digest);
	text_format(number, sizeof(number), "%d", db_migrate_number_of(file));
	CLEANUP(result_clear)
	PGresult *result = PQexecParams(
		connection,
		"select digest, to_char(applied_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') from haas.schema_migration where number = $1",
		1, NULL, params, NULL, NULL, 0);
	int rc = db_migrate_check(result, problem);
	if (rc < 0)
		return rc;
	*ret = PQntuples(result) == 1;
	if (!*ret)
		return 0;
	text_copy(ret_at, room, PQgetvalue(result, 0, 1));
	if (strcmp(PQgetvalue(result, 0, 0), digest) == 0)
		return 0;
	problem_set(problem, E_CONFLICT, "migration %s was changed after it was applied",
		    file->name);
	problem_hint(problem,
		     "install the program version that made this database, or restore a backup");
	return E_CONFLICT;
}

static int no_newer(PGconn *connection, struct problem *problem)
{
	CLEANUP(result_clear)
	PGresult *result =
		PQexec(connection, "select coalesce(max(number), 0) from haas.schema_migration");
	int rc = db_migrate_check(result, problem);

	if (rc < 0)
		return rc;
	int newest = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
	if (newest <= db_migration_newest())
		return 0;
	problem_set(problem, E_CONFLICT,
		    "the database is newer (migration %d) than this program (%d)", newest,
		    db_migration_newest());
	problem_hint(problem, "install the newer haasctl");
	return E_CONFLICT;
}

static int db_migrate_apply(PGconn *connection, const struct embedded *file,
			    struct problem *problem)
{
	char digest[DIGEST_TEXT_SIZE];
	char number[16];
	const char *const params[] = {number, file->name, digest};
	int rc = db_admin_exec(connection, "begin; set local search_path = haas", problem);

	if (rc == 0)
		rc = db_admin_exec(connection, (const char *)file->data, problem);
	if (rc == 0) {
		digest_text(file->data, file->size, digest);
		text_format(number, sizeof(number), "%d", db_migrate_number_of(file));
		CLEANUP(result_clear)
		PGresult *result = PQexecParams(
			connection,
			"insert into haas.schema_migration (number, name, digest) values ($1, $2, $3)",
			3, NULL, params, NULL, NULL, 0);
		rc = db_migrate_check(result, problem);
	}
	struct problem ignored = {0};
	int ended = db_admin_exec(connection, rc == 0 ? "commit" : "rollback",
				  rc == 0 ? problem : &ignored);
	return rc < 0 ? rc : ended;
}

int db_migrate(const char *conninfo, FILE *talk, struct problem *problem)
{
	CLEANUP(connection_finish) PGconn *connection = NULL;
	int rc = db_admin_connect(conninfo, &connection, problem);

	if (rc == 0)
		rc = db_migrate_prepare(connection, problem);
	if (rc == 0)
		rc = no_newer(connection, problem);
	for (const struct embedded *file = db_schema; rc == 0 && file->name; file++) {
		bool there = false;
		char at[32];

		rc = db_migrate_applied(connection, file, &there, at, sizeof(at), problem);
		if (rc < 0 || there)
			continue;
		rc = db_migrate_apply(connection, file, problem);
		fprintf(talk, "migration %s: %s\n", file->name,
			rc == 0 ? "applied" : "failed, nothing of it stays");
	}
	return rc;
}

int db_migration_states(const char *conninfo, struct db_migration_state **ret, size_t *ret_count,
			size_t *ret_pending, struct problem *problem)
{
	CLEANUP(connection_finish) PGconn *connection = NULL;
	CLEANUP(freep) struct db_migration_state *states = NULL;
	size_t count = 0;
	size_t pending = 0;
	int rc = db_admin_connect(conninfo, &connection, problem);

	if (rc == 0)
		rc = db_migrate_prepare(connection, problem);
	if (rc == 0)
		rc = no_newer(connection, problem);
	if (rc < 0)
		return rc;
	while (db_schema[count].name)
		count++;
	states = calloc(count + 1, sizeof(*states));
	if (!states)
		return problem_set(problem, -ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < count; i++) {
		states[i].name = db_schema[i].name;
		states[i].number = db_migrate_number_of(&db_schema[i]);
		rc = db_migrate_applied(connection, &db_schema[i], &states[i].applied,
					states[i].applied_at, sizeof(states[i].applied_at),
					problem);
		pending += !states[i].applied;
	}
	if (rc < 0)
		return rc;
	*ret = TAKE(states);
	*ret_count = count;
	*ret_pending = pending;
	return 0;
}
