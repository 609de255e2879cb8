/* What the rows of a command set print about themselves: help, completions, the manual page. */
#pragma once

#include <stdio.h>

#include "common/cli/command.h"

void command_help_all(const struct command_set *set, FILE *out);
/* The nouns that begin with `noun`, or it alone when it is one. */
void command_help_noun(const struct command_set *set, const char *noun, FILE *out);
void command_help_one(const struct command_set *set, const struct command *command);
/* Completion for bash, zsh or fish on stdout; an exit status. */
int command_completion(const struct command_set *set, const char *shell);
/* The mdoc(7) sections COMMANDS and OPTIONS, for NAME(1): docs/man includes them. */
void command_manual(const struct command_set *set);
