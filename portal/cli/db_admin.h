/* The database as its administrator sees it: the private cluster, migrations, backup. Blocking
 * libpq: these are commands of a person, not of a daemon. Every function says with `problem` what
 * to do next. */
#pragma once

#include <libpq-fe.h>
#include <limits.h>
#include <stdio.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/run_program.h"

#include "portal/cli/backup_wire.h"

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

/* db_settings.c: a connection string as environment ("PGHOST=..."): a password must not stand in
 * argv. */
struct db_settings {
	const char *environment[40]; /* NULL-ended */
	char *texts[40];
	size_t count;
};
MUST_USE int db_settings_init(struct db_settings *settings, const char *conninfo,
			      struct problem *problem);
void db_settings_done(struct db_settings *settings);

/* db_backup.c: one file, written beside and renamed when whole. `key`: the file that encrypts and
 * signs (backup_key.h); NULL: pg_dump's custom format, plain. */
MUST_USE int db_backup(const char *conninfo, const char *path, const char *key,
		       struct problem *problem);

/* This machine's name for the header of a backup, in letters that are safe everywhere. */
void db_backup_maker(char ret[BACKUP_MAKER_SIZE + 1]);

/* db_keep.c: the name of a new backup in a folder, and how many of such names stay. */
MUST_USE int db_keep_name(const char *folder, char ret[PATH_MAX], struct problem *problem);
/* Removes all but the `keep` newest of these names. */
MUST_USE int db_keep_newest(const char *folder, int keep, struct problem *problem);

/* The header's schema of a file that holds keys. No change of the schema has this number. */
#define DB_KEYS_SCHEMA UINT32_C(0x6b657973)
/* db_keys.c: /etc/haas and the keys of the daemons below `root`, encrypted and signed as a backup is. */
MUST_USE int db_keys_backup(const char *root, const char *path, const char *key,
			    struct problem *problem);
/* Unpacks them below `root`, which is made. Nothing is written before all of the file is checked. */
MUST_USE int db_keys_restore(const char *root, const char *path, const char *key,
			     struct problem *problem);

struct db_restore {
	const char *conninfo;
	const char *path;
	const char *key; /* the file that opens and checks; NULL: a plain backup */
	bool replace;    /* drops our schema first, in the same transaction */
};
/* All of it, or nothing. The database is then marked as restored (db/schema/restoration.sql).
 * E_CONFLICT: our schema is there, a program is connected, the backup is newer than this program. */
MUST_USE int db_restore(const struct db_restore *restore, struct problem *problem);
/* An operator has compared the database with the site: programs may change nodes and switches again. */
MUST_USE int db_accept_restore(const char *conninfo, const char *actor, struct problem *problem);

/* db_program.c: where one of the newest PostgreSQL's programs is. */
MUST_USE int db_program_path(const char *program, char *ret, size_t room, struct problem *problem);
/* Runs one of the newest PostgreSQL's programs ("pg_dump"); `arguments` end with
 * NULL, at most 14; argv of `how` is not looked at. */
MUST_USE int db_program_run(const char *program, const char *const arguments[],
			    const struct run_program *how, struct problem *problem);
/* One of a pipeline: its ends stay the caller's. */
struct db_program_pipe {
	const char *const *environment;
	int in, out;
};
MUST_USE int db_program_start(const char *program, const char *const arguments[],
			      const struct db_program_pipe *pipe, struct run_program_child *ret,
			      struct problem *problem);
