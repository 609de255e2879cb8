/* haasctl drill --complete: what a path may go on with. */
#pragma once

#include "portal/cli/haasctl.h"

/* A part of a path as one word of any shell: what a shell would look at is percent-encoded, which
 * drill_path_parse reads back. `size` bytes of `part`; a "%2f" becomes "%2F". */
void drill_complete_word(const char *part, size_t size, struct text *out);
/* The paths one level below the last '/' of `prefix` that begin with it, one a line. Says nothing
 * of what is wrong: a shell is asking. */
MUST_USE int drill_complete_run(struct haasctl *haasctl, const struct command_input *input,
				const char *prefix);
