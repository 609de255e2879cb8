/* Aggregates of ports (LACP) on an emulated command line. An aggregate is a port of the store
 * beyond the sockets (cli_lag_port); it is there from when its interface is entered. */
#pragma once

#include "tests/sim/command_line/switch_cli.h"

/* Each of `ports` that is an aggregate is there now. */
void cli_lag_make(struct cli_call *call, const struct cli_ports *ports);
void cli_lag_join(struct cli_call *call);   /* the session's ports; values[0] is its number */
void cli_lag_leave(struct cli_call *call);  /* the session's ports */
void cli_lag_delete(struct cli_call *call); /* values[0] is the aggregate */
/* Where members show what their aggregate has, they do. */
void cli_lags_settle(const struct cli_session *session);
/* The next port behind `after`: sockets, then aggregates that are there; 0: none. */
unsigned cli_port_next(const struct cli_store *store, unsigned after);
/* The next aggregate that is there and is chosen by `ports` (NULL: all), behind `after`; 0: none.
 */
unsigned cli_lag_next(const struct cli_config *config, const struct cli_ports *ports,
		      unsigned after);
