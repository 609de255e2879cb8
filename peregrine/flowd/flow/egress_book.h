/* By which port of a switch frames to a MAC leave, as its samples show it: they came in there from
 * that MAC, or went out there to it. Asked where a sample tells that its frame left by two ports,
 * and not which: Open vSwitch does where a port is mirrored, and what is looked at with a capture
 * would be on no link meanwhile. Of members of an aggregate the last one that was seen.
 * A fixed number of rows: a new one may take another's. Of one VLAN nothing is learned from
 * another: behind an edge port a MAC is what whoever sits there writes. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

struct egress_book;

MUST_USE int egress_book_new(struct egress_book **ret);
void egress_book_free(struct egress_book *book);
/* MACs of groups are not kept. */
void egress_book_note(struct egress_book *book, uint16_t agent, uint16_t vlan, const uint8_t mac[6],
		      uint32_t if_index);
/* The ifIndex; 0 = not known. */
uint32_t egress_book_find(const struct egress_book *book, uint16_t agent, uint16_t vlan,
			  const uint8_t mac[6]);
