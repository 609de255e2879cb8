/* What a command on many is meant for: the names on its line, or all that --where lets through
 * (docs/filter.md). portald then acts only while as many match as were counted, or as --expected
 * says. */
#pragma once

#include "portal/cli/haasctl.h"

#define SELECTOR_OPTIONS                                                                  \
	{"--where", 'l', OPTION_VALUE, "FILTER", "all that match, not names: rack=r07"},  \
	{                                                                                 \
		"--expected", 0, OPTION_VALUE, "N", "so many match; else nothing is done" \
	}

struct selector {
	const char *where; /* NULL: names */
	int64_t expected;
	const char *const *names;
	size_t count;
};

/* How a command asks. */
struct selector_row {
	const char *path;  /* of the list, "/nodes" */
	const char *noun;  /* "nodes" */
	size_t first_word; /* of the names, among the words of the command line */
	const char *
		effect; /* "will be erased": asked about, unless --yes or --expected is given; NULL = harmless */
};

/* EXIT_OK: go on. Counts what --where lets through. */
MUST_USE int selector_read(struct haasctl *haasctl, const struct command_input *input,
			   const struct selector_row *row, struct selector *ret);
/* Members of a body: `member` with the names, or where and expected. */
void selector_json(struct text *body, const char *member, const struct selector *selector);
