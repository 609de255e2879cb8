/* The driver "ovsdb": an Open vSwitch by its database (RFC 7047, schema Open_vSwitch). LLDP and FDB
 * are not in there: "ovsdb+snmp" (joined_driver.h) has them from the switch's SNMP agent. */
#pragma once

#include "peregrine/switch/switch_driver.h"

extern const struct switch_driver ovsdb_switch_driver;

/* switch_driver.lag_name: the aggregates that we make are "haas-1", "haas-2". */
bool ovsdb_lag_name(const struct switch_family *family, unsigned number, char ret[64]);
