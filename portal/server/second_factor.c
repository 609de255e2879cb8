#include "portal/server/second_factor.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/seal_key.h"

#include "portal/server/login_key.h"
#include "portal/server/portal.h"

#define RECOVERY_BYTES   10 /* 80 bits: no one guesses them by the digest */
#define RECOVERY_LETTERS 16
#define SECRET_HEX_SIZE  (2 * TOTP_SECRET_SIZE + 1)

int second_factor_make(struct portal *portal, char text[TOTP_TEXT_SIZE], char **sealed,
		       struct problem *problem)
{
	const struct seal_key *key = NULL;
	uint8_t secret[TOTP_SECRET_SIZE];
	char hex[SECRET_HEX_SIZE];
	uint8_t closed[SEAL_SIZE_MAX];
	size_t size;
	int rc = login_key_get(portal->login_key, &key, problem);

	if (rc != 0)
		return rc;
	randombytes_buf(secret, sizeof(secret));
	totp_base32(secret, sizeof(secret), text);
	hex_encode(secret, sizeof(secret), hex);
	rc = seal_key_seal(seal_key_public_key(key), hex, closed, &size);
	if (rc == 0)
		*sealed = malloc(2 * size + 1);
	if (rc == 0 && *sealed)
		hex_encode(closed, size, *sealed);
	else
		rc = problem_set(problem, E_UNAVAILABLE, "the secret could not be sealed");
	sodium_memzero(secret, sizeof(secret));
	sodium_memzero(hex, sizeof(hex));
	return rc;
}

static int second_factor_open(struct portal *portal, const char *sealed,
			      uint8_t ret[TOTP_SECRET_SIZE], struct problem *problem)
{
	const struct seal_key *key = NULL;
	uint8_t closed[SEAL_SIZE_MAX];
	size_t size = strlen(sealed) / 2;
	char hex[SECRET_HEX_SIZE] = "";
	int rc = login_key_get(portal->login_key, &key, problem);

	if (rc != 0)
		return rc;
	if (size > sizeof(closed) || hex_decode(sealed, closed, size) != 0)
		rc = E_MALFORMED;
	if (rc == 0)
		rc = seal_key_open(key, closed, size, hex, sizeof(hex));
	if (rc == 0 && hex_decode(hex, ret, TOTP_SECRET_SIZE) != 0)
		rc = E_MALFORMED;
	sodium_memzero(hex, sizeof(hex));
	if (rc == 0)
		return 0;
	(void)problem_set(problem, E_UNAVAILABLE, "the second factor cannot be opened: %s",
			  error_text(rc));
	problem_hint(problem, "was the key restored with the database? an operator can reset it: "
			      "haasctl totp reset NAME");
	return E_UNAVAILABLE;
}

/* Small letters and dashes are as good. False: it is none. */
static bool second_factor_clean(const char *code, char ret[RECOVERY_LETTERS + 1])
{
	size_t count = 0;

	for (; *code; code++) {
		bool small = *code >= 'a' && *code <= 'z';
		char letter = (char)(small ? *code - 'a' + 'A' : *code);

		if (letter == '-' || letter == ' ')
			continue;
		if (count == RECOVERY_LETTERS)
			return false;
		ret[count++] = letter;
	}
	ret[count] = '\0';
	return count == RECOVERY_LETTERS;
}

void second_factor_recovery(char code[SECOND_FACTOR_CODE_SIZE], char digest[IDENTITY_DIGEST_SIZE])
{
	uint8_t bytes[RECOVERY_BYTES];
	char letters[RECOVERY_LETTERS + 1];

	randombytes_buf(bytes, sizeof(bytes));
	totp_base32(bytes, sizeof(bytes), letters);
	identity_digest(letters, digest);
	(void)text_format(code, SECOND_FACTOR_CODE_SIZE, "%.4s-%.4s-%.4s-%.4s", letters,
			  letters + 4, letters + 8, letters + 12);
	sodium_memzero(bytes, sizeof(bytes));
	sodium_memzero(letters, sizeof(letters));
}

int second_factor_check(struct portal *portal, const char *sealed, int64_t used, const char *code,
			struct second_factor_code *ret, struct problem *problem)
{
	uint8_t secret[TOTP_SECRET_SIZE];
	char letters[RECOVERY_LETTERS + 1];
	int64_t counter;
	int rc;

	*ret = (struct second_factor_code){0};
	if (second_factor_clean(code, letters)) {
		identity_digest(letters, ret->digest);
		sodium_memzero(letters, sizeof(letters));
		return 0;
	}
	rc = second_factor_open(portal, sealed, secret, problem);
	if (rc != 0)
		return rc;
	counter = totp_find(secret, code, clock_wall_us() / 1000000, used);
	sodium_memzero(secret, sizeof(secret));
	if (counter == 0)
		return E_AUTHENTICATION;
	(void)text_format(ret->counter, sizeof(ret->counter), "%" PRId64, counter);
	return 0;
}
