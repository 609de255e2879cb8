/* By which port of a switch frames to a MAC leave, as its samples show it: they came in there from
 * that MAC, or went out there to it. Asked where a sample tells that its frame left by two ports,
 * and not which: Open vSwitch does where a port is mirrored, and what is looked at with a capture
 * would be on no link meanwhile. Of members of an aggregate the last one that was seen.
 * The last sample wins, by the time that it was taken and not when it came: several receivers bring
 * them. A row that no sample repeated for EGRESS_AGE_S is not believed, as a switch forgets where a
 * MAC is (802.1Q 8.8.3: 300 s): its node may sit elsewhere by now. A flow whose way is remembered
 * (flow_routes) repeats it every two or three minutes.
 * A fixed number of rows, 1.3 MB in all: a new one may take another's. Of one VLAN nothing is
 * learned from another: behind an edge port a MAC is what whoever sits there writes. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

/* How long a row is believed, and how much later than the last one a sample may come. */
enum { EGRESS_AGE_S = 300, EGRESS_LATE_S = 5 };

struct egress_book;

MUST_USE int egress_book_new(struct egress_book **ret);
void egress_book_free(struct egress_book *book);
/* At a time in seconds since 1970. MACs of groups are not kept. */
void egress_book_note(struct egress_book *book, uint16_t agent, uint16_t vlan, const uint8_t mac[6],
		      uint32_t if_index, int64_t at_s);
/* The ifIndex; 0 = not known, or not any more. */
uint32_t egress_book_find(const struct egress_book *book, uint16_t agent, uint16_t vlan,
			  const uint8_t mac[6], int64_t at_s);
