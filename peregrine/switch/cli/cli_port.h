/* Names of ports: switches print them long here and short there ("GigabitEthernet1/0/1", "Gi1/0/1",
 * "gigabitethernet 1/0/1"). Ours is the long one as IF-MIB's ifName has it where that differs not.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "peregrine/switch/cli/cli_dialect.h"

/* Our form of any form; cut to `room`. */
void cli_port_name(const struct cli_dialect *dialect, const char *name, char *ret, size_t room);
/* A port of the dialect's kinds, or one that begins with a digit? Not "Vlan10" or "mgmt0". */
bool cli_port_is_known(const struct cli_dialect *dialect, const char *name);
/* May it stand in a command? Letters, digits and "/:.-_ ", at most 63. */
bool cli_port_name_ok(const char *name);
/* Do both name the same port? */
bool cli_port_same(const struct cli_dialect *dialect, const char *a, const char *b);

/* Calls `fn` for each port of "1-4,A1-A4,Te 0/1-3,Trk1": lists with commas, ranges in the last
 * number. False: it made no sense, or is longer than 4096 ports; what came before was called. */
typedef void (*cli_port_fn)(void *context, const char *name);
bool cli_port_list_each(const struct cli_dialect *dialect, const char *text, cli_port_fn fn,
			void *context);
