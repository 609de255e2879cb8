/* Switches by SNMP: reads every family, writes those whose dialect (snmp_dialect.h) can. */
#pragma once

#include "peregrine/switch/switch_driver.h"

extern const struct switch_driver snmp_switch_driver;
