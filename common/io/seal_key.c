#include "common/io/seal_key.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/key_file.h"

static_assert(SEAL_KEY_SIZE == crypto_box_SECRETKEYBYTES, "libsodium's key size");
static_assert(SEAL_KEY_SIZE == crypto_box_PUBLICKEYBYTES, "libsodium's key size");

struct seal_key {
	uint8_t public_key[SEAL_KEY_SIZE];
	uint8_t secret_key[SEAL_KEY_SIZE];
	/* While the key is exchanged: the one before. */
	bool has_former;
	uint8_t former_public[SEAL_KEY_SIZE];
	uint8_t former_secret[SEAL_KEY_SIZE];
};

static void seal_key_make_key(uint8_t ret[])
{
	key_file_draw(ret, SEAL_KEY_SIZE);
}

static struct key_file seal_key_file_of(const struct seal_key_file *seal, const char *path)
{
	return (struct key_file){
		.path = path,
		.what = seal->what,
		.size = SEAL_KEY_SIZE,
		.make = seal_key_make_key,
		.exposed_hint = seal->exposed_hint,
	};
}

static bool seal_key_next_path(const struct seal_key_file *seal, char ret[PATH_MAX])
{
	return text_format(ret, PATH_MAX, "%s.next", seal->path);
}

/* The one to come counts as soon as it is there. */
static int seal_key_load_next(const struct seal_key_file *seal, struct seal_key *key,
			      struct problem *problem)
{
	char path[PATH_MAX];
	struct key_file file;
	int rc;

	if (!seal_key_next_path(seal, path) || access(path, F_OK) != 0)
		return 0;
	file = seal_key_file_of(seal, path);
	memcpy(key->former_public, key->public_key, SEAL_KEY_SIZE);
	memcpy(key->former_secret, key->secret_key, SEAL_KEY_SIZE);
	rc = key_file_load(&file, key->secret_key, problem);
	if (rc == 0 && crypto_scalarmult_base(key->public_key, key->secret_key) != 0)
		rc = problem_set(problem, E_MALFORMED, "the file %s does not hold a key", path);
	key->has_former = true;
	return rc;
}

int seal_key_rotate(const struct seal_key_file *seal, struct problem *problem)
{
	char path[PATH_MAX];
	uint8_t key[SEAL_KEY_SIZE];
	struct key_file file;
	int rc;

	if (!seal_key_next_path(seal, path))
		return problem_set(problem, E_LIMIT, "the path %s is too long", seal->path);
	file = seal_key_file_of(seal, path);
	rc = key_file_load(&file, key, problem);
	sodium_memzero(key, sizeof(key));
	return rc;
}

int seal_key_settle(const struct seal_key_file *seal, struct problem *problem)
{
	char path[PATH_MAX];

	if (!seal_key_next_path(seal, path))
		return problem_set(problem, E_LIMIT, "the path %s is too long", seal->path);
	if (rename(path, seal->path) == 0 || errno == ENOENT)
		return 0;
	return problem_set(problem, -errno, "the new %s cannot take the place of %s: %s",
			   seal->what, seal->path, error_text(-errno));
}

bool seal_key_has_former(const struct seal_key *key)
{
	return key->has_former;
}

int seal_key_load(const struct seal_key_file *seal, struct seal_key **ret, struct problem *problem)
{
	const struct key_file file = seal_key_file_of(seal, seal->path);
	struct seal_key *key;
	int rc;

	if (sodium_init() < 0)
		return problem_set(problem, -EIO, "libsodium does not start");
	key = sodium_malloc(sizeof(*key)); /* locked where the limits allow it */
	if (!key)
		return problem_set(problem, -ENOMEM, "no memory for the key %s", seal->path);
	key->has_former = false;
	rc = key_file_load(&file, key->secret_key, problem);
	if (rc == 0 && crypto_scalarmult_base(key->public_key, key->secret_key) != 0)
		rc = problem_set(problem, E_MALFORMED, "the file %s does not hold a key",
				 seal->path);
	if (rc == 0)
		rc = seal_key_load_next(seal, key, problem);
	if (rc) {
		sodium_free(key);
		return rc;
	}
	(void)sodium_mprotect_readonly(key);
	*ret = key;
	return 0;
}

int seal_key_reload(const struct seal_key_file *file, struct seal_key **key,
		    struct problem *problem)
{
	struct seal_key *fresh = NULL;
	int rc = seal_key_load(file, &fresh, problem);

	if (rc)
		return rc;
	seal_key_free(*key);
	*key = fresh;
	return 0;
}

bool seal_key_seeded(void)
{
	uint8_t byte;

	return getrandom(&byte, sizeof(byte), GRND_NONBLOCK) == (ssize_t)sizeof(byte);
}

int seal_key_of(const uint8_t secret[SEAL_KEY_SIZE], struct seal_key **ret)
{
	struct seal_key *key = sodium_malloc(sizeof(*key));

	if (!key)
		return -ENOMEM;
	key->has_former = false;
	memcpy(key->secret_key, secret, SEAL_KEY_SIZE);
	if (crypto_scalarmult_base(key->public_key, key->secret_key) != 0) {
		sodium_free(key);
		return -EIO;
	}
	(void)sodium_mprotect_readonly(key);
	*ret = key;
	return 0;
}

void seal_key_free(struct seal_key *key)
{
	sodium_free(key); /* wipes; NULL is fine */
}

const uint8_t *seal_key_public_key(const struct seal_key *key)
{
	return key->public_key;
}

int seal_key_seal(const uint8_t public_key[SEAL_KEY_SIZE], const char *secret, uint8_t *ret,
		  size_t *ret_size)
{
	size_t length = strlen(secret);

	if (length > SEAL_SIZE_MAX - crypto_box_SEALBYTES)
		return E_LIMIT;
	if (crypto_box_seal(ret, (const unsigned char *)secret, length, public_key) != 0)
		return -EINVAL;
	*ret_size = length + crypto_box_SEALBYTES;
	return 0;
}

void seal_key_derive(const struct seal_key *key, const char *purpose, uint8_t ret[SEAL_KEY_SIZE])
{
	(void)crypto_generichash(ret, SEAL_KEY_SIZE, (const uint8_t *)purpose, strlen(purpose),
				 key->secret_key, sizeof(key->secret_key));
}

bool seal_key_derive_former(const struct seal_key *key, const char *purpose,
			    uint8_t ret[SEAL_KEY_SIZE])
{
	if (key->has_former)
		(void)crypto_generichash(ret, SEAL_KEY_SIZE, (const uint8_t *)purpose,
					 strlen(purpose), key->former_secret,
					 sizeof(key->former_secret));
	return key->has_former;
}

bool seal_key_is_current(const struct seal_key *key, const uint8_t *sealed, size_t size)
{
	uint8_t opened[SEAL_SIZE_MAX];
	bool is = size >= crypto_box_SEALBYTES && size <= SEAL_SIZE_MAX &&
		  crypto_box_seal_open(opened, sealed, size, key->public_key, key->secret_key) == 0;

	sodium_memzero(opened, sizeof(opened));
	return is;
}

int seal_key_open(const struct seal_key *key, const uint8_t *sealed, size_t size, char *ret,
		  size_t room)
{
	uint8_t opened[SEAL_SIZE_MAX];
	size_t length = size - crypto_box_SEALBYTES;
	int rc = 0;

	if (size < crypto_box_SEALBYTES)
		return E_MALFORMED;
	if (size > SEAL_SIZE_MAX || length >= room)
		return E_LIMIT;
	if (crypto_box_seal_open(opened, sealed, size, key->public_key, key->secret_key) != 0 &&
	    (!key->has_former || crypto_box_seal_open(opened, sealed, size, key->former_public,
						      key->former_secret) != 0))
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
