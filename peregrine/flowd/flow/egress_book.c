#include "peregrine/flowd/flow/egress_book.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"

enum { ROW_BITS = 16, ROWS = 1 << ROW_BITS, EGRESS_BOOK_GROUP_BIT = 1 };

struct row {
	uint32_t if_index; /* 0 = empty */
	uint32_t at_s;     /* when it was seen so last: until 2106 */
	uint16_t agent, vlan;
	uint8_t mac[6];
};

struct egress_book {
	struct row rows[ROWS];
};

int egress_book_new(struct egress_book **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void egress_book_free(struct egress_book *book)
{
	free(book);
}

static size_t egress_book_row_of(uint16_t agent, uint16_t vlan, const uint8_t mac[6])
{
	uint64_t hash = hash_number(HASH_START, (uint64_t)agent << 16 | vlan);

	return (size_t)(hash_spread(hash_bytes(hash, mac, 6)) >> (64 - ROW_BITS));
}

static bool egress_book_is_of(const struct row *row, uint16_t agent, uint16_t vlan,
			      const uint8_t mac[6])
{
	return row->agent == agent && row->vlan == vlan && !memcmp(row->mac, mac, sizeof(row->mac));
}

void egress_book_note(struct egress_book *book, uint16_t agent, uint16_t vlan, const uint8_t mac[6],
		      uint32_t if_index, int64_t at_s)
{
	struct row *row = &book->rows[egress_book_row_of(agent, vlan, mac)];
	int64_t newer_s = row->at_s - at_s;

	/* Much newer is of a clock that was set back since. */
	if (mac[0] & EGRESS_BOOK_GROUP_BIT ||
	    (newer_s > 0 && newer_s <= EGRESS_LATE_S && egress_book_is_of(row, agent, vlan, mac)))
		return;
	*row = (struct row){
		.if_index = if_index, .at_s = (uint32_t)at_s, .agent = agent, .vlan = vlan};
	memcpy(row->mac, mac, sizeof(row->mac));
}

uint32_t egress_book_find(const struct egress_book *book, uint16_t agent, uint16_t vlan,
			  const uint8_t mac[6], int64_t at_s)
{
	const struct row *row = &book->rows[egress_book_row_of(agent, vlan, mac)];
	int64_t age_s = at_s - row->at_s;

	if (age_s > EGRESS_AGE_S || age_s < -EGRESS_LATE_S ||
	    !egress_book_is_of(row, agent, vlan, mac))
		return 0;
	return row->if_index;
}
