/* Secrets that portald makes, and passwords that it compares. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "portal/server/credential_wire.h"

struct exchange;

#define SECRET_PASSWORD_MIN 10
#define SECRET_PASSWORD_MAX 256
#define SECRET_HASH_SIZE    128 /* argon2id's text */

/* "haas_KIND_" and 32 random bytes. */
void secret_new(const char *kind, char ret[CREDENTIAL_SIZE]);
/* Eight letters: the id of a token. */
void secret_id_new(char ret[9]);

/* What cookies prove beside themselves when they change something: the page has it from its login, and no other
 * site can know it. */
void secret_csrf(const char *secret, char ret[65]);

/* Called in the loop. `good`: the password is the one, or a hash was made (`hash`, valid for the call). */
typedef void (*secret_fn)(struct exchange *exchange, bool good, const char *hash);
/* argon2id (RFC 9106) at libsodium's interactive limits, 64 MiB each, on threads of their own; `password` is copied, and wiped. `hash` NULL: makes one.
 * "": compares with one that nothing fits, so that an unknown account takes as long. Holds the exchange.
 * -EAGAIN: too many wait. */
MUST_USE int secret_work(struct exchange *exchange, const char *password, const char *hash,
			 secret_fn fn);
