/* Whose images we put on nodes: the public keys that the operator trusts. Tells whether one of them
 * signed a manifest (ed25519, RFC 8032, over the exact bytes of the manifest file). A key file is
 * the 32 raw bytes or 64 hex digits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define IMAGE_TRUST_KEY_SIZE 32
#define IMAGE_TRUST_KEYS_MAX 64

struct image_trust {
	uint8_t keys[IMAGE_TRUST_KEYS_MAX][IMAGE_TRUST_KEY_SIZE];
	size_t count;
};

/* All *.pub of `folder`. A folder that does not exist holds no key. A file that is no key is an
 * error that names it: a key that somebody meant to be there must not be skipped in silence. */
MUST_USE int image_trust_load(const char *folder, struct image_trust *ret, struct problem *problem);
/* 0, or E_DIGEST with a problem. Pure. `signature` in hex. */
MUST_USE int image_trust_verify(const struct image_trust *trust, const char *manifest,
				const char *signature, struct problem *problem);
