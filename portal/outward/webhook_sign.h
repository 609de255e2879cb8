/* The signature of a delivery, as its receiver makes it again: HMAC-SHA256 of "TIME.BODY". No I/O. */
#pragma once

#include <stdint.h>

enum { WEBHOOK_SIGN_SIZE = 128 };

/* "Haas-Signature: t=1700000000,v1=HEX". The time is in the sum, so that an old delivery cannot be
 * sent again by who recorded it. */
void webhook_sign(const char *secret, int64_t time_s, const char *body,
		  char ret[WEBHOOK_SIGN_SIZE]);
