/* What is walked for SWITCH_HEALTH, column by column, and the rows that its values go to. */
#include <stdlib.h>
#include <string.h>

#include "common/base/sorted.h"

#include "peregrine/switch/snmp/snmp_health_private.h"

LEAKS_LEFT_TO_SANITIZER

#define SNMP_HEALTH_COLUMNS_IF  1, 3, 6, 1, 2, 1, 2, 2, 1
#define SNMP_HEALTH_COLUMNS_IFX 1, 3, 6, 1, 2, 1, 31, 1, 1, 1
#define STP                     SNMP_HEALTH_STP
#define LAG                     1, 2, 840, 10006, 300, 43, 1, 2, 1, 1
#define SENSOR                  1, 3, 6, 1, 2, 1, 99, 1, 1, 1
#define ENTITY                  1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1

enum {
	PORT_LIMIT = 8192, /* interfaces of any kind */
	ENTITY_LIMIT = 16384,
	SENSOR_LIMIT = 4096,
	IF_INDEX_ARCS = 11, /* of ifIndex.N */
	OPER_UP = 1,
	/* ifType of what frames are switched at, as snmp_reading.c has them. */
	SNMP_HEALTH_COLUMNS_TYPE_ETHERNET = 6,
	TYPE_FAST = 62,
	TYPE_GIGABIT = 117,
	TYPE_LAG = 161,
};

/* --- rows --- */

static uint32_t snmp_health_columns_key(const char *row)
{
	uint32_t key;

	memcpy(&key, row, sizeof(key));
	return key;
}

/* Rows of `size` bytes, sorted by their first member: where that of `key` is, or would stand. */
static size_t snmp_health_columns_place_of(const char *rows, size_t count, size_t size,
					   uint32_t key, bool *there)
{
	size_t at = SORTED_FIRST(i, 0, count, snmp_health_columns_key(rows + i * size) < key);

	*there = at < count && snmp_health_columns_key(rows + at * size) == key;
	return at;
}

/* The row of `key`, made when it is not there; `rows` is where the pointer to the first one is.
 * Rows come in order, mostly. NULL: no room. */
static void *snmp_health_columns_row_at(void *rows, size_t *count, size_t size, size_t limit,
					uint32_t key)
{
	char *array;
	size_t place;
	bool there;

	/* Its type is a pointer to that row: by its bytes. */
	memcpy(&array, rows, sizeof(array));
	place = snmp_health_columns_place_of(array, *count, size, key, &there);
	if (there)
		return array + place * size;
	if (*count == limit)
		return NULL;
	/* By doubling: at powers of two there is no room left. */
	if ((*count & (*count - 1)) == 0) {
		array = reallocarray(array, *count ? *count * 2 : 1, size);
		if (!array)
			return NULL;
		memcpy(rows, &array, sizeof(array));
	}
	memmove(array + (place + 1) * size, array + place * size, (*count - place) * size);
	memset(array + place * size, 0, size);
	memcpy(array + place * size, &key, sizeof(key));
	++*count;
	return array + place * size;
}

static struct port_health *snmp_health_columns_port_at(struct snmp_health *state, uint32_t if_index)
{
	return snmp_health_columns_row_at(&state->health.ports, &state->health.port_count,
					  sizeof(struct port_health), PORT_LIMIT, if_index);
}

static struct entity *entity_at(struct snmp_health *state, uint32_t index)
{
	return snmp_health_columns_row_at(&state->entities, &state->entity_count,
					  sizeof(struct entity), ENTITY_LIMIT, index);
}

static struct switch_sensor *sensor_at(struct snmp_health *state, uint32_t index)
{
	return snmp_health_columns_row_at(&state->health.sensors, &state->health.sensor_count,
					  sizeof(struct switch_sensor), SENSOR_LIMIT, index);
}

static struct bridge_port *bridge_port_at(struct snmp_health *state, uint32_t number)
{
	return snmp_health_columns_row_at(&state->bridge_ports, &state->bridge_port_count,
					  sizeof(struct bridge_port), PORT_LIMIT, number);
}

/* What does not print is left out: it goes to people and into JSON. */
static void snmp_health_columns_take_text(char *ret, size_t room, const struct snmp_value *value)
{
	size_t length = 0;

	for (size_t i = 0; i < value->size && length + 1 < room; i++)
		if (value->bytes[i] >= ' ' && value->bytes[i] < 0x7f)
			ret[length++] = (char)value->bytes[i];
	ret[length] = '\0';
}

static uint32_t snmp_health_columns_number_of(const struct snmp_value *value)
{
	return (uint32_t)value->number;
}

struct port_health *snmp_health_port(const struct switch_health *health, uint32_t if_index)
{
	bool there = false;
	size_t place = snmp_health_columns_place_of((const char *)health->ports, health->port_count,
						    sizeof(*health->ports), if_index, &there);

	return if_index && there ? &health->ports[place] : NULL;
}

const struct entity *snmp_health_entity(const struct snmp_health *state, uint32_t index)
{
	bool there = false;
	size_t place =
		snmp_health_columns_place_of((const char *)state->entities, state->entity_count,
					     sizeof(*state->entities), index, &there);

	return index && there ? &state->entities[place] : NULL;
}

/* --- columns --- */

enum { NAME, DESCR, TYPE, OPER, SNMP_HEALTH_COLUMNS_SPEED, DISCONTINUITY };

static void take_interface(struct snmp_health *state, unsigned arg, const uint32_t *index,
			   size_t count, const struct snmp_value *value)
{
	struct port_health *port = count == 1 ? snmp_health_columns_port_at(state, index[0]) : NULL;
	uint32_t number = snmp_health_columns_number_of(value);

	if (!port)
		return;
	switch (arg) {
	case NAME: snmp_health_columns_take_text(port->name, sizeof(port->name), value); break;
	case DESCR:
		if (!port->name[0])
			snmp_health_columns_take_text(port->name, sizeof(port->name), value);
		break;
	case TYPE:
		port->is_port = number == SNMP_HEALTH_COLUMNS_TYPE_ETHERNET ||
				number == TYPE_FAST || number == TYPE_GIGABIT || number == TYPE_LAG;
		break;
	case OPER: port->up = number == OPER_UP; break;
	case SNMP_HEALTH_COLUMNS_SPEED: port->speed_bps = (uint64_t)number * 1000000; break;
	case DISCONTINUITY: port->discontinuity = number; break;
	default: break;
	}
}

static void take_wide(struct snmp_health *state, unsigned arg, const uint32_t *index, size_t count,
		      const struct snmp_value *value)
{
	struct port_health *port = count == 1 ? snmp_health_columns_port_at(state, index[0]) : NULL;

	if (!port || value->type != SNMP_COUNTER64)
		return;
	port->counts[arg] += (uint64_t)value->number;
	port->known |= (uint8_t)(1U << arg);
	port->wide |= (uint8_t)(1U << arg);
}

/* Where there is no wide one. */
static void take_narrow(struct snmp_health *state, unsigned arg, const uint32_t *index,
			size_t count, const struct snmp_value *value)
{
	struct port_health *port = count == 1 ? snmp_health_columns_port_at(state, index[0]) : NULL;

	if (!port || (port->known & (1U << arg)) || value->type != SNMP_COUNTER32)
		return;
	port->counts[arg] = snmp_health_columns_number_of(value);
	port->known |= (uint8_t)(1U << arg);
}

enum { BRIDGE_IF_INDEX, BRIDGE_STATE, BRIDGE_DESIGNATED, BRIDGE_TRANSITIONS };

static void take_bridge(struct snmp_health *state, unsigned arg, const uint32_t *index,
			size_t count, const struct snmp_value *value)
{
	struct bridge_port *port = count == 1 ? bridge_port_at(state, index[0]) : NULL;

	if (!port)
		return;
	switch (arg) {
	case BRIDGE_IF_INDEX: port->if_index = snmp_health_columns_number_of(value); break;
	case BRIDGE_STATE: port->state = (uint8_t)value->number; break;
	case BRIDGE_DESIGNATED:
		if (value->size == sizeof(port->designated))
			memcpy(port->designated, value->bytes, sizeof(port->designated));
		break;
	case BRIDGE_TRANSITIONS: port->transitions = snmp_health_columns_number_of(value); break;
	default: break;
	}
}

enum { LAG_PARTNER, LAG_SELECTED, LAG_ATTACHED, LAG_ACTOR_STATE, LAG_PARTNER_STATE };

static void take_lag(struct snmp_health *state, unsigned arg, const uint32_t *index, size_t count,
		     const struct snmp_value *value)
{
	struct port_health *port = count == 1 ? snmp_health_columns_port_at(state, index[0]) : NULL;
	const uint8_t *b = value->bytes;

	if (!port)
		return;
	state->health.parts |= HEALTH_LAGS;
	port->lag_member = true;
	switch (arg) {
	case LAG_PARTNER:
		if (value->size == 6 && (b[0] | b[1] | b[2] | b[3] | b[4] | b[5]))
			(void)text_format(port->lag_partner_system,
					  sizeof(port->lag_partner_system),
					  "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3],
					  b[4], b[5]);
		break;
	case LAG_SELECTED: port->lag_selected = snmp_health_columns_number_of(value); break;
	case LAG_ATTACHED: port->lag = snmp_health_columns_number_of(value); break;
	case LAG_ACTOR_STATE: port->lag_actor = value->size ? b[0] : 0; break;
	case LAG_PARTNER_STATE: port->lag_partner = value->size ? b[0] : 0; break;
	default: break;
	}
}

enum { SENSOR_TYPE, SENSOR_SCALE, SENSOR_PRECISION, SENSOR_VALUE, SENSOR_STATUS };

static void take_sensor(struct snmp_health *state, unsigned arg, const uint32_t *index,
			size_t count, const struct snmp_value *value)
{
	struct switch_sensor *sensor = count == 1 ? sensor_at(state, index[0]) : NULL;

	if (!sensor || value->type != SNMP_INTEGER)
		return;
	state->health.parts |= HEALTH_SENSORS;
	switch (arg) {
	case SENSOR_TYPE: sensor->type = (uint8_t)value->number; break;
	case SENSOR_SCALE: sensor->scale = (uint8_t)value->number; break;
	case SENSOR_PRECISION: /* -8..9, RFC 3433 */
		if (value->number >= -8 && value->number <= 9)
			sensor->precision = (int8_t)value->number;
		break;
	case SENSOR_VALUE: sensor->value = (int32_t)value->number; break;
	case SENSOR_STATUS: sensor->status = (uint8_t)value->number; break;
	default: break;
	}
}

enum { ENTITY_NAME, ENTITY_TEXT, ENTITY_INSIDE };

static void take_entity(struct snmp_health *state, unsigned arg, const uint32_t *index,
			size_t count, const struct snmp_value *value)
{
	struct entity *entity = count == 1 ? entity_at(state, index[0]) : NULL;

	if (!entity)
		return;
	switch (arg) {
	case ENTITY_NAME:
		snmp_health_columns_take_text(entity->name, sizeof(entity->name), value);
		break;
	case ENTITY_TEXT:
		snmp_health_columns_take_text(entity->text, sizeof(entity->text), value);
		break;
	case ENTITY_INSIDE: entity->inside = snmp_health_columns_number_of(value); break;
	default: break;
	}
}

/* entAliasMappingIdentifier: the ifIndex.N that a physical port is. */
static void take_alias(struct snmp_health *state, unsigned arg, const uint32_t *index, size_t count,
		       const struct snmp_value *value)
{
	static const struct snmp_oid if_index = OID(SNMP_HEALTH_COLUMNS_IF, 1);
	struct entity *entity = count == 2 ? entity_at(state, index[0]) : NULL;

	(void)arg;
	if (entity && value->type == SNMP_OBJECT_ID && value->object->count == IF_INDEX_ARCS &&
	    snmp_oid_is_below(value->object, &if_index))
		entity->if_index = value->object->ids[IF_INDEX_ARCS - 1];
}

/* clang-format off */
static const struct health_column interface_columns[] = {
	{OID(SNMP_HEALTH_COLUMNS_IFX, 1),  take_interface, NAME},
	{OID(SNMP_HEALTH_COLUMNS_IF, 3),   take_interface, TYPE},
	{OID(SNMP_HEALTH_COLUMNS_IF, 8),   take_interface, OPER},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 15), take_interface, SNMP_HEALTH_COLUMNS_SPEED},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 19), take_interface, DISCONTINUITY},
};
static const struct health_column descr_columns[] = {
	{OID(SNMP_HEALTH_COLUMNS_IF, 2), take_interface, DESCR},
};
static const struct health_column wide_columns[] = {
	{OID(SNMP_HEALTH_COLUMNS_IFX, 6),  take_wide,   COUNT_IN_BYTES},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 10), take_wide,   COUNT_OUT_BYTES},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 7),  take_wide,   COUNT_IN_PACKETS},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 8),  take_wide,   COUNT_IN_PACKETS},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 9),  take_wide,   COUNT_IN_PACKETS},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 11), take_wide,   COUNT_OUT_PACKETS},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 12), take_wide,   COUNT_OUT_PACKETS},
	{OID(SNMP_HEALTH_COLUMNS_IFX, 13), take_wide,   COUNT_OUT_PACKETS},
	{OID(SNMP_HEALTH_COLUMNS_IF, 14),  take_narrow, COUNT_IN_ERRORS},
	{OID(SNMP_HEALTH_COLUMNS_IF, 20),  take_narrow, COUNT_OUT_ERRORS},
	{OID(SNMP_HEALTH_COLUMNS_IF, 13),  take_narrow, COUNT_IN_DISCARDS},
	{OID(SNMP_HEALTH_COLUMNS_IF, 19),  take_narrow, COUNT_OUT_DISCARDS},
};
static const struct health_column narrow_columns[] = {
	{OID(SNMP_HEALTH_COLUMNS_IF, 10), take_narrow, COUNT_IN_BYTES},
	{OID(SNMP_HEALTH_COLUMNS_IF, 16), take_narrow, COUNT_OUT_BYTES},
	{OID(SNMP_HEALTH_COLUMNS_IF, 11), take_narrow, COUNT_IN_PACKETS},
	{OID(SNMP_HEALTH_COLUMNS_IF, 17), take_narrow, COUNT_OUT_PACKETS},
};
static const struct health_column bridge_columns[] = {
	{OID(1, 3, 6, 1, 2, 1, 17, 1, 4, 1, 2), take_bridge, BRIDGE_IF_INDEX},
	{OID(STP, 15, 1, 3),  take_bridge, BRIDGE_STATE},
	{OID(STP, 15, 1, 8),  take_bridge, BRIDGE_DESIGNATED},
	{OID(STP, 15, 1, 10), take_bridge, BRIDGE_TRANSITIONS},
};
static const struct health_column lag_columns[] = {
	{OID(LAG, 9),  take_lag, LAG_PARTNER},
	{OID(LAG, 12), take_lag, LAG_SELECTED},
	{OID(LAG, 13), take_lag, LAG_ATTACHED},
	{OID(LAG, 21), take_lag, LAG_ACTOR_STATE},
	{OID(LAG, 23), take_lag, LAG_PARTNER_STATE},
};
static const struct health_column sensor_columns[] = {
	{OID(SENSOR, 1), take_sensor, SENSOR_TYPE},
	{OID(SENSOR, 2), take_sensor, SENSOR_SCALE},
	{OID(SENSOR, 3), take_sensor, SENSOR_PRECISION},
	{OID(SENSOR, 4), take_sensor, SENSOR_VALUE},
	{OID(SENSOR, 5), take_sensor, SENSOR_STATUS},
};
static const struct health_column entity_columns[] = {
	{OID(ENTITY, 7), take_entity, ENTITY_NAME},
	{OID(ENTITY, 2), take_entity, ENTITY_TEXT},
	{OID(ENTITY, 4), take_entity, ENTITY_INSIDE},
};
static const struct health_column alias_columns[] = {
	{OID(1, 3, 6, 1, 2, 1, 47, 1, 3, 2, 1, 2), take_alias, 0},
};
/* clang-format on */

/* --- steps --- */

static bool is_nameless(const struct snmp_health *state)
{
	for (size_t i = 0; i < state->health.port_count; i++)
		if (!state->health.ports[i].name[0])
			return true;
	return false;
}

static bool lacks_wide(const struct snmp_health *state)
{
	for (size_t i = 0; i < state->health.port_count; i++)
		if (state->health.ports[i].is_port &&
		    !(state->health.ports[i].wide & (1U << COUNT_IN_BYTES)))
			return true;
	return false;
}

static bool has_sensors(const struct snmp_health *state)
{
	return state->health.sensor_count > 0;
}

const struct snmp_health_step snmp_health_steps[SNMP_HEALTH_STEPS] = {
	{HEALTH_ALL, interface_columns, COUNT_OF(interface_columns), NULL, false},
	{HEALTH_ALL, descr_columns, COUNT_OF(descr_columns), is_nameless, false},
	{HEALTH_COUNTERS, wide_columns, COUNT_OF(wide_columns), NULL, true},
	{HEALTH_COUNTERS, narrow_columns, COUNT_OF(narrow_columns), lacks_wide, false},
	{HEALTH_STP, bridge_columns, COUNT_OF(bridge_columns), NULL, false},
	{HEALTH_LAGS, lag_columns, COUNT_OF(lag_columns), NULL, false},
	{HEALTH_SENSORS, sensor_columns, COUNT_OF(sensor_columns), NULL, false},
	{HEALTH_SENSORS, entity_columns, COUNT_OF(entity_columns), has_sensors, false},
	{HEALTH_SENSORS, alias_columns, COUNT_OF(alias_columns), has_sensors, false},
};
