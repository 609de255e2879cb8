#include "bampi/control/bmc/bmc_secret.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

static_assert(BMC_SECRET_KEY_SIZE == crypto_box_SECRETKEYBYTES &&
		      BMC_SECRET_KEY_SIZE == crypto_box_PUBLICKEYBYTES,
	      "libsodium's key size");

struct bmc_secret {
	uint8_t public_key[BMC_SECRET_KEY_SIZE];
	uint8_t secret_key[BMC_SECRET_KEY_SIZE];
};

static int check_mode(int fd, const char *path, struct problem *problem)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return problem_set(problem, E_MALFORMED, "%s is not a file", path);
	if (status.st_mode & (S_IRWXG | S_IRWXO)) {
		problem_set(problem, E_DENIED, "the key %s may be read by others", path);
		problem_detail(problem, "its mode is %04o", (unsigned)status.st_mode & 07777U);
		problem_hint(
			problem,
			"chmod 600 it; if others may have read it, make a new one and import the BMC passwords again");
		return E_DENIED;
	}
	if (status.st_size != BMC_SECRET_KEY_SIZE)
		return problem_set(problem, E_MALFORMED, "the key %s has not %d bytes", path,
				   BMC_SECRET_KEY_SIZE);
	return 0;
}

static int read_key(const char *path, struct bmc_secret *secret, struct problem *problem)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int rc = fd < 0 ? -errno : check_mode(fd, path, problem);

	if (rc == 0 &&
	    read(fd, secret->secret_key, sizeof(secret->secret_key)) != sizeof(secret->secret_key))
		rc = -EIO;
	if (rc == 0 && crypto_scalarmult_base(secret->public_key, secret->secret_key) != 0)
		rc = E_MALFORMED;
	return rc;
}

static int write_all(int fd, struct bmc_secret *secret)
{
	randombytes_buf(secret->secret_key, sizeof(secret->secret_key));
	if (write(fd, secret->secret_key, sizeof(secret->secret_key)) != sizeof(secret->secret_key))
		return -EIO;
	return fsync(fd) < 0 ? -errno : 0;
}

static int sync_folder_of(const char *path)
{
	CLEANUP(freep) char *folder = strdup(path);
	CLEANUP(closep) int fd = -1;
	char *slash;

	if (!folder)
		return -ENOMEM;
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Appears whole under its name or not at all; link() refuses when another daemon was first, and
 * then that key counts. */
static int make_key(const char *path, struct bmc_secret *secret)
{
	CLEANUP(closep) int fd = -1;
	char draft[4096];
	int rc;

	if (!text_format(draft, sizeof(draft), "%s.XXXXXX", path))
		return -ENAMETOOLONG;
	fd = mkostemp(draft, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return -errno;
	rc = write_all(fd, secret);
	if (rc == 0 && link(draft, path) < 0 && errno != EEXIST)
		rc = -errno;
	(void)unlink(draft);
	return rc ? rc : sync_folder_of(path);
}

int bmc_secret_load(const char *path, struct bmc_secret **ret, struct problem *problem)
{
	struct bmc_secret *secret;
	int rc;

	if (sodium_init() < 0)
		return problem_set(problem, -EIO, "libsodium does not start");
	secret = sodium_malloc(sizeof(*secret)); /* locked where the limits allow it */
	if (!secret)
		return problem_set(problem, -ENOMEM, "no memory for the key %s", path);
	*problem = (struct problem){0};
	rc = read_key(path, secret, problem);
	if (rc == -ENOENT) {
		rc = make_key(path, secret);
		if (rc == 0)
			rc = read_key(path, secret, problem);
	}
	if (rc) {
		sodium_free(secret);
		return problem_is_set(problem)
			       ? rc
			       : problem_set(problem, rc, "the key %s cannot be used: %s", path,
					     error_text(rc));
	}
	(void)sodium_mprotect_readonly(secret);
	*ret = secret;
	return 0;
}

void bmc_secret_free(struct bmc_secret *secret)
{
	sodium_free(secret); /* wipes; NULL is fine */
}

const uint8_t *bmc_secret_public_key(const struct bmc_secret *secret)
{
	return secret->public_key;
}

int bmc_secret_seal(const uint8_t public_key[BMC_SECRET_KEY_SIZE], const char *password,
		    uint8_t *ret, size_t *ret_size)
{
	size_t length = strlen(password);

	if (length > BMC_SECRET_SEALED_SIZE - crypto_box_SEALBYTES)
		return E_LIMIT;
	if (crypto_box_seal(ret, (const unsigned char *)password, length, public_key) != 0)
		return -EINVAL;
	*ret_size = length + crypto_box_SEALBYTES;
	return 0;
}

int bmc_secret_open(const struct bmc_secret *secret, const uint8_t *sealed, size_t size, char *ret,
		    size_t room)
{
	uint8_t opened[BMC_SECRET_SEALED_SIZE];
	size_t length = size - crypto_box_SEALBYTES;
	int rc = 0;

	if (size < crypto_box_SEALBYTES)
		return E_MALFORMED;
	if (size > BMC_SECRET_SEALED_SIZE || length >= room)
		return E_LIMIT;
	if (crypto_box_seal_open(opened, sealed, size, secret->public_key, secret->secret_key) != 0)
		return E_DENIED;
	if (memchr(opened, '\0', length)) {
		rc = E_MALFORMED;
	} else {
		memcpy(ret, opened, length);
		ret[length] = '\0';
	}
	sodium_memzero(opened, sizeof(opened));
	return rc;
}
