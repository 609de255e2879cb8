/* Net-SNMP's headers in the only order they compile in. */
#pragma once

/* clang-format off */
#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/agent/net-snmp-agent-includes.h>
/* clang-format on */
