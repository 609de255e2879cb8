#include "common/base/error.h"

#include "peregrine/control/driver/snmp/snmp_switch.h"

int snmp_change_start(struct snmp_switch *one)
{
	return problem_set(&one->early, E_UNSUPPORTED, "switch %s cannot be changed by SNMP",
			   one->endpoint.name);
}

int snmp_save_start(struct snmp_switch *one)
{
	return problem_set(&one->early, E_UNSUPPORTED, "switch %s cannot be told by SNMP to save",
			   one->endpoint.name);
}

void snmp_change_cancel(struct snmp_change *change)
{
	(void)change;
}
