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

/* How a part of the schema is recorded (schema_migration.number). Changes of the shape count from 1. */
enum { BEHAVIOUR_NUMBER = -1, SHAPE_NUMBER = 0 };

/* db_schema: shape, behaviour, then the changes (portal/cli/CMakeLists.txt). */
static const struct embedded *shape(void)
{
	return &db_schema[0];
}

static const struct embedded *behaviour(void)
{
	return &db_schema[1];
}

static const struct embedded *first_change(void)
{
	return &db_schema[2];
}

static int change_number(const struct embedded *change)
{
	return (int)strtol(change->name, NULL, 10);
}

int db_migration_newest(void)
{
	int newest = SHAPE_NUMBER;

	for (const struct embedded *change = first_change(); change->name; change++)
		newest = change_number(change) > newest ? change_number(change) : newest;
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

/* What the database records of one part. */
struct recorded {
	bool there;
	bool equal; /* its digest is that of `file` */
	char at[32];
};

static int recorded_get(PGconn *connection, const struct embedded *file, int number,
			struct recorded *ret, struct problem *problem)
{
	char digest[DIGEST_TEXT_SIZE];
	char text[16];
	const char *const params[] = {text};

	digest_text(file->data, file->size, digest);
	text_format(text, sizeof(text), "%d", number);
	CLEANUP(result_clear)
	PGresult *result = PQexecParams(
		connection,
		"select digest, to_char(applied_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') from haas.schema_migration where number = $1",
		1, NULL, params, NULL, NULL, 0);
	int rc = db_migrate_check(result, problem);
	if (rc < 0)
		return rc;
	*ret = (struct recorded){.there = PQntuples(result) == 1};
	if (!ret->there)
		return 0;
	ret->equal = strcmp(PQgetvalue(result, 0, 0), digest) == 0;
	text_copy(ret->at, sizeof(ret->at), PQgetvalue(result, 0, 1));
	return 0;
}

static int recorded_set(PGconn *connection, const struct embedded *file, int number,
			struct problem *problem)
{
	char digest[DIGEST_TEXT_SIZE];
	char text[16];
	const char *const params[] = {text, file->name, digest};

	digest_text(file->data, file->size, digest);
	text_format(text, sizeof(text), "%d", number);
	CLEANUP(result_clear)
	PGresult *result = PQexecParams(
		connection,
		"insert into haas.schema_migration (number, name, digest) values ($1, $2, $3) "
		"on conflict (number) do update set digest = excluded.digest, applied_at = now()",
		3, NULL, params, NULL, NULL, 0);
	return db_migrate_check(result, problem);
}

static int change_check(PGconn *connection, const struct embedded *change, struct recorded *ret,
			struct problem *problem)
{
	int rc = recorded_get(connection, change, change_number(change), ret, problem);

	if (rc < 0 || !ret->there || ret->equal)
		return rc;
	problem_set(problem, E_CONFLICT, "change %s was edited after it was applied", change->name);
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
		    "the database is newer (change %d) than this program (change %d)", newest,
		    db_migration_newest());
	problem_hint(problem, "install the newer haasctl");
	return E_CONFLICT;
}

/* Runs one part and records it, all or nothing. */
static int part_apply(PGconn *connection, const struct embedded *file, int number, FILE *talk,
		      struct problem *problem)
{
	int rc = db_admin_exec(connection, "begin; set local search_path = haas", problem);

	if (rc == 0)
		rc = db_admin_exec(connection, (const char *)file->data, problem);
	if (rc == 0)
		rc = recorded_set(connection, file, number, problem);
	/* A shape made now has all changes in it; after a change the database has this shape. */
	if (rc == 0 && number > SHAPE_NUMBER)
		rc = recorded_set(connection, shape(), SHAPE_NUMBER, problem);
	for (const struct embedded *change = first_change();
	     rc == 0 && number == SHAPE_NUMBER && change->name; change++)
		rc = recorded_set(connection, change, change_number(change), problem);
	struct problem ignored = {0};
	int ended = db_admin_exec(connection, rc == 0 ? "commit" : "rollback",
				  rc == 0 ? problem : &ignored);
	rc = rc < 0 ? rc : ended;
	fprintf(talk, "schema %s: %s\n", file->name,
		rc == 0 ? "applied" : "failed, nothing of it stays");
	return rc;
}

static int shape_differs(struct problem *problem)
{
	problem_set(problem, E_CONFLICT,
		    "the tables of the database are not those of this program");
	problem_detail(problem, "db/schema was edited without a file in db/change");
	problem_hint(problem,
		     "install the program version that made this database, or make it anew");
	return E_CONFLICT;
}

int db_migrate(const char *conninfo, FILE *talk, struct problem *problem)
{
	CLEANUP(connection_finish) PGconn *connection = NULL;
	struct recorded seen = {0};
	int rc = db_admin_connect(conninfo, &connection, problem);

	if (rc == 0)
		rc = db_migrate_prepare(connection, problem);
	if (rc == 0)
		rc = no_newer(connection, problem);
	if (rc == 0)
		rc = recorded_get(connection, shape(), SHAPE_NUMBER, &seen, problem);
	if (rc == 0 && !seen.there)
		rc = part_apply(connection, shape(), SHAPE_NUMBER, talk, problem);
	for (const struct embedded *change = first_change(); rc == 0 && change->name; change++) {
		rc = change_check(connection, change, &seen, problem);
		if (rc == 0 && !seen.there)
			rc = part_apply(connection, change, change_number(change), talk, problem);
	}
	if (rc == 0)
		rc = recorded_get(connection, shape(), SHAPE_NUMBER, &seen, problem);
	if (rc == 0 && !seen.equal)
		return shape_differs(problem);
	if (rc == 0)
		rc = recorded_get(connection, behaviour(), BEHAVIOUR_NUMBER, &seen, problem);
	if (rc == 0 && !seen.equal)
		rc = part_apply(connection, behaviour(), BEHAVIOUR_NUMBER, talk, problem);
	return rc;
}

static int part_state(PGconn *connection, const struct embedded *file, int number,
		      struct db_migration_state *ret, struct problem *problem)
{
	struct recorded seen = {0};
	int rc = recorded_get(connection, file, number, &seen, problem);

	if (rc < 0)
		return rc;
	*ret = (struct db_migration_state){
		.name = file->name,
		.number = number,
		.applied = seen.there && (seen.equal || number == SHAPE_NUMBER),
	};
	text_copy(ret->applied_at, sizeof(ret->applied_at), seen.at);
	return 0;
}

int db_migration_states(const char *conninfo, struct db_migration_state **ret, size_t *ret_count,
			size_t *ret_pending, struct problem *problem)
{
	CLEANUP(connection_finish) PGconn *connection = NULL;
	CLEANUP(freep) struct db_migration_state *states = NULL;
	struct recorded seen = {0};
	size_t count = 0;
	size_t pending = 0;
	int rc = db_admin_connect(conninfo, &connection, problem);

	if (rc == 0)
		rc = db_migrate_prepare(connection, problem);
	if (rc == 0)
		rc = no_newer(connection, problem);
	if (rc < 0)
		return rc;
	for (const struct embedded *file = db_schema; file->name; file++)
		count++;
	states = calloc(count, sizeof(*states));
	if (!states)
		return problem_set(problem, -ENOMEM, "out of memory");
	rc = part_state(connection, shape(), SHAPE_NUMBER, &states[0], problem);
	if (rc == 0)
		rc = part_state(connection, behaviour(), BEHAVIOUR_NUMBER, &states[1], problem);
	for (size_t i = 2; rc == 0 && i < count; i++) {
		rc = change_check(connection, &db_schema[i], &seen, problem);
		if (rc == 0)
			rc = part_state(connection, &db_schema[i], change_number(&db_schema[i]),
					&states[i], problem);
	}
	for (size_t i = 0; i < count; i++)
		pending += !states[i].applied;
	if (rc < 0)
		return rc;
	*ret = TAKE(states);
	*ret_count = count;
	*ret_pending = pending;
	return 0;
}
