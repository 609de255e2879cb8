/* The question before something goes that a tenant uses: what would go, whose it is, since when. On
 * a terminal a person types its name, or how many there are; everything else means no. A script says
 * --yes; without it and without a terminal nothing is done (EXIT_USAGE). What nobody uses is not
 * asked about. */
#pragma once

#include "portal/cli/haasctl.h"

/* Which objects the words of a command line name. */
enum confirm_kind {
	CONFIRM_NODES,     /* asked about those of a tenant */
	CONFIRM_PDCI,      /* its nodes, and the volumes that go with it */
	CONFIRM_PDCI_NODE, /* PDCI NODE: that node of it */
	CONFIRM_VOLUMES,
	CONFIRM_ARCHIVES,
	CONFIRM_IMAGES,
	CONFIRM_KIND_COUNT
};

/* A command that asks has one. */
struct confirm_row {
	enum confirm_kind kind;
	size_t first_word;  /* of the objects, among the words of the command line */
	const char *effect; /* "will be erased" */
};

#define CONFIRM_OPTION                                                           \
	{                                                                        \
		"--yes", 'y', OPTION_FLAG, NULL, "no question before it is done" \
	}

/* EXIT_OK: go on. EXIT_FAILED: the person said no. EXIT_USAGE: nobody could be asked. */
MUST_USE int confirm_ask(struct haasctl *haasctl, const struct command_input *input,
			 const struct confirm_row *row);
/* The same about other words than the command line's. */
MUST_USE int confirm_ask_words(struct haasctl *haasctl, const struct command_input *input,
			       const struct confirm_row *row, const char *const words[],
			       size_t count);
