#include "peregrine/switch/switch_driver.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/sorted.h"

#include "peregrine/switch/cli/cli_driver.h"
#include "peregrine/switch/joined_driver.h"
#include "peregrine/switch/netconf/netconf_driver.h"
#include "peregrine/switch/ovsdb/ovsdb_driver.h"
#include "peregrine/switch/sim/sim_fabric.h"
#include "peregrine/switch/snmp/snmp_driver.h"

/* One row per way to speak to a switch. */
static const struct switch_driver *const switch_driver_drivers[] = {
	&sim_switch_driver,     &snmp_switch_driver,  &cli_switch_driver,
	&netconf_switch_driver, &ovsdb_switch_driver, &ovsdb_snmp_switch_driver,
};

const struct switch_driver *switch_driver_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(switch_driver_drivers); i++) {
		if (strcmp(switch_driver_drivers[i]->name, name) == 0)
			return switch_driver_drivers[i];
	}
	return NULL;
}

void switch_endpoint_wipe(struct switch_endpoint *endpoint)
{
	sodium_memzero(endpoint, sizeof(*endpoint));
}

bool port_vlans_equal(const struct port_vlans *a, const struct port_vlans *b)
{
	return a == b || (a->trunk == b->trunk && a->apart == b->apart && a->native == b->native &&
			  vlan_set_equal(&a->tagged, &b->tagged));
}

bool switch_port_is_wanted(const char *const *only_ports, const char *name)
{
	for (const char *const *port = only_ports; port && *port; port++) {
		if (strcmp(*port, name) == 0)
			return true;
	}
	return !only_ports;
}

void switch_reading_done(struct switch_reading *reading)
{
	free(reading->ports);
	free(reading->vlans);
	free(reading->neighbors);
	free(reading->fdb);
	switch_health_done(&reading->health);
	*reading = (struct switch_reading){0};
}

const struct switch_port *switch_reading_port(const struct switch_reading *reading,
					      uint32_t if_index)
{
	size_t at = SORTED_FIRST(i, 0, reading->port_count, reading->ports[i].if_index < if_index);

	if (at < reading->port_count && reading->ports[at].if_index == if_index)
		return &reading->ports[at];
	return NULL;
}

const struct switch_port *switch_reading_port_named(const struct switch_reading *reading,
						    const char *name)
{
	for (size_t i = 0; i < reading->port_count; i++) {
		if (strcmp(reading->ports[i].name, name) == 0)
			return &reading->ports[i];
	}
	return NULL;
}

struct switch_edit switch_edit_undo(const struct switch_edit *edit)
{
	struct switch_edit undo = *edit;

	switch (edit->kind) {
	case EDIT_VLAN_CREATE: undo.kind = EDIT_VLAN_DELETE; break;
	case EDIT_VLAN_DELETE: undo.kind = EDIT_VLAN_CREATE; break;
	case EDIT_PORT:
		undo.before = edit->after;
		undo.after = edit->before;
		break;
	}
	return undo;
}
