/* What the halves of the simulated BMC share: sessions (fleet_bmc.c) and commands
 * (fleet_bmc_command.c). */
#pragma once

#include "tests/sim/fleet/fleet.h"
#include "tests/sim/fleet/fleet_rmcp_wire.h"

struct fleet_bmc_answer {
	uint8_t completion;
	bool silent; /* no answer at all */
	bool closes; /* the session ends with this answer */
	uint8_t data[RMCP_DATA_MAX];
	size_t size;
};
/* IPMI 2.0 clauses 20-22, 28, 31, 33, 35. Without a session only what asks who the BMC is. */
void fleet_bmc_command(struct fleet_node *node, const struct rmcp_command *command, bool session,
		       struct fleet_bmc_answer *ret);
void fleet_bmc_guid(const struct fleet_node *node, uint8_t ret[16]);
