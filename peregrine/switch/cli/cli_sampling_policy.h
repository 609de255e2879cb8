/* Sampling by command line: what a running configuration says of it, and which lines bring it to
 * what is wanted. A family is a list of lines that read as they are typed. Pure.
 *
 * Most command lines know no owner of a collector: ours is the one that is wanted, or that `ours`
 * names. Where another one stands, or one of which nobody knows whose it is, nothing is sent. Where
 * things have names, ours are called "haas". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_config_wire.h"
#include "peregrine/switch/cli/cli_plan_policy.h"
#include "peregrine/switch/sampling_policy.h"

enum cli_sampling_flag {
	SAMPLING_COLLECTOR = 1 << 0, /* says where to: what begins so is somebody's */
	SAMPLING_EACH_PORT = 1 << 1, /* once for each port of the switch */
	SAMPLING_IN_PORT = 1 << 2,   /* the same, inside of its section */
	SAMPLING_INSIDE = 1 << 3,    /* of the section that the last line without this begins; what
					differs there is taken off as a whole and put there anew */
	SAMPLING_FIXED = 1 << 4,     /* the same for one that is no section */
	SAMPLING_WHOLE = 1 << 5,     /* nothing follows it in its line */
	SAMPLING_PORT_6343 = 1 << 6, /* the switch may leave out " port 6343" at its end */
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
	struct cli_sampling_line lines[32];
	uint32_t rate_low, rate_high;
	bool rate_powers;             /* powers of two alone */
	uint16_t poll_low, poll_high; /* 0 and 0: any */
	uint16_t udp; /* it speaks IPFIX, to this port whatever is wanted; 0: sFlow */
	/* How a line begins that is there when ours is; NULL: nothing of ours has a name. Others'
	 * begin with `others` and not with `named`; NULL: they are beside ours. */
	const char *named, *others;
	/* What shows it, and how that is turned into lines as they are typed; NULL: show_config,
	 * which is that. Its ports are told as "interface NAME". -ENOMEM. */
	const char *shows[4];
	int (*typed)(const char *shown, struct text *ret);
};

/* What it is about, beside what is wanted. */
struct cli_sampling_about {
	const struct cli_config *config; /* its ports; NULL: those of `text` */
	const char *text;                /* the running configuration, clean, or lines as typed */
	const char *agent;               /* the switch's own address */
	const char *ours; /* a collector that this process set up there before; "" = none */
};

/* *ret_found as it stands; appends to `ret` what has to be sent, nothing when it agrees or is
 * somebody else's. -ENOMEM, E_LIMIT. */
MUST_USE int cli_sampling_plan(const struct cli_dialect *dialect,
			       const struct cli_sampling_about *about,
			       const struct sampling_wanted *wanted,
			       struct sampling_found *ret_found, struct cli_plan *ret);
