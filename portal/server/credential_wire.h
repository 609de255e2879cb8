/* The secret that a request shows: "Authorization: Bearer haas_..." (RFC 6750), or the session's cookie (RFC 6265).
 * Sessions are "haas_s_SECRET", tokens "haas_ID_SECRET"; SECRET is 32 random bytes in base64url. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"

/* __Host-: sent by TLS alone, to the host that set it, for all paths. */
#define CREDENTIAL_COOKIE "__Host-haas"
#define CREDENTIAL_SIZE   80 /* with NUL */

/* True when `text` looks like a secret of ours: letters of base64url behind "haas_", and short. */
bool credential_is_ours(const char *text, size_t length);
/* The value of our cookie in a Cookie header; the first one counts. False: none, or not ours. */
bool credential_of_cookie(const char *header, char ret[CREDENTIAL_SIZE]);
