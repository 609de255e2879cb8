#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"

#include "bampi/bmc/bmc_driver.h"
#include "bampi/bmc/ipmi_driver.h"
#include "bampi/bmc/libvirt_driver.h"
#include "bampi/bmc/redfish_driver.h"
#include "bampi/bmc/sim_driver.h"

/* Power deadlines: real servers take up to ~10 s to switch; an ACPI shutdown up to minutes. iDRACs
 * refuse power-on for 60 s after off, iLOs a boot device during POST. SDR and FRU reads are slow
 * (hundreds of calls); a firmware inventory by Redfish takes up to 3 minutes. */
const struct bmc_op_row bmc_op_table[BMC_OP_COUNT] = {
	/*                   name            idempotent changes deadline_ms */
	[BMC_POWER_STATUS] = {"power-status", true, false, 15000},
	[BMC_POWER_ON] = {"power-on", true, true, 90000},
	[BMC_POWER_OFF] = {"power-off", true, true, 45000},
	[BMC_POWER_CYCLE] = {"power-cycle", true, true, 135000},
	[BMC_POWER_RESET] = {"power-reset", false, true, 20000},
	[BMC_POWER_SOFT] = {"power-soft", true, true, 180000},
	[BMC_BOOT_GET] = {"boot-get", true, false, 15000},
	[BMC_BOOT_SET] = {"boot-set", true, true, 90000},
	[BMC_IDENTIFY] = {"identify", true, true, 15000},
	[BMC_INFO] = {"info", true, false, 15000},
	[BMC_SENSORS] = {"sensors", true, false, 120000},
	[BMC_SEL_LIST] = {"sel-list", true, false, 120000},
	[BMC_SEL_NEW] = {"sel-new", true, false, 120000},
	[BMC_SEL_CLEAR] = {"sel-clear", true, true, 30000},
	[BMC_FRU] = {"fru", true, false, 300000},
	[BMC_USER_LIST] = {"user-list", true, false, 60000},
	[BMC_USER_SET] = {"user-set", true, true, 30000},
	/* Not sent again: who asks anew with the old password could lock the user out. */
	[BMC_PASSWORD_SET] = {"password-set", false, true, 60000},
	[BMC_LAN_GET] = {"lan-get", true, false, 30000},
	[BMC_RAW] = {"raw", false, true, 15000},
};

static const char *const device_words[] = {
	[BMC_BOOT_NONE] = "none",
	[BMC_BOOT_PXE] = "pxe",
	[BMC_BOOT_DISK] = "disk",
	[BMC_BOOT_OTHER] = "other",
};

static const char *const confirm_words[] = {
	[BMC_CONFIRM_NOT_ASKED] = "not asked",
	[BMC_CONFIRMED] = "confirmed",
	[BMC_UNVERIFIED] = "unverified",
};

const char *bmc_op_text(enum bmc_op op)
{
	return (unsigned)op < BMC_OP_COUNT ? bmc_op_table[op].name : "?";
}

int bmc_lapsed(const char *node, enum bmc_op op, bool sent, struct problem *problem)
{
	(void)problem_set(problem, E_LAPSED, "node %s: the claim ran out %s %s", node,
			  sent ? "during" : "before", bmc_op_text(op));
	problem_detail(problem, "%s", sent ? "it may have been executed" : "it was not sent");
	problem_hint(problem, "whoever claims the work next looks at the BMC and goes on");
	return E_LAPSED;
}

bool bmc_op_is_power(enum bmc_op op)
{
	return op <= BMC_POWER_SOFT;
}

const char *bmc_boot_device_text(enum bmc_boot_device device)
{
	return enum_text(device_words, COUNT_OF(device_words), (int)device);
}

const char *bmc_confirm_text(enum bmc_confirm confirm)
{
	return enum_text(confirm_words, COUNT_OF(confirm_words), (int)confirm);
}

void bmc_result_done(struct bmc_result *result)
{
	switch (result->op) {
	case BMC_SENSORS: free(result->sensors.rows); break;
	case BMC_SEL_LIST:
	case BMC_SEL_NEW: free(result->sel.rows); break;
	case BMC_FRU: free(result->fru.rows); break;
	case BMC_USER_LIST: free(result->users.rows); break;
	case BMC_POWER_STATUS:
	case BMC_POWER_ON:
	case BMC_POWER_OFF:
	case BMC_POWER_CYCLE:
	case BMC_POWER_RESET:
	case BMC_POWER_SOFT:
	case BMC_BOOT_GET:
	case BMC_BOOT_SET:
	case BMC_IDENTIFY:
	case BMC_INFO:
	case BMC_SEL_CLEAR:
	case BMC_USER_SET:
	case BMC_PASSWORD_SET:
	case BMC_LAN_GET:
	case BMC_RAW:
	case BMC_OP_COUNT: break;
	}
	*result = (struct bmc_result){0};
}

const struct bmc_driver *bmc_driver_find(const char *name)
{
	static const struct bmc_driver *const drivers[] = {&ipmi_driver, &redfish_driver,
							   &libvirt_driver, &sim_driver};

	for (size_t i = 0; i < COUNT_OF(drivers); i++) {
		if (strcmp(drivers[i]->name, name) == 0)
			return drivers[i];
	}
	return NULL;
}
