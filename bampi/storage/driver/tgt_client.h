/* One request to tgtd and its answer, on its management socket. Its folder lets in our account
 * alone: tgtd's own check of the peer is void (docs/decision/storage-daemon.md). */
#pragma once

#include "bampi/storage/driver/tgt_wire.h"

/* Blocks for some seconds at most. 0: tgtd answered; *ret says what, *ret_text (may be NULL) gets
 * the text behind it (NUL-terminated, caller frees). With a problem: E_NOT_FOUND, it
 * does not run; E_UNAVAILABLE, it does not answer. */
MUST_USE int tgt_ask(const char *socket_path, const struct tgt_request *request,
		     struct tgt_answer *ret, char **ret_text, struct problem *problem);
