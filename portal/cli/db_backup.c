#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/run_program.h"

#include "portal/cli/db_admin.h"

/* Connection settings as environment (PGHOST=...): a password must not stand in argv. Strings are
 * owned by `texts`. */
struct settings {
	const char *environment[40];
	char *texts[40];
	size_t count;
};

static void settings_done(struct settings *settings)
{
	for (size_t i = 0; i < settings->count; i++)
		free(settings->texts[i]);
}

static int settings_init(struct settings *settings, const char *conninfo, struct problem *problem)
{
	char *why = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &why);

	if (!options) {
		problem_set(problem, -EINVAL, "the connection string is malformed");
		problem_detail(problem, "%s", why ? why : "out of memory");
		PQfreemem(why);
		return -EINVAL;
	}
	for (const PQconninfoOption *option = options; option->keyword; option++) {
		CLEANUP(text_done) struct text line = {0};

		if (!option->val || !option->envvar ||
		    settings->count + 1 >= COUNT_OF(settings->environment))
			continue;
		text_addf(&line, "%s=%s", option->envvar, option->val);
		settings->texts[settings->count] = text_take(&line);
		settings->environment[settings->count] = settings->texts[settings->count];
		settings->count++;
	}
	PQconninfoFree(options);
	return 0;
}

static int db_backup_run_program(const char *program, const char *const arguments[],
				 const struct settings *settings, struct text *output,
				 struct problem *problem)
{
	return db_program_run(
		program, arguments,
		&(struct run_program){.environment = settings->environment, .output = output},
		problem);
}

/* Tells the database that a backup was written whole: `haasctl status` shows its age. */
static int db_backup_note(const char *conninfo, const char *path, int64_t bytes,
			  struct problem *problem)
{
	CLEANUP(text_done) struct text sql = {0};
	PGconn *connection = NULL;
	char *file;
	int rc = db_admin_connect(conninfo, &connection, problem);

	if (rc < 0)
		return rc;
	file = PQescapeLiteral(connection, path, strlen(path));
	text_addf(&sql, "insert into haas.backup (file, bytes) values (%s, %" PRId64 ")",
		  file ? file : "''", bytes);
	PQfreemem(file);
	rc = sql.failed ? -ENOMEM : db_admin_exec(connection, text_get(&sql), problem);
	PQfinish(connection);
	return rc;
}

int db_backup(const char *conninfo, const char *path, struct problem *problem)
{
	CLEANUP(settings_done) struct settings settings = {0};
	CLEANUP(closep) int fd = -1;
	struct stat written;
	char part[PATH_MAX];
	int rc = settings_init(&settings, conninfo, problem);

	if (rc < 0)
		return rc;
	if (!text_format(part, sizeof(part), "%s.part", path))
		return problem_set(problem, -ENAMETOOLONG, "path %s is too long", path);
	/* All tenants are in it: it is its owner's alone from the first byte on. */
	(void)unlink(part);
	fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return problem_set(problem, -errno, "cannot write %s: %s", part, strerror(errno));
	rc = db_backup_run_program("pg_dump",
				   (const char *const[]){"--format=custom", "--schema=haas",
							 "--no-owner", "--file", part, NULL},
				   &settings, NULL, problem);
	if (rc < 0) {
		(void)unlink(part);
		return rc;
	}
	if (fsync(fd) < 0 || fstat(fd, &written) < 0 || rename(part, path) < 0)
		return problem_set(problem, -errno, "cannot finish %s: %s", path, strerror(errno));
	return db_backup_note(conninfo, path, written.st_size, problem);
}

/* The highest number of a change in a backup; the table's COPY block has the number first on each
 * line. */
static int newest_in(const char *path, const struct settings *settings, int *ret,
		     struct problem *problem)
{
	CLEANUP(text_done) struct text sql = {0};
	int newest = -1;
	bool rows = false;
	int rc = db_backup_run_program("pg_restore",
				       (const char *const[]){"--data-only",
							     "--table=schema_migration", "--file=-",
							     path, NULL},
				       settings, &sql, problem);

	if (rc < 0)
		return rc;
	for (char *line = sql.data; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, "COPY haas.schema_migration", 26) == 0)
			rows = true;
		else if (strncmp(line, "\\.", 2) == 0)
			rows = false;
		else if (rows && strtol(line, NULL, 10) > newest)
			newest = (int)strtol(line, NULL, 10);
	}
	if (newest < 0)
		return problem_set(problem, E_MALFORMED,
				   "%s is not a backup of haasctl: it holds no schema of ours",
				   path);
	*ret = newest;
	return 0;
}

/* Makes what the dump of one schema leaves out: roles belong to the cluster, default privileges and
 * extensions to the database. */
static int db_backup_prepare(PGconn *connection, bool replace, struct problem *problem)
{
	static const char roles[] =
		"do $$ declare program text; begin "
		"foreach program in array array['bampi_bootd', 'bampid', 'portald', 'peregrined', 'bampi_stored', "
		"'peregrine_flowd', 'peregrine_captured', 'portal_outward'] loop "
		"if not exists (select from pg_roles where rolname = program) then "
		"execute format('create role %I login', program); end if; "
		"execute format('alter role %I set search_path = haas', program); end loop; end $$";
	int rc = db_admin_exec(connection, "set client_min_messages = warning", problem);
	PGresult *there =
		rc == 0 ? PQexec(connection, "select from pg_namespace where nspname = 'haas'")
			: NULL;
	bool taken = there && PQntuples(there) > 0;

	PQclear(there);
	if (rc == 0 && taken && !replace) {
		problem_set(problem, E_CONFLICT, "the database holds our schema already");
		problem_hint(problem, "--replace drops the present schema first");
		return E_CONFLICT;
	}
	if (rc == 0 && taken)
		rc = db_admin_exec(connection, "drop schema haas cascade", problem);
	if (rc == 0)
		rc = db_admin_exec(connection, roles, problem);
	if (rc == 0)
		rc = db_admin_exec(
			connection,
			"alter default privileges revoke execute on functions from public",
			problem);
	if (rc == 0)
		rc = db_admin_exec(connection,
				   "create extension if not exists btree_gist with schema public",
				   problem);
	return rc;
}

int db_restore(const char *conninfo, const char *path, bool replace, struct problem *problem)
{
	CLEANUP(settings_done) struct settings settings = {0};
	PGconn *connection = NULL;
	const char *database = NULL;
	int newest = 0;
	int rc = settings_init(&settings, conninfo, problem);

	if (rc == 0)
		rc = newest_in(path, &settings, &newest, problem);
	if (rc == 0 && newest > db_migration_newest()) {
		problem_set(problem, E_CONFLICT,
			    "the backup is newer (change %d) than this program (change %d)", newest,
			    db_migration_newest());
		problem_hint(problem, "install the newer haasctl");
		return E_CONFLICT;
	}
	if (rc == 0)
		rc = db_admin_connect(conninfo, &connection, problem);
	if (rc < 0)
		return rc;
	rc = db_backup_prepare(connection, replace, problem);
	database = PQdb(connection);
	if (rc == 0)
		rc = db_backup_run_program(
			"pg_restore",
			(const char *const[]){"--exit-on-error", "--single-transaction",
					      "--no-owner", "--dbname", database, path, NULL},
			&settings, NULL, problem);
	PQfinish(connection);
	return rc;
}
