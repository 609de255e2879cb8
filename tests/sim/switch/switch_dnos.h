/* Ports of a Dell N-series switch (DNOS-SWITCHING-MIB, FASTPATH): a mode decides which settings
 * count, and those of the other modes are kept. From the MIB's descriptions and what public clients
 * of it write:
 *
 *   access   untagged in the access VLAN, in no other
 *   trunk    tagged in each VLAN whose list of trunk ports has the port; of these the native
 *            VLAN is untagged
 *   general  as Q-BRIDGE-MIB says
 *
 * VLANs that do not exist are refused. Rows of agentPortConfigTable go by base port. */
#pragma once

#include "tests/sim/switch/switch_mib.h"

#define SWITCH_DNOS_OID 1, 3, 6, 1, 4, 1, 674, 10895, 5000, 2, 6132, 1, 1, 1

struct switch_dnos {
	uint8_t mode[SWITCH_PORT_MAX + 1];
	uint16_t access[SWITCH_PORT_MAX + 1], native[SWITCH_PORT_MAX + 1];
	struct switch_portlist trunk[SWITCH_VID_MAX + 1]; /* by VLAN: in it when in trunk mode */
};

MUST_USE int switch_dnos_new(struct switch_dnos **ret);
/* The settings that lead to what the model has: after a reboot, or somebody else's change. */
void switch_dnos_follow(struct switch_device *device, const struct switch_port *port);
void switch_dnos_show(const struct switch_device *device, struct switch_mib *mib);
/* Is it one of these objects, rather than the one that saves? */
bool switch_dnos_has(const netsnmp_variable_list *varbind);
enum switch_error switch_dnos_set(struct switch_device *device,
				  const netsnmp_variable_list *const varbinds[], size_t count,
				  bool now);
