/* The other half of a backup: what the rows of the database are sealed to. A tar of keys and settings goes
 * through the same encryption and signature; no plain text touches a disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/run_program.h"

#include "portal/cli/backup_stream.h"
#include "portal/cli/db_admin.h"
#include "portal/cli/site_check.h"

#define DB_KEYS_TAR "/bin/tar"
struct db_keys {
	struct backup_key key;
	char part[PATH_MAX];
	int fd;
};

static void db_keys_done(struct db_keys *keys)
{
	backup_key_done(&keys->key);
	closep(&keys->fd);
	if (keys->part[0])
		(void)unlink(keys->part);
}

/* Runs tar with one end of a pipe; the other end is for us. */
static int db_keys_tar(const char *const argv[], bool reads, struct run_program_child *ret,
		       int *ret_fd, struct problem *problem)
{
	CLEANUP(closep) int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return problem_set(problem, -errno, "cannot make a pipe: %s", strerror(errno));
	int rc = run_program_start(&(struct run_program){.argv = argv}, reads ? ends[0] : nothing,
				   reads ? nothing : ends[1], ret, problem);
	(void)close(reads ? ends[0] : ends[1]);
	*ret_fd = reads ? ends[1] : ends[0];
	if (rc)
		(void)close(*ret_fd);
	return rc;
}

/* What is there of settings, which of them site init wrote, and keys; `room` is enough for all. */
static size_t db_keys_folders(const char *root, char names[][SITE_WORD_SIZE], size_t room)
{
	static const char *const settings[] = {"/etc/haas", "/var/lib/haas/site-init.json"};
	struct site_check machine = {.root = root};
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(settings); i++) {
		if (site_check_exists(&machine, settings[i]))
			(void)text_copy(names[count++], SITE_WORD_SIZE, settings[i] + 1);
	}
	for (size_t i = 0; i < site_program_count && count < room; i++) {
		char path[SITE_WORD_SIZE];

		(void)text_format(path, sizeof(path), "/var/lib/haas/%s/keys",
				  site_programs[i].state ? site_programs[i].state : "");
		if (site_programs[i].keys && site_check_exists(&machine, path))
			(void)text_copy(names[count++], SITE_WORD_SIZE, path + 1);
	}
	return count;
}

static int db_keys_pack(struct db_keys *keys, const char *root, struct problem *problem)
{
	char names[16][SITE_WORD_SIZE];
	size_t count = db_keys_folders(root, names, COUNT_OF(names));
	const char *argv[8 + COUNT_OF(names)] = {DB_KEYS_TAR, "--create", "--file=-", "--directory",
						 root[0] ? root : "/"};
	struct backup_header header = {.schema = DB_KEYS_SCHEMA, .made_s = time(NULL)};
	struct run_program_child tar;
	struct problem ended = {0};
	int from = -1;

	if (count == 0)
		return problem_set(problem, E_NOT_FOUND, "there are no keys below %s/var/lib/haas",
				   root);
	for (size_t i = 0; i < count; i++)
		argv[5 + i] = names[i];
	db_backup_maker(header.maker);
	int rc = db_keys_tar(argv, false, &tar, &from, problem);
	if (rc)
		return rc;
	rc = backup_seal(&keys->key, &header, from, keys->fd, problem);
	(void)close(from);
	int end_rc = run_program_end(&tar, &ended);
	if (rc == 0 && end_rc) {
		*problem = ended;
		rc = end_rc;
	}
	return rc;
}

int db_keys_backup(const char *root, const char *path, const char *key, struct problem *problem)
{
	CLEANUP(db_keys_done) struct db_keys keys = {.fd = -1};
	char part[PATH_MAX];
	int rc = backup_key_load(key, BACKUP_KEY_BACKUP, &keys.key, problem);

	if (rc)
		return rc;
	if (!text_format(part, sizeof(part), "%s.part", path))
		return problem_set(problem, -ENAMETOOLONG, "the path %s is too long", path);
	(void)unlink(part);
	keys.fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (keys.fd < 0)
		return problem_set(problem, -errno, "cannot write %s: %s", part, strerror(errno));
	text_copy(keys.part, sizeof(keys.part), part);
	rc = db_keys_pack(&keys, root, problem);
	if (rc == 0 && (fsync(keys.fd) < 0 || rename(part, path) < 0))
		rc = problem_set(problem, -errno, "cannot finish %s: %s", path, strerror(errno));
	if (rc == 0)
		keys.part[0] = '\0';
	return rc;
}

static int db_keys_unpack(const struct backup *backup, const char *root, struct problem *problem)
{
	/* By name: numbers of accounts differ between machines. What is there is replaced. */
	const char *const argv[] = {DB_KEYS_TAR,          "--extract", "--file=-",
				    "--directory",        root,        "--same-owner",
				    "--same-permissions", NULL};
	struct run_program_child tar;
	struct problem ended = {0};
	int to = -1;
	int rc = db_keys_tar(argv, true, &tar, &to, problem);

	if (rc)
		return rc;
	rc = backup_read(backup, to, problem);
	(void)close(to);
	int end_rc = run_program_end(&tar, &ended);
	if (end_rc && (rc == 0 || rc == -EPIPE)) {
		*problem = ended;
		rc = end_rc;
	}
	return rc;
}

int db_keys_restore(const char *root, const char *path, const char *key, struct problem *problem)
{
	CLEANUP(db_keys_done) struct db_keys keys = {.fd = -1};
	struct backup backup;
	int rc = backup_key_load(key, BACKUP_KEY_RESTORE, &keys.key, problem);

	if (rc)
		return rc;
	keys.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (keys.fd < 0)
		return problem_set(problem, errno == ENOENT ? E_NOT_FOUND : -errno,
				   "cannot read %s: %s", path, strerror(errno));
	rc = backup_open(path, keys.fd, &keys.key, &backup, problem);
	if (rc == 0)
		rc = backup_read(&backup, -1, problem);
	if (rc == 0 && backup.header.schema != DB_KEYS_SCHEMA) {
		rc = problem_set(problem, E_MALFORMED,
				 "%s is a backup of the database, not of keys", path);
		problem_hint(problem, "haasctl db restore %s", path);
	}
	if (rc == 0) {
		int made = file_make_folder(root[0] ? root : "/", 0755);

		if (made)
			rc = problem_set(problem, made, "cannot make %s: %s", root,
					 error_text(made));
	}
	return rc == 0 ? db_keys_unpack(&backup, root[0] ? root : "/", problem) : rc;
}
