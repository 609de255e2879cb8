/* Heartbeats of ranks, a datagram each:
 *
 *     "HAASBEAT", rank, ranks, number, step, waited, state, length and text of the cause, HMAC
 *
 * The HMAC is made with the key of the job. `number` only grows, so an old datagram is seen to be old. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

enum { BEAT_CAUSE_SIZE = 200, BEAT_KEY_SIZE = 32, BEAT_SIZE_MAX = 300 };

enum beat_state {
	BEAT_RUNS,
	BEAT_ENDED,  /* all is well: its silence means nothing */
	BEAT_FAILED, /* `cause` says why: the job is over */
};

struct beat {
	uint16_t rank, ranks;
	uint64_t number;
	uint64_t step;      /* of training, as far as it came */
	uint64_t waited_us; /* in sums so far: who is the slowest waits the least */
	enum beat_state state;
	char cause[BEAT_CAUSE_SIZE]; /* one line of plain text */
};

/* Bytes of the datagram. */
size_t beat_encode(const struct beat *beat, const uint8_t key[BEAT_KEY_SIZE],
		   uint8_t ret[BEAT_SIZE_MAX]);
/* E_AUTHENTICATION: not of this job; E_MALFORMED. `cause` comes without control characters. */
MUST_USE int beat_decode(const uint8_t *data, size_t size, const uint8_t key[BEAT_KEY_SIZE],
			 struct beat *ret);
