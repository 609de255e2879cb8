/* The second factor of accounts: secrets sealed to portald's own key
 * (login_key.h), codes compared with them,
 * recovery codes. The database says of each code that it was not used before. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "portal/server/identity.h"
#include "portal/server/totp_policy.h"

struct portal;

#define SECOND_FACTOR_CODES     10
#define SECOND_FACTOR_CODE_SIZE 20 /* "ABCD-EFGH-IJKL-MNOP" with NUL */
#define SECOND_FACTOR_CODE_MAX  32 /* what a person may type */

/* What the database uses up: the counter of a code of TOTP, or the digest of a recovery code. The
 * other is "". */
struct second_factor_code {
	char counter[24];
	char digest[IDENTITY_DIGEST_SIZE];
};

/* A new secret: its base32 to show, and sealed in hex, owned by the caller. */
MUST_USE int second_factor_make(struct portal *portal, char text[TOTP_TEXT_SIZE], char **sealed,
				struct problem *problem);
/* Looks at a code; `used`: the counter of the last one. E_AUTHENTICATION: it is wrong. Else the
 * secret could not be opened, and the problem says why. What may be a recovery code is not known
 * before the database has looked. */
MUST_USE int second_factor_check(struct portal *portal, const char *sealed, int64_t used,
				 const char *code, struct second_factor_code *ret,
				 struct problem *problem);
/* A recovery code, and its digest. */
void second_factor_recovery(char code[SECOND_FACTOR_CODE_SIZE], char digest[IDENTITY_DIGEST_SIZE]);
