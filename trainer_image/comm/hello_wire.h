/* What two ranks say first over TCP, so that a job's ranks find each other and nobody else does.
 *
 *     both    hello   "HAASRANK", version, rank, ranks, nonce
 *     both    proof   HMAC of (the sender's rank, both nonces) with the key of the job
 *     caller  go      one byte: it has seen the proof and stays
 *
 * Without the last one, a caller that had just given up would count as joined, and be turned away when it
 * calls again.
 *
 * A proof is made of both nonces, so one that was recorded is worth nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

enum {
	HELLO_SIZE = 30,
	HELLO_NONCE_SIZE = 16,
	HELLO_KEY_SIZE = 32,
	HELLO_PROOF_SIZE = 32,
	HELLO_GO = 'g',
	HELLO_VERSION = 1
};

struct hello {
	uint16_t rank, ranks;
	uint8_t nonce[HELLO_NONCE_SIZE];
};

void hello_encode(const struct hello *hello, uint8_t ret[HELLO_SIZE]);
/* E_MALFORMED: no hello; E_UNSUPPORTED: of another version; E_INVALID: a rank that there is not. */
MUST_USE int hello_decode(const uint8_t *data, size_t size, struct hello *ret);
/* Of the rank that said `mine`, to the one that said `theirs`. */
void hello_prove(const struct hello *mine, const struct hello *theirs,
		 const uint8_t key[HELLO_KEY_SIZE], uint8_t ret[HELLO_PROOF_SIZE]);
/* E_AUTHENTICATION: the other rank has another key. Takes the same time whatever differs. */
MUST_USE int hello_check(const struct hello *mine, const struct hello *theirs,
			 const uint8_t key[HELLO_KEY_SIZE], const uint8_t proof[HELLO_PROOF_SIZE]);
