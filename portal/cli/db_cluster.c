#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/run_program.h"

#include "portal/cli/db_admin.h"

/* Which OS user logs in as which role; nobody else gets in. Root and the cluster's user
 * administrate. portald has a role more, for what tenants ask. */
static const struct {
	const char *os_user, *role;
} db_cluster_logins[] = {
	{"root", "haas"},
	{"haas-bootd", "bampi_bootd"},
	{"haas-bampid", "bampid"},
	{"haas-portald", "portald"},
	{"haas-portald", "portald_tenant"},
	{"haas-peregrined", "peregrined"},
	{"haas-flowd", "peregrine_flowd"},
	{"haas-captured", "peregrine_captured"},
	{"haas-outward", "portal_outward"},
	{"haas-stored", "bampi_stored"},
};

static int db_cluster_run(const char *program, const char *const arguments[], const char *folder,
			  const char *user, struct problem *problem)
{
	return db_program_run(program, arguments,
			      &(struct run_program){.user = user, .folder = folder}, problem);
}

static int write_access(const char *folder, const char *user, struct problem *problem)
{
	CLEANUP(text_done) struct text ident = {0};
	static const char hba[] =
		"# written by haasctl db init: only these OS users, each as its own role (pg_ident.conf)\n"
		"local all all peer map=haas\n";
	char path[PATH_MAX];
	int rc;

	for (size_t i = 0; i < COUNT_OF(db_cluster_logins); i++)
		text_addf(&ident, "haas %s %s\n", db_cluster_logins[i].os_user,
			  db_cluster_logins[i].role);
	text_addf(&ident, "haas %s haas\n", user);
	if (ident.failed || !text_format(path, sizeof(path), "%s/data/pg_hba.conf", folder))
		return problem_set(problem, -ENOMEM, "cannot write the access files of %s", folder);
	rc = file_write_atomic(path, hba, strlen(hba), 0644);
	if (rc == 0 && text_format(path, sizeof(path), "%s/data/pg_ident.conf", folder))
		rc = file_write_atomic(path, ident.data, ident.size, 0644);
	if (rc < 0)
		return problem_set(problem, rc, "cannot write %s: %s", path, error_text(rc));
	return 0;
}

static int make_folder(const char *folder, const char *user, struct problem *problem)
{
	const struct passwd *owner = getpwnam(user);
	int rc = file_make_folder(folder, 0755);

	if (rc < 0)
		return problem_set(problem, rc, "cannot make %s: %s", folder, error_text(rc));
	if (geteuid() == 0 && owner && chown(folder, owner->pw_uid, owner->pw_gid) < 0)
		return problem_set(problem, -errno, "cannot give %s to %s: %s", folder, user,
				   strerror(errno));
	return 0;
}

/* The folder stands in options of PostgreSQL and in the names of sockets. */
static int check_folder(const char *folder, struct problem *problem)
{
	if (folder[0] != '/')
		return problem_set(problem, -EINVAL,
				   "the folder of the cluster must be an absolute path");
	if (strchr(folder, '\'') || strchr(folder, ' ') || strlen(folder) > 80)
		return problem_set(problem, -EINVAL,
				   "the folder %s has quotes, blanks or more than 80 characters",
				   folder);
	return 0;
}

static int make_cluster(const char *folder, const char *user, struct problem *problem)
{
	char data[PATH_MAX];
	char version[PATH_MAX];
	struct stat st;

	int rc = check_folder(folder, problem);
	if (rc < 0)
		return rc;
	if (!text_format(data, sizeof(data), "%s/data", folder) ||
	    !text_format(version, sizeof(version), "%s/data/PG_VERSION", folder))
		return problem_set(problem, -ENAMETOOLONG, "path %s is too long", folder);
	rc = make_folder(folder, user, problem);
	if (rc == 0 && stat(version, &st) < 0) {
		rc = db_cluster_run("initdb",
				    (const char *const[]){"-D", data, "-U", "haas", "--auth=peer",
							  "-E", "UTF8", "--locale=C",
							  "--data-checksums", NULL},
				    folder, user, problem);
	}
	/* Each time: a program that is newer than the cluster may have brought an account. */
	return rc == 0 ? write_access(folder, user, problem) : rc;
}

int db_cluster_init(const char *folder, const char *user, struct problem *problem)
{
	int rc = make_cluster(folder, user, problem);

	return rc == 0 ? db_cluster_start(folder, user, problem) : rc;
}

int db_cluster_serve(const char *folder, const char *user, struct problem *problem)
{
	char data[PATH_MAX];
	char path[PATH_MAX];
	int rc = check_folder(folder, problem);

	if (rc == 0 && geteuid() == 0) {
		rc = problem_set(problem, E_DENIED, "PostgreSQL does not run as root");
		problem_hint(problem,
			     "as %s: setpriv --reuid=%s --regid=%s --init-groups haasctl db serve",
			     user, user, user);
	}
	if (rc == 0)
		rc = make_cluster(folder, user, problem);
	if (rc == 0)
		rc = db_program_path("postgres", path, sizeof(path), problem);
	if (rc < 0)
		return rc;
	if (!text_format(data, sizeof(data), "%s/data", folder))
		return problem_set(problem, -ENAMETOOLONG, "path %s is too long", folder);
	(void)execl(path, path, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c",
		    "unix_socket_permissions=0777", (char *)NULL);
	return problem_set(problem, -errno, "cannot run %s: %s", path, strerror(errno));
}

int db_cluster_start(const char *folder, const char *user, struct problem *problem)
{
	char data[PATH_MAX];
	char log[PATH_MAX];
	char options[PATH_MAX];
	char conninfo[PATH_MAX];
	PGconn *connection = NULL;

	if (!text_format(data, sizeof(data), "%s/data", folder) ||
	    !text_format(log, sizeof(log), "%s/postgres.log", folder) ||
	    !text_format(options, sizeof(options),
			 "-k '%s' -c listen_addresses='' -c unix_socket_permissions=0777",
			 folder) ||
	    !text_format(conninfo, sizeof(conninfo), "host=%s dbname=postgres user=haas", folder))
		return problem_set(problem, -ENAMETOOLONG, "path %s is too long", folder);
	/* Status 0 = runs already. */
	if (db_cluster_run("pg_ctl", (const char *const[]){"-D", data, "status", NULL}, folder,
			   user, problem) < 0) {
		*problem = (struct problem){0};
		int rc = db_cluster_run("pg_ctl",
					(const char *const[]){"-D", data, "-w", "-t", "60", "-l",
							      log, "-o", options, "start", NULL},
					folder, user, problem);
		if (rc < 0) {
			problem_hint(problem, "its log is %s", log);
			return rc;
		}
	}
	int rc = db_admin_connect(conninfo, &connection, problem);
	if (rc < 0)
		return rc;
	PGresult *there = PQexec(connection, "select from pg_database where datname = 'haas'");
	if (PQresultStatus(there) == PGRES_TUPLES_OK && PQntuples(there) == 0)
		rc = db_admin_exec(connection, "create database haas", problem);
	PQclear(there);
	PQfinish(connection);
	return rc;
}

int db_cluster_stop(const char *folder, const char *user, struct problem *problem)
{
	char data[PATH_MAX];

	if (!text_format(data, sizeof(data), "%s/data", folder))
		return problem_set(problem, -ENAMETOOLONG, "path %s is too long", folder);
	return db_cluster_run(
		"pg_ctl",
		(const char *const[]){"-D", data, "-m", "fast", "-w", "-t", "60", "stop", NULL},
		folder, user, problem);
}
