/* BMC passwords at rest: sealed to bampid's public key (libsodium crypto_box_seal: X25519,
 * XSalsa20-Poly1305), so that whoever writes the row cannot read it back. The secret key lives in
 * one file of bampid, mode 0600, and in guarded, locked memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define BMC_SECRET_KEY_SIZE    32
#define BMC_SECRET_SEALED_SIZE 256 /* the most that is accepted */

struct bmc_secret;

/* Reads the secret key (32 raw bytes), or makes it when the file is missing; of several daemons
 * that start at once one makes it and all use that one. E_DENIED: the file may be read by others;
 * E_MALFORMED: it is no key; -errno. */
MUST_USE int bmc_secret_load(const char *path, struct bmc_secret **ret, struct problem *problem);
void bmc_secret_free(struct bmc_secret *secret);
/* Borrowed. */
const uint8_t *bmc_secret_public_key(const struct bmc_secret *secret);

/* Needs the public key only. `ret` holds BMC_SECRET_SEALED_SIZE bytes. E_LIMIT. */
MUST_USE int bmc_secret_seal(const uint8_t public_key[BMC_SECRET_KEY_SIZE], const char *password,
			     uint8_t *ret, size_t *ret_size);
/* Opens into `ret` (NUL-terminated); wipe it after use. E_DENIED: sealed to another key, or
 * altered. E_MALFORMED: too short, or holds a NUL. E_LIMIT: the password does not fit. */
MUST_USE int bmc_secret_open(const struct bmc_secret *secret, const uint8_t *sealed, size_t size,
			     char *ret, size_t room);
