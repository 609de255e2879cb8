/* Lines of a configuration, looked for by what they begin with and by the section that they stand
 * in: what cli_sampling_policy.c plans by. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "peregrine/switch/cli/cli_dialect.h"

/* Goes through the lines of a configuration, without the spaces around them. */
struct sampling_cursor {
	const char *next;
	const char *at;
	size_t size;
	bool is_inside;   /* of a section */
	char port[64];    /* the section is this port's; "" = none */
	const char *head; /* the line that begins the section */
	size_t head_size;
};

/* Where a line is looked for: at the top, or in one of these. */
struct sampling_place {
	const char *port, *section;
};

/* Whole words of `line` (its first `length` bytes), whatever their case, are the beginning of the
 * `size` bytes at `at`. */
bool sampling_line_begins(const char *at, size_t size, const char *line, size_t length);
/* False: there is none any more. */
bool sampling_line_next(const struct cli_dialect *dialect, struct sampling_cursor *cursor);
bool sampling_line_is_at(const struct cli_dialect *dialect, const struct sampling_cursor *cursor,
			 struct sampling_place place);
/* The first line of the configuration `text` that begins as `line` does in its first `length`
 * bytes. */
bool sampling_line_find(const struct cli_dialect *dialect, const char *text, const char *line,
			size_t length, struct sampling_place place, struct sampling_cursor *ret);
