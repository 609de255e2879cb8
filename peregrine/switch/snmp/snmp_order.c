#include "peregrine/switch/snmp/snmp_order.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/macros.h"
#include "common/base/sorted.h"

#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_wire.h"

LEAKS_LEFT_TO_SANITIZER

uint64_t fact_hash_text(const char *text)
{
	return hash_bytes(HASH_START, text, strlen(text));
}

uint64_t fact_hash_spelling(const char *text)
{
	char key[PORT_NAME_KEY_SIZE];

	port_name_key(text, key);
	return fact_hash_text(key);
}

uint64_t fact_hash_mac(const uint8_t mac[6])
{
	return hash_bytes(HASH_START, mac, 6);
}

/* --- what each order goes by --- */

static uint64_t of_bridge_port(const void *row)
{
	return ((const struct fact_bridge_port *)row)->if_index;
}

static uint64_t of_lower(const void *row)
{
	return ((const struct fact_pair *)row)->key[1];
}

static uint64_t of_port_name(const void *row)
{
	return fact_hash_text(fact_port_name(row));
}

static uint64_t of_name(const void *row)
{
	return fact_hash_text(((const struct fact_interface *)row)->name);
}

static uint64_t of_descr(const void *row)
{
	return fact_hash_text(((const struct fact_interface *)row)->descr);
}

static uint64_t of_alias(const void *row)
{
	return fact_hash_text(((const struct fact_interface *)row)->alias);
}

static uint64_t of_mac(const void *row)
{
	return fact_hash_mac(((const struct fact_interface *)row)->mac);
}

static uint64_t of_name_spelling(const void *row)
{
	return fact_hash_spelling(((const struct fact_interface *)row)->name);
}

static uint64_t of_descr_spelling(const void *row)
{
	return fact_hash_spelling(((const struct fact_interface *)row)->descr);
}

static const struct {
	enum fact_table table;
	uint64_t (*hash)(const void *row);
} order_rows[FACT_ORDER_COUNT] = {
	[ORDER_BRIDGE_PORTS] = {FACT_BRIDGE_PORTS, of_bridge_port},
	[ORDER_STACK] = {FACT_STACK, of_lower},
	[ORDER_PORT_NAMES] = {FACT_INTERFACES, of_port_name},
	[ORDER_NAMES] = {FACT_INTERFACES, of_name},
	[ORDER_DESCRS] = {FACT_INTERFACES, of_descr},
	[ORDER_ALIASES] = {FACT_INTERFACES, of_alias},
	[ORDER_MACS] = {FACT_INTERFACES, of_mac},
	[ORDER_NAME_SPELLINGS] = {FACT_INTERFACES, of_name_spelling},
	[ORDER_DESCR_SPELLINGS] = {FACT_INTERFACES, of_descr_spelling},
};

/* --- making and finding --- */

static int place_order(const void *left, const void *right)
{
	const struct fact_place *a = left;
	const struct fact_place *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void fact_orders_make(struct snmp_facts *facts, enum fact_order_kind last)
{
	fact_orders_drop(facts);
	for (int kind = 0; kind <= (int)last; kind++) {
		enum fact_table table = order_rows[kind].table;
		uint32_t count = fact_count(facts, table);
		struct fact_place *places = calloc(count + (size_t)1, sizeof(*places));

		if (!places) {
			facts->failed = true;
			return;
		}
		for (uint32_t i = 0; i < count; i++)
			places[i] = (struct fact_place){
				order_rows[kind].hash(fact_at(facts, table, i)), i};
		qsort(places, count, sizeof(*places), place_order);
		facts->orders[kind] = (struct fact_order){places, count};
	}
}

void fact_orders_drop(struct snmp_facts *facts)
{
	for (int kind = 0; kind < FACT_ORDER_COUNT; kind++) {
		free(facts->orders[kind].places);
		facts->orders[kind] = (struct fact_order){0};
	}
}

void *fact_order_next(const struct snmp_facts *facts, enum fact_order_kind kind, uint64_t hash,
		      uint32_t *at)
{
	const struct fact_order *order = &facts->orders[kind];
	enum fact_table table = order_rows[kind].table;
	uint32_t count = fact_count(facts, table);

	if (order->places && order->count == count) {
		if (*at == 0)
			*at = (uint32_t)SORTED_FIRST(i, 0, count, order->places[i].hash < hash);
		fact_looked(facts, 1);
		return *at < count && order->places[*at].hash == hash
			       ? fact_at(facts, table, order->places[(*at)++].row)
			       : NULL;
	}
	for (; *at < count; (*at)++) {
		void *row = fact_at(facts, table, *at);

		fact_looked(facts, 1);
		if (order_rows[kind].hash(row) == hash) {
			(*at)++;
			return row;
		}
	}
	return NULL;
}
