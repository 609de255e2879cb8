/* Some ports only. Their places (ifIndex, base port) are remembered from the last whole reading. So
 * a look at two ports is two requests and not two tables. Each such look proves them: the name and
 * the base port must still be each other's. Other facts of a port come with whole readings
 * (fact_need). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peregrine/switch/snmp/snmp_facts.h"

enum { TARGET_LIMIT = 24, TARGET_GETS = 40, TARGET_BINDINGS = 64 };

struct snmp_target {
	char name[64];
	uint32_t if_index, base_port;
	bool by_descr; /* it has no ifName */
};

/* Zero bytes are an empty map. */
struct snmp_target_map {
	struct snmp_target *ports; /* owned */
	size_t count;
};

/* From facts that hold all interfaces and bridge ports; others say nothing. Without memory it stays
 * empty. */
void snmp_targets_learn(struct snmp_target_map *map, const struct snmp_facts *facts);
void snmp_targets_done(struct snmp_target_map *map);
/* Adds the port to `ret` unless it is there. False: not known, or no more room. */
bool snmp_targets_add(const struct snmp_target_map *map, const char *name,
		      struct snmp_target ret[TARGET_LIMIT], size_t *count);
/* Has a look at the port alone to ask for the column? */
bool snmp_targets_need(const struct snmp_target *target, const struct fact_column *column);
/* Are they where they were? Of facts that were just read. */
bool snmp_targets_hold(const struct snmp_facts *facts, const struct snmp_target *targets,
		       size_t count);
