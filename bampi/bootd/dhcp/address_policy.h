/* Which address a client gets, the first of: its reservation, that of its port, the one it is bound
 * to, the one it asks for. Else a free one of the pool, which its MAC leads to. The subnet that
 * names its link goes first, then the others of the shared network. After a restore nobody gets a
 * free one of the pool; a known client may have the one that it asks for. Pure: the same facts give the
 * same address, on every server. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bampi/bootd/dhcp/lease_table.h"
#include "bampi/bootd/identify/cable.h"
#include "bampi/bootd/identify/inventory.h"

struct address_facts {
	const struct inventory *inventory;
	const struct inventory_subnet *subnet; /* names the link */
	const struct cable *cable;             /* NULL = no port gives addresses */
	const struct lease_table *leases;
	const struct lease_table *offers;
	struct mac mac;
	bool located;          /* the port of this client is known */
	bool inherits;         /* whoever has the port's address was this client's former NIC */
	uint32_t port_address; /* that the port of this client gives; 0 = none */
	uint32_t requested;    /* option 50 or ciaddr; 0 = none */
	int64_t now_s;         /* wall clock */
	int64_t now_ms;        /* monotonic, for offers */
	bool known;            /* MAC of a node, or with a reservation on this link */
	bool exhausted; /* the pools were searched in vain a moment ago: do not search again */
};

/* A part of each pool that only known clients get: a flood of made-up MACs cannot take it. */
#define POOL_KNOWN_SHARE 8
/* Places of a pool that are looked at for a stranger; a node may look at all. */
#define POOL_LOOKS_MAX 4096
/* Servers' clocks may differ by this much. */
#define CLOCK_SKEW_S 2

enum address_source {
	ADDRESS_NONE,
	ADDRESS_RESERVED, /* for this MAC, or by its port */
	ADDRESS_BOUND,    /* the committed binding of this client */
	ADDRESS_OFFERED,  /* what we offered it a moment ago */
	ADDRESS_REQUESTED,
	ADDRESS_POOL,
	ADDRESS_RECLAIMED, /* from an unknown client whose lease expired long ago */
};

enum address_refusal {
	ADDRESS_OK,
	ADDRESS_NO_POOL,     /* no reservation, and the subnet has no pool */
	ADDRESS_EXHAUSTED,   /* every address of the pool is taken */
	ADDRESS_HELD,        /* its reservation is leased to another client */
	ADDRESS_QUARANTINED, /* its reservation was declined */
	ADDRESS_STRANGER,    /* every subnet of the link serves known clients only */
	ADDRESS_RESTORED,    /* the database was restored: a free address may be in use */
};
const char *address_refusal_text(enum address_refusal refusal);

struct address_choice {
	enum address_source source;
	enum address_refusal refusal; /* when source is ADDRESS_NONE */
	uint32_t address;
	const struct inventory_subnet *subnet; /* of the address; facts.subnet when there is none */
	struct lease *bound; /* the client's lease on this link, at whatever address; may be NULL */
	bool port_taken;     /* the address of its port is another's, `holder` */
	struct mac holder;
	bool inherits;        /* the victim goes although its timer runs */
	struct lease *victim; /* another record at `address` that must go first; may be NULL */
};

struct address_choice address_policy(const struct address_facts *facts);

/* Known by a reservation in any subnet of the link. */
bool address_is_reserved(const struct inventory *inventory, const struct inventory_subnet *subnet,
			 struct mac mac);
/* The client's lease in any subnet of the link; NULL = none. */
struct lease *address_bound(const struct inventory *inventory,
			    const struct inventory_subnet *subnet, const struct lease_table *leases,
			    struct mac mac);
/* Whether an address is in a subnet of the link. */
bool address_on_link(const struct inventory *inventory, const struct inventory_subnet *subnet,
		     uint32_t address);
