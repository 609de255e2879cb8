/* PostgreSQL's programs, and the version that wrote the private cluster: a new major version does not
 * open the files of an old one. */
#include <dirent.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/io/file.h"

#include "portal/cli/db_admin.h"
#include "portal/cli/site_check.h"
#include "portal/cli/site_plan.h"

#define SITE_CHECK_POSTGRESQL_LEAST 15

/* Majors with a server below /usr/lib/postgresql, as bits; the highest one in *ret_newest. */
static uint64_t site_check_postgresql_installed(const struct site_check *check, int *ret_newest)
{
	char path[PATH_MAX];
	uint64_t found = 0;
	DIR *folder;

	*ret_newest = 0;
	if (!site_check_path(check, path, "/usr/lib/postgresql"))
		return 0;
	folder = opendir(path);
	// NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		long major = strtol(entry->d_name, NULL, 10);
		char program[64];

		(void)text_format(program, sizeof(program),
				  "/usr/lib/postgresql/%.16s/bin/postgres", entry->d_name);
		if (major <= 0 || major >= 64 || !site_check_exists(check, program))
			continue;
		found |= (uint64_t)1 << major;
		if (major > *ret_newest)
			*ret_newest = (int)major;
	}
	if (folder)
		(void)closedir(folder);
	return found;
}

/* 0: there is no cluster yet. */
static int site_check_postgresql_cluster(const struct site_check *check)
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_MAX];
	size_t size;

	if (!site_check_path(check, path, DB_DEFAULT_FOLDER "/data/PG_VERSION") ||
	    file_read(path, 64, &text, &size) < 0)
		return 0;
	return (int)strtol(text, NULL, 10);
}

static void site_check_postgresql_here(struct site_check *check)
{
	int newest = 0;
	uint64_t installed = site_check_postgresql_installed(check, &newest);
	int cluster = site_check_postgresql_cluster(check);

	site_check_say(check, "version %d is installed%s", newest,
		       cluster > 0 ? ", the database is there" : "");
	if (newest == 0)
		site_check_say(check, "it is not installed");
	if (newest < SITE_CHECK_POSTGRESQL_LEAST)
		site_check_wrong(check, "postgresql", "version %d or newer is needed",
				 SITE_CHECK_POSTGRESQL_LEAST);
	if (cluster > 0 && cluster != newest) {
		site_check_wrong(check, DB_DEFAULT_FOLDER "/data",
				 "these files are of PostgreSQL %d, and haas-db starts version %d",
				 cluster, newest);
		if (cluster < 64 && (installed & (uint64_t)1 << cluster))
			site_check_hint(
				check,
				"haasctl db backup; move the folder away; haasctl db restore; or pg_upgrade");
		else
			site_check_hint(check,
					"apt install postgresql-%d, and remove postgresql-%d",
					cluster, newest);
	}
}

/* The one that the plan names. */
static void site_check_postgresql_elsewhere(struct site_check *check, const char *database)
{
	CLEANUP(text_done) struct text conninfo = {0};
	CLEANUP(site_check_finish) PGconn *connection = NULL;
	struct problem problem = {0};

	text_addf(&conninfo, "%s user=haas", database);
	if (db_admin_connect(text_get(&conninfo), &connection, &problem) < 0) {
		site_check_say(check, "it does not answer");
		site_check_wrong(check, "database", "%s", problem.detail);
		site_check_hint(check, "look at its pg_hba.conf, its role haas, and the network");
		return;
	}
	int version = PQserverVersion(connection) / 10000;
	site_check_say(check, "%s answers with version %d", PQhost(connection), version);
	if (version < SITE_CHECK_POSTGRESQL_LEAST) {
		site_check_wrong(check, "database", "it is version %d; %d or newer is needed",
				 version, SITE_CHECK_POSTGRESQL_LEAST);
		site_check_hint(check, "upgrade that PostgreSQL");
	}
}

void site_check_postgresql(struct site_check *check)
{
	if (check->plan && check->plan->database[0]) {
		site_check_postgresql_elsewhere(check, check->plan->database);
		return;
	}
	/* The row "database" asks one that is elsewhere. */
	if (!check->plan && !site_check_exists(check, DB_DEFAULT_FOLDER "/data")) {
		site_check_skip(check, "the database is not on this machine");
		return;
	}
	site_check_postgresql_here(check);
}
