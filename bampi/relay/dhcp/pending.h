/* Which client on which interface asked, so that a reply finds its way back and one that nobody
 * asked for is told apart. A fixed table: an exchange that shares a place with a later one loses
 * it, and its client asks again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/mac.h"

#define PENDING_PLACES 16384
#define PENDING_AGE_MS 60000 /* EDK2 takes offers for up to 32 s */

struct pending_entry {
	uint64_t client; /* mac_key; 0 = empty place */
	uint32_t xid;
	uint16_t interface;
	bool added; /* with our option 82 */
	uint32_t giaddr;
	int64_t at_ms;
};

/* Zero bytes are an empty table. */
struct pending {
	struct pending_entry places[PENDING_PLACES];
};

void pending_put(struct pending *pending, const struct pending_entry *entry);
/* Borrowed until the next put; NULL when nobody asked within PENDING_AGE_MS. */
const struct pending_entry *pending_find(const struct pending *pending, struct mac mac,
					 uint32_t xid, int64_t now_ms);
