/* BRIDGE-MIB (RFC 4188), Q-BRIDGE-MIB (RFC 4363) and the save objects as a sorted list of values:
 * what GET and GETNEXT search, and what a SET means. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/switch/switch_device.h"
#include "tests/sim/switch/switch_netsnmp.h"

#define SWITCH_OID_MAX  32
#define SWITCH_SAVE_MAX 8

/* IEEE8023-LAG-MIB, ENTITY-SENSOR-MIB, ENTITY-MIB. */
#define SWITCH_LAG_OID    1, 2, 840, 10006, 300, 43
#define SWITCH_SENSOR_OID 1, 3, 6, 1, 2, 1, 99, 1
#define SWITCH_ENTITY_OID 1, 3, 6, 1, 2, 1, 47, 1

/* Net-SNMP's playground for examples; .1.0 save (set 1; reads 1 saved, 2 not), .2.0 changes, .3.0
 * saves. */
#define SWITCH_OWN_OID 1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 4

/* A vendor's object that saves the configuration when it is set to `value`. */
struct switch_save_object {
	oid name[SWITCH_OID_MAX]; /* of the instance */
	size_t length;
	int value;
};

struct switch_mib_row {
	oid name[SWITCH_OID_MAX];
	size_t length;
	u_char type;
	uint32_t number; /* of integer types */
	size_t at, size; /* of strings: in `bytes` */
};

struct switch_mib {
	struct switch_mib_row *rows; /* sorted, no name twice */
	size_t count, room;
	uint8_t *bytes;
	size_t byte_count, byte_room;
	bool failed;
};

void switch_mib_done(struct switch_mib *mib);
/* Everything the switch shows now. E_LIMIT, -ENOMEM. */
MUST_USE int switch_mib_build(const struct switch_device *device,
			      const struct switch_save_object *saves, size_t save_count,
			      struct switch_mib *ret);
/* The bridge of one VLAN of a Cisco switch, as community@vlan shows it. E_LIMIT, -ENOMEM. */
MUST_USE int switch_mib_build_vlan(const struct switch_device *device, uint16_t vid,
				   struct switch_mib *ret);
/* The row of that name, or the first after it; NULL when there is none. */
const struct switch_mib_row *switch_mib_find(const struct switch_mib *mib, const oid *name,
					     size_t length, bool next);
/* What a varbind asks for, or the error it earns. */
enum switch_error switch_mib_change(const struct switch_device *device,
				    const struct switch_save_object *saves, size_t save_count,
				    const netsnmp_variable_list *varbind,
				    struct switch_change *ret);
