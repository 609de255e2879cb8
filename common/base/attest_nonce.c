#include "common/base/attest_nonce.h"

#include <sodium.h>
#include <string.h>

void attest_nonce(const char *token, const char *seal, uint8_t ret[ATTEST_NONCE_SIZE])
{
	static const char purpose[] = "haas attest 1";
	crypto_hash_sha256_state state;

	/* Each with its NUL: no two pairs give the same bytes. */
	(void)crypto_hash_sha256_init(&state);
	(void)crypto_hash_sha256_update(&state, (const uint8_t *)purpose, sizeof(purpose));
	(void)crypto_hash_sha256_update(&state, (const uint8_t *)token, strlen(token) + 1);
	(void)crypto_hash_sha256_update(&state, (const uint8_t *)seal, strlen(seal) + 1);
	(void)crypto_hash_sha256_final(&state, ret);
}
