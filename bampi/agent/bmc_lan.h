/* The BMC's own address, asked in band through the kernel's IPMI driver (IPMI 2.0, 23.2 Get LAN
 * Configuration Parameters). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

struct agent_env;

struct bmc_lan {
	uint32_t address; /* host byte order; 0 = none set */
	struct mac mac;
};

/* E_NOT_FOUND: no /dev/ipmi0, or no LAN channel answers. */
MUST_USE int bmc_lan_read(const struct agent_env *env, struct bmc_lan *ret);
