/* Backups in a folder: one name a backup, "haas-c1-20261126T023000Z.backup", so that names sort by time. Only
 * these names are ever removed. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/text.h"

#include "portal/cli/db_admin.h"

#define DB_KEEP_END  ".backup"
#define DB_KEEP_TIME 16 /* "20261126T023000Z" */

int db_keep_name(const char *folder, char ret[PATH_MAX], struct problem *problem)
{
	char maker[BACKUP_MAKER_SIZE + 1];
	char when[DB_KEEP_TIME + 1];
	time_t now = time(NULL);
	struct tm utc;

	db_backup_maker(maker);
	(void)strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
	if (text_format(ret, PATH_MAX, "%s/haas-%s-%s" DB_KEEP_END, folder, maker, when))
		return 0;
	return problem_set(problem, -ENAMETOOLONG, "the path %s is too long", folder);
}

/* The time in a name of ours: NULL when it is none. Another controller's backups may lie beside. */
static const char *db_keep_time(const char *name)
{
	char begin[BACKUP_MAKER_SIZE + 16];
	char maker[BACKUP_MAKER_SIZE + 1];
	const char *time_at;

	db_backup_maker(maker);
	(void)text_format(begin, sizeof(begin), "haas-%s-", maker);
	if (strncmp(name, begin, strlen(begin)) != 0)
		return NULL;
	time_at = name + strlen(begin);
	return strspn(time_at, "0123456789TZ") == DB_KEEP_TIME &&
			       strcmp(time_at + DB_KEEP_TIME, DB_KEEP_END) == 0
		       ? time_at
		       : NULL;
}

static int db_keep_filter(const struct dirent *entry)
{
	return db_keep_time(entry->d_name) != NULL;
}

int db_keep_newest(const char *folder, int keep, struct problem *problem)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, db_keep_filter, alphasort);
	int rc = 0;

	if (count < 0)
		return problem_set(problem, -errno, "cannot read the folder %s: %s", folder,
				   strerror(errno));
	for (int i = 0; i < count; i++) {
		CLEANUP(freep) struct dirent *entry = entries[i];
		char path[PATH_MAX];

		if (i >= count - keep || rc)
			continue;
		if (!text_format(path, sizeof(path), "%s/%s", folder, entry->d_name) ||
		    unlink(path) < 0)
			rc = problem_set(problem, -errno, "cannot remove the old backup %s: %s",
					 entry->d_name, strerror(errno));
	}
	freep(&entries);
	return rc;
}
