/* SWITCH_LAG as lines of a command line, from what is configured now. Pure. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/cli/cli_config_wire.h"
#include "peregrine/switch/cli/cli_lag_table.h"
#include "peregrine/switch/cli/cli_plan_policy.h"
#include "peregrine/switch/switch_driver.h"

/* `number` of 1 to row->last: its name as readings show it; false: there is no such. */
bool cli_lag_name(const struct cli_lag *row, unsigned number, char ret[64]);

/* Into `ret`, which is empty. No line: it is so already. `begun`: lines of an earlier plan for the
 * same were sent, so that what is half done there is ours. E_CONFLICT with a problem: it may not be
 * done, nothing is to be sent; E_INVALID, -ENOMEM, E_LIMIT. */
MUST_USE int cli_lag_plan(const struct cli_lag *row, const struct cli_config *config,
			  const struct switch_lag *lag, bool begun, struct cli_plan *ret,
			  struct problem *problem);

/* Is it visible in what is configured? */
bool cli_lag_holds(const struct cli_lag *row, const struct cli_config *config,
		   const struct switch_lag *lag);
