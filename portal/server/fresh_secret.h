/* A secret that portald makes and that its answer tells once: a link, a token, the key of a webhook. */
#pragma once

#include "portal/server/credential_wire.h"
#include "portal/server/identity.h"

struct exchange;

struct fresh_secret {
	const char *member; /* of the answer: "link", "token" */
	char secret[CREDENTIAL_SIZE], digest[IDENTITY_DIGEST_SIZE];
};

/* Of the exchange from now on, and wiped with it: the answer of its write gets the member. NULL: no
 * memory. `kind` as of secret_new. */
const struct fresh_secret *fresh_secret_new(struct exchange *exchange, const char *member,
					    const char *kind);
