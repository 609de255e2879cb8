#include "tests/sim/fleet/fleet_fault_table.h"

#include <string.h>

/* clang-format off */
const struct fleet_fault_row fleet_fault_table[FLEET_FAULTS] = {
	[FLEET_DHCP_LOST] =     {"dhcp_lost",     "packet", "a DHCP packet is lost, either way", 0.02},
	[FLEET_DHCP_TWICE] =    {"dhcp_twice",    "packet", "a DHCP request arrives twice", 0.02},
	[FLEET_TFTP_LOST] =     {"tftp_lost",     "packet", "a TFTP packet is lost, either way", 0.01},
	[FLEET_BMC_LOST] =      {"bmc_lost",      "packet", "a packet to the BMC is lost", 0.002},
	[FLEET_BMC_DEAD] =      {"bmc_dead",      "node",   "the BMC says nothing, ever", 0.01},
	[FLEET_BMC_SLOW] =      {"bmc_slow",      "node",   "the BMC takes 300 ms for every packet", 0.02},
	[FLEET_BMC_LIES] =      {"bmc_lies",      "node",   "the BMC says yes to power and boot device and does nothing", 0.01},
	[FLEET_BMC_PASSWORD] =  {"bmc_password",  "node",   "the BMC has another password", 0.01},
	[FLEET_BMC_FULL] =      {"bmc_full",      "session", "no session is free", 0.05},
	[FLEET_BMC_DEAF] =      {"bmc_deaf",      "command", "a power command is answered and not done", 0.01},
	[FLEET_DUPLICATE_MAC] = {"duplicate_mac", "node",   "the boot NIC has the MAC of the node before it", 0.005},
	[FLEET_MOVED_CABLE] =   {"moved_cable",   "node",   "the cable is in the rack beside", 0.005},
	[FLEET_BOOT_HANGS] =    {"boot_hangs",    "boot",   "the firmware never comes to its network card", 0.02},
	[FLEET_BOOT_ORDER] =    {"boot_order",    "boot",   "the firmware starts its disk whatever the BMC set", 0.01},
	[FLEET_AGENT_PANICS] =  {"agent_panics",  "boot",   "the agent's kernel panics and starts again after 2 s", 0.02},
	[FLEET_REBOOTS_EARLY] = {"reboots_early", "task",   "the node starts again in the middle of a task", 0.01},
	[FLEET_AGENT_DIES] =    {"agent_dies",    "image",  "the agent dies at some byte of the image", 0.02},
	[FLEET_AGENT_SILENT] =  {"agent_silent",  "task",   "the agent takes a task and says nothing any more", 0.01},
	[FLEET_HTTP_CUT] =      {"http_cut",      "image",  "the connection is cut at some byte of the image", 0.1},
	[FLEET_RESULT_TWICE] =  {"result_twice",  "task",   "the answer to a result is lost: it is sent again", 0.05},
	[FLEET_BAD_INVENTORY] = {"bad_inventory", "task",   "the inventory is not what one looks like", 0.005},
	[FLEET_DISK_FAILS] =    {"disk_fails",    "image",  "the disk refuses a write", 0.01},
	[FLEET_BAD_BYTES] =     {"bad_bytes",     "image",  "the bytes that came are not those of the digest", 0.01},
	[FLEET_ERASE_FAILS] =   {"erase_fails",   "task",   "a drive does not let itself be erased", 0.02},
	[FLEET_ERASE_LIES] =    {"erase_lies",    "task",   "a drive says that it is erased and is not", 0.02},
	[FLEET_NO_CALLBACK] =   {"no_callback",   "boot",   "the installed OS starts and does not call", 0.02},
	[FLEET_OLD_CALLBACK] =  {"old_callback",  "boot",   "the installed OS calls with the nonce of another", 0.02},
	/* At the end: a seed means the same misfortune as before these were there. */
	[FLEET_REDFISH_LAZY] =  {"redfish_lazy",  "node",   "the system is 404 until its collection was read", 0.1},
	[FLEET_REDFISH_BUSY] =  {"redfish_busy",  "node",   "no power on for 300 ms after off, no boot device for 300 ms after on", 0.1},
	[FLEET_REDFISH_ETAG] =  {"redfish_etag",  "node",   "a change needs the ETag of what it changes", 0.1},
	[FLEET_REDFISH_STALE] = {"redfish_stale", "node",   "the boot device of before is shown, the new one is done", 0.05},
	[FLEET_REDFISH_CUT] =   {"redfish_cut",   "answer", "the answer ends in its middle", 0.005},
};
/* clang-format on */

int fleet_fault_find(const char *name, size_t size)
{
	for (int i = 0; i < FLEET_FAULTS; i++) {
		if (strlen(fleet_fault_table[i].name) == size &&
		    strncmp(fleet_fault_table[i].name, name, size) == 0)
			return i;
	}
	return -1;
}
