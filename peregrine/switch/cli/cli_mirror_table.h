/* How the command lines of the families set up a mirror session (SPAN): constant rows, after the
 * vendors' command references. There is one session of ours on a switch, to its mirror port
 * (capture_point): most families let a port be the destination of one session only, and have two to
 * four of them. Whatever delivers to that port is ours: the site gave it to us. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "peregrine/switch/cli/cli_dialect.h"

enum { CLI_MIRROR_RULES = 12 };

/* Which thing a line of the configuration is about. */
enum cli_mirror_fact {
	MIRROR_NONE, /* ends the list of rules */
	MIRROR_PORT, /* %a: a port's section begins */
	MIRROR_OPEN, /* %n: a session's section begins, or it is there */
	MIRROR_BOTH, /* %a is copied to %b */
	MIRROR_FROM, /* %a is copied; without %a the section's port */
	MIRROR_ODD,  /* %n: it is there and does what we never set: not ours to use */
	MIRROR_TO,   /* %b gets the copies; without %b the section's port */
	MIRROR_FINE, /* nothing against it; outside of a session %f is where all that is sent comes
			from */
};

/* A word of `line` matches the same word in any case. Holes:
 *
 *   %n  the number of the session           %x  any word
 *   %a  a port, or a list of ports          %*  the rest of the line
 *   %b  the same; for ERSPAN its target     %i  the number of the ERSPAN session
 *   %f  the source address of ERSPAN
 *
 * A list of ports ends at the next word of the rule. The first row that matches counts. In a
 * session's section a line without a matching row makes the session odd, except "no shut", "enable"
 * and "type local". */
struct cli_mirror_rule {
	const char *line;
	enum cli_mirror_fact fact;
};

/* Lines, '\n' between them. Words in braces:
 *
 *   {session}  its number                  {from}   the address that copies come from
 *   {target}   the mirror port, or the     {id}     ERSPAN's number
 *              address of the copies       {port}   one port that is copied
 *                                          {ports}  all of them, with commas */
struct cli_mirror {
	const struct cli_dialect *dialect;
	const char *show;       /* NULL: its show_config */
	uint8_t first, last;    /* numbers that we may take; 0 and 0: it has no number */
	const char *open;       /* NULL: there is nothing to make */
	const char *add, *drop; /* a port; NULL: only all at once, with `open` */
	const char *close;      /* NULL: it ends with its last port */
	const char *release;    /* the mirror port is an ordinary one again; NULL: it is anyway */
	struct cli_mirror_rule rules[CLI_MIRROR_RULES];
};

/* NULL: no mirror session is known of this family; of the second, none that is sent. */
const struct cli_mirror *cli_mirror_of(const struct cli_dialect *dialect);
const struct cli_mirror *cli_erspan_of(const struct cli_dialect *dialect);
