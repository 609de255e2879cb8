/* What `site init` does after the files: keys, people, boot files, units, subnets. A row each; every one
 * looks first whether it is done already, so that the whole can be run again. */
#pragma once

#include <jansson.h>

#include "common/base/macros.h"

#include "portal/cli/haasctl.h"
#include "portal/cli/site_change.h"
#include "portal/cli/site_plan.h"

struct site_act {
	struct haasctl *haasctl;
	const struct command_input *input;
	const struct site_plan *plan;
	const struct site_changes *changes; /* daemons whose file was edited are restarted */
	const char *root;
	bool dry_run;
	json_t *rows; /* {"name", "state", "summary", "hint"} */
};

/* All of them up to the first that fails; false: one failed, or differs from the plan. */
MUST_USE bool site_act_run(struct site_act *act);
