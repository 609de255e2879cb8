#include "peregrine/flowd/flow/vlan_book.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/hash.h"

enum { VLAN_BOOK_SLOTS = 2 * VLAN_ROWS }; /* a power of two; half of them stay empty */

struct vlan_book {
	struct vlan_row rows[VLAN_BOOK_SLOTS];
	size_t count;
};

int vlan_book_new(struct vlan_book **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void vlan_book_free(struct vlan_book *book)
{
	free(book);
}

/* NULL: it has none, and there is no other. */
static struct vlan_row *vlan_book_row_of(struct vlan_book *book, uint16_t agent, uint16_t vlan)
{
	size_t slot = (size_t)(hash_spread((uint64_t)agent << 16 | vlan) % VLAN_BOOK_SLOTS);

	for (;; slot = (slot + 1) % VLAN_BOOK_SLOTS) {
		struct vlan_row *row = &book->rows[slot];

		if (row->at_us && row->agent == agent && row->vlan == vlan)
			return row;
		if (row->at_us)
			continue;
		if (book->count == VLAN_ROWS)
			return NULL;
		book->count++;
		*row = (struct vlan_row){.agent = agent, .vlan = vlan};
		return row;
	}
}

void vlan_book_note(struct vlan_book *book, uint16_t agent, int64_t at_us,
		    const struct sflow_vlan_counters *reading)
{
	struct vlan_row *row = vlan_book_row_of(book, agent, (uint16_t)reading->vlan);
	double seconds;
	uint64_t bytes;

	if (!row)
		return;
	seconds = (double)(at_us - row->at_us) / 1e6;
	bytes = reading->octets - row->last.octets;
	if (row->at_us && seconds > 0 && reading->octets >= row->last.octets) {
		const struct sflow_vlan_counters *last = &row->last;

		row->bytes += bytes;
		row->packets += (uint64_t)(reading->unicast - last->unicast) +
				(reading->multicast - last->multicast) +
				(reading->broadcast - last->broadcast);
		row->discards += reading->discards - last->discards;
		row->seconds += seconds;
		row->bits_per_second = (double)bytes * 8 / seconds;
	}
	row->at_us = at_us;
	row->last = *reading;
}

const struct vlan_row *vlan_book_next(const struct vlan_book *book, uint16_t agent, size_t *at)
{
	while (*at < VLAN_BOOK_SLOTS) {
		const struct vlan_row *row = &book->rows[(*at)++];

		if (row->at_us && row->agent == agent)
			return row;
	}
	return NULL;
}
