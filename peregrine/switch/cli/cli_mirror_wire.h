/* What a switch's configuration says of mirror sessions, by the rules of its row. Pure. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"

#include "peregrine/switch/cli/cli_mirror_table.h"

enum { CLI_MIRRORS_MAX = 32, CLI_MIRROR_PORTS_MAX = 128 };

/* Numbers are the switch's; 0 where sessions have none. What is odd is left out. */
struct cli_mirror_session {
	unsigned number;
	char target[64]; /* "" = none yet */
	char from[46];   /* of one that is sent; "" = not said */
	unsigned id;     /* ERSPAN's; 0 = not said */
	bool is_odd;     /* it does what we never set */
};
struct cli_mirrors {
	struct cli_mirror_session sessions[CLI_MIRRORS_MAX];
	size_t count;
	char from[46]; /* where the switch has one address for all that it sends */
	struct {
		unsigned number;
		char port[64], target[64]; /* the target where there is no number */
	} sources[CLI_MIRROR_PORTS_MAX];
	size_t source_count;
};

/* `text` is clean. E_LIMIT: more sessions or ports than one can keep. */
MUST_USE int cli_mirrors_read(const struct cli_mirror *row, const char *text,
			      struct cli_mirrors *ret);
