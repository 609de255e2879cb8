/* Slows whoever guesses passwords. Wrong ones are counted by address, and by account; each more than a few costs a wait that doubles, to a
 * minute. An account has a count of its own for each address that it logged in from before: who guesses elsewhere does not
 * keep its owner out. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

struct login_gate;

#define LOGIN_GATE_FREE   5     /* wrong passwords without a wait */
#define LOGIN_GATE_WAIT_S 60    /* the longest wait */
#define LOGIN_GATE_KEEP_S 3600  /* without a wrong one all is forgotten */
#define LOGIN_GATE_ROWS   65536 /* the oldest go */

struct login_try {
	const char *account; /* as it was sent */
	const char *address;
	bool known; /* the account logged in from this address before */
};

MUST_USE int login_gate_new(struct login_gate **ret);
void login_gate_free(struct login_gate *gate);
/* Seconds until this may be tried; 0 = now. */
int64_t login_gate_wait_s(const struct login_gate *gate, const struct login_try *wanted,
			  int64_t now_ms);
/* It is tried now, and counts as wrong until it was right: many at once are slowed like one after the
 * other. */
void login_gate_try(struct login_gate *gate, const struct login_try *wanted, int64_t now_ms);
/* It was right: wrong ones of the account before it are forgotten, those of the address are not. */
void login_gate_right(struct login_gate *gate, const struct login_try *wanted);
/* It was not tried after all. */
void login_gate_untried(struct login_gate *gate, const struct login_try *wanted);
