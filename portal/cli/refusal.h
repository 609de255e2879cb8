/* Refusals of portald in the words of the command line: an option or a word by its name, the wrong value as it was
 * typed, what is allowed, what to do. With -o json they are the problem itself (RFC 9457), one line on stderr. */
#pragma once

#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/cli/command.h"
#include "common/http/json_reader.h"

/* The exit status that fits an HTTP status. */
int refusal_exit(int status);
/* Tells an answer that is no success. */
void refusal_tell(const struct command_input *input, const json_t *problem);
/* Tells what differs between what was read and what it is now, a member a line; to people alone. */
void refusal_tell_changes(const struct command_input *input, const json_t *before, json_t *now);
/* Tells a problem of our own, as there was no answer. */
void refusal_tell_own(const struct command_input *input, const struct problem *problem);
/* Keeps an answer as one problem, for a caller that tells it. */
void refusal_keep(const struct command_input *input, const json_t *problem, int status,
		  struct problem *ret);
/* "node n9 does not exist; haasctl node list ...": the items of a partly refused request, a line each. Returns how
 * many there are. */
size_t refusal_tell_items(const json_t *items);

/* refusal_place.c: where an item of "errors" stands on the command line, "--nodes 0" or "NODE n_9", onto the text.
 * False: it says no place. */
bool refusal_place(const struct command_input *input, const json_t *error, struct text *ret);
