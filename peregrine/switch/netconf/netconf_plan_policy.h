/* What is sent for one edit, in the words of a dialect, from what is configured now. Pure. A port's
 * membership is always sent whole: what was there and is not wanted is replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/netconf/netconf_config_wire.h"
#include "peregrine/switch/switch_driver.h"

/* The inside of one <config>. */
struct netconf_step {
	size_t edit; /* which it is of */
	char *xml;   /* owned */
};

struct netconf_plan {
	struct netconf_step *steps; /* owned */
	size_t count, room;
};

void netconf_plan_done(struct netconf_plan *plan);

/* Appends to `ret`, and notes in `config` the mode that the port will have. E_UNSUPPORTED,
 * E_NOT_FOUND or E_INVALID with a problem: nothing can be sent; -ENOMEM. */
MUST_USE int netconf_plan_edit(struct netconf_config *config, const struct switch_edit *edit,
			       size_t number, struct netconf_plan *ret, struct problem *problem);

/* Is the edit visible in what is configured? */
bool netconf_plan_holds(const struct netconf_config *config, const struct switch_edit *edit);
/* Is what the edit is about the same in both? */
bool netconf_plan_same(const struct netconf_config *a, const struct netconf_config *b,
		       const struct switch_edit *edit);
