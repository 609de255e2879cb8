/* Refusals of words that the table does not have: each names what was meant, and what there is. All
 * tell on stderr and return EXIT_USAGE. */
#pragma once

#include "common/cli/command.h"

/* `after` is the word behind the noun, or NULL: who says "list nodes" means "node list". */
int command_unknown_noun(const struct command_set *set, const char *noun, const char *after);
/* `noun` NULL: several nouns were begun, and none has the verb. */
int command_unknown_verb(const struct command_set *set, const char *noun, const char *verb);
/* More than one command begins with these words; `noun` NULL: of several nouns. */
int command_several(const struct command_set *set, const char *noun, const char *said,
		    const char *verb);
int command_unknown_option(const struct command_set *set, const struct command *command,
			   const struct choices *options, const char *word);
/* A value that is none of "on|off"; `name` is the option or verb that takes it. */
int command_unknown_choice(const struct command_set *set, const char *name, const char *word,
			   const char *choices, size_t length);
