#include "portal/server/login_state_wire.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define STATE_BYTES (LOGIN_STATE_SIZE / 4 * 3)
#define STATE_FRONT (crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES)
#define STATE_LINES 7

void login_word_new(char ret[LOGIN_WORD_SIZE])
{
	uint8_t bytes[32];

	randombytes_buf(bytes, sizeof(bytes));
	(void)sodium_bin2base64(ret, LOGIN_WORD_SIZE, bytes, sizeof(bytes),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(bytes, sizeof(bytes));
}

bool login_word_bytes(const char *word, uint8_t ret[32])
{
	const char *end = NULL;
	size_t size = strlen(word);
	size_t length = 0;

	return size == LOGIN_WORD_SIZE - 1 &&
	       sodium_base642bin(ret, 32, word, size, NULL, &length, &end,
				 sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
	       length == 32 && end == word + size;
}

void login_word_hash(const char *text, char ret[LOGIN_WORD_SIZE])
{
	uint8_t digest[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256(digest, (const unsigned char *)text, strlen(text));
	(void)sodium_bin2base64(ret, LOGIN_WORD_SIZE, digest, sizeof(digest),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

int login_state_seal(const uint8_t key[LOGIN_STATE_KEY], const struct login_state *state,
		     char ret[LOGIN_STATE_SIZE])
{
	char text[STATE_BYTES - STATE_FRONT];
	uint8_t sealed[STATE_BYTES];
	size_t size;

	if (!text_format(text, sizeof(text), "%s\n%s\n%s\n%s\n%s\n%u\n%" PRId64 "\n",
			 state->provider, state->state, state->nonce, state->verifier,
			 state->challenge, state->port, state->until_s))
		return E_LIMIT;
	size = strlen(text);
	randombytes_buf(sealed, crypto_secretbox_NONCEBYTES);
	(void)crypto_secretbox_easy(sealed + crypto_secretbox_NONCEBYTES,
				    (const unsigned char *)text, size, sealed, key);
	sodium_memzero(text, sizeof(text));
	(void)sodium_bin2base64(ret, LOGIN_STATE_SIZE, sealed, size + STATE_FRONT,
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return 0;
}

/* The first cookie of our name. */
static const char *login_state_value(const char *header, size_t *ret_size)
{
	const size_t name = sizeof(LOGIN_STATE_COOKIE) - 1;

	for (const char *at = header; *at; at += strcspn(at, ";")) {
		at += strspn(at, " \t;");
		if (strncmp(at, LOGIN_STATE_COOKIE, name) == 0 && at[name] == '=') {
			*ret_size = strcspn(at + name + 1, "; \t");
			return at + name + 1;
		}
	}
	return NULL;
}

static bool login_state_read(char *text, struct login_state *ret)
{
	char *lines[STATE_LINES];
	char *rest = text;

	for (size_t i = 0; i < STATE_LINES; i++) {
		lines[i] = strsep(&rest, "\n");
		if (!lines[i] || !rest)
			return false;
	}
	ret->port = (uint16_t)strtoul(lines[5], NULL, 10);
	ret->until_s = strtoll(lines[6], NULL, 10);
	return text_copy(ret->provider, sizeof(ret->provider), lines[0]) &&
	       text_copy(ret->state, sizeof(ret->state), lines[1]) &&
	       text_copy(ret->nonce, sizeof(ret->nonce), lines[2]) &&
	       text_copy(ret->verifier, sizeof(ret->verifier), lines[3]) &&
	       text_copy(ret->challenge, sizeof(ret->challenge), lines[4]);
}

bool login_state_open(const uint8_t key[LOGIN_STATE_KEY], const char *header,
		      struct login_state *ret)
{
	uint8_t sealed[STATE_BYTES];
	char text[STATE_BYTES] = "";
	const char *end = NULL;
	size_t size = 0;
	size_t length = 0;
	const char *value = login_state_value(header, &size);
	bool good = value && size < LOGIN_STATE_SIZE &&
		    sodium_base642bin(sealed, sizeof(sealed), value, size, NULL, &length, &end,
				      sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
		    end == value + size && length > STATE_FRONT &&
		    crypto_secretbox_open_easy(
			    (unsigned char *)text, sealed + crypto_secretbox_NONCEBYTES,
			    length - crypto_secretbox_NONCEBYTES, sealed, key) == 0 &&
		    login_state_read(text, ret);

	sodium_memzero(text, sizeof(text));
	return good;
}
