/* What may go wrong with a simulated node, each with its probability: per occasion (a packet, a
 * boot, a task), or once and for all per node. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum fleet_fault {
	FLEET_DHCP_LOST,
	FLEET_DHCP_TWICE,
	FLEET_TFTP_LOST,
	FLEET_BMC_LOST,
	FLEET_BMC_DEAD,
	FLEET_BMC_SLOW,
	FLEET_BMC_LIES,
	FLEET_BMC_PASSWORD,
	FLEET_BMC_FULL,
	FLEET_BMC_DEAF,
	FLEET_DUPLICATE_MAC,
	FLEET_MOVED_CABLE,
	FLEET_BOOT_HANGS,
	FLEET_BOOT_ORDER,
	FLEET_AGENT_PANICS,
	FLEET_REBOOTS_EARLY,
	FLEET_AGENT_DIES,
	FLEET_AGENT_SILENT,
	FLEET_HTTP_CUT,
	FLEET_RESULT_TWICE,
	FLEET_BAD_INVENTORY,
	FLEET_DISK_FAILS,
	FLEET_BAD_BYTES,
	FLEET_ERASE_FAILS,
	FLEET_ERASE_LIES,
	FLEET_NO_CALLBACK,
	FLEET_OLD_CALLBACK,
	FLEET_REDFISH_LAZY,
	FLEET_REDFISH_BUSY,
	FLEET_REDFISH_ETAG,
	FLEET_REDFISH_STALE,
	FLEET_REDFISH_CUT,
	FLEET_FAULTS
};

struct fleet_fault_row {
	const char *name;
	const char *occasion; /* what is rolled for */
	const char *help;
	double mixed; /* its probability in --mixed */
};
extern const struct fleet_fault_row fleet_fault_table[FLEET_FAULTS];
/* -1 when there is none of that name. */
int fleet_fault_find(const char *name, size_t size);
