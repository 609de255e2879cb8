#include "peregrine/flowd/flow/discard_book.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/hash.h"

enum {
	DISCARD_BOOK_SLOTS = 2 * DISCARD_ROWS, /* a power of two; half of them stay empty */
	AGENTS = 65536,
};

struct discard_book {
	struct discard_row rows[DISCARD_BOOK_SLOTS]; /* packets 0 = empty */
	size_t count;
	uint64_t totals[AGENTS];
};

int discard_book_new(struct discard_book **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void discard_book_free(struct discard_book *book)
{
	free(book);
}

static size_t discard_book_slot_of(uint16_t agent, uint32_t port, uint32_t reason)
{
	uint64_t key = ((uint64_t)port << 32 | reason) ^ (uint64_t)agent << 20;

	return (size_t)(hash_spread(key) % DISCARD_BOOK_SLOTS);
}

void discard_book_add(struct discard_book *book, uint16_t agent, uint32_t port, uint32_t reason)
{
	size_t slot = discard_book_slot_of(agent, port, reason);

	book->totals[agent]++;
	for (;; slot = (slot + 1) % DISCARD_BOOK_SLOTS) {
		struct discard_row *row = &book->rows[slot];

		if (row->packets && row->agent == agent && row->port == port &&
		    row->reason == reason) {
			row->packets++;
			return;
		}
		if (row->packets)
			continue;
		if (book->count == DISCARD_ROWS)
			return;
		book->count++;
		*row = (struct discard_row){
			.packets = 1, .port = port, .reason = reason, .agent = agent};
		return;
	}
}

uint64_t discard_book_total(const struct discard_book *book, uint16_t agent)
{
	return book->totals[agent];
}

const struct discard_row *discard_book_next(const struct discard_book *book, uint16_t agent,
					    size_t *at)
{
	while (*at < DISCARD_BOOK_SLOTS) {
		const struct discard_row *row = &book->rows[(*at)++];

		if (row->packets && row->agent == agent)
			return row;
	}
	return NULL;
}
