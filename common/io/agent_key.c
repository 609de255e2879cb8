#include "common/io/agent_key.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/key_file.h"

static_assert(AGENT_KEY_SIZE == crypto_sign_PUBLICKEYBYTES, "libsodium's key size");
static_assert(AGENT_KEY_SIZE == crypto_sign_SEEDBYTES, "libsodium's seed size");
static_assert(SEAL_KEY_SIZE == crypto_scalarmult_curve25519_BYTES, "libsodium's key size");
static_assert(RESULT_SIGNATURE_SIZE == crypto_sign_BYTES, "libsodium's signature size");

struct agent_key {
	uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
	struct seal_key *seal;
	char text[DIGEST_TEXT_SIZE];
};

/* Wipes the seed. */
static int agent_key_of(uint8_t seed[AGENT_KEY_SIZE], struct agent_key **ret)
{
	struct agent_key *key = sodium_malloc(sizeof(*key));
	uint8_t public_key[AGENT_KEY_SIZE];
	uint8_t curve[SEAL_KEY_SIZE];
	int rc = key ? 0 : -ENOMEM;

	if (rc == 0) {
		(void)crypto_sign_seed_keypair(public_key, key->secret_key, seed);
		hex_encode(public_key, sizeof(public_key), key->text);
		(void)crypto_sign_ed25519_sk_to_curve25519(curve, key->secret_key);
		rc = seal_key_of(curve, &key->seal);
		sodium_memzero(curve, sizeof(curve));
	}
	sodium_memzero(seed, AGENT_KEY_SIZE);
	if (rc) {
		sodium_free(key);
		return rc;
	}
	(void)sodium_mprotect_readonly(key);
	*ret = key;
	return 0;
}

static void agent_key_draw(uint8_t ret[])
{
	key_file_draw(ret, AGENT_KEY_SIZE);
}

int agent_key_load(const char *path, struct agent_key **ret, struct problem *problem)
{
	const struct key_file file = {
		.path = path,
		.what = "key of this boot",
		.size = AGENT_KEY_SIZE,
		.make = agent_key_draw,
		.exposed_hint = "something else than the agent writes into the ramdisk",
	};
	uint8_t seed[AGENT_KEY_SIZE];
	int rc = sodium_init() < 0 ? -EIO : 0;

	if (rc)
		return problem_set(problem, rc, "libsodium does not start");
	rc = key_file_load(&file, seed, problem);
	if (rc)
		return rc;
	rc = agent_key_of(seed, ret);
	return rc ? problem_set(problem, rc, "no memory for the key %s", path) : 0;
}

int agent_key_make(struct agent_key **ret)
{
	uint8_t seed[AGENT_KEY_SIZE];

	if (sodium_init() < 0)
		return -EIO;
	agent_key_draw(seed);
	return agent_key_of(seed, ret);
}

void agent_key_free(struct agent_key *key)
{
	if (!key)
		return;
	seal_key_free(key->seal);
	sodium_free(key); /* wipes */
}

const char *agent_key_text(const struct agent_key *key)
{
	return key->text;
}

void agent_key_sign(const struct agent_key *key, const char *statement,
		    char ret[RESULT_SIGNATURE_TEXT_SIZE])
{
	uint8_t signature[RESULT_SIGNATURE_SIZE];

	(void)crypto_sign_detached(signature, NULL, (const uint8_t *)statement, strlen(statement),
				   key->secret_key);
	hex_encode(signature, sizeof(signature), ret);
}

int agent_key_seal(const uint8_t public_key[AGENT_KEY_SIZE], const char *secret, uint8_t *ret,
		   size_t *ret_size)
{
	uint8_t curve[SEAL_KEY_SIZE];

	if (crypto_sign_ed25519_pk_to_curve25519(curve, public_key) != 0)
		return E_MALFORMED;
	return seal_key_seal(curve, secret, ret, ret_size);
}

int agent_key_open(const struct agent_key *key, const uint8_t *sealed, size_t size, char *ret,
		   size_t room)
{
	return seal_key_open(key->seal, sealed, size, ret, room);
}
