#include "bampi/control/bmc/bmc_secret.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/key_file.h"

static_assert(BMC_SECRET_KEY_SIZE == crypto_box_SECRETKEYBYTES, "libsodium's key size");
static_assert(BMC_SECRET_KEY_SIZE == crypto_box_PUBLICKEYBYTES, "libsodium's key size");

struct bmc_secret {
	uint8_t public_key[BMC_SECRET_KEY_SIZE];
	uint8_t secret_key[BMC_SECRET_KEY_SIZE];
};

static void make_key(uint8_t ret[])
{
	randombytes_buf(ret, BMC_SECRET_KEY_SIZE);
}

int bmc_secret_load(const char *path, struct bmc_secret **ret, struct problem *problem)
{
	const struct key_file file = {
		.path = path,
		.what = "BMC password key",
		.size = BMC_SECRET_KEY_SIZE,
		.make = make_key,
		.exposed_hint =
			"chmod 600 it; if others may have read it, make a new one and import the BMC passwords again"};
	struct bmc_secret *secret;
	int rc;

	if (sodium_init() < 0)
		return problem_set(problem, -EIO, "libsodium does not start");
	secret = sodium_malloc(sizeof(*secret)); /* locked where the limits allow it */
	if (!secret)
		return problem_set(problem, -ENOMEM, "no memory for the key %s", path);
	rc = key_file_load(&file, secret->secret_key, problem);
	if (rc == 0 && crypto_scalarmult_base(secret->public_key, secret->secret_key) != 0)
		rc = problem_set(problem, E_MALFORMED, "the key %s is not one", path);
	if (rc) {
		sodium_free(secret);
		return rc;
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
