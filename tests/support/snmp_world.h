/* For tests: the facts of an agent and what is concluded from them. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/switch/snmp/snmp_reading.h"
#include "tests/support/cmocka.h"
#include "tests/support/snmp_facts_make.h"

struct world {
	struct snmp_facts facts;
	struct switch_reading reading;
};

static inline struct world world_of(const struct snmp_dialect *dialect)
{
	return (struct world){.facts = {.dialect = dialect}};
}

static inline void read_world(struct world *world)
{
	assert_int_equal(snmp_reading_make(&world->facts, PART_ALL, NULL, &world->reading), 0);
}

static inline void world_done(struct world *world)
{
	snmp_facts_done(&world->facts);
	switch_reading_done(&world->reading);
}

static inline const struct switch_port *port_named(const struct world *world, const char *name)
{
	const struct switch_port *port = switch_reading_port_named(&world->reading, name);

	assert_non_null(port);
	return port;
}

static inline void expect_vlans(const struct world *world, const char *name, bool trunk,
				uint16_t native, const char *tagged)
{
	const struct switch_port *port = port_named(world, name);
	struct port_vlans want = {.trunk = trunk, .native = native};

	assert_int_equal(vlan_set_parse(tagged, &want.tagged), 0);
	assert_true(port->has_vlans);
	assert_int_equal(port->vlans.trunk, trunk);
	assert_int_equal(port->vlans.native, native);
	assert_true(vlan_set_equal(&port->vlans.tagged, &want.tagged));
}
