/* What a switch changed, by itself: a line for each port, VLAN and saving that a session's turn changed.
 *
 *	TIME PEER session                      somebody logged in
 *	TIME PEER port NUMBER UNTAGGED TAGGED  where the port is now; "-" = none
 *	TIME PEER vlan VID made|gone
 *	TIME PEER saved
 *
 * TIME is seconds since 1970 with six decimals, PEER the address of the client. Not thread-safe: as the store. */
#pragma once

#include "common/base/macros.h"

#include "tests/sim/command_line/switch_cli_store.h"

struct cli_log;

enum { CLI_PEER_SIZE = 16 };

/* Appends to the file. */
MUST_USE int cli_log_new(const char *path, const struct cli_store *store, struct cli_log **ret);
void cli_log_free(struct cli_log *log);
void cli_log_session(struct cli_log *log, const char *peer);
/* After a turn. */
void cli_log_turn(struct cli_log *log, const struct cli_store *store, const char *peer);
