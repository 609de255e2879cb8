#include "peregrine/switch/snmp/snmp_facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sorted.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/qbridge_wire.h"
#include "peregrine/switch/snmp/snmp_order.h"
#include "peregrine/switch/snmp/snmp_wire.h"

LEAKS_LEFT_TO_SANITIZER

enum { IF_DOWN = 2 }; /* ifAdminStatus */

void snmp_facts_odd(struct snmp_facts *facts, const char *format, ...)
{
	va_list list;

	if (facts->odd++)
		return;
	va_start(list, format);
	(void)vsnprintf(facts->odd_text, sizeof(facts->odd_text), format, list);
	va_end(list);
}

/* --- rows --- */

void *fact_at(const struct snmp_facts *facts, enum fact_table table, uint32_t number)
{
	return facts->tables[table].rows + (size_t)number * fact_row_sizes[table];
}

uint32_t fact_count(const struct snmp_facts *facts, enum fact_table table)
{
	return facts->tables[table].count;
}

bool fact_is_downed(const struct snmp_facts *facts, const struct fact_interface *interface)
{
	if (interface->admin != IF_DOWN)
		return false;
	for (size_t i = 0; i < facts->downed_count; i++) {
		if (facts->downed[i] == interface->key[0])
			return true;
	}
	return false;
}

static int key_order(const uint32_t *a, const uint32_t *b)
{
	for (size_t i = 0; i < FACT_KEYS; i++) {
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/* The first row that is not before `key`. */
static uint32_t snmp_facts_lower_bound(const struct snmp_facts *facts, enum fact_table table,
				       const uint32_t *key)
{
	uint32_t count = facts->tables[table].count;

	/* Walks come in order: most rows go to the end. */
	if (count && key_order(fact_at(facts, table, count - 1), key) < 0)
		return count;
	return (uint32_t)SORTED_FIRST(i, 0, count,
				      key_order(fact_at(facts, table, (uint32_t)i), key) < 0);
}

void *fact_find(const struct snmp_facts *facts, enum fact_table table, uint32_t key_0,
		uint32_t key_1, uint32_t key_2)
{
	const uint32_t key[FACT_KEYS] = {key_0, key_1, key_2};
	uint32_t at = snmp_facts_lower_bound(facts, table, key);

	if (at == facts->tables[table].count || key_order(fact_at(facts, table, at), key) != 0)
		return NULL;
	return fact_at(facts, table, at);
}

static bool snmp_facts_grow(struct fact_rows *rows, size_t row_size)
{
	uint32_t room = rows->room ? rows->room * 2 : 64;
	uint8_t *more = realloc(rows->rows, room * row_size);

	if (!more)
		return false;
	rows->rows = more;
	rows->room = room;
	return true;
}

static void *snmp_facts_find_or_make(struct snmp_facts *facts, enum fact_table table,
				     const uint32_t *key)
{
	struct fact_rows *rows = &facts->tables[table];
	size_t row_size = fact_row_sizes[table];
	uint32_t at = snmp_facts_lower_bound(facts, table, key);
	uint8_t *row;

	if (at < rows->count && key_order(fact_at(facts, table, at), key) == 0)
		return fact_at(facts, table, at);
	if (rows->count == FACT_ROW_LIMIT)
		return NULL;
	if (rows->count == rows->room && !snmp_facts_grow(rows, row_size)) {
		facts->failed = true;
		return NULL;
	}
	row = fact_at(facts, table, at);
	memmove(row + row_size, row, (rows->count - at) * row_size);
	memset(row, 0, row_size);
	memcpy(row, key, FACT_KEYS * sizeof(key[0]));
	rows->count++;
	return row;
}

static void free_octets(struct snmp_facts *facts, const struct fact_column *column)
{
	for (uint32_t i = 0; i < fact_count(facts, column->table); i++) {
		uint8_t *row = fact_at(facts, column->table, i);
		struct fact_octets *octets = (void *)(row + column->at);

		free(octets->bytes);
		*octets = (struct fact_octets){0};
	}
}

void snmp_facts_clear(struct snmp_facts *facts, enum fact_table table)
{
	for (size_t i = 0; i < fact_column_count; i++) {
		if (fact_columns[i].table == table && fact_columns[i].kind == FACT_OCTETS)
			free_octets(facts, &fact_columns[i]);
	}
	fact_orders_drop(facts);
	free(facts->tables[table].rows);
	facts->tables[table] = (struct fact_rows){0};
}

void snmp_facts_done(struct snmp_facts *facts)
{
	for (int i = 0; i < FACT_TABLE_COUNT; i++)
		snmp_facts_clear(facts, (enum fact_table)i);
	fact_orders_drop(facts);
	*facts = (struct snmp_facts){0};
}

/* --- values --- */

static bool snmp_facts_is_number(const struct snmp_value *value)
{
	return value->type == SNMP_INTEGER || value->type == SNMP_GAUGE32 ||
	       value->type == SNMP_COUNTER32 || value->type == SNMP_TICKS;
}

bool fact_set_octets(struct snmp_facts *facts, struct fact_octets *field, const void *bytes,
		     size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy) {
		facts->failed = true;
		return false;
	}
	if (size)
		memcpy(copy, bytes, size);
	free(field->bytes);
	*field = (struct fact_octets){copy, (uint32_t)size};
	return true;
}

static bool snmp_facts_put_octets(struct snmp_facts *facts, struct fact_octets *field,
				  const struct snmp_value *value)
{
	/* Five digits and a comma a port, where a list of bits has one bit. */
	if (value->size > (size_t)PORT_LIST_LIMIT * (facts->dialect->text_lists ? 8 : 1))
		return false;
	(void)fact_set_octets(facts, field, value->bytes, value->size);
	return true;
}

/* False: a value that this field cannot have. */
static bool put_value(struct snmp_facts *facts, void *row, const struct fact_column *column,
		      const struct snmp_value *value)
{
	void *field = (uint8_t *)row + column->at;

	if (column->kind == FACT_NUMBER) {
		if (!snmp_facts_is_number(value))
			return false;
		*(uint32_t *)field = (uint32_t)value->number;
		return true;
	}
	if (value->type != SNMP_OCTETS)
		return false;
	switch (column->kind) {
	case FACT_TEXT: snmp_text(value->bytes, value->size, field, column->size); return true;
	case FACT_MAC:
		if (value->size == 6)
			memcpy(field, value->bytes, 6);
		return true; /* loopbacks have an empty one */
	case FACT_OCTETS: return snmp_facts_put_octets(facts, field, value);
	case FACT_NUMBER: break;
	}
	return false;
}

static bool snmp_facts_key_of(const struct fact_column *column, const uint32_t *index, size_t count,
			      uint16_t vlan, uint32_t key[FACT_KEYS])
{
	uint8_t mac[6];

	memset(key, 0, FACT_KEYS * sizeof(key[0]));
	if (column->index == FACT_PLAIN) {
		if (count == column->keys)
			memcpy(key, index, count * sizeof(key[0]));
		return count == column->keys;
	}
	key[0] = vlan;
	if (column->index == FACT_ID_MAC && count > 0) {
		key[0] = index[0];
		index++;
		count--;
	}
	/* A MacAddress has a fixed length, which no index repeats (RFC 2578, 7.7). ZyXEL, V-SOL,
	 * EdgeSwitch and AOS-CX repeat it. */
	if (count == sizeof(mac) + 1 && index[0] == sizeof(mac)) {
		index++;
		count--;
	}
	if (count != sizeof(mac) || !snmp_index_mac(index, count, mac))
		return false;
	key[1] = (uint32_t)mac[0] << 8 | mac[1];
	key[2] = (uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 | mac[5];
	return true;
}

/* Who is in which aggregate. */
static bool is_of_members(const struct fact_column *column)
{
	return column->table == FACT_STACK ||
	       (column->table == FACT_INTERFACES &&
		(column->at == offsetof(struct fact_interface, lag) ||
		 column->at == offsetof(struct fact_interface, lag_selected) ||
		 column->at == offsetof(struct fact_interface, lag_group)));
}

bool snmp_facts_take(struct snmp_facts *facts, const struct fact_column *column,
		     const uint32_t *index, size_t count, const struct snmp_value *value,
		     uint16_t vlan)
{
	uint32_t key[FACT_KEYS];
	void *row;

	if (value->type == SNMP_NO_OBJECT || value->type == SNMP_NULL)
		return true;
	if (!snmp_facts_key_of(column, index, count, vlan, key)) {
		char name[96];

		(void)snmp_oid_text(&column->root, name, sizeof(name));
		snmp_facts_odd(facts, "%s: a row whose index has %zu arcs", name, count);
		facts->left_out[column->group]++;
		return true;
	}
	row = snmp_facts_find_or_make(facts, column->table, key);
	if (!row)
		return false;
	facts->shows_members |= is_of_members(column);
	if (!put_value(facts, row, column, value)) {
		char name[96];

		(void)snmp_oid_text(&column->root, name, sizeof(name));
		snmp_facts_odd(facts, "%s: a value of a type or size that it cannot have", name);
		facts->left_out[column->group] += column->kind == FACT_OCTETS;
	}
	return true;
}

/* --- groups --- */

/* Ids of the dialect stand for the table's empty ones. */
static struct snmp_oid dialect_root(const struct snmp_facts *facts, uint16_t at,
				    enum fact_table table)
{
	const struct snmp_port_mode *mode = &facts->dialect->mode;
	struct snmp_oid root = {0};

	if (table == FACT_VLANS)
		return mode->trunk_egress;
	if (table == FACT_INTERFACES)
		return facts->dialect->lag.group;
	if (at == offsetof(struct fact_bridge_port, mode))
		root = mode->mode;
	else if (at == offsetof(struct fact_bridge_port, mode_access))
		root = mode->access_vlan;
	else
		root = mode->native_vlan;
	if (root.count && mode->model_at)
		root.ids[mode->model_at - 1] = facts->model;
	return root;
}

size_t fact_group_columns(const struct snmp_facts *facts, enum fact_group group,
			  const struct fact_column *ret[SNMP_WALK_COLUMNS],
			  struct snmp_oid ret_roots[SNMP_WALK_COLUMNS])
{
	size_t count = 0;

	for (size_t i = 0; i < fact_column_count && count < SNMP_WALK_COLUMNS; i++) {
		const struct fact_column *column = &fact_columns[i];
		struct snmp_oid root = column->root;

		/* All that is read of an interface begins with its names. */
		if (column->group != group &&
		    !(group == GROUP_INTERFACES && column->group == GROUP_NAMES))
			continue;
		if (group == GROUP_LAGS || group == GROUP_MODE || group == GROUP_MODE_EGRESS)
			root = dialect_root(facts, column->at, column->table);
		if (root.count == 0)
			continue;
		ret[count] = column;
		ret_roots[count] = root;
		count++;
	}
	return count;
}

/* --- scalars --- */

static void take_object_id(struct snmp_facts *facts, const struct snmp_oid *object)
{
	uint8_t model_at = facts->dialect->mode.model_at;

	(void)snmp_oid_text(object, facts->identity.object_id, sizeof(facts->identity.object_id));
	if (model_at && object->count >= model_at)
		facts->model = object->ids[model_at - 1];
}

bool snmp_facts_scalar(struct snmp_facts *facts, size_t number, const struct snmp_value *value)
{
	struct switch_identity *identity = &facts->identity;
	bool octets = value->type == SNMP_OCTETS;

	if (number == FACT_SCALARS && snmp_facts_is_number(value))
		identity->member_changes = (uint64_t)value->number + 1;
	if (number >= FACT_SCALARS)
		return number == FACT_SCALARS;
	if (octets && number == 0)
		snmp_text(value->bytes, value->size, identity->text, sizeof(identity->text));
	else if (value->type == SNMP_OBJECT_ID && number == 1)
		take_object_id(facts, value->object);
	else if (value->type == SNMP_TICKS && number == 2)
		identity->uptime_ms = (uint64_t)value->number * 10;
	else if (octets && number == 3)
		snmp_text(value->bytes, value->size, identity->system, sizeof(identity->system));
	else if (value->type == SNMP_INTEGER && number == 4)
		facts->chassis_subtype = (uint32_t)value->number;
	else if (octets && number == 5)
		lldp_id_text(LLDP_CHASSIS, facts->chassis_subtype, value->bytes, value->size,
			     identity->chassis, sizeof(identity->chassis));
	else if (value->type == SNMP_TICKS && number == 8)
		identity->neighbor_changes = (uint64_t)value->number + 1;
	else if (snmp_facts_is_number(value) && (number == 6 || number == 7))
		/* Both in one: a VLAN more, or one deleted and another made. 0 means none. */
		identity->vlan_changes += number == 6 ? (uint64_t)value->number + 1
						      : ((uint64_t)value->number + 1) << 16;
	return true;
}
