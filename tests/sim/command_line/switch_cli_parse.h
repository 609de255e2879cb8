/* How switches read a command line: rows of words, of which a unique beginning is enough, and
 * parameters. Pure; what a family calls its ports comes as a table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/vlan_set.h"

#include "tests/sim/command_line/switch_cli_store.h"

enum { CLI_LINE_MAX = 1024, CLI_VALUES_MAX = 4, CLI_ROWS_MAX = 160 };

/* "TenGigabitEthernet 1/0/4": any beginning of `name` or `alias`, whatever the case, a space or
 * none, `stem`, then first + (number - 1) * step. Neither name: the number alone. */
struct cli_port_naming {
	const char *name, *alias, *stem;
	unsigned first, step;
	const char *format; /* how it is printed: "%s" for stem and number, as "Gi%s" */
	const char *format_long;
	/* Aggregates: names, and how they are printed; NULL: there are none. */
	const char *lag, *lag_alias, *lag_format, *lag_format_long;
};

/* A row's pattern: words, of which `a|b` is either, `[x]` may be left out at the end; and
 *   <vid> a VLAN   <vids> a list of them, as "1-3,7"   <number>
 *   <port> <ports> one; a list, to the end of the line, as "1/1-1/4,1/7"
 *   <word> anything but a keyword   <text> the rest of the line, quotes taken off
 */
struct cli_call;
struct cli_command {
	uint32_t modes; /* bits of 1 << mode */
	const char *pattern;
	void (*run)(struct cli_call *call);
	unsigned argument;
	enum switch_verb verb; /* what it does, for faults; SWITCH_VERBS: only looks */
};

struct cli_value {
	unsigned number; /* <vid>, <number>, <port> */
	struct vlan_set vids;
	struct cli_ports ports; /* <port> and <ports> */
	char text[256];         /* every kind: as it was written */
};

enum cli_parse_result {
	CLI_PARSED,
	CLI_EMPTY,
	CLI_INVALID,    /* at `at` */
	CLI_RANGE,      /* a VLAN or port of that kind there is not, at `at` */
	CLI_AMBIGUOUS,  /* at `at` */
	CLI_INCOMPLETE, /* `at` is the end */
	CLI_TOO_MANY,   /* words after the last one, at `at` */
};

struct cli_parsed {
	enum cli_parse_result result;
	size_t at, length; /* of the word in question */
	const struct cli_command *command;
	struct cli_value values[CLI_VALUES_MAX];
	size_t value_count;
};

struct cli_grammar {
	const struct cli_command *rows;
	size_t count;
	const struct cli_port_naming *naming;
	unsigned port_count;
	unsigned vid_low, vid_high; /* what <vid> takes */
};

void cli_parse(const struct cli_grammar *grammar, uint32_t modes, const char *line,
	       struct cli_parsed *ret);

/* What may come after `line` (which ends with a space, or is a begun word), one call per word. */
void cli_parse_help(const struct cli_grammar *grammar, uint32_t modes, const char *line,
		    void (*each)(void *context, const char *word), void *context);

/* The port at the start of `text`, 0 for none; *ret_used is its length. */
unsigned cli_port_parse(const struct cli_port_naming *naming, unsigned count, const char *text,
			size_t *ret_used);
bool cli_ports_parse(const struct cli_port_naming *naming, unsigned count, const char *text,
		     struct cli_ports *ret);
/* In `ret` the printed name. */
const char *cli_port_print(const struct cli_port_naming *naming, unsigned number, bool is_long,
			   char ret[CLI_NAME_SIZE]);
