/* The database as its administrator sees it: the private cluster, migrations, backup. Blocking
 * libpq: these are commands of a person, not of a daemon. Every function says with `problem` what
 * to do next. */
#pragma once

#include <libpq-fe.h>
#include <stdio.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/run_program.h"

#define DB_DEFAULT_FOLDER   "/var/lib/haas/pg"
#define DB_DEFAULT_CONNINFO "host=" DB_DEFAULT_FOLDER " dbname=haas user=haas"

/* db_cluster.c: a PostgreSQL of our own in `folder`: Unix socket only, peer authentication, an OS
 * user per program. `user` runs it. */
MUST_USE int db_cluster_init(const char *folder, const char *user, struct problem *problem);
/* Becomes PostgreSQL, in the foreground; makes the cluster first when there is none. For a service
 * manager: haas-db.service. Returns only when it cannot. */
MUST_USE int db_cluster_serve(const char *folder, const char *user, struct problem *problem);
MUST_USE int db_cluster_start(const char *folder, const char *user, struct problem *problem);
MUST_USE int db_cluster_stop(const char *folder, const char *user, struct problem *problem);

/* db_migrate.c. Connects; *ret is PQfinish'ed by the caller. */
MUST_USE int db_admin_connect(const char *conninfo, PGconn **ret, struct problem *problem);
/* One statement without result; the server's message, detail and hint become the problem. */
MUST_USE int db_admin_exec(PGconn *connection, const char *sql, struct problem *problem);
/* Brings the schema up to this program's, under an advisory lock; progress to `talk`. A new database
 * gets the shape (tables). An older one gets the changes that it lacks (db/change). Behaviour
 * (functions, triggers, views, rights) is applied whole when its digest differs. All is one
 * transaction. E_CONFLICT: a newer database, an edited change, tables of another program. */
MUST_USE int db_migrate(const char *conninfo, FILE *talk, struct problem *problem);

struct db_migration_state {
	const char *name; /* "shape", "behaviour", "0001_name.sql" */
	int number;       /* 0 shape, -1 behaviour, else of the change */
	bool applied;
	char applied_at[32];
};
/* One row per part that this program knows, without any effect; *ret_pending counts those not applied. *ret is freed by
 * the caller. E_CONFLICT as db_migrate. */
MUST_USE int db_migration_states(const char *conninfo, struct db_migration_state **ret,
				 size_t *ret_count, size_t *ret_pending, struct problem *problem);
/* The highest number of a change this program knows; 0 = none. */
int db_migration_newest(void);

/* db_backup.c: one file (pg_dump's custom format), written beside and renamed when whole. */
MUST_USE int db_backup(const char *conninfo, const char *path, struct problem *problem);
/* Into a database without our schema (or with, when `replace`); refuses a schema newer than this
 * program. */
MUST_USE int db_restore(const char *conninfo, const char *path, bool replace,
			struct problem *problem);

/* db_program.c: where one of the newest PostgreSQL's programs is. */
MUST_USE int db_program_path(const char *program, char *ret, size_t room, struct problem *problem);
/* Runs one of the newest PostgreSQL's programs ("pg_dump"); `arguments` end with
 * NULL, at most 14; argv of `how` is not looked at. */
MUST_USE int db_program_run(const char *program, const char *const arguments[],
			    const struct run_program *how, struct problem *problem);
