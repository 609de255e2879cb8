#include "bampi/bootd/dhcp/lease_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

#define CHUNK       1024 /* records are allocated together and never move */
#define SLOTS_MIN   1024
#define CLIENTS_MAX 1024
#define CLIENT_SIZE 65

/* Slots hold record numbers plus one; 0 = empty. At most half full. */
struct lease_index {
	uint32_t *slots;
	uint64_t (*hash)(const struct lease *lease);
};

struct chunk {
	struct lease *records;
};

struct lease_table {
	size_t limit;
	struct chunk *chunks;
	size_t chunk_count;
	uint32_t *free_list; /* numbers of removed records */
	size_t free_count;
	size_t used; /* records ever handed out */
	size_t count;
	size_t slot_count; /* a power of two */
	struct lease_index by_address, by_mac;
	char (*clients)[CLIENT_SIZE];
	size_t client_count;
};

/* MurmurHash3's finalizer: spreads neighbouring addresses over the table. */
static uint64_t lease_table_mix(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdULL;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ULL;
	return key ^ key >> 33;
}

static uint64_t hash_address(const struct lease *lease)
{
	return lease_table_mix(lease->address);
}

static uint64_t hash_mac(const struct lease *lease)
{
	return lease_table_mix(mac_key(lease->mac) ^ (uint64_t)lease->subnet_id << 48);
}

static bool same_address(const struct lease *a, const struct lease *b)
{
	return a->address == b->address;
}

static bool same_mac(const struct lease *a, const struct lease *b)
{
	return a->subnet_id == b->subnet_id && mac_equal(a->mac, b->mac);
}

static struct lease *lease_table_record(const struct lease_table *table, uint32_t number)
{
	return &table->chunks[number / CHUNK].records[number % CHUNK];
}

int lease_table_new(size_t limit, struct lease_table **ret)
{
	struct lease_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->limit = limit;
	table->by_address.hash = hash_address;
	table->by_mac.hash = hash_mac;
	table->slot_count = SLOTS_MIN;
	table->by_address.slots = calloc(SLOTS_MIN, sizeof(uint32_t));
	table->by_mac.slots = calloc(SLOTS_MIN, sizeof(uint32_t));
	table->clients = calloc(CLIENTS_MAX, CLIENT_SIZE);
	table->client_count = 1; /* number 0 is "" */
	if (!table->by_address.slots || !table->by_mac.slots || !table->clients) {
		lease_table_free(table);
		return -ENOMEM;
	}
	*ret = table;
	return 0;
}

void lease_table_free(struct lease_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->chunk_count; i++)
		free(table->chunks[i].records);
	free(table->chunks);
	free(table->free_list);
	free(table->by_address.slots);
	free(table->by_mac.slots);
	free(table->clients);
	free(table);
}

/* The slot of an equal record, or the empty one where it would go. */
static size_t find_slot(const struct lease_table *table, const struct lease_index *index,
			const struct lease *key,
			bool (*same)(const struct lease *, const struct lease *))
{
	size_t mask = table->slot_count - 1;
	size_t slot = (size_t)index->hash(key) & mask;

	while (index->slots[slot] && !same(lease_table_record(table, index->slots[slot] - 1), key))
		slot = (slot + 1) & mask;
	return slot;
}

/* Linear probing without tombstones: what follows moves back into the gap when its own place is not
 * after it. */
static void clear_slot(const struct lease_table *table, const struct lease_index *index, size_t gap)
{
	size_t mask = table->slot_count - 1;

	index->slots[gap] = 0;
	for (size_t at = (gap + 1) & mask; index->slots[at]; at = (at + 1) & mask) {
		size_t home =
			(size_t)index->hash(lease_table_record(table, index->slots[at] - 1)) & mask;

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		index->slots[gap] = index->slots[at];
		index->slots[at] = 0;
		gap = at;
	}
}

static int grow_slots(struct lease_table *table)
{
	size_t old_count = table->slot_count;
	uint32_t *old = table->by_address.slots;
	uint32_t *addresses = calloc(old_count * 2, sizeof(uint32_t));
	uint32_t *macs = calloc(old_count * 2, sizeof(uint32_t));

	if (!addresses || !macs) {
		free(addresses);
		free(macs);
		return -ENOMEM;
	}
	free(table->by_mac.slots);
	table->by_address.slots = addresses;
	table->by_mac.slots = macs;
	table->slot_count = old_count * 2;
	for (size_t i = 0; i < old_count; i++) {
		const struct lease *lease;

		if (!old[i])
			continue;
		lease = lease_table_record(table, old[i] - 1);
		addresses[find_slot(table, &table->by_address, lease, same_address)] = old[i];
		if (lease->state == LEASE_BOUND)
			macs[find_slot(table, &table->by_mac, lease, same_mac)] = old[i];
	}
	free(old);
	return 0;
}

static int grow_records(struct lease_table *table)
{
	struct chunk *chunks =
		reallocarray(table->chunks, table->chunk_count + 1, sizeof(*table->chunks));
	uint32_t *free_list;
	struct lease *chunk;

	if (!chunks)
		return -ENOMEM;
	table->chunks = chunks;
	free_list = reallocarray(table->free_list, (table->chunk_count + 1) * CHUNK,
				 sizeof(*table->free_list));
	if (!free_list)
		return -ENOMEM;
	table->free_list = free_list;
	chunk = calloc(CHUNK, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	table->chunks[table->chunk_count++].records = chunk;
	return 0;
}

static int lease_table_take_record(struct lease_table *table, uint32_t *ret)
{
	int rc;

	if (table->free_count > 0) {
		*ret = table->free_list[--table->free_count];
		return 0;
	}
	if (table->used == table->chunk_count * CHUNK) {
		rc = grow_records(table);
		if (rc)
			return rc;
	}
	*ret = (uint32_t)table->used++;
	return 0;
}

static int lease_table_insert(struct lease_table *table, const struct lease *key,
			      struct lease **ret)
{
	uint32_t number;
	int rc;

	if (table->count >= table->limit)
		return E_LIMIT;
	if (lease_by_address(table, key->address) ||
	    (key->state == LEASE_BOUND && lease_by_mac(table, key->mac, key->subnet_id)))
		return E_CONFLICT;
	if ((table->count + 1) * 2 > table->slot_count) {
		rc = grow_slots(table);
		if (rc)
			return rc;
	}
	rc = lease_table_take_record(table, &number);
	if (rc)
		return rc;

	*lease_table_record(table, number) = *key;
	table->by_address.slots[find_slot(table, &table->by_address, key, same_address)] =
		number + 1;
	if (key->state == LEASE_BOUND)
		table->by_mac.slots[find_slot(table, &table->by_mac, key, same_mac)] = number + 1;
	table->count++;
	*ret = lease_table_record(table, number);
	return 0;
}

int lease_table_add(struct lease_table *table, uint32_t address, struct mac mac, int64_t subnet_id,
		    struct lease **ret)
{
	const struct lease key = {.address = address, .mac = mac, .subnet_id = subnet_id};

	return lease_table_insert(table, &key, ret);
}

int lease_table_add_unbound(struct lease_table *table, uint32_t address, struct mac mac,
			    int64_t subnet_id, enum lease_state state, struct lease **ret)
{
	const struct lease key = {
		.address = address, .mac = mac, .subnet_id = subnet_id, .state = (uint8_t)state};

	return lease_table_insert(table, &key, ret);
}

static void forget_mac(const struct lease_table *table, const struct lease *lease)
{
	if (lease->state == LEASE_BOUND)
		clear_slot(table, &table->by_mac,
			   find_slot(table, &table->by_mac, lease, same_mac));
}

void lease_table_unbind(struct lease_table *table, struct lease *lease, enum lease_state state)
{
	forget_mac(table, lease);
	lease->state = (uint8_t)state;
}

void lease_table_remove(struct lease_table *table, struct lease *lease)
{
	size_t by_address = find_slot(table, &table->by_address, lease, same_address);

	forget_mac(table, lease);
	table->free_list[table->free_count++] = table->by_address.slots[by_address] - 1;
	clear_slot(table, &table->by_address, by_address);
	table->count--;
	*lease = (struct lease){0};
}

struct lease *lease_by_address(const struct lease_table *table, uint32_t address)
{
	struct lease key = {.address = address};
	uint32_t found =
		table->by_address.slots[find_slot(table, &table->by_address, &key, same_address)];

	return found ? lease_table_record(table, found - 1) : NULL;
}

struct lease *lease_by_mac(const struct lease_table *table, struct mac mac, int64_t subnet_id)
{
	struct lease key = {.mac = mac, .subnet_id = subnet_id};
	uint32_t found = table->by_mac.slots[find_slot(table, &table->by_mac, &key, same_mac)];

	return found ? lease_table_record(table, found - 1) : NULL;
}

size_t lease_table_count(const struct lease_table *table)
{
	return table->count;
}

size_t lease_table_size(const struct lease_table *table)
{
	return sizeof(*table) +
	       table->chunk_count * CHUNK * (sizeof(struct lease) + sizeof(uint32_t)) +
	       table->chunk_count * sizeof(*table->chunks) +
	       table->slot_count * 2 * sizeof(uint32_t) + (size_t)CLIENTS_MAX * CLIENT_SIZE;
}

struct lease *lease_table_next(const struct lease_table *table, size_t *cursor)
{
	while (*cursor < table->used) {
		struct lease *lease = lease_table_record(table, (uint32_t)(*cursor)++);

		if (lease->address)
			return lease;
	}
	return NULL;
}

uint16_t lease_table_intern(struct lease_table *table, const char *client)
{
	char cut[CLIENT_SIZE];

	(void)text_copy(cut, sizeof(cut), client);
	if (cut[0] == '\0')
		return 0;
	for (size_t i = 1; i < table->client_count; i++) {
		if (strcmp(table->clients[i], cut) == 0)
			return (uint16_t)i;
	}
	if (table->client_count == CLIENTS_MAX)
		return 0;
	memcpy(table->clients[table->client_count], cut, sizeof(cut));
	return (uint16_t)table->client_count++;
}

const char *lease_table_client(const struct lease_table *table, const struct lease *lease)
{
	return table->clients[lease->client];
}
