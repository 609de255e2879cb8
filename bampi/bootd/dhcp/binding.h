/* What happens to offers and leases in memory when a decision is carried out; the rows follow by
 * lease_store. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/mac.h"

#include "bampi/bootd/dhcp/address_policy.h"
#include "bampi/bootd/dhcp/lease_store.h"
#include "bampi/bootd/dhcp/lease_table.h"

/* All borrowed. */
struct bindings {
	struct lease_table *leases, *offers;
	struct lease_store *store;
};

/* A client in its subnet. */
struct binding_key {
	struct mac mac;
	int64_t subnet_id;
};

/* Keeps the address for this client until it asks for it (monotonic time). Without memory the offer
 * still stands: the same client is led to the same address again, and the commit decides. */
void binding_offer(const struct bindings *bindings, struct binding_key key, uint32_t address,
		   int64_t until_ms);
/* The client took it, or took another server's. */
void binding_offer_over(const struct bindings *bindings, struct binding_key key);
void binding_sweep_offers(const struct bindings *bindings, int64_t now_ms);

/* The lease of a new or moved binding, not yet queued. Leases in its way are replaced in memory.
 * The address that the client leaves is nobody else's until left_until_s. The rows follow with the
 * statement that writes it. NULL when a write of one of them is under way: the client asks again.
 */
struct lease *binding_make(const struct bindings *bindings, struct binding_key key,
			   const struct address_choice *choice, int64_t left_until_s);
/* Moves the timer and queues the write. client: what it said it was. */
void binding_renew(const struct bindings *bindings, struct lease *lease, const char *client,
		   int64_t expires_s);
/* The address becomes nobody's until then. False while a write of it is under way: the client
 * declines again. */
bool binding_quarantine(const struct bindings *bindings, struct lease *bound, int64_t until_s);
