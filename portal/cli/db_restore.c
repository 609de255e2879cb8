/* Restore is a pipeline: this program decrypts, pg_restore makes SQL of it, psql runs the SQL. psql's
 * input begins and ends with statements of this file. Its commit is written last, when all before it
 * has succeeded: whoever dies on the way leaves the database unchanged. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "portal/cli/backup_stream.h"
#include "portal/cli/db_admin.h"

struct db_restore_run {
	const struct db_restore *how;
	struct db_settings settings;
	struct backup_key key;
	struct backup backup; /* of an encrypted one */
	int fd;
};

static void db_restore_done(struct db_restore_run *run)
{
	db_settings_done(&run->settings);
	backup_key_done(&run->key);
	closep(&run->fd);
}

/* What the dump of one schema leaves out: roles belong to the cluster, default privileges and
 * extensions to the database. */
static const char db_restore_roles[] =
	"do $$ declare program text; begin "
	"foreach program in array array['bampi_bootd', 'bampid', 'portald', 'peregrined', 'bampi_stored', "
	"'peregrine_flowd', 'peregrine_captured', 'portal_outward', 'portald_tenant'] loop "
	"if not exists (select from pg_roles where rolname = program) then "
	"execute format('create role %I login', program); end if; "
	"execute format('alter role %I set search_path = haas', program); end loop; "
	"if not exists (select from pg_roles where rolname = 'haas_owner') then "
	"create role haas_owner nologin; end if; "
	"if not pg_has_role('haas_owner', 'member') then "
	"execute format('grant haas_owner to %I', current_user); end if; "
	"grant pg_read_all_stats to haas_owner; "
	"execute format('grant create on database %I to haas_owner', current_database()); end $$;\n"
	"create extension if not exists btree_gist with schema public;\n"
	"set local role haas_owner;\n"
	"alter default privileges revoke execute on functions from public;\n";

static int db_restore_newer(int newest, struct problem *problem)
{
	if (newest <= db_migration_newest())
		return 0;
	problem_set(problem, E_CONFLICT,
		    "the backup is newer (change %d) than this program (change %d)", newest,
		    db_migration_newest());
	problem_hint(problem, "install the newer haasctl");
	return E_CONFLICT;
}

/* The highest number of a change in a plain backup; the table's COPY block has the number first on
 * each line. */
static int db_restore_newest_plain(const struct db_restore_run *run, int *ret,
				   struct problem *problem)
{
	CLEANUP(text_done) struct text sql = {0};
	int newest = -1;
	bool rows = false;
	int rc = db_program_run(
		"pg_restore",
		(const char *const[]){"--data-only", "--table=schema_migration", "--file=-",
				      run->how->path, NULL},
		&(struct run_program){.environment = run->settings.environment, .output = &sql},
		problem);

	if (rc == E_UNAVAILABLE) {
		char words[sizeof(problem->detail)];

		text_copy(words, sizeof(words), problem->detail);
		(void)problem_set(problem, E_MALFORMED, "%s is not a plain backup of haasctl",
				  run->how->path);
		problem_detail(problem, "%s", words);
		problem_hint(problem, "an encrypted backup needs --key FILE, not --plain");
		return E_MALFORMED;
	}
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
				   run->how->path);
	*ret = newest;
	return 0;
}

/* Everything that can be known of the file before the database is touched. */
static int db_restore_open(struct db_restore_run *run, struct problem *problem)
{
	const struct db_restore *how = run->how;
	int newest = 0;
	int rc = 0;

	run->fd = open(how->path, O_RDONLY | O_CLOEXEC);
	if (run->fd < 0)
		return problem_set(problem, errno == ENOENT ? E_NOT_FOUND : -errno,
				   "cannot read the backup %s: %s", how->path, strerror(errno));
	if (!how->key) {
		rc = db_restore_newest_plain(run, &newest, problem);
		return rc == 0 ? db_restore_newer(newest, problem) : rc;
	}
	rc = backup_key_load(how->key, BACKUP_KEY_RESTORE, &run->key, problem);
	if (rc == 0)
		rc = backup_open(how->path, run->fd, &run->key, &run->backup, problem);
	if (rc == 0)
		rc = backup_read(&run->backup, -1, problem);
	/* After the signature: an unsigned number is nobody's word. */
	if (rc == 0 && run->backup.header.schema == DB_KEYS_SCHEMA) {
		rc = problem_set(problem, E_MALFORMED, "%s holds keys, not the database",
				 how->path);
		problem_hint(problem, "haasctl db restore-keys %s", how->path);
	}
	return rc == 0 ? db_restore_newer((int)run->backup.header.schema, problem) : rc;
}

static int db_restore_refuse_taken(bool taken, const struct db_restore *how,
				   struct problem *problem)
{
	if (!taken || how->replace)
		return 0;
	problem_set(problem, E_CONFLICT, "the database holds our schema already");
	problem_hint(problem, "--replace drops the present schema first");
	return E_CONFLICT;
}

static int db_restore_refuse_used(const char *programs, struct problem *problem)
{
	if (!programs[0])
		return 0;
	problem_set(problem, E_CONFLICT, "programs are connected to the database");
	problem_detail(problem, "these roles are: %s", programs);
	problem_hint(problem, "systemctl stop haas.target; systemctl start haas-db; then restore");
	return E_CONFLICT;
}

/* A daemon that lives through a restore goes on with what it remembers of the rows that went. */
static int db_restore_target(const struct db_restore *how, bool *ret_taken, struct problem *problem)
{
	PGconn *connection = NULL;
	int rc = db_admin_connect(how->conninfo, &connection, problem);

	if (rc < 0)
		return rc;
	PGresult *facts = PQexec(
		connection,
		"select exists (select from pg_namespace where nspname = 'haas'), coalesce((select string_agg(distinct usename, ', ') "
		"from pg_stat_activity where datname = current_database() and usename <> current_user and backend_type = 'client backend'), '')");
	if (PQresultStatus(facts) == PGRES_TUPLES_OK) {
		*ret_taken = strcmp(PQgetvalue(facts, 0, 0), "t") == 0;
		rc = db_restore_refuse_taken(*ret_taken, how, problem);
		if (rc == 0)
			rc = db_restore_refuse_used(PQgetvalue(facts, 0, 1), problem);
	} else {
		rc = problem_set(problem, E_UNAVAILABLE, "cannot ask the database: %s",
				 PQresultErrorMessage(facts));
	}
	PQclear(facts);
	PQfinish(connection);
	return rc;
}

static int db_restore_say(int fd, const struct text *sql, struct problem *problem)
{
	const char *all = text_get(sql);
	size_t size = sql->size;

	if (sql->failed)
		return problem_set(problem, -ENOMEM, "out of memory");
	while (size > 0) {
		ssize_t written = write(fd, all, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return problem_set(problem, -errno, "psql takes no SQL: %s",
					   strerror(errno));
		all += written;
		size -= (size_t)written;
	}
	return 0;
}

static int db_restore_begin(int sql_fd, bool taken, struct problem *problem)
{
	CLEANUP(text_done) struct text sql = {0};

	text_add(&sql, "begin;\nset client_min_messages = warning;\nset lock_timeout = '10s';\n");
	if (taken)
		text_add(&sql, "drop schema haas cascade;\n");
	text_add(&sql, db_restore_roles);
	return db_restore_say(sql_fd, &sql, problem);
}

static int db_restore_commit(int sql_fd, const struct db_restore_run *run, struct problem *problem)
{
	CLEANUP(text_done) struct text sql = {0};

	if (run->how->key)
		text_addf(&sql,
			  "\nselect haas.restoration_begin(to_timestamp(%" PRId64 "), '%s');\n",
			  run->backup.header.made_s, run->backup.header.maker);
	else
		text_add(&sql, "\nselect haas.restoration_begin(null, '');\n");
	text_add(&sql, "commit;\n");
	return db_restore_say(sql_fd, &sql, problem);
}

/* pg_restore from the backup to SQL. A plain backup is its input as it is. */
static int db_restore_convert(const struct db_restore_run *run, int sql_fd, struct problem *problem)
{
	static const char *const arguments[] = {"--exit-on-error", "--no-owner", "--file=-", NULL};
	struct problem ended = {0};
	struct run_program_child child;
	int ends[2] = {-1, -1};
	int rc = 0;

	if (run->how->key && pipe2(ends, O_CLOEXEC) < 0)
		return problem_set(problem, -errno, "cannot make a pipe: %s", strerror(errno));
	rc = db_program_start("pg_restore", arguments,
			      &(struct db_program_pipe){.environment = run->settings.environment,
							.in = run->how->key ? ends[0] : run->fd,
							.out = sql_fd},
			      &child, problem);
	closep(&ends[0]);
	if (rc < 0) {
		closep(&ends[1]);
		return rc;
	}
	rc = run->how->key ? backup_read(&run->backup, ends[1], problem) : 0;
	closep(&ends[1]);
	int end_rc = run_program_end(&child, &ended);
	/* When pg_restore failed, ours is only the broken pipe. */
	if (end_rc < 0 && (rc == 0 || rc == -EPIPE)) {
		*problem = ended;
		rc = end_rc;
	}
	return rc;
}

static int db_restore_fill(const struct db_restore_run *run, int sql_fd, bool taken,
			   struct problem *problem)
{
	int rc = db_restore_begin(sql_fd, taken, problem);

	if (rc == 0)
		rc = db_restore_convert(run, sql_fd, problem);
	if (rc == 0)
		rc = db_restore_commit(sql_fd, run, problem);
	return rc;
}

static int db_restore_pipeline(const struct db_restore_run *run, bool taken,
			       struct problem *problem)
{
	static const char *const arguments[] = {"--no-psqlrc",           "--quiet",
						"--set=ON_ERROR_STOP=1", "--file=-",
						"--output=/dev/null",    NULL};
	CLEANUP(closep) int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct problem ended = {0};
	struct run_program_child psql;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return problem_set(problem, -errno, "cannot make a pipe: %s", strerror(errno));
	int rc = db_program_start(
		"psql", arguments,
		&(struct db_program_pipe){
			.environment = run->settings.environment, .in = ends[0], .out = nothing},
		&psql, problem);
	closep(&ends[0]);
	if (rc < 0) {
		closep(&ends[1]);
		return rc;
	}
	rc = db_restore_fill(run, ends[1], taken, problem);
	closep(&ends[1]);
	int end_rc = run_program_end(&psql, &ended);
	/* psql stops at the first error: that is the reason, and the others broke on it. */
	if (end_rc < 0) {
		rc = problem_set(problem, E_CONFLICT, "PostgreSQL does not take the backup");
		problem_detail(problem, "%s", ended.detail);
		problem_hint(problem, "the database is unchanged");
	}
	return rc;
}

int db_restore(const struct db_restore *restore, struct problem *problem)
{
	CLEANUP(db_restore_done) struct db_restore_run run = {.how = restore, .fd = -1};
	bool taken = false;
	int rc = db_settings_init(&run.settings, restore->conninfo, problem);

	if (rc == 0)
		rc = db_restore_open(&run, problem);
	if (rc == 0)
		rc = db_restore_target(restore, &taken, problem);
	return rc == 0 ? db_restore_pipeline(&run, taken, problem) : rc;
}

int db_accept_restore(const char *conninfo, const char *actor, struct problem *problem)
{
	CLEANUP(text_done) struct text sql = {0};
	PGconn *connection = NULL;
	int rc = db_admin_connect(conninfo, &connection, problem);

	if (rc < 0)
		return rc;
	char *name = PQescapeLiteral(connection, actor, strlen(actor));
	text_addf(&sql, "select haas.restoration_accept(%s)", name ? name : "''");
	PQfreemem(name);
	rc = sql.failed ? problem_set(problem, -ENOMEM, "out of memory")
			: db_admin_exec(connection, text_get(&sql), problem);
	PQfinish(connection);
	return rc;
}
