#include "portal/cli/backup_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/file.h"

static int backup_key_write(const char *path, const struct backup_key *key, struct problem *problem)
{
	char text[BACKUP_KEY_TEXT_SIZE];

	backup_key_encode(key, text);
	int rc = file_write_new(path, text, strlen(text), 0600);
	sodium_memzero(text, sizeof(text));
	if (rc == -EEXIST) {
		(void)problem_set(problem, E_CONFLICT, "the key file %s is there already", path);
		problem_hint(problem, "choose another name: backups need the key that sealed them");
		return E_CONFLICT;
	}
	return rc < 0 ? problem_set(problem, rc, "cannot write the key file %s: %s", path,
				    error_text(rc))
		      : 0;
}

int backup_key_make(const char *path, struct problem *problem)
{
	CLEANUP(backup_key_done) struct backup_key backup = {.half = BACKUP_KEY_BACKUP};
	CLEANUP(backup_key_done) struct backup_key restore = {.half = BACKUP_KEY_RESTORE};
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	char backup_path[PATH_MAX];
	char restore_path[PATH_MAX];

	if (!text_format(backup_path, sizeof(backup_path), "%s.backup", path) ||
	    !text_format(restore_path, sizeof(restore_path), "%s.restore", path))
		return problem_set(problem, -ENAMETOOLONG, "the path %s is too long", path);
	crypto_box_keypair(backup.seal, restore.seal);
	randombytes_buf(backup.sign, sizeof(backup.sign));
	crypto_sign_seed_keypair(restore.sign, secret, backup.sign);
	sodium_memzero(secret, sizeof(secret));
	int rc = backup_key_write(restore_path, &restore, problem);
	if (rc < 0)
		return rc;
	rc = backup_key_write(backup_path, &backup, problem);
	if (rc < 0)
		(void)unlink(restore_path);
	return rc;
}

static int backup_key_read(int fd, const char *path, char ret[BACKUP_KEY_TEXT_SIZE],
			   struct problem *problem)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return problem_set(problem, E_MALFORMED, "%s is not a file", path);
	if (status.st_mode & (S_IRWXG | S_IRWXO)) {
		(void)problem_set(problem, E_DENIED, "the backup key %s may be read by others",
				  path);
		problem_detail(problem, "its mode is %04o", (unsigned)status.st_mode & 07777U);
		problem_hint(problem, "chmod 600 %s; if others had it, make a new key", path);
		return E_DENIED;
	}
	ssize_t got = read(fd, ret, BACKUP_KEY_TEXT_SIZE - 1);
	if (got < 0)
		return problem_set(problem, -errno, "cannot read the backup key %s: %s", path,
				   strerror(errno));
	ret[got] = '\0';
	return 0;
}

static int backup_key_check(const char *path, const struct backup_key *key,
			    enum backup_key_half half, struct problem *problem)
{
	if (key->half == half)
		return 0;
	(void)problem_set(problem, E_DENIED,
			  half == BACKUP_KEY_BACKUP ? "%s restores backups; it cannot make one"
						    : "%s makes backups; it cannot open one",
			  path);
	problem_hint(problem, half == BACKUP_KEY_BACKUP
				      ? "give the file that ends in .backup, and take this one away"
				      : "give the file that ends in .restore");
	return E_DENIED;
}

int backup_key_load(const char *path, enum backup_key_half half, struct backup_key *ret,
		    struct problem *problem)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(backup_key_done) struct backup_key key = {0};
	char text[BACKUP_KEY_TEXT_SIZE] = "";

	if (fd < 0) {
		int rc = errno == ENOENT ? E_NOT_FOUND : errno == EACCES ? E_DENIED : -errno;
		(void)problem_set(problem, rc, "cannot read the backup key %s: %s", path,
				  strerror(errno));
		if (rc == E_NOT_FOUND && half == BACKUP_KEY_BACKUP)
			problem_hint(
				problem,
				"haasctl db backup-key FILE makes a pair; FILE.backup belongs there. For a lab: --plain");
		return rc;
	}
	int rc = backup_key_read(fd, path, text, problem);
	if (rc == 0 && backup_key_decode(text, &key) < 0) {
		rc = problem_set(problem, E_MALFORMED, "%s holds no backup key", path);
		problem_hint(problem, "haasctl db backup-key FILE makes a pair of keys");
	}
	sodium_memzero(text, sizeof(text));
	if (rc == 0)
		rc = backup_key_check(path, &key, half, problem);
	if (rc == 0)
		*ret = key;
	return rc;
}

void backup_key_done(struct backup_key *key)
{
	sodium_memzero(key, sizeof(*key));
}

static void backup_key_id(const uint8_t public_key[32], uint8_t ret[BACKUP_ID_SIZE])
{
	uint8_t digest[DIGEST_SIZE];

	crypto_generichash(digest, sizeof(digest), public_key, 32, NULL, 0);
	memcpy(ret, digest, BACKUP_ID_SIZE);
}

void backup_key_ids(const struct backup_key *key, struct backup_key_ids *ret)
{
	uint8_t seal[crypto_box_PUBLICKEYBYTES];
	uint8_t sign[crypto_sign_PUBLICKEYBYTES];
	uint8_t secret[crypto_sign_SECRETKEYBYTES];

	if (key->half == BACKUP_KEY_RESTORE) {
		crypto_scalarmult_base(seal, key->seal);
		memcpy(sign, key->sign, sizeof(sign));
	} else {
		memcpy(seal, key->seal, sizeof(seal));
		crypto_sign_seed_keypair(sign, secret, key->sign);
		sodium_memzero(secret, sizeof(secret));
	}
	backup_key_id(seal, ret->seal);
	backup_key_id(sign, ret->sign);
}
