/* What a switch prints on a terminal: control sequences taken out, prompts told from text,
 * refusals found. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/text.h"

#include "peregrine/switch/cli/cli_dialect.h"

/* The text a person would see: ANSI sequences gone, backspace and carriage return carried out, tabs
 * kept, other control characters '?'. `ret` is appended to; it never grows by more than `size` + 1.
 */
void cli_text_clean(const char *bytes, size_t size, struct text *ret);

struct cli_prompt_seen {
	char base[64];   /* the switch's name in it */
	char mode[64];   /* "config-if"; "" outside of any configuration */
	bool privileged; /* not "name>" */
};
/* Is `line` (without newline) a prompt? */
bool cli_prompt_parse(const char *line, enum cli_prompt kind, struct cli_prompt_seen *ret);
/* The same switch's? Some shorten the name inside configuration modes. */
bool cli_prompt_same(const char *base, const char *other);

/* Does the last line ask for a key to go on? */
bool cli_is_pager(const char *line);
/* "%LINK-3-UPDOWN: ...", with or without a time before it: a line of the system's log. */
bool cli_is_log_line(const char *line);

/* Does the line hold the pattern (cli_dialect.h)? */
bool cli_pattern_matches(const char *pattern, const char *line);

enum cli_verdict { CLI_FINE, CLI_REFUSED, CLI_BUSY, CLI_DENIED };
/* What the switch thinks of a command, by what it printed (clean). `ret_line`, when it is not fine:
 * the line that says so, cut to `room`. */
enum cli_verdict cli_answer_judge(const struct cli_dialect *dialect, const char *output,
				  char *ret_line, size_t room);
