/* What a provider of OpenID Connect says of a person: an ID token (a JWT, RFC 7519, signed by RS256 or
 * ES256, RFC 7515) and the keys that it signs with (RFC 7517). All of it is bytes of another site. The
 * signature is libcjose's work; which key, which algorithm and which claims count is decided here. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define ID_TOKEN_MAX          16384
#define ID_TOKEN_KEYS_MAX     65536 /* bytes */
#define ID_TOKEN_SUBJECT_SIZE 256   /* OpenID Connect Core, 2: 255 and NUL */
#define ID_TOKEN_SKEW_S       60    /* that two clocks may differ */

struct id_token_want {
	const char *issuer, *client, *nonce;
	int64_t now_s;
};

/* {"keys": [..]}; a new reference. E_MALFORMED, E_LIMIT. */
MUST_USE int id_token_keys(const char *data, size_t size, json_t **ret, struct problem *problem);
/* 0: it is the provider's word of this login, about `subject`. E_NOT_FOUND: no key of these may have
 * signed it; newer ones might. E_MALFORMED, E_LIMIT, E_AUTHENTICATION: it is none, or says something
 * else; the problem says what. */
MUST_USE int id_token_verify(const char *token, const json_t *keys,
			     const struct id_token_want *want, char subject[ID_TOKEN_SUBJECT_SIZE],
			     struct problem *problem);
