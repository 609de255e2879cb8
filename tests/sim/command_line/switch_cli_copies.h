/* Mirror sessions of an emulated command line, carried out by the data plane: to a port, or wrapped
 * by Open vSwitch. It knows ERSPAN II alone, also where the vendor sends type I. */
#pragma once

#include "tests/sim/command_line/switch_cli_store.h"

/* Every session as the running configuration has it; `store->plane` as it is now. */
MUST_USE int cli_copies_push(struct cli_store *store);
/* All of them away: before ports become members of a bond, or ports again. */
MUST_USE int cli_copies_end(struct cli_store *store);
