/* Which addresses portal-outward may call: not this machine, whatever address it has, its links, BMCs, switches and nodes being
 * installed, unless the configuration says so. A name that leads there would make us ask them in the
 * name of somebody outside. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* IPv6; IPv4 as ::ffff:a.b.c.d. */
struct address_prefix {
	uint8_t bytes[16];
	unsigned bits;
};

struct address_list {
	struct address_prefix *prefixes;
	size_t count;
};

/* "10.2.0.0/24", "10.2.0.7", "fd00::/8". E_MALFORMED: anything else, bits behind the prefix included. */
MUST_USE int address_prefix_parse(const char *text, struct address_prefix *ret);
/* Adds the prefixes of a text, separated by blanks. E_MALFORMED, -ENOMEM. */
MUST_USE int address_list_add(struct address_list *list, const char *text);
/* Adds one address. -ENOMEM. */
MUST_USE int address_list_add_one(struct address_list *list, const uint8_t address[16]);
void address_list_done(struct address_list *list);
/* NULL: it may be called. Else what it is: "this machine", "a node, BMC or switch". `closed` are
 * those of the site, `own` those of this machine's interfaces. */
const char *address_policy_why(const uint8_t address[16], const struct address_list *allowed,
			       const struct address_list *closed, const struct address_list *own);
