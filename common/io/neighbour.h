/* Who has an address on the link, as our kernel found out when it spoke to it. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

struct neighbours;

MUST_USE int neighbours_new(struct neighbours **ret);
void neighbours_free(struct neighbours *neighbours);
/* Asks the kernel, which answers at once. E_NOT_FOUND: the address is ours, is behind a router, or
 * the kernel has not spoken to it lately. */
MUST_USE int neighbour_mac_of(struct neighbours *neighbours, uint32_t address, struct mac *ret);
