/* Seals a secret to a daemon's public key (libsodium crypto_box_seal, X25519 + XSalsa20-Poly1305):
 * nobody here can read it again. */
#pragma once

#include "common/base/macros.h"

/* `public_key` is 64 hex digits. *ret is hex, the caller frees. E_MALFORMED for the key, -ENOMEM.
 */
MUST_USE int seal_text(const char *public_key, const char *secret, char **ret);
