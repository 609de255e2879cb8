/* Codes of a second factor (TOTP, RFC 6238): HMAC-SHA-1, six digits, a new one every 30 s, as all
 * authenticators have them. No I/O. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

#define TOTP_SECRET_SIZE 20
#define TOTP_TEXT_SIZE   33 /* base32 (RFC 4648) with NUL */
#define TOTP_DIGITS      6
#define TOTP_STEP_S      30
#define TOTP_WINDOW      1 /* steps that a clock may be off */

/* The base32 of `size` bytes, a multiple of five; ret holds size / 5 * 8 + 1. */
void totp_base32(const uint8_t *bytes, unsigned size, char *ret);
uint32_t totp_code(const uint8_t secret[TOTP_SECRET_SIZE], uint64_t counter);
/* The counter of a code that is good now and newer than `used`; 0: it is wrong, or void. */
int64_t totp_find(const uint8_t secret[TOTP_SECRET_SIZE], const char *code, int64_t now_s,
		  int64_t used);
