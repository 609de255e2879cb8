/* When to stop asking a device (a BMC, a switch) that does not answer, and when to try again. Pure:
 * time is an argument.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { BREAKER_FAILURES = 3 };   /* so many calls without an answer open it */
enum { BREAKER_OPEN_MS = 5000 }; /* the first time; doubles with each failed probe */
enum { BREAKER_OPEN_MAX_MS = 5 * 60 * 1000 };
/* After a refused password: BMCs lock an account after a few wrong tries within minutes, so one try
 * per so long. */
enum { BREAKER_REFUSED_MS = 15 * 60 * 1000 };
enum { BREAKER_REFUSED_MAX_MS = 4 * 60 * 60 * 1000 };

/* A person who asks may have corrected the password at the BMC: besides, one try per so long for
 * people. */
enum { BREAKER_PERSON_MS = 5 * 60 * 1000 };

/* Zero bytes are a closed breaker. */
struct breaker {
	bool open;
	unsigned failures; /* in a row */
	int64_t since_ms;  /* of the first failure in the row */
	int64_t retry_ms;  /* open: from then on one probe is let through */
	int64_t open_ms;   /* how long it was opened last */
	bool refused;      /* opened by a refused password */
	int64_t person_ms; /* refused: from then on a person's probe is let through, too */
};

enum breaker_answer { BREAKER_PASS, BREAKER_PROBE, BREAKER_REFUSE };

enum breaker_answer breaker_ask(const struct breaker *breaker, bool person, int64_t now_ms);
/* What the breaker is after a call that ended with `rc`. Only silence and a refused password count
 * against a BMC: one that answers "busy" or "unsupported" is alive. `spread_percent` (0..99) adds
 * up to a fifth to the open time, so that a rack that lost its switch does not come back in one
 * beat. */
struct breaker breaker_after(const struct breaker *breaker, int rc, unsigned spread_percent,
			     int64_t now_ms);
/* The spread of a device, 0..99: neighbouring ids lie far apart. */
unsigned breaker_spread(int64_t id);
