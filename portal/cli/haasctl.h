/* haasctl: what its nouns share. One file per noun (X_cli.c) exports a group of command rows;
 * main.c joins them. */
#pragma once

#include <stddef.h>

#include "common/base/problem.h"
#include "common/cli/command.h"
#include "common/cli/output.h"

struct haasctl; /* the connection to portald and the global options; NULL context never happens */

struct command_group {
	const struct command *rows;
	size_t count;
};
extern const struct command_group db_group;

/* "haasctl: message" with detail and hint on stderr, wrapped for people. */
void haasctl_problem(const struct problem *problem);
/* Opens the output that -o and -c ask for; an exit status (EXIT_OK or EXIT_USAGE with the error
 * told). */
MUST_USE int haasctl_output(struct haasctl *haasctl, const struct command_input *input,
			    const struct output_column columns[], size_t count,
			    struct output **ret);
