/* A set of VLAN IDs, 0..4095, as a bitmap (IEEE 802.1Q: twelve bits; 0 and 4095 are reserved, so a
 * set of real VLANs never holds them). A value: copy and compare it freely; zero bytes are empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"

enum { VLAN_LIMIT = 4096, VLAN_FIRST = 1, VLAN_LAST = 4094, VLAN_WORDS = VLAN_LIMIT / 64 };

struct vlan_set {
	uint64_t words[VLAN_WORDS];
};

/* Out of 1..4094: add and remove do nothing, has is false. */
void vlan_set_add(struct vlan_set *set, unsigned vlan);
void vlan_set_add_range(struct vlan_set *set, unsigned low, unsigned high);
void vlan_set_remove(struct vlan_set *set, unsigned vlan);
bool vlan_set_has(const struct vlan_set *set, unsigned vlan);

bool vlan_set_is_empty(const struct vlan_set *set);
bool vlan_set_equal(const struct vlan_set *a, const struct vlan_set *b);
/* Is every VLAN of `a` in `b`? */
bool vlan_set_within(const struct vlan_set *a, const struct vlan_set *b);
size_t vlan_set_count(const struct vlan_set *set);
struct vlan_set vlan_set_union(const struct vlan_set *a, const struct vlan_set *b);
struct vlan_set vlan_set_intersection(const struct vlan_set *a, const struct vlan_set *b);
/* What is in `a` and not in `b`. */
struct vlan_set vlan_set_minus(const struct vlan_set *a, const struct vlan_set *b);

/* The smallest member that is not below `from`; 0 when there is none. So a loop is
 * `for (unsigned v = vlan_set_next(&s, 1); v; v = vlan_set_next(&s, v + 1))`. */
unsigned vlan_set_next(const struct vlan_set *set, unsigned from);

/* "100-103,200" (ranges with `dash`, between them `comma`), as switches and people write it; "" for
 * the empty set. */
void vlan_set_text(const struct vlan_set *set, struct text *ret);
/* The reverse; spaces are passed over, "" and "none" are empty. E_MALFORMED for anything else, a
 * backward range, or a number out of 1..4094. */
MUST_USE int vlan_set_parse(const char *text, struct vlan_set *ret);
