/* Which address a client gets: its reservation, else that of its port, else the one it is bound to,
 * else the one it asks for, else a free one of the pool that its MAC leads to. Pure: the same facts
 * give the same address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bampi/bootd/dhcp/lease_table.h"
#include "bampi/bootd/identify/cable.h"
#include "bampi/bootd/identify/inventory.h"

struct address_facts {
	const struct inventory *inventory;
	const struct inventory_subnet *subnet;
	const struct cable *cable; /* NULL = no port gives addresses */
	const struct lease_table *leases;
	const struct lease_table *offers;
	struct mac mac;
	bool located;          /* the port of this client is known */
	uint32_t port_address; /* that the port of this client gives; 0 = none */
	uint32_t requested;    /* option 50 or ciaddr; 0 = none */
	int64_t now_s;         /* wall clock */
	int64_t now_ms;        /* monotonic, for offers */
	bool may_reclaim;      /* long enough since the start that every live client has renewed */
	bool exhausted;        /* the pool was searched in vain a moment ago: do not search again */
};

enum address_source {
	ADDRESS_NONE,
	ADDRESS_RESERVED, /* for this MAC, or by its port */
	ADDRESS_BOUND,    /* the committed binding of this client */
	ADDRESS_OFFERED,  /* what we offered it a moment ago */
	ADDRESS_REQUESTED,
	ADDRESS_POOL,
	ADDRESS_RECLAIMED, /* from an unknown client whose lease expired */
};

enum address_refusal {
	ADDRESS_OK,
	ADDRESS_NO_POOL,     /* no reservation, and the subnet has no pool */
	ADDRESS_EXHAUSTED,   /* every address of the pool is taken */
	ADDRESS_HELD,        /* its reservation is leased to another client */
	ADDRESS_QUARANTINED, /* its reservation was declined */
};
const char *address_refusal_text(enum address_refusal refusal);

struct address_choice {
	enum address_source source;
	enum address_refusal refusal; /* when source is ADDRESS_NONE */
	uint32_t address;
	struct lease
		*bound;  /* the client's lease in this subnet, at whatever address; may be NULL */
	bool port_taken; /* the address of its port is another's, `holder` */
	struct mac holder;
	struct lease *victim; /* another record at `address` that must go first; may be NULL */
};

struct address_choice address_policy(const struct address_facts *facts);
