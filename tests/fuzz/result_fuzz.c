// links: common_net
/* Any bytes as key, signature and result: nothing is taken for signed but what this key signed, to the
 * byte. Input: how a signature is bent (2 bytes), then the result. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <sodium.h>
#include <stdint.h>
#include <string.h>

#include "common/net/result_wire.h"

#include "tests/support/fuzz_text.h"

#define RESULT_FUZZ_TOKEN "0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t seed[crypto_sign_SEEDBYTES] = {1};
	uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
	uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
	uint8_t signature[RESULT_SIGNATURE_SIZE];
	char agent[DIGEST_TEXT_SIZE];
	char statement[RESULT_STATEMENT_SIZE];
	char text[RESULT_SIGNATURE_TEXT_SIZE];
	char *raw = fuzz_text(data, size);
	uint8_t bend = size > 0 ? data[0] : 0;
	size_t place = size > 1 ? data[1] % sizeof(signature) : 0;
	const uint8_t *body = size > 2 ? data + 2 : data;
	size_t body_size = size > 2 ? size - 2 : 0;

	assert(raw && sodium_init() >= 0);
	(void)crypto_sign_seed_keypair(public_key, secret_key, seed);
	hex_encode(public_key, sizeof(public_key), agent);
	/* as it came, in each place */
	assert(!result_is_signed(raw, raw, 7, RESULT_FUZZ_TOKEN, body, body_size));
	assert(!result_is_signed(agent, raw, 7, RESULT_FUZZ_TOKEN, body, body_size));
	result_statement(7, RESULT_FUZZ_TOKEN, body, body_size, statement);
	(void)crypto_sign_detached(signature, NULL, (const uint8_t *)statement, strlen(statement),
				   secret_key);
	signature[place] ^= bend;
	hex_encode(signature, sizeof(signature), text);
	assert(result_is_signed(agent, text, 7, RESULT_FUZZ_TOKEN, body, body_size) == (bend == 0));
	assert(!result_is_signed(agent, text, 8, RESULT_FUZZ_TOKEN, body, body_size));
	assert(!result_is_signed(agent, text, 7, "another", body, body_size));
	assert(!body_size ||
	       !result_is_signed(agent, text, 7, RESULT_FUZZ_TOKEN, body, body_size - 1));
	free(raw);
	return 0;
}
