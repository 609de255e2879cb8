/* What `site init` does after the files: keys, people, boot files, units, subnets. A row each; every one
 * looks first whether it is done already, so that the whole can be run again. */
#pragma once

#include <jansson.h>
#include <limits.h>

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

enum site_act_state { SITE_ACT_DONE, SITE_ACT_ALREADY, SITE_ACT_PLANNED, SITE_ACT_FAILED };

/* A row; false: it failed. */
bool site_act_say(struct site_act *act, const char *name, enum site_act_state state,
		  const char *summary, const char *hint);
/* False, after a row with the words of `problem`. */
bool site_act_fail(struct site_act *act, const char *name, const struct problem *problem);
/* A row: it was done, or would be. */
bool site_act_end(struct site_act *act, const char *name, const char *summary);
/* The path of a file of the machine; false: it is too long. */
bool site_act_path(const struct site_act *act, const char *path, char ret[PATH_MAX]);
bool site_act_there(const struct site_act *act, const char *path);
/* site_init_https.c: the CA of the site, and the certificate of this controller. */
bool site_act_https(struct site_act *act);

/* All of them up to the first that fails; false: one failed, or differs from the plan. */
MUST_USE bool site_act_run(struct site_act *act);
