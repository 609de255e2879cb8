/* sFlow as an emulated command line was told, carried out by the data plane: Open vSwitch has one
 * rate for all ports of a bridge, so one port that samples is all of them. */
#pragma once

#include "tests/sim/command_line/switch_cli_store.h"

MUST_USE int cli_samples_push(struct cli_store *store);
