#include "bampi/relay/dhcp/pending.h"

#include <stddef.h>

#include "common/base/hash.h"

/* A client's exchanges differ in xid. */
static size_t pending_place_of(uint64_t client, uint32_t xid)
{
	return (size_t)hash_spread(client ^ ((uint64_t)xid << 32 | xid)) % PENDING_PLACES;
}

void pending_put(struct pending *pending, const struct pending_entry *entry)
{
	pending->places[pending_place_of(entry->client, entry->xid)] = *entry;
}

const struct pending_entry *pending_find(const struct pending *pending, struct mac mac,
					 uint32_t xid, int64_t now_ms)
{
	uint64_t client = mac_key(mac);
	const struct pending_entry *entry = &pending->places[pending_place_of(client, xid)];

	return entry->client == client && entry->xid == xid &&
			       now_ms - entry->at_ms <= PENDING_AGE_MS
		       ? entry
		       : NULL;
}
