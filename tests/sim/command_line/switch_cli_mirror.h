/* Mirror sessions (SPAN) of emulated command lines, by whatever words; each is one `run` of struct
 * cli_command. What copies the frames: switch_cli_copies.h. */
#pragma once

#include "tests/sim/command_line/switch_cli.h"

#define MI CLI_IN(CLI_MIRROR)
#define MT CLI_IN(CLI_MIRROR_TO)

/* Bits of `argument`:
 *
 *   LINE  the session's number is values[0], else it is the mode's
 *   NO    the session is removed
 *   PAIR  values[1] is the port that gets the copies
 *   HERE  the mode's port gets the copies, and names the session */
enum {
	CLI_MIRROR_LINE = 1,
	CLI_MIRROR_NO = 2,
	CLI_MIRROR_PAIR = 4,
	CLI_MIRROR_HERE = 8,
};

void cli_mirror_enter(struct cli_call *call); /* its mode; makes it */
void cli_mirror_make(struct cli_call *call);
void cli_mirror_close(struct cli_call *call);
void cli_mirror_source(struct cli_call *call);
/* `interface 1 monitor all both mirror 2`: the port comes first. */
void cli_mirror_source_first(struct cli_call *call);
void cli_mirror_target(struct cli_call *call);
/* Made when it is not there; NULL: it was refused. */
struct cli_mirror_row *cli_mirror_row_of(struct cli_call *call, unsigned number);

/* switch_cli_erspan.c: those that are sent; `argument` of the last one says what. */
enum { CLI_ERSPAN_ID, CLI_ERSPAN_TO, CLI_ERSPAN_FROM, CLI_ERSPAN_BOTH };
void cli_erspan_enter(struct cli_call *call);
void cli_erspan_below(struct cli_call *call); /* into its destination, and out of it */
void cli_erspan_above(struct cli_call *call);
void cli_erspan_set(struct cli_call *call);
void cli_mirror_on(struct cli_call *call); /* of any type; local ones are on anyway here */
/* The part of a running configuration. */
void cli_mirror_write(const struct cli_session *session, const struct cli_config *config,
		      struct text *out);

/* 0: made. Else what is against it; NULL at the end of `sources`, by number. SONiC. */
enum cli_mirror_wrong { CLI_MIRROR_FINE, CLI_MIRROR_FULL, CLI_MIRROR_THERE, CLI_MIRROR_TAKEN };
enum cli_mirror_wrong cli_mirror_name(struct cli_store *store, const char *name, unsigned target,
				      const struct cli_ports *sources);
enum cli_mirror_wrong cli_erspan_name(struct cli_store *store, const char *name, const char *from,
				      const char *to, const struct cli_ports *sources);
bool cli_mirror_forget(struct cli_store *store, const char *name);
