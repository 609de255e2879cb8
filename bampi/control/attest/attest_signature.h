/* ECDSA on P-256 with SHA-256, as TPMs sign (OpenSSL). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/net/tpm_wire.h"

/* False also for a key that is no point of the curve. */
bool attest_signature_verify(const struct tpm_key *key, const void *bytes, size_t size,
			     const struct tpm_signature *signature);
