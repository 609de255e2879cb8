/* SWITCH_MIRROR as lines of a command line, from what is configured now. Pure. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/cli/cli_mirror_wire.h"
#include "peregrine/switch/switch_driver.h"

/* In all of these the wanted sessions are `mirrors` (their targets are the mirror port), or none.
 * `target` is the mirror port; with a tunnel it is the address that copies are sent to. */
struct cli_mirror_want {
	const struct switch_mirror *mirrors;
	size_t count;
	const char *target;
	const struct switch_tunnel *tunnel; /* NULL: a port; the row is of the same kind */
};

struct cli_mirror_line {
	char text[320];
	size_t mirror; /* whose port it adds; SIZE_MAX: it is for all of them */
};
enum { CLI_MIRROR_LINES = 640 };
struct cli_mirror_plan {
	struct cli_mirror_line lines[CLI_MIRROR_LINES];
	size_t count;    /* 0: it is as wanted */
	unsigned opened; /* the session that it makes; 0: none with a number */
};

/* E_CONFLICT: all sessions are somebody else's, or what is sent comes from another address there;
 * E_INVALID: a name or a number that may not stand in a command; E_LIMIT; each with a problem. */
MUST_USE int cli_mirror_plan_make(const struct cli_mirror *row, const struct cli_mirrors *there,
				  const struct cli_mirror_want *want, struct cli_mirror_plan *ret,
				  struct problem *problem);
/* The lines that end the session to `target` that `ret` made: nobody knows a half one as ours. */
void cli_mirror_plan_undo(const struct cli_mirror *row, const char *target,
			  struct cli_mirror_plan *ret);
/* Is a port copied to the target, in the way that is wanted? */
bool cli_mirror_holds(const struct cli_mirror *row, const struct cli_mirrors *there,
		      const char *port, const struct cli_mirror_want *want);
/* Is anything copied there that is not wanted? */
bool cli_mirror_has_more(const struct cli_mirror *row, const struct cli_mirrors *there,
			 const struct cli_mirror_want *want);
