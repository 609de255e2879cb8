/* sFlow by command line: what a running configuration says of it, and which lines bring it to what
 * is wanted. A family is a list of lines that read as they are typed. Pure.
 *
 * Command lines know no owner of a collector: ours is the one that is wanted, or that `ours` names.
 * Where another one stands, or one of which nobody knows whose it is, nothing is sent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"

#include "peregrine/control/driver/cli/cli_config_wire.h"
#include "peregrine/control/driver/cli/cli_plan_policy.h"
#include "peregrine/control/driver/sampling_policy.h"

enum cli_sampling_flag {
	SAMPLING_COLLECTOR = 1 << 0, /* says where to: what begins so is somebody's */
	SAMPLING_EACH_PORT = 1 << 1, /* once for each port of the switch */
	SAMPLING_IN_PORT = 1 << 2,   /* the same, inside of its section */
};

/* {collector} {agent} {udp} {rate} {header} {poll} {port} */
struct cli_sampling_line {
	const char *line;
	const char *
		assumed; /* the line that counts when the configuration shows none that begins so */
	const char *off; /* NULL: it may stay; "no": that, and the line as it stands */
	unsigned flags;
};

struct cli_sampling {
	struct cli_sampling_line lines[9];
	uint32_t rate_low, rate_high;
	bool rate_powers; /* powers of two alone */
};

/* What it is about, beside what is wanted. */
struct cli_sampling_about {
	const struct cli_config *config; /* its ports */
	const char *text;                /* the running configuration, clean */
	const char *agent;               /* the switch's own address */
	const char *ours; /* a collector that this process set up there before; "" = none */
};

/* *ret_found as it stands; appends to `ret` what has to be sent, nothing when it agrees or is
 * somebody else's. -ENOMEM, E_LIMIT. */
MUST_USE int cli_sampling_plan(const struct cli_dialect *dialect,
			       const struct cli_sampling_about *about,
			       const struct sampling_wanted *wanted,
			       struct sampling_found *ret_found, struct cli_plan *ret);
