#include "bampi/control/deploy/plan_table.h"

#include <string.h>

#include "bampi/control/deploy/steps/steps.h"

/* Nothing of a tenant's ever runs in the provisioning network: the node is in its tenant's networks
 * before its OS starts, and off them and off before it comes back (docs/decision/no-tenant-code-in-provisioning.md). Steps about
 * switches are passed over where we have none, and the one about packages where none are asked for.
 */
/* clang-format off */
const struct plan_row plan_table[PLAN_COUNT] = {
	[PLAN_INSPECT] = {{STEP_DETACH, STEP_STOP, STEP_ISOLATE, STEP_NETBOOT, STEP_AGENT, STEP_INVENTORY, STEP_POWER_OFF, STEP_PARK}, 8, 0},
	[PLAN_INSTALL] = {{STEP_ISOLATE, STEP_NETBOOT, STEP_AGENT, STEP_INVENTORY, STEP_WRITE_IMAGE, STEP_CONFIGURE_OS, STEP_PUT_PACKAGES, STEP_ATTACH,
			   STEP_LOCAL_BOOT, STEP_VERIFY}, 10, 0},
	[PLAN_REINSTALL] = {{STEP_DETACH, STEP_STOP, STEP_ISOLATE, STEP_NETBOOT, STEP_AGENT, STEP_INVENTORY, STEP_WRITE_IMAGE, STEP_CONFIGURE_OS,
			     STEP_PUT_PACKAGES, STEP_ATTACH, STEP_LOCAL_BOOT, STEP_VERIFY}, 12, 0},
	[PLAN_RELEASE] = {{STEP_DETACH, STEP_STOP, STEP_ISOLATE, STEP_NETBOOT, STEP_AGENT, STEP_SCRUB, STEP_VERIFY_SCRUBBED, STEP_POWER_OFF, STEP_FREE}, 9, 0},
	[PLAN_CANCEL] = {{STEP_POWER_OFF, STEP_ABANDON}, 2, 100},
};

/* Idempotent steps try again with back-off; a destructive one fails and waits for a person. Servers may take minutes to their first DHCP. */
const struct step_row step_table[STEP_COUNT] = {
	/*                       name               run                   tries  switched destr. a new try begins at         s      waits for */
	[STEP_NETBOOT] =         {"netboot",         step_netboot,         3,     false,  false,  STEP_COUNT,      false, 900,   "the node to ask for its boot script"},
	[STEP_AGENT] =           {"agent",           step_agent,           3,     false,  false,  STEP_NETBOOT,    true,  300,   "the node's agent"},
	[STEP_INVENTORY] =       {"inventory",       step_inventory,       3,     false,  false,  STEP_NETBOOT,    false, 180,   "the agent's inventory"},
	[STEP_WRITE_IMAGE] =     {"write_image",     step_write_image,     3,     false,  false,  STEP_NETBOOT,    false, 7200,  "the agent to write the image"},
	[STEP_CONFIGURE_OS] =    {"configure_os",    step_configure_os,    3,     false,  false,  STEP_NETBOOT,    false, 300,   "the agent to configure the OS"},
	[STEP_PUT_PACKAGES] =    {"put_packages",    step_put_packages,    3,     false,  false,  STEP_NETBOOT,    false, 7200,  "the agent to put the packages"},
	[STEP_LOCAL_BOOT] =      {"local_boot",      step_local_boot,      3,     false,  false,  STEP_COUNT,      false, 300,   "the BMC"},
	[STEP_VERIFY] =          {"verify",          step_verify,          2,     false,  false,  STEP_LOCAL_BOOT, true,  900,   "the installed OS to call back"},
	[STEP_SCRUB] =           {"scrub",           step_scrub,           1,     false,  true,   STEP_NETBOOT,    false, 86400, "the agent to erase the drives"},
	[STEP_VERIFY_SCRUBBED] = {"verify_scrubbed", step_verify_scrubbed, 3,     false,  false,  STEP_NETBOOT,    false, 3600,  "the agent to read the drives back"},
	[STEP_POWER_OFF] =       {"power_off",       step_power_off,       3,     false,  false,  STEP_COUNT,      false, 120,   "the BMC"},
	[STEP_FREE] =            {"free",            step_free,            3,     false,  false,  STEP_COUNT,      false, 60,    "the node's new state"},
	[STEP_ABANDON] =         {"abandon",         step_abandon,         3,     false,  false,  STEP_COUNT,      false, 60,    "the node's new state"},
	[STEP_ISOLATE] =         {"isolate",         step_isolate,         3,     true,   false,  STEP_COUNT,      false, 300,   "the switches: provisioning network"},
	[STEP_ATTACH] =          {"attach",          step_attach,          3,     true,   false,  STEP_COUNT,      false, 300,   "the switches: the tenant's networks"},
	[STEP_DETACH] =          {"detach",          step_park,            3,     true,   false,  STEP_COUNT,      false, 300,   "the switches: off every network"},
	[STEP_STOP] =            {"stop",            step_power_off,       3,     true,   false,  STEP_COUNT,      false, 120,   "the BMC"},
	[STEP_PARK] =            {"park",            step_park,            3,     true,   false,  STEP_COUNT,      false, 300,   "the switches: off every network"},
};
/* clang-format on */

size_t plan_pass_over(const struct plan_row *plan, size_t index, const struct facts *facts)
{
	while (index < plan->count &&
	       ((!facts->network.managed && step_table[plan->steps[index]].switched) ||
		(!facts->packages && plan->steps[index] == STEP_PUT_PACKAGES)))
		index++;
	return index;
}

int plan_find_id(const struct plan_row *plan, enum step_id id)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->steps[i] == id)
			return (int)i;
	return -1;
}

int plan_find(const struct plan_row *plan, const char *name)
{
	for (size_t i = 0; i < plan->count; i++)
		if (strcmp(step_table[plan->steps[i]].name, name) == 0)
			return (int)i;
	return -1;
}
