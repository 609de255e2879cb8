#include "bampi/bootd/dhcp/binding.h"

void binding_offer(const struct bindings *bindings, struct binding_key key, uint32_t address,
		   int64_t until_ms)
{
	struct lease *at = lease_by_address(bindings->offers, address);
	struct lease *own = lease_by_mac(bindings->offers, key.mac, key.subnet_id);

	if (at && at != own)
		lease_table_remove(bindings->offers,
				   at); /* over, else it would not have been chosen */
	if (own && own->address != address) {
		lease_table_remove(bindings->offers, own);
		own = NULL;
	}
	if (!own && lease_table_add(bindings->offers, address, key.mac, key.subnet_id, &own))
		return;
	own->expires_at = until_ms;
}

void binding_offer_over(const struct bindings *bindings, struct binding_key key)
{
	struct lease *offer = lease_by_mac(bindings->offers, key.mac, key.subnet_id);

	if (offer)
		lease_table_remove(bindings->offers, offer);
}

void binding_sweep_offers(const struct bindings *bindings, int64_t now_ms)
{
	struct lease *offer;
	size_t cursor = 0;

	while ((offer = lease_table_next(bindings->offers, &cursor))) {
		if (offer->expires_at <= now_ms)
			lease_table_remove(bindings->offers, offer);
	}
}

/* The client goes to another address; another server may have confirmed this one just before. */
static void binding_leave(const struct bindings *bindings, struct lease *lease, int64_t until_s)
{
	struct lease was = *lease;

	lease_store_forget(bindings->store, lease);
	if (!was.committed || lease_table_add_unbound(bindings->leases, was.address, was.mac,
						      was.subnet_id, LEASE_RELEASED, &lease))
		return;
	lease->committed = true;
	lease->client = was.client;
	lease->expires_at = until_s;
}

struct lease *binding_make(const struct bindings *bindings, struct binding_key key,
			   const struct address_choice *choice, int64_t left_until_s)
{
	uint32_t old_address = 0;
	struct mac victim = {0};
	struct lease *lease;

	if (choice->bound && choice->bound->address == choice->address)
		return choice->bound; /* its commit is under way, or its row is asked again */
	if ((choice->bound && choice->bound->flying) || (choice->victim && choice->victim->flying))
		return NULL;
	if (choice->bound) {
		old_address = choice->bound->address;
		binding_leave(bindings, choice->bound, left_until_s);
	}
	if (choice->victim) {
		victim = choice->victim->mac;
		lease_store_forget(bindings->store, choice->victim);
	}
	if (lease_table_add(bindings->leases, choice->address, key.mac, key.subnet_id, &lease))
		return NULL;
	lease->old_address = old_address;
	lease->victim = victim;
	lease->inherits = choice->inherits;
	return lease;
}

void binding_renew(const struct bindings *bindings, struct lease *lease, const char *client,
		   int64_t expires_s)
{
	lease->expires_at = expires_s;
	lease->client = lease_table_intern(bindings->leases, client);
	lease_store_put(bindings->store, lease);
}

bool binding_quarantine(const struct bindings *bindings, struct lease *bound, int64_t until_s)
{
	struct lease was = *bound;
	struct lease *lease;

	if (bound->flying)
		return false;
	lease_store_forget(bindings->store, bound);
	if (lease_table_add_unbound(bindings->leases, was.address, was.mac, was.subnet_id,
				    LEASE_DECLINED, &lease))
		return false;
	lease->committed = was.committed;
	lease->old_address = was.old_address;
	lease->victim = was.victim;
	lease->inherits = was.inherits;
	lease->client = was.client;
	lease->expires_at = until_s;
	lease_store_put(bindings->store, lease);
	return true;
}
