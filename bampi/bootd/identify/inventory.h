/* What bootd knows of the site, in memory: nodes with their NICs and boot intents, subnets,
 * reservations. Filled whole by inventory_store from PostgreSQL and kept while PostgreSQL is away;
 * packets and requests are answered from here alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/model/vocabulary.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#define NODE_NAME_SIZE    64
#define SUBNET_DNS_MAX    4
#define SUBNET_RELAYS_MAX 16

/* A row of boot_intent; target INTENT_NONE and empty texts when the node has none. */
struct boot_intent {
	enum intent_target target;
	int64_t deployment_id;                /* 0 = none */
	char token[TOKEN_TEXT_SIZE];          /* of the agent, new for each netboot attempt */
	char nonce[TOKEN_TEXT_SIZE];          /* in the callback URL of the installed OS */
	char stored_digest[DIGEST_TEXT_SIZE]; /* the image this token may fetch; "" = none */
	char agent_key[DIGEST_TEXT_SIZE];     /* of the agent that uses it, hex; "" = none yet */
	bool ended;                           /* the token opens nothing any more */
};

struct inventory_node {
	int64_t id;
	char name[NODE_NAME_SIZE];
	enum node_firmware firmware;
	enum node_secure_boot secure_boot;
	enum node_arch arch;
	enum node_state state;
	bool dirty;
	unsigned nic_count; /* counted by inventory_commit */
	struct boot_intent intent;
};

struct inventory_subnet {
	int64_t id;
	char name[64];
	struct ipv4_prefix prefix;
	uint32_t gateway; /* 0 = none */
	uint32_t dns[SUBNET_DNS_MAX];
	size_t dns_count;
	uint32_t boot_server;         /* our address as clients of this subnet reach it */
	uint32_t pool_low, pool_high; /* inclusive; 0, 0 = no pool */
	bool reserved_only;           /* unknown MACs get silence */
	bool restored; /* leases since the backup are not known; until db accept-restore */
	uint32_t lease_s;
	char shared_network[64];            /* "" = alone on its link */
	uint32_t relays[SUBNET_RELAYS_MAX]; /* who may relay from here; none = see relay_policy */
	size_t relay_count;
	size_t beside; /* index of the next one of the shared network, in a ring; set by commit */
};

struct inventory;

MUST_USE int inventory_new(struct inventory **ret);
void inventory_free(struct inventory *inventory);
/* False until the first complete read from PostgreSQL: until then nothing can be decided. */
bool inventory_ready(const struct inventory *inventory);

/* Look-ups give NULL when there is none. What they lend lives until the next refresh, so not beyond
 * this turn of the loop: who waits keeps the node's id or the token, and looks again. */
const struct inventory_node *inventory_by_id(const struct inventory *inventory, int64_t id);
const struct inventory_node *inventory_by_mac(const struct inventory *inventory, struct mac mac);
/* Compares in constant time. A token whose boot was ended is nobody's. */
const struct inventory_node *inventory_by_token(const struct inventory *inventory,
						const char *token);
const struct inventory_node *inventory_by_nonce(const struct inventory *inventory,
						const char *nonce);
/* May the token of its boot intent fetch this: its image, or a package that goes onto it? */
bool inventory_may_fetch(const struct inventory *inventory, const struct inventory_node *node,
			 const char *digest);
/* The node whose NIC holds a lease of this address. */
const struct inventory_node *inventory_by_address(const struct inventory *inventory,
						  uint32_t address);

/* The MAC that `address` is leased to, as the DHCP side says; false = none. */
bool inventory_mac_of(const struct inventory *inventory, uint32_t address, struct mac *ret);
/* The same, and when DHCP confirmed it last (wall clock, seconds). */
bool inventory_lease_of(const struct inventory *inventory, uint32_t address, struct mac *ret,
			int64_t *ret_leased_s);
/* The DHCP side names itself as the source of that knowledge (one table, no copy). */
typedef bool (*inventory_lease_fn)(void *context, uint32_t address, struct mac *ret,
				   int64_t *ret_expires_s);
void inventory_set_lease_source(struct inventory *inventory, inventory_lease_fn fn, void *context);

/* The subnet whose prefix holds `address`. boot_server of it is the host part of URLs for that
 * client. */
const struct inventory_subnet *inventory_subnet_of(const struct inventory *inventory,
						   uint32_t address);
const struct inventory_subnet *inventory_subnet_by_id(const struct inventory *inventory,
						      int64_t id);
/* The next subnet on the same link; after the last one the first again, itself when it is alone. */
const struct inventory_subnet *inventory_subnet_beside(const struct inventory *inventory,
						       const struct inventory_subnet *subnet);
/* The address reserved for this MAC in this subnet; 0 = none. */
uint32_t inventory_reservation(const struct inventory *inventory, int64_t subnet_id,
			       struct mac mac);
/* Whom an address is reserved for; false = nobody. */
bool inventory_reserved_for(const struct inventory *inventory, uint32_t address, struct mac *ret);
size_t inventory_node_count(const struct inventory *inventory);
size_t inventory_subnet_count(const struct inventory *inventory);
const struct inventory_subnet *inventory_subnet_at(const struct inventory *inventory, size_t index);

/* Building a new picture: begin, add rows in any order, then commit makes it the current one.
 * E_LIMIT, -ENOMEM; a failed build is abandoned by the next begin, the current picture stays. */
MUST_USE int inventory_begin(struct inventory *inventory);
MUST_USE int inventory_add_node(struct inventory *inventory, const struct inventory_node *node);
MUST_USE int inventory_add_nic(struct inventory *inventory, struct mac mac, int64_t node_id);
/* What the token of its boot intent may fetch beside the image. E_MALFORMED: no digest. */
MUST_USE int inventory_add_package(struct inventory *inventory, int64_t node_id,
				   const char *digest);
MUST_USE int inventory_add_subnet(struct inventory *inventory,
				  const struct inventory_subnet *subnet);
MUST_USE int inventory_add_reservation(struct inventory *inventory, struct mac mac,
				       int64_t subnet_id, uint32_t address);
MUST_USE int inventory_commit(struct inventory *inventory);
