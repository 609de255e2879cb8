#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/process.h"

#include "portal/cli/backup_stream.h"
#include "portal/cli/db_admin.h"

/* A backup that is being made. */
struct db_backup {
	PGconn *connection; /* holds the snapshot until pg_dump has read all */
	struct db_settings settings;
	struct backup_key key;
	struct backup_header header;
	char snapshot[64];
	char part[PATH_MAX]; /* '\0': none to remove */
	int fd;
};

static void db_backup_done(struct db_backup *backup)
{
	PQfinish(backup->connection);
	db_settings_done(&backup->settings);
	backup_key_done(&backup->key);
	closep(&backup->fd);
	if (backup->part[0])
		(void)unlink(backup->part);
}

/* What the header says of the database is of the same moment as the rows. */
static int db_backup_snapshot(struct db_backup *backup, struct problem *problem)
{
	int rc = db_admin_exec(backup->connection,
			       "begin transaction isolation level repeatable read, read only",
			       problem);

	if (rc < 0)
		return rc;
	PGresult *facts = PQexec(
		backup->connection,
		"select pg_export_snapshot(), greatest(max(number), 0), floor(extract(epoch from now()))::bigint from haas.schema_migration");
	if (PQresultStatus(facts) == PGRES_TUPLES_OK) {
		text_copy(backup->snapshot, sizeof(backup->snapshot), PQgetvalue(facts, 0, 0));
		backup->header.schema = (uint32_t)strtoul(PQgetvalue(facts, 0, 1), NULL, 10);
		backup->header.made_s = strtoll(PQgetvalue(facts, 0, 2), NULL, 10);
	} else {
		rc = problem_set(problem, E_NOT_FOUND, "the database does not hold our schema");
		problem_detail(problem, "%s", PQresultErrorMessage(facts));
		problem_hint(problem, "haasctl db migrate makes it");
	}
	PQclear(facts);
	return rc;
}

void db_backup_maker(char ret[BACKUP_MAKER_SIZE + 1])
{
	process_host_name(ret, BACKUP_MAKER_SIZE + 1);
	for (char *at = ret; *at; at++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
			    *at))
			*at = '_';
	}
	if (!ret[0])
		text_copy(ret, BACKUP_MAKER_SIZE + 1, "unknown");
}

/* All tenants are in it: it is its owner's alone from the first byte on. */
static int db_backup_create(struct db_backup *backup, const char *path, struct problem *problem)
{
	char part[PATH_MAX];

	if (!text_format(part, sizeof(part), "%s.part", path))
		return problem_set(problem, -ENAMETOOLONG, "the path %s is too long", path);
	(void)unlink(part);
	backup->fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (backup->fd < 0)
		return problem_set(problem, -errno, "cannot write %s: %s", part, strerror(errno));
	text_copy(backup->part, sizeof(backup->part), part);
	return 0;
}

/* pg_dump, with its output at `out`. */
static int db_backup_dump(struct db_backup *backup, int out, struct run_program_child *ret,
			  struct problem *problem)
{
	CLEANUP(closep) int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char snapshot[96];

	text_format(snapshot, sizeof(snapshot), "--snapshot=%s", backup->snapshot);
	return db_program_start(
		"pg_dump",
		(const char *const[]){"--format=custom", "--schema=haas", "--no-owner", snapshot,
				      NULL},
		&(struct db_program_pipe){
			.environment = backup->settings.environment, .in = nothing, .out = out},
		ret, problem);
}

static int db_backup_plain(struct db_backup *backup, struct problem *problem)
{
	struct run_program_child dump;
	int rc = db_backup_dump(backup, backup->fd, &dump, problem);

	return rc == 0 ? run_program_end(&dump, problem) : rc;
}

static int db_backup_encrypted(struct db_backup *backup, struct problem *problem)
{
	struct problem lost = {0};
	struct run_program_child dump;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return problem_set(problem, -errno, "cannot make a pipe: %s", strerror(errno));
	int rc = db_backup_dump(backup, ends[1], &dump, problem);
	(void)close(ends[1]);
	if (rc < 0) {
		(void)close(ends[0]);
		return rc;
	}
	int sealed = backup_seal(&backup->key, &backup->header, ends[0], backup->fd, problem);
	/* Closed first: a pg_dump whose output nobody takes must end. */
	(void)close(ends[0]);
	rc = run_program_end(&dump, sealed < 0 ? &lost : problem);
	return sealed < 0 ? sealed : rc;
}

/* The name appears with the whole file behind it, also after a power failure. */
static int db_backup_publish(struct db_backup *backup, const char *path, int64_t *ret_bytes,
			     struct problem *problem)
{
	struct stat written;

	if (fsync(backup->fd) < 0 || fstat(backup->fd, &written) < 0 ||
	    rename(backup->part, path) < 0)
		return problem_set(problem, -errno, "cannot finish %s: %s", path, strerror(errno));
	backup->part[0] = '\0';
	*ret_bytes = written.st_size;
	return 0;
}

/* Tells the database that a backup was written whole: `haasctl status` shows its age. */
static int db_backup_note(PGconn *connection, const char *path, int64_t bytes,
			  struct problem *problem)
{
	CLEANUP(text_done) struct text sql = {0};
	char *file = PQescapeLiteral(connection, path, strlen(path));
	int rc = db_admin_exec(connection, "commit", problem);

	text_addf(&sql, "insert into haas.backup (file, bytes) values (%s, %" PRId64 ")",
		  file ? file : "''", bytes);
	PQfreemem(file);
	if (rc == 0 && sql.failed)
		rc = problem_set(problem, -ENOMEM, "out of memory");
	return rc == 0 ? db_admin_exec(connection, text_get(&sql), problem) : rc;
}

int db_backup(const char *conninfo, const char *path, const char *key, struct problem *problem)
{
	CLEANUP(db_backup_done) struct db_backup backup = {.fd = -1};
	int64_t bytes = 0;
	int rc = key ? backup_key_load(key, BACKUP_KEY_BACKUP, &backup.key, problem) : 0;

	if (rc == 0)
		rc = db_settings_init(&backup.settings, conninfo, problem);
	if (rc == 0)
		rc = db_admin_connect(conninfo, &backup.connection, problem);
	if (rc == 0)
		rc = db_backup_snapshot(&backup, problem);
	if (rc == 0)
		rc = db_backup_create(&backup, path, problem);
	if (rc < 0)
		return rc;
	db_backup_maker(backup.header.maker);
	rc = key ? db_backup_encrypted(&backup, problem) : db_backup_plain(&backup, problem);
	if (rc == 0)
		rc = db_backup_publish(&backup, path, &bytes, problem);
	return rc == 0 ? db_backup_note(backup.connection, path, bytes, problem) : rc;
}
