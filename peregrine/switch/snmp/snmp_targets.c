#include "peregrine/switch/snmp/snmp_targets.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_reading.h"

LEAKS_LEFT_TO_SANITIZER

/* Cisco has a bridge per VLAN, and its VLANs go by ifIndex: there is no base port to know. */
static bool has_base_ports(const struct snmp_facts *facts)
{
	return facts->dialect->writer != SNMP_WRITER_VTP;
}

void snmp_targets_learn(struct snmp_target_map *map, const struct snmp_facts *facts)
{
	uint32_t count = fact_count(facts, FACT_INTERFACES);

	if (!count || (has_base_ports(facts) && !fact_count(facts, FACT_BRIDGE_PORTS)))
		return;
	snmp_targets_done(map);
	map->ports = calloc(count, sizeof(*map->ports));
	for (uint32_t i = 0; map->ports && i < count; i++) {
		const struct fact_interface *interface = fact_at(facts, FACT_INTERFACES, i);
		struct snmp_target *target = &map->ports[map->count];

		target->if_index = interface->key[0];
		target->by_descr = !interface->name[0];
		target->base_port =
			has_base_ports(facts) ? fact_base_port(facts, interface->key[0]) : 0;
		if ((has_base_ports(facts) && !target->base_port) ||
		    !text_copy(target->name, sizeof(target->name), fact_port_name(interface)))
			continue;
		map->count++;
	}
}

void snmp_targets_done(struct snmp_target_map *map)
{
	free(map->ports);
	*map = (struct snmp_target_map){0};
}

bool snmp_targets_add(const struct snmp_target_map *map, const char *name,
		      struct snmp_target ret[TARGET_LIMIT], size_t *count)
{
	const struct snmp_target *found = NULL;

	for (size_t i = 0; i < *count; i++) {
		if (strcmp(ret[i].name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < map->count; i++) {
		if (strcmp(map->ports[i].name, name) != 0)
			continue;
		if (found)
			return false; /* a look at one row would not show that there are two */
		found = &map->ports[i];
	}
	if (!found || *count == TARGET_LIMIT)
		return false;
	ret[(*count)++] = *found;
	return true;
}

bool snmp_targets_need(const struct snmp_target *target, const struct fact_column *column)
{
	switch (column->need) {
	case NEED_ALWAYS: return true;
	case NEED_WHOLE: return false;
	case NEED_DESCR: return target->by_descr;
	case NEED_TYPE: return !target->base_port;
	}
	return true;
}

bool snmp_targets_hold(const struct snmp_facts *facts, const struct snmp_target *targets,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct fact_interface *interface =
			fact_find(facts, FACT_INTERFACES, targets[i].if_index, 0, 0);

		if (!interface || strcmp(fact_port_name(interface), targets[i].name) != 0 ||
		    (has_base_ports(facts) &&
		     fact_base_port(facts, targets[i].if_index) != targets[i].base_port))
			return false;
	}
	return true;
}
