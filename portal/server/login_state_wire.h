/* A login by a provider of OpenID Connect under way, in a cookie of the browser: nothing is kept here for
 * a stranger. Sealed and authenticated (XSalsa20-Poly1305), so what comes back is what was given. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* __Host-: see credential_wire.h. Sent with the redirect of another site, so SameSite is Lax. */
#define LOGIN_STATE_COOKIE  "__Host-haas-login"
#define LOGIN_STATE_KEY     32
#define LOGIN_WORD_SIZE     44 /* 32 bytes in base64url, with NUL */
#define LOGIN_STATE_SIZE    640
#define LOGIN_PROVIDER_SIZE 33

struct login_state {
	char provider[LOGIN_PROVIDER_SIZE];
	char state[LOGIN_WORD_SIZE], nonce[LOGIN_WORD_SIZE], verifier[LOGIN_WORD_SIZE];
	char challenge[LOGIN_WORD_SIZE]; /* of who began: the page, or haasctl */
	uint16_t port;   /* where haasctl listens on the browser's machine; 0 = the page began */
	int64_t until_s; /* of the wall clock */
};

/* 32 random bytes. */
void login_word_new(char ret[LOGIN_WORD_SIZE]);
/* 32 bytes in base64url, and nothing else. */
bool login_word_bytes(const char *word, uint8_t ret[32]);
/* SHA-256 of the text, as PKCE has it (S256, RFC 7636). */
void login_word_hash(const char *text, char ret[LOGIN_WORD_SIZE]);

/* The value of the cookie. */
MUST_USE int login_state_seal(const uint8_t key[LOGIN_STATE_KEY], const struct login_state *state,
			      char ret[LOGIN_STATE_SIZE]);
/* Of a Cookie header; the first of its name counts. False: there is none, or it is not ours. */
bool login_state_open(const uint8_t key[LOGIN_STATE_KEY], const char *header,
		      struct login_state *ret);
