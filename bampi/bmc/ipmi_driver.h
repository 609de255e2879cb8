/* The driver for IPMI 2.0 over RMCP+ by libfreeipmi; blocks, one context per BMC. */
#pragma once

#include "bampi/bmc/bmc_driver.h"

extern const struct bmc_driver ipmi_driver;

/* Once per process, before the first thread that runs the driver (it sets up libgcrypt). */
MUST_USE int ipmi_driver_setup(void);
