/* The port of a switch by which frames to a MAC leave, learned from samples: a frame from that MAC
 * came in there, or a frame to it went out there.
 *
 * It is used when a sample reports two output ports without naming them. Open vSwitch does this for
 * a mirrored port: without this book, traffic under capture would be on no link.
 *
 *   - The latest sample wins, by the time when it was taken: several receivers deliver samples.
 *   - For an aggregate it is the member that was seen last.
 *   - A row without a sample for EGRESS_AGE_S expires, as in a switch (802.1Q 8.8.3: 300 s): the
 *     node may have moved. A flow with a stored route (flow_routes) renews it every two or three
 *     minutes.
 *   - The number of rows is fixed, 1.3 MB in all. A new row may displace another.
 *   - VLANs do not learn from each other: behind an edge port a sender can forge any MAC. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

/* How long a row is valid, and how much a sample may be later than the last one. */
enum { EGRESS_AGE_S = 300, EGRESS_LATE_S = 5 };

struct egress_book;

MUST_USE int egress_book_new(struct egress_book **ret);
void egress_book_free(struct egress_book *book);
/* `at_s` is in seconds since 1970. Group MACs are not kept. */
void egress_book_note(struct egress_book *book, uint16_t agent, uint16_t vlan, const uint8_t mac[6],
		      uint32_t if_index, int64_t at_s);
/* The ifIndex; 0 = not known, or expired. */
uint32_t egress_book_find(const struct egress_book *book, uint16_t agent, uint16_t vlan,
			  const uint8_t mac[6], int64_t at_s);
