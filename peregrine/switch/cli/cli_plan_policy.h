/* Which lines make one edit, in the words of a dialect, from what is configured now. Pure. What is
 * on a port and not wanted is removed by name, also by dialects that only know "add" and "remove".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/cli/cli_config_wire.h"
#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/switch_driver.h"

struct cli_line {
	char text[320];
	bool changes;  /* once taken, the switch is not as it was */
	bool optional; /* a refusal means nothing */
};

struct cli_plan {
	struct cli_line *lines; /* owned */
	size_t count, room;
};

void cli_plan_done(struct cli_plan *plan);
/* One more line. -ENOMEM, E_LIMIT. */
MUST_USE int cli_plan_add(struct cli_plan *plan, const char *text, bool changes, bool optional);

/* Appends to `ret`. E_UNSUPPORTED, E_NOT_FOUND or E_INVALID with a problem: nothing can be sent;
 * -ENOMEM. */
MUST_USE int cli_plan_edit(const struct cli_config *config, const struct switch_edit *edit,
			   struct cli_plan *ret, struct problem *problem);

/* Is the edit visible in what is configured? */
bool cli_plan_holds(const struct cli_config *config, const struct switch_edit *edit);
