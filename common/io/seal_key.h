/* Secrets at rest: sealed to a daemon's public key (libsodium crypto_box_seal: X25519,
 * XSalsa20-Poly1305), so that whoever writes the row cannot read it back. The secret key lives in
 * one file of that daemon, mode 0600, and in guarded, locked memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define SEAL_KEY_SIZE 32
#define SEAL_SIZE_MAX 2048 /* the most that is accepted */

struct seal_key;

struct seal_key_file {
	const char *path;
	const char *what;         /* for people: "BMC password key" */
	const char *exposed_hint; /* what to do when others may read it */
};

/* Reads the secret key (32 raw bytes), or makes it when the file is missing. Of several daemons
 * that start at once one makes it, and all use that one. E_DENIED: the file may be read by others;
 * E_MALFORMED: it is no key; -errno. */
MUST_USE int seal_key_load(const struct seal_key_file *file, struct seal_key **ret,
			   struct problem *problem);
/* The file has changed: the key that it holds takes the place of `*key`, which is freed; NULL: none yet. On
 * an error `*key` stays. */
MUST_USE int seal_key_reload(const struct seal_key_file *file, struct seal_key **key,
			     struct problem *problem);
/* Whether a key can be made without waiting for the kernel's generator. */
bool seal_key_seeded(void);
/* The key with this secret half. -ENOMEM, -EIO. */
MUST_USE int seal_key_of(const uint8_t secret[SEAL_KEY_SIZE], struct seal_key **ret);
/* Makes a new key beside the old one. Whoever loads the file from then on seals to the new one and
 * opens with both. Asked again it does nothing. */
MUST_USE int seal_key_rotate(const struct seal_key_file *file, struct problem *problem);
/* The new key takes the place of the old one, which is gone. Nothing when there is no new one. */
MUST_USE int seal_key_settle(const struct seal_key_file *file, struct problem *problem);
/* Is there an older key beside it that opens, too? */
bool seal_key_has_former(const struct seal_key *key);
void seal_key_free(struct seal_key *key);
/* Borrowed. */
const uint8_t *seal_key_public_key(const struct seal_key *key);

/* Needs the public key only. `ret` holds SEAL_SIZE_MAX bytes. E_LIMIT. */
MUST_USE int seal_key_seal(const uint8_t public_key[SEAL_KEY_SIZE], const char *secret,
			   uint8_t *ret, size_t *ret_size);
/* Was it sealed to this key itself, not to the former one? Opens nothing for the caller. */
bool seal_key_is_current(const struct seal_key *key, const uint8_t *sealed, size_t size);
/* Opens into `ret` (NUL-terminated); wipe it after use. E_DENIED: sealed to another key, or
 * altered. E_MALFORMED: too short, or holds a NUL. E_LIMIT: the secret does not fit. */
MUST_USE int seal_key_open(const struct seal_key *key, const uint8_t *sealed, size_t size,
			   char *ret, size_t room);
/* A secret for another purpose: the same for the same key and purpose, and no help to find either
 * the key or one of another purpose. */
void seal_key_derive(const struct seal_key *key, const char *purpose, uint8_t ret[SEAL_KEY_SIZE]);
/* The same of the older key. False: there is none. */
bool seal_key_derive_former(const struct seal_key *key, const char *purpose,
			    uint8_t ret[SEAL_KEY_SIZE]);
