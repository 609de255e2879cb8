#include "bampi/bootd/identify/inventory.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/sorted.h"
#include "common/base/text.h"

#include "bampi/bootd/identify/rows.h"

struct identify_inventory_nic_row {
	uint64_t mac; /* mac_key */
	int64_t node_id;
	const struct inventory_node *node; /* NULL until the picture is complete */
};

struct reservation_row {
	uint64_t mac;
	int64_t subnet_id;
	uint32_t address;
	struct mac owner;
};

/* A secret finds its node by a keyed hash, so that the time of a search tells nothing about it. */
struct secret_row {
	uint64_t hash;
	const struct inventory_node *node;
};

/* What a node may fetch beside its image. */
struct package_row {
	int64_t node_id;
	char digest[DIGEST_TEXT_SIZE];
};

/* Everything read at one time; arrays sorted for binary search by their first words. */
struct picture {
	struct rows nodes;        /* struct inventory_node by id */
	struct rows nics;         /* struct nic_row by mac */
	struct rows subnets;      /* struct inventory_subnet by prefix.address */
	struct rows reservations; /* struct reservation_row by (mac, subnet_id) */
	struct rows addresses;    /* the same by address */
	struct rows tokens;       /* struct secret_row by hash */
	struct rows nonces;
	struct rows packages; /* struct package_row by (node_id, digest) */
};

struct inventory {
	struct picture current, next;
	bool ready;
	unsigned char hash_key[crypto_shorthash_KEYBYTES];
	inventory_lease_fn lease_fn;
	void *lease_context;
};

static void picture_clear(struct picture *picture)
{
	struct rows *all[] = {
		&picture->nodes,     &picture->nics,   &picture->subnets, &picture->reservations,
		&picture->addresses, &picture->tokens, &picture->nonces,  &picture->packages,
	};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		all[i]->count = 0;
}

static void picture_done(struct picture *picture)
{
	struct rows *all[] = {
		&picture->nodes,     &picture->nics,   &picture->subnets, &picture->reservations,
		&picture->addresses, &picture->tokens, &picture->nonces,  &picture->packages,
	};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		rows_done(all[i]);
}

int inventory_new(struct inventory **ret)
{
	struct inventory *inventory = calloc(1, sizeof(*inventory));

	if (!inventory)
		return -ENOMEM;
	crypto_shorthash_keygen(inventory->hash_key);
	*ret = inventory;
	return 0;
}

void inventory_free(struct inventory *inventory)
{
	if (!inventory)
		return;
	picture_done(&inventory->current);
	picture_done(&inventory->next);
	free(inventory);
}

bool inventory_ready(const struct inventory *inventory)
{
	return inventory->ready;
}

/* By the leading member of each kind of row. */

static int by_node_id(const void *a, const void *b)
{
	int64_t x = ((const struct inventory_node *)a)->id;
	int64_t y = ((const struct inventory_node *)b)->id;

	return (x > y) - (x < y);
}

static int by_nic_mac(const void *a, const void *b)
{
	uint64_t x = ((const struct identify_inventory_nic_row *)a)->mac;
	uint64_t y = ((const struct identify_inventory_nic_row *)b)->mac;

	return (x > y) - (x < y);
}

static int by_prefix(const void *a, const void *b)
{
	uint32_t x = ((const struct inventory_subnet *)a)->prefix.address;
	uint32_t y = ((const struct inventory_subnet *)b)->prefix.address;

	return (x > y) - (x < y);
}

static int by_reservation_mac(const void *a, const void *b)
{
	const struct reservation_row *x = a;
	const struct reservation_row *y = b;

	if (x->mac != y->mac)
		return x->mac > y->mac ? 1 : -1;
	return (x->subnet_id > y->subnet_id) - (x->subnet_id < y->subnet_id);
}

static int by_reservation_address(const void *a, const void *b)
{
	uint32_t x = ((const struct reservation_row *)a)->address;
	uint32_t y = ((const struct reservation_row *)b)->address;

	return (x > y) - (x < y);
}

static int by_hash(const void *a, const void *b)
{
	uint64_t x = ((const struct secret_row *)a)->hash;
	uint64_t y = ((const struct secret_row *)b)->hash;

	return (x > y) - (x < y);
}

static int by_package(const void *a, const void *b)
{
	const struct package_row *x = a;
	const struct package_row *y = b;

	if (x->node_id != y->node_id)
		return x->node_id > y->node_id ? 1 : -1;
	return strcmp(x->digest, y->digest);
}

const struct inventory_node *inventory_by_id(const struct inventory *inventory, int64_t id)
{
	struct inventory_node key = {.id = id};

	return rows_find(&inventory->current.nodes, sizeof(key), &key, by_node_id);
}

const struct inventory_node *inventory_by_mac(const struct inventory *inventory, struct mac mac)
{
	struct identify_inventory_nic_row key = {.mac = mac_key(mac)};
	const struct identify_inventory_nic_row *row =
		rows_find(&inventory->current.nics, sizeof(key), &key, by_nic_mac);

	return row ? row->node : NULL;
}

bool inventory_may_fetch(const struct inventory *inventory, const struct inventory_node *node,
			 const char *digest)
{
	struct package_row key = {.node_id = node->id};

	if (!text_copy(key.digest, sizeof(key.digest), digest) || !key.digest[0])
		return false;
	return strcmp(node->intent.stored_digest, digest) == 0 ||
	       rows_find(&inventory->current.packages, sizeof(key), &key, by_package);
}

static uint64_t secret_hash(const struct inventory *inventory, const char *secret)
{
	unsigned char hash[crypto_shorthash_BYTES];
	uint64_t ret;

	static_assert(sizeof(hash) == sizeof(ret), "one word");
	(void)crypto_shorthash(hash, (const unsigned char *)secret, TOKEN_TEXT_SIZE - 1,
			       inventory->hash_key);
	memcpy(&ret, hash, sizeof(ret));
	return ret;
}

static const struct inventory_node *by_secret(const struct inventory *inventory,
					      const struct rows *rows, const char *secret,
					      size_t offset)
{
	const struct secret_row *row;

	if (!secret || strlen(secret) != TOKEN_TEXT_SIZE - 1)
		return NULL;
	row = rows_find(rows, sizeof(*row),
			&(struct secret_row){.hash = secret_hash(inventory, secret)}, by_hash);
	if (!row || sodium_memcmp((const char *)&row->node->intent + offset, secret,
				  TOKEN_TEXT_SIZE - 1) != 0)
		return NULL;
	return row->node;
}

const struct inventory_node *inventory_by_token(const struct inventory *inventory,
						const char *token)
{
	const struct inventory_node *node = by_secret(inventory, &inventory->current.tokens, token,
						      offsetof(struct boot_intent, token));

	return node && !node->intent.ended ? node : NULL;
}

const struct inventory_node *inventory_by_nonce(const struct inventory *inventory,
						const char *nonce)
{
	return by_secret(inventory, &inventory->current.nonces, nonce,
			 offsetof(struct boot_intent, nonce));
}

void inventory_set_lease_source(struct inventory *inventory, inventory_lease_fn fn, void *context)
{
	inventory->lease_fn = fn;
	inventory->lease_context = context;
}

bool inventory_mac_of(const struct inventory *inventory, uint32_t address, struct mac *ret)
{
	int64_t expires_s;

	return inventory->lease_fn &&
	       inventory->lease_fn(inventory->lease_context, address, ret, &expires_s);
}

bool inventory_lease_of(const struct inventory *inventory, uint32_t address, struct mac *ret,
			int64_t *ret_leased_s)
{
	const struct inventory_subnet *subnet = inventory_subnet_of(inventory, address);
	int64_t expires_s;

	if (!subnet || !inventory->lease_fn ||
	    !inventory->lease_fn(inventory->lease_context, address, ret, &expires_s))
		return false;
	*ret_leased_s = expires_s - (int64_t)subnet->lease_s;
	return true;
}

const struct inventory_node *inventory_by_address(const struct inventory *inventory,
						  uint32_t address)
{
	struct mac mac;

	return inventory_mac_of(inventory, address, &mac) ? inventory_by_mac(inventory, mac) : NULL;
}

const struct inventory_subnet *inventory_subnet_of(const struct inventory *inventory,
						   uint32_t address)
{
	const struct rows *rows = &inventory->current.subnets;
	const struct inventory_subnet *subnets = rows->data;
	/* Prefixes are disjoint (a constraint of the schema), so only the last one that begins at
	 * or below can hold it. */
	size_t next = SORTED_FIRST(i, 0, rows->count, subnets[i].prefix.address <= address);

	if (next == 0 || !ipv4_in_prefix(address, subnets[next - 1].prefix))
		return NULL;
	return &subnets[next - 1];
}

const struct inventory_subnet *inventory_subnet_by_id(const struct inventory *inventory, int64_t id)
{
	const struct inventory_subnet *subnets = inventory->current.subnets.data;

	for (size_t i = 0; i < inventory->current.subnets.count; i++) {
		if (subnets[i].id == id)
			return &subnets[i];
	}
	return NULL;
}

const struct inventory_subnet *inventory_subnet_beside(const struct inventory *inventory,
						       const struct inventory_subnet *subnet)
{
	const struct inventory_subnet *subnets = inventory->current.subnets.data;

	return &subnets[subnet->beside];
}

uint32_t inventory_reservation(const struct inventory *inventory, int64_t subnet_id, struct mac mac)
{
	struct reservation_row key = {.mac = mac_key(mac), .subnet_id = subnet_id};
	const struct reservation_row *row =
		rows_find(&inventory->current.reservations, sizeof(key), &key, by_reservation_mac);

	return row ? row->address : 0;
}

bool inventory_reserved_for(const struct inventory *inventory, uint32_t address, struct mac *ret)
{
	struct reservation_row key = {.address = address};
	const struct reservation_row *row =
		rows_find(&inventory->current.addresses, sizeof(key), &key, by_reservation_address);

	if (row)
		*ret = row->owner;
	return row != NULL;
}

size_t inventory_node_count(const struct inventory *inventory)
{
	return inventory->current.nodes.count;
}

size_t inventory_subnet_count(const struct inventory *inventory)
{
	return inventory->current.subnets.count;
}

const struct inventory_subnet *inventory_subnet_at(const struct inventory *inventory, size_t index)
{
	const struct inventory_subnet *subnets = inventory->current.subnets.data;

	return index < inventory->current.subnets.count ? &subnets[index] : NULL;
}

int inventory_begin(struct inventory *inventory)
{
	picture_clear(&inventory->next);
	return 0;
}

int inventory_add_node(struct inventory *inventory, const struct inventory_node *node)
{
	return rows_append(&inventory->next.nodes, node, sizeof(*node));
}

int inventory_add_nic(struct inventory *inventory, struct mac mac, int64_t node_id)
{
	struct identify_inventory_nic_row row = {.mac = mac_key(mac), .node_id = node_id};

	return rows_append(&inventory->next.nics, &row, sizeof(row));
}

int inventory_add_package(struct inventory *inventory, int64_t node_id, const char *digest)
{
	struct package_row row = {.node_id = node_id};

	if (strlen(digest) != sizeof(row.digest) - 1)
		return E_MALFORMED;
	(void)text_copy(row.digest, sizeof(row.digest), digest);
	return rows_append(&inventory->next.packages, &row, sizeof(row));
}

int inventory_add_subnet(struct inventory *inventory, const struct inventory_subnet *subnet)
{
	return rows_append(&inventory->next.subnets, subnet, sizeof(*subnet));
}

int inventory_add_reservation(struct inventory *inventory, struct mac mac, int64_t subnet_id,
			      uint32_t address)
{
	struct reservation_row row = {
		.mac = mac_key(mac), .subnet_id = subnet_id, .address = address, .owner = mac};
	int rc = rows_append(&inventory->next.reservations, &row, sizeof(row));

	return rc ? rc : rows_append(&inventory->next.addresses, &row, sizeof(row));
}

static int index_secrets(const struct inventory *inventory, struct picture *picture)
{
	const struct inventory_node *nodes = picture->nodes.data;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < picture->nodes.count; i++) {
		const struct boot_intent *intent = &nodes[i].intent;
		struct secret_row token = {.node = &nodes[i]};
		struct secret_row nonce = {.node = &nodes[i]};

		if (intent->target == INTENT_NONE)
			continue;
		token.hash = secret_hash(inventory, intent->token);
		nonce.hash = secret_hash(inventory, intent->nonce);
		rc = rows_append(&picture->tokens, &token, sizeof(token));
		if (rc == 0)
			rc = rows_append(&picture->nonces, &nonce, sizeof(nonce));
	}
	rows_sort(&picture->tokens, sizeof(struct secret_row), by_hash);
	rows_sort(&picture->nonces, sizeof(struct secret_row), by_hash);
	return rc;
}

static int by_shared_network(const void *a, const void *b)
{
	const struct inventory_subnet *x = *(struct inventory_subnet *const *)a;
	const struct inventory_subnet *y = *(struct inventory_subnet *const *)b;
	int order = strcmp(x->shared_network, y->shared_network);

	return order ? order : (x > y) - (x < y);
}

/* Subnets of one shared network become a ring, in the order of their prefixes. */
static int join_shared_networks(struct picture *picture)
{
	struct inventory_subnet *subnets = picture->subnets.data;
	size_t count = picture->subnets.count;
	struct inventory_subnet **sorted = calloc(count + 1, sizeof(struct inventory_subnet *));
	size_t first = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &subnets[i];
	qsort(sorted, count, sizeof(struct inventory_subnet *), by_shared_network);
	for (size_t i = 0; i < count; i++) {
		bool alone = sorted[i]->shared_network[0] == '\0';
		bool last = alone || i + 1 == count ||
			    strcmp(sorted[i]->shared_network, sorted[i + 1]->shared_network) != 0;

		sorted[i]->beside = (size_t)((last ? sorted[first] : sorted[i + 1]) - subnets);
		if (last)
			first = i + 1;
	}
	free(sorted);
	return 0;
}

int inventory_commit(struct inventory *inventory)
{
	struct picture *next = &inventory->next;
	struct identify_inventory_nic_row *nics = next->nics.data;
	struct inventory_node *nodes = next->nodes.data;
	struct picture old = inventory->current;
	int rc;

	rows_sort(&next->nodes, sizeof(struct inventory_node), by_node_id);
	rows_sort(&next->nics, sizeof(struct identify_inventory_nic_row), by_nic_mac);
	rows_sort(&next->subnets, sizeof(struct inventory_subnet), by_prefix);
	rows_sort(&next->reservations, sizeof(struct reservation_row), by_reservation_mac);
	rows_sort(&next->addresses, sizeof(struct reservation_row), by_reservation_address);
	rows_sort(&next->packages, sizeof(struct package_row), by_package);
	rc = index_secrets(inventory, next);
	if (rc == 0)
		rc = join_shared_networks(next);
	if (rc)
		return rc;
	/* Pointers into the nodes are taken last, when the array no longer moves. A NIC whose node
	 * was deleted between the two statements keeps NULL, so it is unknown. */
	for (size_t i = 0; i < next->nics.count; i++) {
		struct inventory_node key = {.id = nics[i].node_id};
		size_t at = rows_first(&next->nodes, sizeof(key), &key, by_node_id);

		if (at == next->nodes.count || nodes[at].id != key.id)
			continue;
		nics[i].node = &nodes[at];
		nodes[at].nic_count++;
	}

	inventory->current = *next;
	*next = old;
	inventory->ready = true;
	return 0;
}
