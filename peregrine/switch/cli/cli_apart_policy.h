/* Which ports a configuration keeps apart from each other. Pure. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/switch/cli/cli_config_wire.h"

struct cli_apart {
	enum port_apart apart;
	uint16_t group; /* APART_FROM_ALIKE */
};

/* Of each of config->ports, in their order; `ret` has room for all. -ENOMEM. */
MUST_USE int cli_apart_find(const struct cli_config *config, struct cli_apart ret[]);
