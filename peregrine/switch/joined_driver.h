/* Two drivers as one, for switches whose own way in does not tell everything. "ovsdb+snmp" is OVSDB
 * for ports, VLANs and every change. SNMP adds LLDP neighbours, the FDB, and parts of the identity
 * that OVSDB leaves empty.
 *
 * The first is the switch: it fails, the call fails. Without SNMP credentials, or while the agent
 * is silent, the parts that only the agent knows are not complete. That is all. */
#pragma once

#include "peregrine/switch/switch_driver.h"

extern const struct switch_driver ovsdb_snmp_switch_driver;
