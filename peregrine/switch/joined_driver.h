/* Two drivers as one, for switches whose own way in does not tell everything: "ovsdb+snmp" is
 * OVSDB for what it has (ports, VLANs, every change), and SNMP for the rest of a reading (LLDP
 * neighbours, FDB, and of the identity what the first leaves empty).
 *
 * The first is the switch: it fails, the call fails. Without SNMP credentials, or while the agent
 * is silent, the parts that only it knows are not complete, and that is all. */
#pragma once

#include "peregrine/switch/switch_driver.h"

extern const struct switch_driver ovsdb_snmp_switch_driver;
