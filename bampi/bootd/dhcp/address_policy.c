#include "bampi/bootd/dhcp/address_policy.h"

#include "common/base/enum_text.h"

static const char *const refusal_words[] = {
	[ADDRESS_OK] = "ok",
	[ADDRESS_NO_POOL] = "no reservation and no pool",
	[ADDRESS_EXHAUSTED] = "pool exhausted",
	[ADDRESS_HELD] = "its reserved address is leased to another client",
	[ADDRESS_QUARANTINED] = "its reserved address is in quarantine",
};

const char *address_refusal_text(enum address_refusal refusal)
{
	return enum_text(refusal_words, COUNT_OF(refusal_words), (int)refusal);
}

/* An unknown client has no identity to keep an address for. */
static bool reclaimable(const struct address_facts *facts, const struct lease *lease)
{
	struct mac owner;

	return facts->may_reclaim && lease->committed && !lease->flying && !lease->waiter &&
	       lease->expires_at <= facts->now_s &&
	       !inventory_by_mac(facts->inventory, lease->mac) &&
	       !(inventory_reserved_for(facts->inventory, lease->address, &owner) &&
		 mac_equal(owner, lease->mac));
}

enum place { PLACE_FREE, PLACE_SPENT, PLACE_RECLAIMABLE, PLACE_TAKEN, PLACE_QUARANTINED };

/* What stands at an address, seen by a client that has no claim to it. *ret_victim: the record that
 * a new binding replaces. */
static enum place look(const struct address_facts *facts, uint32_t address,
		       struct lease **ret_victim)
{
	const struct lease *offer = lease_by_address(facts->offers, address);
	struct lease *lease = lease_by_address(facts->leases, address);

	*ret_victim = NULL;
	if (offer && offer->expires_at > facts->now_ms && !mac_equal(offer->mac, facts->mac))
		return PLACE_TAKEN;
	if (!lease)
		return PLACE_FREE;
	if (lease->state == LEASE_DECLINED) {
		if (lease->expires_at > facts->now_s || lease->flying)
			return PLACE_QUARANTINED;
		*ret_victim = lease;
		return PLACE_SPENT;
	}
	if (!reclaimable(facts, lease))
		return PLACE_TAKEN;
	*ret_victim = lease;
	return PLACE_RECLAIMABLE;
}

static bool in_pool(const struct inventory_subnet *subnet, uint32_t address)
{
	return subnet->pool_low && address >= subnet->pool_low && address <= subnet->pool_high;
}

/* Addresses that no client may have although the pool spans them. */
static bool usable(const struct address_facts *facts, uint32_t address)
{
	const struct inventory_subnet *subnet = facts->subnet;
	uint32_t mask = ipv4_mask(subnet->prefix.length);
	struct mac owner;

	if (address == subnet->gateway || address == subnet->boot_server)
		return false;
	if (subnet->prefix.length < 31 &&
	    (address == subnet->prefix.address || address == (subnet->prefix.address | ~mask)))
		return false;
	if (facts->cable && address != facts->port_address && cable_gives(facts->cable, address))
		return false; /* that of a port where this client is not */
	return !inventory_reserved_for(facts->inventory, address, &owner) ||
	       mac_equal(owner, facts->mac);
}

/* Double hashing: a start and a stride from the MAC. The stride shares no divisor with the size, so
 * every address is visited once, and a pool that is nearly full does not make clusters. */
static uint32_t divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static struct address_choice from_pool(const struct address_facts *facts)
{
	const struct inventory_subnet *subnet = facts->subnet;
	uint64_t key = mac_key(facts->mac) * 0x9e3779b97f4a7c15ULL;
	struct address_choice reclaim = {.source = ADDRESS_NONE, .refusal = ADDRESS_EXHAUSTED};
	uint32_t size;
	uint32_t at;
	uint32_t stride;

	if (!subnet->pool_low)
		return (struct address_choice){.refusal = ADDRESS_NO_POOL};
	if (facts->exhausted)
		return reclaim;
	size = subnet->pool_high - subnet->pool_low + 1;
	at = (uint32_t)((key >> 32) % size);
	stride = size > 1 ? 1 + (uint32_t)(key % (size - 1)) : 1;
	while (divisor(size, stride) != 1)
		stride++;

	for (uint32_t i = 0; i < size; i++) {
		uint32_t address = subnet->pool_low + at;
		struct lease *victim;
		enum place place =
			usable(facts, address) ? look(facts, address, &victim) : PLACE_TAKEN;

		if (place == PLACE_FREE || place == PLACE_SPENT)
			return (struct address_choice){.source = ADDRESS_POOL,
						       .address = address,
						       .victim = place == PLACE_SPENT ? victim
										      : NULL};
		if (place == PLACE_RECLAIMABLE &&
		    (!reclaim.victim || victim->expires_at < reclaim.victim->expires_at))
			reclaim = (struct address_choice){
				.source = ADDRESS_RECLAIMED, .address = address, .victim = victim};
		at = (uint32_t)(((uint64_t)at + stride) % size);
	}
	return reclaim;
}

static struct address_choice reserved(const struct address_facts *facts, uint32_t address)
{
	struct address_choice choice = {.source = ADDRESS_RESERVED, .address = address};
	struct lease *lease = lease_by_address(facts->leases, address);

	if (!lease || (lease->state == LEASE_BOUND && mac_equal(lease->mac, facts->mac)))
		return choice;
	if (lease->state == LEASE_DECLINED && (lease->expires_at > facts->now_s || lease->flying))
		return (struct address_choice){.refusal = ADDRESS_QUARANTINED};
	if (lease->state == LEASE_BOUND && (lease->expires_at > facts->now_s || lease->flying ||
					    !lease->committed || !facts->may_reclaim))
		return (struct address_choice){.refusal = ADDRESS_HELD, .holder = lease->mac};
	choice.victim = lease;
	return choice;
}

/* What a client without a reservation gets. */
static struct address_choice dynamic(const struct address_facts *facts)
{
	const struct lease *offer = lease_by_mac(facts->offers, facts->mac, facts->subnet->id);
	struct lease *victim;
	enum place place;

	if (offer && usable(facts, offer->address)) {
		place = look(facts, offer->address, &victim);
		if (place != PLACE_TAKEN && place != PLACE_QUARANTINED)
			return (struct address_choice){.source = ADDRESS_OFFERED,
						       .address = offer->address,
						       .victim = victim};
	}
	if (in_pool(facts->subnet, facts->requested) && usable(facts, facts->requested)) {
		place = look(facts, facts->requested, &victim);
		if (place == PLACE_FREE || place == PLACE_SPENT)
			return (struct address_choice){.source = ADDRESS_REQUESTED,
						       .address = facts->requested,
						       .victim = victim};
	}
	return from_pool(facts);
}

/* May it stay where it is? Bindings are permanent, also outside a pool that was changed since;
 * unless the address is now reserved for somebody else, or a port's and the client at another. */
static bool stays(const struct address_facts *facts, uint32_t address)
{
	struct mac owner;

	if (facts->cable && facts->located && address != facts->port_address &&
	    cable_gives(facts->cable, address))
		return false;
	return !inventory_reserved_for(facts->inventory, address, &owner) ||
	       mac_equal(owner, facts->mac);
}

static struct address_choice by_port(const struct address_facts *facts, const struct lease *bound)
{
	struct address_choice choice = reserved(facts, facts->port_address);

	/* Two clients for one port: neither is guessed to be the right one, but whoever has an
	 * address that no port gives keeps it. */
	choice.port_taken =
		choice.refusal == ADDRESS_HELD && !(bound && stays(facts, bound->address));
	return choice;
}

static struct address_choice choose(const struct address_facts *facts, const struct lease *bound)
{
	uint32_t reservation =
		inventory_reservation(facts->inventory, facts->subnet->id, facts->mac);
	bool port = !reservation && facts->port_address &&
		    ipv4_in_prefix(facts->port_address, facts->subnet->prefix) &&
		    usable(facts, facts->port_address);
	struct address_choice choice = {.source = ADDRESS_NONE};

	if (reservation || port) {
		choice = reservation ? reserved(facts, reservation) : by_port(facts, bound);
		if (choice.source != ADDRESS_NONE || !bound || choice.port_taken)
			return choice;
		/* Better where it is than nowhere, until its reserved address is free. */
	}
	if (bound && stays(facts, bound->address))
		return (struct address_choice){.source = ADDRESS_BOUND, .address = bound->address};
	return reservation || port ? choice : dynamic(facts);
}

struct address_choice address_policy(const struct address_facts *facts)
{
	struct lease *bound = lease_by_mac(facts->leases, facts->mac, facts->subnet->id);
	struct address_choice choice = choose(facts, bound);

	choice.bound = bound;
	return choice;
}
