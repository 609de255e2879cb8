/* Fills reading->told (switch_told.h): groups that broke off, silent contexts, rows that fit
 * nothing, tables that an agent does not have. Pure. */
#pragma once

#include "peregrine/switch/snmp/snmp_facts.h"
#include "peregrine/switch/snmp/snmp_reader.h"
#include "peregrine/switch/switch_driver.h"

/* `parts` were asked for, and the reading is made of these facts. */
void snmp_told(const struct snmp_facts *facts, const struct snmp_missing *missing, unsigned parts,
	       struct switch_reading *reading);
