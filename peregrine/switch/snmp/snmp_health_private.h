/* What the halves of SWITCH_HEALTH by SNMP share: snmp_health.c is the course of a reading,
 * snmp_health_columns.c what is walked and where its values go. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "peregrine/switch/snmp/snmp_switch.h"
#include "peregrine/switch/snmp/snmp_walk.h"

enum { SNMP_HEALTH_STEPS = 9 };

#define SNMP_HEALTH_STP 1, 3, 6, 1, 2, 1, 17, 2 /* dot1dStp */

struct entity {
	uint32_t index, inside, if_index;
	char name[64], text[64];
};

struct bridge_port {
	uint32_t number, if_index;
	uint8_t state, designated[8];
	uint32_t transitions;
};

struct snmp_health {
	struct snmp_switch *one;
	struct snmp_walk *walk;
	struct switch_health health;
	struct entity *entities; /* sorted by index */
	size_t entity_count;
	struct bridge_port *bridge_ports; /* sorted by number */
	size_t bridge_port_count;
	size_t step;
	struct snmp_oid columns[SNMP_WALK_COLUMNS]; /* of the walk under way */
	int64_t asked_ms;
};

/* What a column is; `arg` says which of its kind. */
typedef void (*health_take_fn)(struct snmp_health *state, unsigned arg, const uint32_t *index,
			       size_t count, const struct snmp_value *value);

struct health_column {
	struct snmp_oid oid;
	health_take_fn take;
	unsigned arg;
};

struct snmp_health_step {
	unsigned part; /* that it is for, all of it that can be left out; names are for all parts */
	const struct health_column *columns;
	size_t count;
	bool (*needed)(const struct snmp_health *state); /* NULL: always */
	bool sums; /* several columns make one number: of a walk broken off none is right */
};

/* Walks in their order. */
extern const struct snmp_health_step snmp_health_steps[SNMP_HEALTH_STEPS];

/* NULL: not there (nothing is at 0). */
struct port_health *snmp_health_port(const struct switch_health *health, uint32_t if_index);
const struct entity *snmp_health_entity(const struct snmp_health *state, uint32_t index);
