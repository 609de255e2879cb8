/* The driver for Redfish over HTTP(S), on the loop: redfish_client.h behind bmc_driver.h. */
#pragma once

#include "bampi/bmc/bmc_driver.h"

extern const struct bmc_driver redfish_driver;
