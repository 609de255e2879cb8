#include "bampi/bootd/dhcp/address_policy.h"

#include "common/base/enum_text.h"
#include "common/base/hash.h"

static const char *const refusal_words[] = {
	[ADDRESS_OK] = "ok",
	[ADDRESS_NO_POOL] = "no reservation and no pool",
	[ADDRESS_EXHAUSTED] = "pool exhausted",
	[ADDRESS_HELD] = "its reserved address is leased to another client",
	[ADDRESS_QUARANTINED] = "its reserved address is in quarantine",
	[ADDRESS_STRANGER] = "not a node, and nothing is reserved for it",
	[ADDRESS_RESTORED] =
		"the database was restored, and nobody has said haasctl db accept-restore",
};

const char *address_refusal_text(enum address_refusal refusal)
{
	return enum_text(refusal_words, COUNT_OF(refusal_words), (int)refusal);
}

/* Whoever confirmed a lease from memory did so while its row still stood, for one lease time at
 * most: after one more it is spent for every server. */
static bool is_spent(const struct inventory_subnet *subnet, const struct lease *lease,
		     int64_t now_s)
{
	int64_t after_s = lease->state == LEASE_BOUND ? subnet->lease_s : 0;

	return lease->committed && !lease->flying && !lease->waiter &&
	       lease->expires_at + after_s + CLOCK_SKEW_S <= now_s;
}

/* An unknown client has no identity to keep an address for. */
static bool address_policy_reclaimable(const struct address_facts *facts,
				       const struct inventory_subnet *subnet,
				       const struct lease *lease)
{
	return is_spent(subnet, lease, facts->now_s) &&
	       !inventory_by_mac(facts->inventory, lease->mac) &&
	       !inventory_reservation(facts->inventory, subnet->id, lease->mac);
}

enum address_policy_place {
	PLACE_FREE,
	PLACE_SPENT,
	PLACE_RECLAIMABLE,
	PLACE_TAKEN,
	PLACE_QUARANTINED
};

/* What stands at an address, seen by a client that has no claim to it. *ret_victim: the record that
 * a new binding replaces. */
static enum address_policy_place address_policy_look(const struct address_facts *facts,
						     const struct inventory_subnet *subnet,
						     uint32_t address, struct lease **ret_victim)
{
	const struct lease *offer = lease_by_address(facts->offers, address);
	struct lease *lease = lease_by_address(facts->leases, address);

	*ret_victim = NULL;
	if (offer && offer->expires_at > facts->now_ms && !mac_equal(offer->mac, facts->mac))
		return PLACE_TAKEN;
	if (!lease)
		return PLACE_FREE;
	*ret_victim = lease;
	if (lease->state == LEASE_BOUND)
		return address_policy_reclaimable(facts, subnet, lease) ? PLACE_RECLAIMABLE
									: PLACE_TAKEN;
	/* Whoever gave it up may have it back. */
	if (lease->state == LEASE_RELEASED && mac_equal(lease->mac, facts->mac) && !lease->flying)
		return PLACE_SPENT;
	return is_spent(subnet, lease, facts->now_s) ? PLACE_SPENT : PLACE_QUARANTINED;
}

/* The pool as this client sees it: its last part is for known clients. */
static uint32_t pool_size(const struct address_facts *facts, const struct inventory_subnet *subnet)
{
	uint32_t size = subnet->pool_high - subnet->pool_low + 1;

	return facts->known ? size : size - size / POOL_KNOWN_SHARE;
}

static bool in_pool(const struct address_facts *facts, const struct inventory_subnet *subnet,
		    uint32_t address)
{
	return subnet->pool_low && address >= subnet->pool_low &&
	       address - subnet->pool_low < pool_size(facts, subnet);
}

/* Addresses that no client may have although the pool spans them. */
static bool address_policy_usable(const struct address_facts *facts,
				  const struct inventory_subnet *subnet, uint32_t address)
{
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
static uint32_t address_policy_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static struct address_choice from_pool(const struct address_facts *facts,
				       const struct inventory_subnet *subnet)
{
	uint64_t key = mac_key(facts->mac);
	struct address_choice reclaim = {
		.source = ADDRESS_NONE, .refusal = ADDRESS_EXHAUSTED, .subnet = subnet};
	uint32_t size;
	uint32_t looks;
	uint32_t at;
	uint32_t stride;

	if (!subnet->pool_low)
		return (struct address_choice){.refusal = ADDRESS_NO_POOL, .subnet = subnet};
	/* Who has an address since the backup is not in the rows. */
	if (subnet->restored)
		return (struct address_choice){.refusal = ADDRESS_RESTORED, .subnet = subnet};
	if (facts->exhausted)
		return reclaim;
	size = pool_size(facts, subnet);
	looks = facts->known || size < POOL_LOOKS_MAX ? size : POOL_LOOKS_MAX;
	at = (uint32_t)hash_even(key, size);
	stride = size > 1 ? 1 + (uint32_t)(hash_spread(key) % (size - 1)) : 1;
	while (address_policy_divisor(size, stride) != 1)
		stride++;

	for (uint32_t i = 0; i < looks; i++) {
		uint32_t address = subnet->pool_low + at;
		struct lease *victim;
		enum address_policy_place place =
			address_policy_usable(facts, subnet, address)
				? address_policy_look(facts, subnet, address, &victim)
				: PLACE_TAKEN;

		if (place == PLACE_FREE || place == PLACE_SPENT)
			return (struct address_choice){.source = ADDRESS_POOL,
						       .address = address,
						       .subnet = subnet,
						       .victim = place == PLACE_SPENT ? victim
										      : NULL};
		if (place == PLACE_RECLAIMABLE &&
		    (!reclaim.victim || victim->expires_at < reclaim.victim->expires_at))
			reclaim = (struct address_choice){.source = ADDRESS_RECLAIMED,
							  .address = address,
							  .subnet = subnet,
							  .victim = victim};
		at = (uint32_t)(((uint64_t)at + stride) % size);
	}
	return reclaim;
}

/* The operator's word moves an address, but not away from a client that may still use it. */
static struct address_choice address_policy_reserved(const struct address_facts *facts,
						     const struct inventory_subnet *subnet,
						     uint32_t address)
{
	struct address_choice choice = {
		.source = ADDRESS_RESERVED, .address = address, .subnet = subnet};
	struct lease *lease = lease_by_address(facts->leases, address);
	bool own = lease && mac_equal(lease->mac, facts->mac);

	if (!lease || (own && lease->state == LEASE_BOUND))
		return choice;
	if (!(own && lease->state == LEASE_RELEASED && !lease->flying) &&
	    !is_spent(subnet, lease, facts->now_s))
		return (struct address_choice){.refusal = lease->state == LEASE_DECLINED
								  ? ADDRESS_QUARANTINED
								  : ADDRESS_HELD,
					       .holder = lease->mac,
					       .subnet = subnet};
	choice.victim = lease;
	return choice;
}

/* In one subnet: what a client without a reservation is offered, asks for, or finds in the pool. */
static struct address_choice address_policy_dynamic(const struct address_facts *facts,
						    const struct inventory_subnet *subnet)
{
	const struct lease *offer = lease_by_mac(facts->offers, facts->mac, subnet->id);
	struct lease *victim;
	enum address_policy_place place;

	if (offer && address_policy_usable(facts, subnet, offer->address)) {
		place = address_policy_look(facts, subnet, offer->address, &victim);
		if (place != PLACE_TAKEN && place != PLACE_QUARANTINED)
			return (struct address_choice){.source = ADDRESS_OFFERED,
						       .address = offer->address,
						       .subnet = subnet,
						       .victim = victim};
	}
	/* After a restore the word of a known client is all that is left of its lease. */
	if ((facts->known || !subnet->restored) && in_pool(facts, subnet, facts->requested) &&
	    address_policy_usable(facts, subnet, facts->requested)) {
		place = address_policy_look(facts, subnet, facts->requested, &victim);
		if (place == PLACE_FREE || place == PLACE_SPENT)
			return (struct address_choice){.source = ADDRESS_REQUESTED,
						       .address = facts->requested,
						       .subnet = subnet,
						       .victim = victim};
	}
	return from_pool(facts, subnet);
}

/* A free address before one that is reclaimed, that before none; else the earlier subnet. */
static bool is_better(const struct address_choice *choice, const struct address_choice *than)
{
	if (than->source == ADDRESS_NONE)
		return choice->source != ADDRESS_NONE || than->refusal != ADDRESS_EXHAUSTED;
	return than->source == ADDRESS_RECLAIMED && choice->source == ADDRESS_POOL;
}

/* Over the subnets of the link. What was offered or is asked for wins over a pool before it. */
static struct address_choice dynamic_on_link(const struct address_facts *facts)
{
	const struct inventory_subnet *subnet = facts->subnet;
	struct address_choice best = {.refusal = ADDRESS_STRANGER, .subnet = subnet};

	do {
		struct address_choice choice;

		if (!subnet->reserved_only || facts->known) {
			choice = address_policy_dynamic(facts, subnet);
			if (choice.source == ADDRESS_OFFERED || choice.source == ADDRESS_REQUESTED)
				return choice;
			if (is_better(&choice, &best))
				best = choice;
		}
		subnet = inventory_subnet_beside(facts->inventory, subnet);
	} while (subnet->id != facts->subnet->id);
	return best;
}

static struct address_choice reserved_on_link(const struct address_facts *facts)
{
	const struct inventory_subnet *subnet = facts->subnet;
	struct address_choice choice = {.subnet = subnet};

	do {
		uint32_t address = inventory_reservation(facts->inventory, subnet->id, facts->mac);

		if (address)
			choice = address_policy_reserved(facts, subnet, address);
		subnet = inventory_subnet_beside(facts->inventory, subnet);
	} while (choice.source == ADDRESS_NONE && subnet->id != facts->subnet->id);
	return choice;
}

/* May it stay where it is? Bindings are permanent, also outside a pool that was changed since;
 * unless the subnet no longer serves it, the address is now reserved for somebody else, or a port's
 * and the client at another. */
static bool address_policy_stays(const struct address_facts *facts,
				 const struct inventory_subnet *subnet, uint32_t address)
{
	struct mac owner;

	if (subnet->reserved_only && !facts->known)
		return false;
	if (facts->cable && facts->located && address != facts->port_address &&
	    cable_gives(facts->cable, address))
		return false;
	return !inventory_reserved_for(facts->inventory, address, &owner) ||
	       mac_equal(owner, facts->mac);
}

/* The subnet of the link that the address of the port is in; NULL = none, or nobody may have it. */
static const struct inventory_subnet *subnet_of_port(const struct address_facts *facts)
{
	const struct inventory_subnet *subnet = facts->subnet;

	if (!facts->port_address)
		return NULL;
	do {
		if (ipv4_in_prefix(facts->port_address, subnet->prefix))
			return address_policy_usable(facts, subnet, facts->port_address) ? subnet
											 : NULL;
		subnet = inventory_subnet_beside(facts->inventory, subnet);
	} while (subnet->id != facts->subnet->id);
	return NULL;
}

/* From the NIC that was behind the same cable before: it is gone, whatever its timer says. */
static struct address_choice address_policy_inherited(const struct address_facts *facts,
						      const struct inventory_subnet *subnet)
{
	struct lease *lease = lease_by_address(facts->leases, facts->port_address);

	if (!lease || lease->state != LEASE_BOUND || !lease->committed || lease->flying)
		return address_policy_reserved(facts, subnet, facts->port_address);
	return (struct address_choice){.source = ADDRESS_RESERVED,
				       .address = facts->port_address,
				       .subnet = subnet,
				       .inherits = true,
				       .victim = lease};
}

static struct address_choice address_policy_choose(const struct address_facts *facts,
						   const struct lease *bound)
{
	struct address_choice choice = reserved_on_link(facts);
	const struct inventory_subnet *port = subnet_of_port(facts);
	const struct inventory_subnet *subnet =
		bound ? inventory_subnet_by_id(facts->inventory, bound->subnet_id) : NULL;
	bool may_stay = subnet && address_policy_stays(facts, subnet, bound->address);

	if (choice.source == ADDRESS_NONE && choice.refusal == ADDRESS_OK && port) {
		choice = facts->inherits
				 ? address_policy_inherited(facts, port)
				 : address_policy_reserved(facts, port, facts->port_address);
		/* Two clients for one port: neither is guessed to be the right one, but whoever has
		 * an address that no port gives keeps it. */
		choice.port_taken = choice.refusal == ADDRESS_HELD && !may_stay;
	}
	if (choice.source != ADDRESS_NONE || choice.port_taken)
		return choice;
	if (may_stay) /* better than nowhere, until its reserved address is free */
		return (struct address_choice){
			.source = ADDRESS_BOUND, .address = bound->address, .subnet = subnet};
	return choice.refusal == ADDRESS_OK ? dynamic_on_link(facts) : choice;
}

struct address_choice address_policy(const struct address_facts *facts)
{
	struct lease *bound =
		address_bound(facts->inventory, facts->subnet, facts->leases, facts->mac);
	struct address_choice choice = address_policy_choose(facts, bound);

	choice.bound = bound;
	return choice;
}

bool address_is_reserved(const struct inventory *inventory, const struct inventory_subnet *subnet,
			 struct mac mac)
{
	const struct inventory_subnet *each = subnet;

	do {
		if (inventory_reservation(inventory, each->id, mac))
			return true;
		each = inventory_subnet_beside(inventory, each);
	} while (each->id != subnet->id);
	return false;
}

struct lease *address_bound(const struct inventory *inventory,
			    const struct inventory_subnet *subnet, const struct lease_table *leases,
			    struct mac mac)
{
	const struct inventory_subnet *each = subnet;
	struct lease *bound = NULL;

	do {
		bound = lease_by_mac(leases, mac, each->id);
		each = inventory_subnet_beside(inventory, each);
	} while (!bound && each->id != subnet->id);
	return bound;
}

bool address_on_link(const struct inventory *inventory, const struct inventory_subnet *subnet,
		     uint32_t address)
{
	const struct inventory_subnet *each = subnet;

	do {
		if (ipv4_in_prefix(address, each->prefix))
			return true;
		each = inventory_subnet_beside(inventory, each);
	} while (each->id != subnet->id);
	return false;
}
