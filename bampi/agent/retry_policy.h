/* When to ask a server again that did not answer as hoped. */
#pragma once

#include <stdint.h>

enum retry_reason {
	RETRY_AWAY,    /* no connection, 5xx: it will come back */
	RETRY_REFUSED, /* 401, 403: our token is not valid (any more) */
};

/* Milliseconds until attempt number `attempt` (0 = the first retry). Away: 0.5, 1, 2, 4, 8, then 15
 * s; refused: 60 s. `random` (any 32 bits) takes up to a quarter off, so that a rack does not
 * return as one. */
int64_t retry_delay_ms(enum retry_reason reason, unsigned attempt, uint32_t random);
