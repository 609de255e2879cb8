/* From what a request claims to the node that asks: option 82 to a port, MAC, UUID and port to
 * identity_policy, what was seen to sightings, what nobody can read to the samples. No query: all
 * of it is in memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"
#include "common/net/circuit_rule.h"
#include "common/net/mac.h"

#include "bampi/bootd/identify/cable.h"
#include "bampi/bootd/identify/identity_policy.h"
#include "bampi/bootd/identify/inventory.h"
#include "bampi/bootd/identify/sighting.h"
#include "bampi/bootd/identify/unknown_circuit.h"

struct identity_evidence {
	struct mac mac;
	uint32_t relay;               /* giaddr; 0 = no relay */
	struct circuit_sample sample; /* of option 82 */
	const uint8_t *uuid;          /* option 97; NULL = none */
	size_t uuid_size;
};

struct identity {
	struct identity_decision decision;
	const struct inventory_node *node;  /* as whom it may boot; NULL = nobody */
	const struct inventory_node *about; /* of decision.node_id */
	const struct inventory_node *other; /* of decision.other_id */
	struct mac mac;
	struct uuid uuid;
	uint32_t relay;
	struct circuit_place place;  /* without a port when none is known */
	struct circuit_place before; /* where the NIC was, when that is another port */
	uint32_t address;            /* that the port gives; 0 = none */
	bool unknown_circuit;        /* no rule reads its option 82, and people should hear of it */
	bool telling;                /* it is worth an event, and there was none like it lately */
	struct mac holder;           /* IDENTITY_ADDRESS_TAKEN: who has the address */
};

struct identities;

struct identities_options {
	/* Borrowed, must outlive it. */
	const struct inventory *inventory;
	const struct cable *cable;
	struct sightings *sightings;
	struct unknown_circuits *circuits;
};

MUST_USE int identities_new(struct loop *loop, const struct identities_options *options,
			    struct identities **ret);
void identities_free(struct identities *identities);
/* For a request of a known subnet, so that a forged giaddr of elsewhere leaves nothing behind. What
 * *ret lends lives until the next refresh of the inventory. */
void identify(struct identities *identities, const struct identity_evidence *evidence,
	      struct identity *ret);
/* May it take over the port's address from `holder`? A swapped NIC may, from the one that was at
 * the same port of the same node: nothing else can be behind that cable. */
bool identity_inherits(const struct identities *identities, const struct identity *identity,
		       struct mac holder);
/* The address of the port turned out to be leased to `holder`: two of them, so none is answered. */
void identity_taken(struct identities *identities, struct identity *identity, struct mac holder);
const struct cable *identities_cable(const struct identities *identities);
/* For metrics. */
uint64_t identities_dropped(const struct identities *identities);
size_t identities_sightings(const struct identities *identities);
