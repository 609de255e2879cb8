/* What a person may ask of one BMC (table node_action), as a BMC request, and its answer as JSON.
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "bampi/bmc/bmc_driver.h"

/* params: boot_device {"device":"pxe"|"disk"|"none","persistent":bool,"firmware":"bios"|"uefi"},
 * identify {"seconds":0..255}. `firmware` counts when the params name none. E_NOT_FOUND (action),
 * E_MALFORMED (params), with a problem. */
MUST_USE int action_request(const char *action, const json_t *params,
			    enum bmc_boot_firmware firmware, struct bmc_request *ret,
			    struct problem *problem);
/* May be done again when nobody knows whether it was done: a power cycle may not. */
bool action_is_repeatable(const char *action);
/* A new object: {"power",..}, {"sensors":[..]}, {"sel":[..]}, {"fru":[..]}, {"users":[..]},
 * {"lan":{..}}, {"boot":{..}}. NULL = no memory. */
MUST_USE json_t *action_result(const struct bmc_result *result);
