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
#define MIGRATION_LOCK "select pg_advisory_xact_lock(7301)"

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

/* The order of db_schema (portal/cli/CMakeLists.txt): what takes all behaviour away, the shape, the
 * behaviour, then the changes. */
static const struct embedded *clearing(void)
{
	return &db_schema[0];
}

static const struct embedded *shape(void)
{
	return &db_schema[1];
}

static const struct embedded *behaviour(void)
{
	return &db_schema[2];
}

static const struct embedded *first_change(void)
{
	return &db_schema[3];
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

/* Begins the one transaction that all parts share: a migration that is cut off leaves nothing. */
static int migration_begin(PGconn *connection, struct problem *problem)
{
	static const char *const statements[] = {
		"begin; set local client_min_messages = warning; set local search_path = haas",
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

struct migration {
	PGconn *connection;
	struct text applied; /* a line for each part */
	bool cleared;        /* the database has no behaviour now */
};

static void migration_done(struct migration *migration)
{
	PQfinish(migration->connection);
	text_done(&migration->applied);
}

static int part_run(const struct migration *migration, const struct embedded *part,
		    struct problem *problem)
{
	int rc = db_admin_exec(migration->connection, (const char *)part->data, problem);

	if (rc < 0 && problem->detail[0] == '\0')
		problem_detail(problem, "in %s; this migration was undone completely", part->name);
	return rc;
}

static int part_apply(struct migration *migration, const struct embedded *part, int number,
		      struct problem *problem)
{
	int rc = part_run(migration, part, problem);

	if (rc == 0)
		rc = recorded_set(migration->connection, part, number, problem);
	if (rc == 0)
		text_addf(&migration->applied, "schema %s: applied\n", part->name);
	return rc;
}

/* Before a change, too: a column cannot go or get another type while a view or a policy uses it. */
static int behaviour_clear(struct migration *migration, struct problem *problem)
{
	if (migration->cleared)
		return 0;
	migration->cleared = true;
	return part_run(migration, clearing(), problem);
}

/* A shape made now has all changes in it. */
static int shape_make(struct migration *migration, struct problem *problem)
{
	int rc = part_apply(migration, shape(), SHAPE_NUMBER, problem);

	for (const struct embedded *change = first_change(); rc == 0 && change->name; change++)
		rc = recorded_set(migration->connection, change, change_number(change), problem);
	return rc;
}

/* Runs the changes that the database lacks; after them it has this program's shape. */
static int changes_apply(struct migration *migration, struct problem *problem)
{
	struct recorded seen = {0};
	bool changed = false;
	int rc = 0;

	for (const struct embedded *change = first_change(); rc == 0 && change->name; change++) {
		rc = change_check(migration->connection, change, &seen, problem);
		if (rc < 0 || seen.there)
			continue;
		changed = true;
		rc = behaviour_clear(migration, problem);
		if (rc == 0)
			rc = part_apply(migration, change, change_number(change), problem);
	}
	return rc == 0 && changed
		       ? recorded_set(migration->connection, shape(), SHAPE_NUMBER, problem)
		       : rc;
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

static int shape_apply(struct migration *migration, struct problem *problem)
{
	struct recorded seen = {0};
	int rc = recorded_get(migration->connection, shape(), SHAPE_NUMBER, &seen, problem);

	if (rc == 0 && !seen.there)
		return shape_make(migration, problem);
	if (rc == 0)
		rc = changes_apply(migration, problem);
	if (rc == 0)
		rc = recorded_get(migration->connection, shape(), SHAPE_NUMBER, &seen, problem);
	return rc == 0 && !seen.equal ? shape_differs(problem) : rc;
}

static int behaviour_apply(struct migration *migration, struct problem *problem)
{
	struct recorded seen = {0};
	int rc = recorded_get(migration->connection, behaviour(), BEHAVIOUR_NUMBER, &seen, problem);

	if (rc < 0 || (seen.equal && !migration->cleared))
		return rc;
	rc = behaviour_clear(migration, problem);
	if (rc == 0)
		rc = part_apply(migration, behaviour(), BEHAVIOUR_NUMBER, problem);
	return rc;
}

int db_migrate(const char *conninfo, FILE *talk, struct problem *problem)
{
	CLEANUP(migration_done) struct migration migration = {0};
	int rc = db_admin_connect(conninfo, &migration.connection, problem);

	if (rc == 0)
		rc = migration_begin(migration.connection, problem);
	if (rc == 0)
		rc = no_newer(migration.connection, problem);
	if (rc == 0)
		rc = shape_apply(&migration, problem);
	if (rc == 0)
		rc = behaviour_apply(&migration, problem);
	if (rc == 0)
		rc = db_admin_exec(migration.connection, "commit", problem);
	if (rc == 0 && migration.applied.data)
		fputs(migration.applied.data, talk);
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
		rc = migration_begin(connection, problem);
	if (rc == 0)
		rc = no_newer(connection, problem);
	if (rc < 0)
		return rc;
	for (const struct embedded *part = shape(); part->name; part++)
		count++;
	states = calloc(count, sizeof(*states));
	if (!states)
		return problem_set(problem, -ENOMEM, "out of memory");
	rc = part_state(connection, shape(), SHAPE_NUMBER, &states[0], problem);
	if (rc == 0)
		rc = part_state(connection, behaviour(), BEHAVIOUR_NUMBER, &states[1], problem);
	for (size_t i = 2; rc == 0 && i < count; i++) {
		const struct embedded *change = first_change() + (i - 2);

		rc = change_check(connection, change, &seen, problem);
		if (rc == 0)
			rc = part_state(connection, change, change_number(change), &states[i],
					problem);
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
