/* How long to wait before a console session is opened again. Pure. */
#pragma once

#include <stdint.h>

#include "common/base/problem.h"

/* Fills the problem of libipmiconsole's error `theirs` of `node` and returns the wait in ms;
 * `failures` in a row, from 1. A refused password waits long (lock-out). So does a session that
 * somebody else took: else two watchers would take it from each other for ever. The rest doubles
 * from one second to one minute. */
int64_t console_retry_ms(int theirs, unsigned failures, const char *node, struct problem *ret);

/* A step listens to the console since the node was started. After so long without a word, since the
 * last word or since the session was opened anew, it is opened anew. Doubles with each time: a node
 * may have nothing to say. */
int64_t console_mute_ms(unsigned reopened);

/* Our workaround bits as libipmiconsole's, and two more for every BMC.
 *
 * - No Get Channel Payload Support: it would only name a refusal earlier, some BMCs lack it, and
 *   ipmi_sim 2.0.33 dies of it.
 * - 32 bytes per packet, whatever the BMC claims to take: many claim nonsense, and a person's key
 *   strokes need no more. */
unsigned console_workarounds(uint32_t bits);
