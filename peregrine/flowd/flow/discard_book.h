/* Discarded packets per port of each switch, with the switch's reason (sFlow drop notifications),
 * since the daemon started. The number of rows is fixed: when all are in use, a new port or reason
 * is counted only in the total of its agent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

enum { DISCARD_ROWS = 2048 };

struct discard_row {
	uint64_t packets;
	uint32_t port; /* ifIndex where they came in; 0 = not reported */
	uint32_t reason;
	uint16_t agent;
};

struct discard_book;

MUST_USE int discard_book_new(struct discard_book **ret);
void discard_book_free(struct discard_book *book);
void discard_book_add(struct discard_book *book, uint16_t agent, uint32_t port, uint32_t reason);
/* Of one agent, with or without a row. */
uint64_t discard_book_total(const struct discard_book *book, uint16_t agent);
/* The agent's next row, in no order; NULL = there is no other. `at` begins as 0. */
const struct discard_row *discard_book_next(const struct discard_book *book, uint16_t agent,
					    size_t *at);
