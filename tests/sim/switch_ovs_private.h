/* Shared by the files that speak to Open vSwitch. */
#pragma once

#include <jansson.h>

#include "tests/sim/switch_ovs.h"
#include "tests/sim/switch_rpc.h"

struct switch_ovs {
	struct switch_rpc database, control;
	char bridge[SWITCH_PORT_NAME];
};

/* Consumes `params` (the words of a "transact"); returns when the data plane has it. */
MUST_USE int switch_ovs_transact(struct switch_ovs *ovs, json_t *params);
