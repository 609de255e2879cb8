/* Blocks of sealed events (docs/decision/audit-blocks.md): what bampid signs, and how a file of `haasctl
 * audit export` is checked without us. A block is signed as a certificate is, in a chain of its own.
 * Everything here is pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/model/certificate.h"

#define EVENT_BLOCK_FORMAT "haas-event-block-1"

struct event_block_facts {
	const char *previous_hash;
	int64_t block, events;
	const char *digest;    /* SHA-256 of the lines of its events, in hex */
	const char *sealed_at; /* RFC 3339, UTC */
};

/* Members in a fixed order, no white space. */
void event_block_body(const struct event_block_facts *facts, struct text *ret);
/* From block `first` on; `previous_hash` is what that one names. */
struct certificate_chain event_block_chain(size_t first, const char *previous_hash);

/* --- its events --- */

#define EVENT_LINE_SIZE 88 /* "ID:" and SHA-256 in hex, with NUL */

/* The line of an event in its block, of its id and its text. */
void event_block_line(int64_t id, const char *text, size_t size, char ret[EVENT_LINE_SIZE]);

/* SHA-256 over lines, each ended by a line feed. */
void event_block_digest(const char *const lines[], size_t count, char ret[DIGEST_TEXT_SIZE]);
