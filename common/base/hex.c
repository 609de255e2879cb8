#include "common/base/hex.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

static_assert(DIGEST_SIZE == crypto_generichash_BYTES, "libsodium's default BLAKE2b is 256 bits");

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

void hex_encode(const void *bytes, size_t size, char *ret)
{
	static const char digits[16] = "0123456789abcdef";
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++) {
		ret[2 * i] = digits[at[i] >> 4];
		ret[2 * i + 1] = digits[at[i] & 0xf];
	}
	ret[2 * size] = '\0';
}

int hex_decode(const char *text, void *ret, size_t size)
{
	uint8_t *at = ret;

	for (size_t i = 0; i < 2 * size; i++) {
		if (hex_digit(text[i]) < 0) /* the NUL of a short text ends here too */
			return E_MALFORMED;
	}
	if (text[2 * size] != '\0')
		return E_MALFORMED;
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)((unsigned)hex_digit(text[2 * i]) << 4 |
				  (unsigned)hex_digit(text[2 * i + 1]));
	return 0;
}

void token_new(char ret[TOKEN_TEXT_SIZE])
{
	uint8_t bytes[(TOKEN_TEXT_SIZE - 1) / 2];

	if (sodium_init() < 0)
		abort(); /* no random numbers: nothing that asks for a token may go on */
	randombytes_buf(bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), ret);
	sodium_memzero(bytes, sizeof(bytes));
}

void digest_text(const void *bytes, size_t size, char ret[DIGEST_TEXT_SIZE])
{
	uint8_t digest[DIGEST_SIZE];

	crypto_generichash(digest, sizeof(digest), bytes, size, NULL, 0);
	hex_encode(digest, sizeof(digest), ret);
}
