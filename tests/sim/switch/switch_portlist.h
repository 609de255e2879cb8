/* PortList of Q-BRIDGE-MIB (RFC 4363): one bit per base port, the most significant bit of the first
 * octet is port 1. What travels may be longer or shorter than what we hold. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define SWITCH_PORTLIST_OCTETS 64
#define SWITCH_PORT_MAX        512 /* 8 per octet */

struct switch_portlist {
	uint8_t octets[SWITCH_PORTLIST_OCTETS];
};

/* Port numbers start at 1; one that no list holds is in none. */
bool switch_portlist_has(const struct switch_portlist *list, uint32_t port);
void switch_portlist_set(struct switch_portlist *list, uint32_t port, bool member);
bool switch_portlist_is_empty(const struct switch_portlist *list);
/* Every port of `a` is also one of `b`. */
bool switch_portlist_within(const struct switch_portlist *a, const struct switch_portlist *b);
/* Takes away from `list` what `other` does not have. */
void switch_portlist_keep(struct switch_portlist *list, const struct switch_portlist *other);
/* Octets without the zeros at the end. */
size_t switch_portlist_size(const struct switch_portlist *list);
/* From a device's octets; missing ones are zero. E_LIMIT when a bit stands past what we hold. */
MUST_USE int switch_portlist_read(const uint8_t *octets, size_t size, struct switch_portlist *ret);
